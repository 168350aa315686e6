// A program for epochs.py: meets at a barrier again and again. How long ranks wait is known, for they sleep; messages to
// oneself only take memory; some messages and requests are under way whenever all meet.
#include <whywait/record.hpp>

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

void nap(long milliseconds) {
  const timespec t{0, milliseconds * 1000000};
  nanosleep(&t, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? std::atoi(argv[1]) : 40, messages = argc > 2 ? std::atoi(argv[2]) : 400;
  int rank, ranks, value = 0, early = -1, late = -1, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  MPI_Comm same;
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  MPI_Request request;
  for (int k = 0; k < steps; ++k) {
    for (int m = 0; m < messages; ++m) {
      WHYWAIT_REGION("fill");
      MPI_Sendrecv(&m, 1, MPI_INT, 0, 0, &value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    if (k > 0) {  // posted before the last meeting, sent after it; sent before it, received after it
      WHYWAIT_REGION("across");
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Recv(&early, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (late != k - 1 || early != k - 1) ++wrong;
    }
    MPI_Irecv(&late, 1, MPI_INT, k % 2 != 0 ? MPI_ANY_SOURCE : left, 1, MPI_COMM_WORLD, &request);
    MPI_Send(&k, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
    if (rank == 0) {
      WHYWAIT_REGION("prepare");
      nap(30);
    }
    MPI_Barrier(k % 3 != 0 ? MPI_COMM_WORLD : same);
    if (rank == ranks - 1) {
      WHYWAIT_REGION("answer");
      nap(20);
    }
    MPI_Send(&k, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Recv(&early, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (wrong != 0) std::printf("%d messages were wrong on rank %d\n", wrong, rank);
  MPI_Comm_free(&same);
  MPI_Finalize();
  return wrong != 0;
}
