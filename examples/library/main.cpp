// A program that uses the library in this folder. whywait_observe() of CMake enables the marks of the library:
//
//     mpirun -n 4 ./library             the report names a region of the library as the cause of waits
//     mpirun -n 4 ./library 1e-12       the tolerance is unreachable, which a rule of the library reports
#include "solver.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double tolerance = argc > 1 ? std::atof(argv[1]) : 1e-6;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<double> unknowns(1000, 1.0);
  int iterations = 0;
  for (int step = 0; step < (argc > 1 ? 1 : 3); ++step) {
    for (double& x : unknowns) x = 1;
    iterations += solver::solve(unknowns, MPI_COMM_WORLD, tolerance);
  }
  if (rank == 0) std::printf("library: %d iterations\n", iterations);
  MPI_Finalize();
  return 0;
}
