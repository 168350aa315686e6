// A user program with whywait and MPI, with a single include.
#include <whywait/mpi.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
