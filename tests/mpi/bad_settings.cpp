// ranks: 2
// timeout: 60
// environment: WHYWAIT_MEMORY=lots WHYWAIT_REPROT=none
// with: observer
// stderr ~ whywait: WHYWAIT_MEMORY=lots is not understood
// stderr ~ whywait: WHYWAIT_REPROT is not a setting
// stderr ~ whywait · 2 ranks
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
