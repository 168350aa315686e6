// ranks: 1
// with: observer
// not: mpich
// environment: WHYWAIT_OUTPUT=aborted WHYWAIT_MEMORY=256K
// exit nonzero
// stderr ~ ended by MPI_Abort
// file aborted.rank0.json ~ "block": "work", .*"visits": 30000,
// file aborted.rank0.json !~ "dropped_events": 0,
// json aborted.rank0.json
//
// A program whose record buffer is full ends without a report. What it still writes has all visits. It is the same with each MPI
// library.
#include <whywait/record.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 30000; ++i) {
    WHYWAIT_REGION("work");
    MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  }
  MPI_Abort(MPI_COMM_WORLD, 3);
}
