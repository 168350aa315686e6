// Many small messages between neighbours in a ring. All ranks meet after every 20,000 messages of a rank. At each 25th
// meeting rank 0 prepares data that all others wait for, and then rank 1 is late with an answer to rank 0.
//
//   endless MESSAGES
//
// Prints to standard error the largest growth of each process in KiB before the end of the run is explained.
#include <whywait/record.hpp>

#include <mpi.h>

#include <sys/resource.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace {

void nap(long milliseconds) {
  const timespec t{0, milliseconds * 1000000};
  nanosleep(&t, nullptr);
}

long most_memory() {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  constexpr long window = 50, a_step = 20000;
  const long steps = argc > 1 ? std::atol(argv[1]) / a_step / ranks : 1;
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  const long begun = most_memory();
  int in[window] = {}, out[window] = {};
  MPI_Request requests[2 * window];
  for (long step = 0; step != steps; ++step) {
    for (long sent = 0; sent != a_step; sent += window) {
      WHYWAIT_REGION("exchange");
      for (int i = 0; i != window; ++i) MPI_Irecv(&in[i], 1, MPI_INT, before, i % 3, MPI_COMM_WORLD, &requests[i]);
      for (int i = 0; i != window; ++i) MPI_Isend(&out[i], 1, MPI_INT, next, i % 3, MPI_COMM_WORLD, &requests[window + i]);
      MPI_Waitall(2 * window, requests, MPI_STATUSES_IGNORE);
    }
    if (step % 25 == 0 && rank == 0) {
      WHYWAIT_REGION("prepare");
      nap(60);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (step % 25 == 1) {
      if (rank == 1) {
        WHYWAIT_REGION("answer");
        nap(40);
        MPI_Send(out, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
      } else if (rank == 0) {
        MPI_Recv(in, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    }
  }
  std::fprintf(stderr, "rank %d: grew by %ld KiB\n", rank, most_memory() - begun);
  MPI_Finalize();
  return 0;
}
