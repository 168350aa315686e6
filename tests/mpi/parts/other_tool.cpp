// An MPI tool for LD_PRELOAD that knows only PMPI.
#include <mpi.h>

#include <cstdio>

extern "C" int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
extern "C" int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }
extern "C" int MPI_Finalize(void) {
  std::printf("tool done\n");
  return PMPI_Finalize();
}
