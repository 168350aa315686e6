// ranks: 1 2 4
// timeout: 60
// with: observer
// environment: WHYWAIT_OUTPUT=aborted
// exit nonzero
// file rank0.stderr ~ whywait: rank 0 of {ranks} ended by MPI_Abort after \d+\.\d+ s
// file rank0.stderr ~ partial report
// file rank0.stderr ~ assemble \d+\.\d+ s
// json aborted.rank0.json
// file aborted.rank0.json ~ "schema": "whywait-last-words/1"
// no file aborted.json
#include "own_stderr.hpp"

#include <whywait/record.hpp>

#include <mpi.h>

#include <ctime>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    own_stderr("rank0.stderr");
    {
      WHYWAIT_REGION("assemble");
      timespec t{0, 30000000};
      nanosleep(&t, nullptr);
    }
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  int value;
  MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
