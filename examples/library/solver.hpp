#ifndef SOLVER_HPP
#define SOLVER_HPP

#include <mpi.h>

#include <vector>

/// A small library with its own regions, events and rules. Its marks are inert unless the host program enables whywait
/// (one file that includes <whywait/mpi.hpp>).
namespace solver {

/// Solves on all ranks of `comm` and returns the number of iterations. Gives up after 40 restarts. Collective.
int solve(std::vector<double>& unknowns, MPI_Comm comm, double tolerance = 1e-6);

}  // namespace solver

#endif
