// ranks: 2 4
// timeout: 60
// with: observer
// exit nonzero
// stdout !~ after the kill
//
// One rank is killed by SIGKILL while the others wait for it. The launcher ends the job, and no rank hangs.
#include <whywait/record.hpp>

#include <mpi.h>

#include <csignal>
#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) std::raise(SIGKILL);
  MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::printf("after the kill\n");
  MPI_Finalize();
  return 0;
}
