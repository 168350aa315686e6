// The wrappers of all MPI calls without the analysis.
#include <whywait/mpi/wrappers.hpp>
