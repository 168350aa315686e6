// ranks: 2
// timeout: 60
// with: observer
// environment: WHYWAIT_OUTPUT=little WHYWAIT_MEMORY=1M
// json little.json
// stderr ~ WHYWAIT_MEMORY
// stderr ~ of\s+which\s+[0-9.]+ m?s\s+\([0-9.]+ %\)\s+is\s+explained
// stderr ~ while\s+nothing\s+was\s+recorded,\s+all\s+ranks\s+ran\s+exchange\s+\(little_memory.cpp:[0-9]+\)
// file little.json ~ "unseen": \[\s*\{\s*"block": "exchange"
// stderr !~ nothing\s+worth
// file little.json ~ "unseen_seconds": 0*[1-9.]
//
// The records exceed the memory, and no operation synchronises all ranks. The beginning is explained, the rest is
// counted and reported, and the program is unaffected.
#include <whywait/record.hpp>

#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int k = 0; k < 50000; ++k) {
    WHYWAIT_REGION("exchange");
    if (rank == 0) MPI_Send(&k, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1 && value != k) return std::fprintf(stderr, "message %d holds %d\n", k, value), 1;
  }
  MPI_Finalize();
  return 0;
}
