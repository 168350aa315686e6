// A second file with the same include.
#include <whywait/mpi.hpp>

void take_steps();
void take_steps() {
  for (int i = 0; i < 100; ++i) {
    WHYWAIT_REGION("step");
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
