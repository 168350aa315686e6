// ranks: 2
// with: observer
// flags: -O1 -g -fprofile-arcs
// stderr ~ warning: blocks that the compiler counts are left out:
// stderr ~ also\s+compile\s+with\s+-ftest-coverage
// stderr ~ wait at barrier
// stderr !~ visits instead of
//
// Counters without notes cannot be named. The report warns and explains by intervals.
#include <whywait/coverage.hpp>

#include <mpi.h>

#include <ctime>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < 3; ++round) {
    const timespec pause{0, rank == 1 ? 20000000 : 0};
    nanosleep(&pause, nullptr);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
