// ranks: 2
// with: observer
// not: mpich
// environment: WHYWAIT_OUTPUT=out
// stderr ~ warning: 1 region does not begin and end in pairs
// file out.json ~ 1 region does not begin and end in pairs; [^"]*; the first: whywait::end\(\\"outer\\"\) at program\.cpp:3, but \\"inner\\" \(program\.cpp:2\) is the innermost open region"
// json out.json
//
// One region of the last rank ends before a region inside it. The report names the place. It is the same with each MPI library.
#include <whywait/record.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    whywait::begin("outer", "program.cpp", 1);
    whywait::begin("inner", "program.cpp", 2);
    whywait::end("outer", "program.cpp", 3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
