#ifndef SOLVER_HPP
#define SOLVER_HPP

#include <mpi.h>

#include <vector>

/// A small library with regions of its own. It includes <whywait/record.hpp> only: without a host that turns
/// whywait on (one file with <whywait/mpi.hpp>) its marks are inert.
namespace solver {

/// Solves on all ranks of `comm`; returns the number of iterations. Collective.
int solve(std::vector<double>& unknowns, MPI_Comm comm);

}  // namespace solver

#endif
