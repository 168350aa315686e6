// ranks: 1 2
// timeout: 60
// environment: WHYWAIT_OUTPUT=no/such/folder/report
// with: observer
// stderr ~ whywait: .*no/such/folder/report\.json.*No such file or directory
// stderr ~ whywait · \S+ · {ranks} ranks?
// stdout ~ rank 0 finished
//
// The output file cannot be written. There is one clear line, the text report is complete, and the program is
// unaffected.
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (MPI_Finalize() == MPI_SUCCESS) std::printf("rank %d finished\n", rank);
  return 0;
}
