// ranks: 2
// with: observer
// stderr ~ ^whywait: MPI was initialised, but not through MPI_Init
// stderr !~ (?s)not through.*not through
//
// A library that calls PMPI functions initialises MPI past the wrappers.
#include <whywait/mpi.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  PMPI_Init(&argc, &argv);
  {
    WHYWAIT_REGION("work");
    MPI_Barrier(MPI_COMM_WORLD);  // of a library in C
  }
  PMPI_Finalize();
  return 0;
}
