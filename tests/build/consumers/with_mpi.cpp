// A program of somebody else that uses whywait with MPI: one include, nothing else.
#include <whywait/mpi.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
