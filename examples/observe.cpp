// All that a program of several files needs to be observed: one file that includes this, compiled once, so that no other file
// pays for the analysis. Examples that include only <whywait/record.hpp> are linked to it; jacobi.cpp does without.
#include <whywait/mpi.hpp>

// For those that ask why they waited (adaptive.cpp): the result itself is cheap to include.
whywait::report::result explained_so_far(MPI_Comm comm);
whywait::report::result explained_so_far(MPI_Comm comm) { return whywait::mpi::explain(comm); }
