// A program for epochs.py, which meets at a barrier repeatedly. The waits are known, because late ranks sleep while all
// others wait. Time stamps of the program give their durations as JSON on standard output. Messages to the own rank
// only take memory; some messages and requests are pending at every meeting.
#include "comes_last.hpp"

#include <whywait/record.hpp>

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Returns the actual duration.
double nap(long milliseconds) {
  const double begin = now();
  const timespec t{0, milliseconds * 1000000};
  nanosleep(&t, nullptr);
  return now() - begin;
}

struct stamps {
  double at_barrier, sent, at_wait;  // of the message that is sent after the barrier
  double napped;
};

void say_truth(const std::vector<stamps>& mine, int steps, int rank, int ranks) {
  const int size = static_cast<int>(mine.size() * sizeof(stamps));
  std::vector<stamps> all(rank == 0 ? mine.size() * static_cast<std::size_t>(ranks) : 0);
  PMPI_Gather(mine.data(), size, MPI_BYTE, all.data(), size, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  const auto of = [&](int r, int k) -> const stamps& { return all[static_cast<std::size_t>(r * steps + k)]; };
  double barrier = 0, across = 0, end = 0, prepare = 0, answer = 0;
  for (int k = 0; k < steps; ++k) {
    for (int r = 0; r < ranks; ++r) {
      barrier += of(0, k).at_barrier - of(r, k).at_barrier;
      (k + 1 < steps ? across : end) += std::max(0.0, of((r + ranks - 1) % ranks, k).sent - of(r, k).at_wait);
    }
    prepare += of(0, k).napped * (ranks - 1);
    answer += of(ranks - 1, k).napped;
  }
  std::printf("{\"barrier\": %.9f, \"across\": %.9f, \"end\": %.9f, \"prepare\": %.9f, \"answer\": %.9f}\n", barrier, across,
              end, prepare, answer);
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
  comes_last order;
  std::vector<stamps> mine(static_cast<std::size_t>(steps));
  const auto wait_for_late = [&](int k) {
    if (rank != ranks - 1) order.waits_for(ranks - 1);
    mine[static_cast<std::size_t>(k)].at_wait = now();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  for (int k = 0; k < steps; ++k) {
    for (int m = 0; m < messages; ++m) {
      WHYWAIT_REGION("fill");
      MPI_Sendrecv(&m, 1, MPI_INT, 0, 0, &value, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    }
    if (k > 0) {  // posted before the last meeting and sent after it; sent before it and received after it
      WHYWAIT_REGION("across");
      wait_for_late(k - 1);
      MPI_Recv(&early, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (late != k - 1 || early != k - 1) ++wrong;
    }
    MPI_Irecv(&late, 1, MPI_INT, k % 2 != 0 ? MPI_ANY_SOURCE : left, 1, MPI_COMM_WORLD, &request);
    MPI_Send(&k, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
    stamps& my = mine[static_cast<std::size_t>(k)];
    if (rank == 0) {
      order.after_all();
      WHYWAIT_REGION("prepare");
      my.napped = nap(30);
    } else {
      order.waits_for(0);
    }
    my.at_barrier = now();
    MPI_Barrier(k % 3 != 0 ? MPI_COMM_WORLD : same);
    if (rank == ranks - 1) {
      order.after_all();
      WHYWAIT_REGION("answer");
      my.napped = nap(20);
    }
    my.sent = now();
    MPI_Send(&k, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
  }
  wait_for_late(steps - 1);
  MPI_Recv(&early, 1, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  say_truth(mine, steps, rank, ranks);
  if (wrong != 0) std::printf("%d messages were wrong on rank %d\n", wrong, rank);
  MPI_Comm_free(&same);
  MPI_Finalize();
  return wrong != 0;
}
