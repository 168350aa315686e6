// ranks: 1 2
// timeout: 60
// with: observer
// exit nonzero
// file rank0.stderr ~ whywait: rank 0 of {ranks} ended by SIGSEGV after
#include "own_stderr.hpp"

#include <whywait/record.hpp>

#include <mpi.h>

#include <csignal>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    own_stderr("rank0.stderr");
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;
  }
  int value;
  MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
