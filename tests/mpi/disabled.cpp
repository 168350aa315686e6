// ranks: 1 2
// timeout: 60
// environment: WHYWAIT_ENABLE=0 WHYWAIT_OUTPUT=disabled
// with: observer
// stderr !~ whywait
// stdout ~ rank 0 finished
// no file disabled.json
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  std::printf("rank %d finished\n", rank);
  return 0;
}
