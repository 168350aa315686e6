// Memory ends in the middle of the run and of its first epoch, and the ranks meet long after that. What was not recorded is no
// code: efficiency and rank time are those of the recorded part.
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

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  int rank = 0, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double waited = 0, ran = 0;
  for (int k = 0; k < 16000; ++k) {
    if (k % 8000 == 0) MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    if (rank == 0) {
      {
        WHYWAIT_REGION("prepare");
        partly::work(20e-6);
      }
      MPI_Send(&k, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      waited += MPI_Wtime() - began;
      MPI_Send(&k, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    ran += MPI_Wtime() - began;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - begin;
  double share[2] = {waited, ran};
  MPI_Allreduce(MPI_IN_PLACE, share, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank != 0) return 0;
  const partly::report r("short.json");
  const bool good = partly::consistent(r, seconds, share[0] / share[1]);
  return partly::within("part without records", r["unseen_seconds"] / r["seconds"], 0.5, 0.49) && good ? 0 : 1;
}
