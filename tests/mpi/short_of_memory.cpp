// Memory runs out in the middle of an epoch, and the ranks meet long after that. What was not recorded must not count as code:
// efficiency and rank time are those of the recorded part.
//
// ranks: 2
// timeout: 60
// tries 3
// with: observer
// environment: WHYWAIT_OUTPUT=short WHYWAIT_MEMORY=256K
// json short.json
// stderr ~ of\s+which\s+[0-9.]+ m?s\s+\([0-9.]+ %\)\s+is\s+explained
// stderr ~ efficiency\s+of\s+what\s+is\s+explained:
// stderr ~ record\s+buffer\s+was\s+full\s+on\s+2\s+of\s+2\s+ranks
#include "parts/partly_recorded.hpp"

#include <whywait/record.hpp>

#include <mpi.h>

int main(int argc, char** argv) {
  partly::stamps own(argc, argv);
  int value = 0;
  for (int k = 0; k < 16000; ++k) {
    if (k % 8000 == 0) MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    if (own.rank == 0) {
      {
        WHYWAIT_REGION("prepare");
        partly::work(20e-6);
      }
      MPI_Send(&k, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      own.waited += MPI_Wtime() - began;
      MPI_Send(&k, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    own.ran += MPI_Wtime() - began;
  }
  own.end();
  if (own.rank != 0) return 0;
  const partly::report r("short.json");
  const bool good = partly::consistent(r, own);
  return partly::within("part without records", r["unseen_seconds"] / r["seconds"], 0.5, 0.49) && good ? 0 : 1;
}
