// A program whose last round is late on rank 0 by known steps, for the tests of wait pictures.
#include "late_snapshot.hpp"

#include "comes_last.hpp"

#include <whywait/record.hpp>

#include <mpi.h>

#include <algorithm>
#include <ctime>

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void sleep_for(double seconds) {
  const timespec t{static_cast<time_t>(seconds),
                   static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
  nanosleep(&t, nullptr);
}

void smooth(int cells) {
  WHYWAIT_REGION("smooth");
  for (int i = 0; i < cells; ++i) WHYWAIT_BLOCK("cell");
  sleep_for(0.001);
}

void snapshot(double each) {
  WHYWAIT_REGION("snapshot");
  for (int i = 0; i < 3; ++i) {
    WHYWAIT_REGION("write");
    sleep_for(each);
  }
}

}  // namespace

late_times late_snapshot() {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  comes_last order;
  late_times times;
  double longest = 0, met = 0;  // the longest receive; the begin of the last exchange
  for (int round = 0; round < late_rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const bool last = round == late_rounds - 1, late = last && rank == 0;
    if (last) PMPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    WHYWAIT_REGION("round");
    for (int k = 0; k < 3; ++k) {
      smooth(late ? 12 : 4);
      WHYWAIT_REGION("pack");
    }
    if (late) {
      order.after(1);
      const double begin = now();
      snapshot(0.020 + longest);
      times.snapshot = now() - begin;
    }
    int value = rank;
    if (last && rank > 1) continue;
    if (last && rank == 1) order.waits_for(0);
    met = now();
    if (rank + 1 < ranks && rank % 2 == 0) MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    if (rank % 2 == 1) MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    longest = std::max(longest, now() - met);
  }
  if (rank == 1) PMPI_Send(&met, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  double waiting_since = 0;
  if (rank == 0) PMPI_Recv(&waiting_since, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  times.wait = met - waiting_since;
  return times;
}
