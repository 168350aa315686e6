// A program that balances its own load with the help of whywait:
//
//     mpirun -n 4 ./adaptive
//
// The rows of a grid are distributed evenly, but the last rank is three times as slow (a slower machine, a noisy
// neighbour), so that all others wait for it at the end of each step. The program does not measure this itself. Every
// `look` steps it requests an explanation from whywait (`whywait::result`), reads how long each rank waited for
// `compute_rows`, and redistributes the rows. At the end it prints the speed-up. Work is simulated by sleeping, so that its duration is
// known.
#include <whywait/mpi.hpp>  // declarations only; whywait_observe(target) of CMake compiles the rest

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

namespace {

constexpr int rows_per_rank = 12, steps = 40, look = 10;

void compute_rows(int rows, bool slow) {
  WHYWAIT_REGION("compute_rows");
  std::this_thread::sleep_for(std::chrono::microseconds(rows * (slow ? 6000 : 2000)));
}

// How long each rank waited in this part of the run because other ranks computed longer.
std::vector<double> waited(const whywait::result& part) {
  std::vector<double> seconds(static_cast<std::size_t>(part.ranks), 0.0);
  for (const auto& wait : part.waits) {
    double computing = 0;
    for (const auto& cause : wait.causes)
      if (cause.block == "compute_rows") computing += cause.seconds;
    const double share = std::min(1.0, std::max(0.0, computing / wait.seconds));
    for (const auto& waiter : wait.waiters)
      if (waiter.rank >= 0) seconds[static_cast<std::size_t>(waiter.rank)] += waiter.seconds * share;
  }
  return seconds;
}

// Distributes all rows in proportion to the speed of each rank. A rank was busy whenever it did not wait.
std::vector<int> dealt(const std::vector<int>& rows, const std::vector<double>& waits, double seconds) {
  std::vector<double> speed;
  for (std::size_t i = 0; i < rows.size(); ++i) speed.push_back(rows[i] / std::max(seconds - waits[i], seconds * 0.02));
  const double all_speed = std::accumulate(speed.begin(), speed.end(), 0.0);
  int left = std::accumulate(rows.begin(), rows.end(), 0);
  const double all_rows = left;
  std::vector<int> fresh;
  for (double s : speed) {
    fresh.push_back(std::max(1, static_cast<int>(all_rows * s / all_speed)));
    left -= fresh.back();
  }
  const std::size_t fastest = static_cast<std::size_t>(std::max_element(speed.begin(), speed.end()) - speed.begin());
  fresh[fastest] += left;  // rounding remainder
  return fresh;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<int> rows(static_cast<std::size_t>(ranks), rows_per_rank);
  std::vector<double> lengths;
  whywait::result before;
  double residual = 1;

  for (int step = 0; step < steps; ++step) {
    const double begin = MPI_Wtime();
    compute_rows(rows[static_cast<std::size_t>(rank)], rank == ranks - 1);
    residual *= 0.9;
    MPI_Allreduce(MPI_IN_PLACE, &residual, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    lengths.push_back(MPI_Wtime() - begin);
    if ((step + 1) % look != 0) continue;

    const whywait::result so_far = whywait::mpi::explain(MPI_COMM_WORLD);  // the same on all ranks
    if (!so_far) continue;  // whywait is switched off
    const whywait::result part = so_far.since(before);
    const std::vector<double> waits = waited(part);
    rows = dealt(rows, waits, part.seconds);
    before = so_far;
    if (rank != 0) continue;
    std::printf("adaptive: after step %d the ranks waited", step + 1);
    for (double w : waits) std::printf(" %.0f", w * 1e3);
    std::printf(" ms for compute_rows; rows now");
    for (int r : rows) std::printf(" %d", r);
    std::printf("\n");
  }

  if (rank == 0) {
    const auto mean = [&](int first) {
      return std::accumulate(lengths.begin() + first, lengths.begin() + first + look, 0.0) / look;
    };
    std::printf("adaptive: a step took %.1f ms at first and takes %.1f ms now, %.1f times as fast\n", mean(0) * 1e3,
                mean(steps - look) * 1e3, mean(0) / mean(steps - look));
  }
  MPI_Finalize();
  return 0;
}
