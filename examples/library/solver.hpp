#ifndef SOLVER_HPP
#define SOLVER_HPP

#include <mpi.h>

#include <vector>

/// A small library with regions, events and rules of its own. Without a host that turns whywait on (one file with
/// <whywait/mpi.hpp>) its marks are inert.
namespace solver {

/// Solves on all ranks of `comm`; returns the number of iterations. Gives up after 40 restarts. Collective.
int solve(std::vector<double>& unknowns, MPI_Comm comm, double tolerance = 1e-6);

}  // namespace solver

#endif
