// A program whose third round is late on rank 0 by known steps: for the tests of the picture of a wait.
#include <whywait/record.hpp>

#include <mpi.h>

#include <ctime>

namespace {

void sleep_ms(int ms) {
  timespec t{ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&t, nullptr);
}

void smooth(int cells) {
  WHYWAIT_REGION("smooth");
  for (int i = 0; i < cells; ++i) WHYWAIT_BLOCK("cell");
  sleep_ms(1);
}

void snapshot() {
  WHYWAIT_REGION("snapshot");
  for (int i = 0; i < 3; ++i) {
    WHYWAIT_REGION("write");
    sleep_ms(20);
  }
}

}  // namespace

// Rounds of: three times (smooth with 4 cells, pack), then a value to the right. In round 3 rank 0 smooths 12 cells and
// takes a snapshot between.
void late_snapshot() {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int round = 0; round < 6; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    WHYWAIT_REGION("round");
    const bool late = round == 3 && rank == 0;
    for (int k = 0; k < 3; ++k) {
      smooth(late ? 12 : 4);
      WHYWAIT_REGION("pack");
    }
    if (late) snapshot();
    int value = rank;
    if (rank + 1 < ranks && rank % 2 == 0) MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    if (rank % 2 == 1) MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}
