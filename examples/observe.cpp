// The one file of a program that includes the analysis, so that the others compile fast. Examples that include only
// <whywait/record.hpp> are linked to it; jacobi.cpp contains everything in one file.
#include <whywait/mpi.hpp>

// For programs that request explanations (adaptive.cpp). The result type is cheap to include.
whywait::report::result explained_so_far(MPI_Comm comm);
whywait::report::result explained_so_far(MPI_Comm comm) { return whywait::mpi::explain(comm); }
