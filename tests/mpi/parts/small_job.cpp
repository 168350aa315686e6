// A job of few calls, for jobs of several programs: compiled with whywait and without.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // also what an operation of whywait that never ends would disturb
  MPI_Request request;
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  std::printf("rank %d finished%s\n", rank, sum == ranks * (ranks - 1) / 2 ? "" : ", wrongly");
  return 0;
}
