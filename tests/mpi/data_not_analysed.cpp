// ranks: 2
// with: mpi_once
// environment: WHYWAIT_OUTPUT=out
// stderr ~ ^    warning: data was registered, but nothing is said about it: #include\n\s+<whywait/communication\.hpp> in one file
// stderr !~ where data is
// file out.json ~ "communication_classes": \[\],\s+"distributions": \[\],\s+"sharing": \[\]
// json out.json
//
// A program that registers data on one rank only, and does not include what analyses it: it is told so once, by rank 0.
#include <whywait/data.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double u[16] = {};
  if (rank == 1) {
    WHYWAIT_DATA("u", u, 16);
    WHYWAIT_WRITES("fill", whywait::range(u, 16));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
