#include <mpi.h>

void take_steps(void);

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  take_steps();
  return MPI_Finalize();
}
