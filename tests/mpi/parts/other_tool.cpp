// An MPI tool that knows nothing of whywait. It counts the calls that reach it and prints them at the end. With WEAK its functions
// are weak definitions; else MPI_Wait calls a function of MPI by its plain name.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>

#ifdef WEAK
#define TOOL __attribute__((weak, visibility("default")))
#else
#define TOOL __attribute__((visibility("default")))
#endif

namespace {
int starts, reductions, waits, barriers;
}

extern "C" {

TOOL int MPI_Init(int* argc, char*** argv) {
  ++starts;
  return PMPI_Init(argc, argv);
}
TOOL int MPI_Iallreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Request* request) {
  ++reductions;
  return PMPI_Iallreduce(in, out, count, type, op, comm, request);
}
TOOL int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++waits;
#ifndef WEAK
  int found = 0;
  MPI_Test(request, &found, status);  // belongs to the MPI_Wait of the program
  if (found != 0) return MPI_SUCCESS;
#endif
  return PMPI_Wait(request, status);
}
TOOL int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  return PMPI_Barrier(comm);
}
TOOL int MPI_Finalize(void) {
  std::printf("tool: %d %d %d %d\n", starts, reductions, waits, barriers);
  return PMPI_Finalize();
}
}
