// ranks: 1 2
// timeout: 60
// with: observer
// environment: WHYWAIT_OUTPUT=unfinished
// exit any
// file rank0.stderr ~ whywait: rank 0 of {ranks} ended by exit without MPI_Finalize after
// json unfinished.rank0.json
#include "own_stderr.hpp"

#include <mpi.h>
#include <unistd.h>

#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) own_stderr("rank0.stderr");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) usleep(300000);  // a launcher may kill the other ranks when one ends without MPI_Finalize
  std::quick_exit(0);
}
