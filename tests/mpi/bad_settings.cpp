// ranks: 2
// timeout: 60
// environment: WHYWAIT_MEMORY=lots WHYWAIT_REPROT=none
// with: observer
// stderr ~ whywait: invalid setting WHYWAIT_MEMORY=lots; the default is used; expected
// stderr ~ whywait: unknown setting WHYWAIT_REPROT is ignored
// stderr ~ whywait · \S+ · 2 ranks
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
