// A program that uses the library of this folder and turns its marks on by including <whywait/mpi.hpp>:
//
//     mpirun -n 4 ./library
//
// The report names the library's own region as the cause of the waiting inside the library.
#include "solver.hpp"

#include <whywait/mpi.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<double> unknowns(1000, 1.0);
  int iterations = 0;
  for (int step = 0; step < 3; ++step) {
    for (double& x : unknowns) x = 1;
    iterations += solver::solve(unknowns, MPI_COMM_WORLD);
  }
  if (rank == 0) std::printf("library: %d iterations\n", iterations);
  MPI_Finalize();
  return 0;
}
