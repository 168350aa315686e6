// ranks: 2 4
// with: recorder
//
// Unshared clocks of ranks are mapped to that of rank 0. The test injects offset and drift with its own clock, and the
// measurement must recover them within its stated error.

#include "checks.hpp"

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <vector>

using namespace checks;

namespace {

int rank = 0;

// Ticks of rank r when the machine's counter is t.
std::uint64_t ticks_of(int r, std::uint64_t t) {
  const double drift = 1.0 + 40e-6 * (r % 2 == 0 ? r : -r);
  const std::uint64_t offset = 30000000u * static_cast<unsigned>(3 * r + 1);
  return static_cast<std::uint64_t>(static_cast<double>(t & 0xffffffffffffu) * drift) + offset;
}

double now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

struct own_clock {
  static inline std::vector<std::uint64_t> readings;  // all readings since the last clear
  static std::uint64_t now() {
    readings.push_back(ticks_of(rank, whywait::core::cycle_clock::now()));
    return readings.back();
  }
  static bool invariant() { return false; }  // so that the clock is not shared
};

// The bracket of the closest pair of readings on both clocks, in ticks. The last readings are those of the round trips.
// Rank 0, which makes one reading for each of a peer's, reads its own clock together with another one before.
std::uint64_t closest_pair(int ranks) {
  constexpr std::size_t rounds = whywait::mpi::clock_sync<own_clock>::rounds;
  const std::vector<std::uint64_t>& all = own_clock::readings;
  const std::size_t begin = rank == 0 ? 0 : all.size() - 2 * rounds;
  const std::size_t end = rank == 0 ? all.size() - rounds * static_cast<std::size_t>(ranks - 1) : all.size();
  std::uint64_t closest = ~std::uint64_t(0);
  for (std::size_t i = begin; i + 1 < end; i += 2) closest = std::min(closest, all[i + 1] - all[i]);
  return closest;
}

// Claims to be the same on all ranks, but that of rank 1 is half an hour ahead: a container with a clock of its own.
struct moved_clock {
  static std::uint64_t ahead() { return rank == 1 ? std::uint64_t{1800} * 3'000'000'000u : 0; }
  static std::uint64_t now() { return whywait::core::cycle_clock::now() + ahead(); }
  static bool invariant() { return true; }
};

struct one_clock {
  static std::uint64_t now() { return whywait::core::cycle_clock::now(); }
  static bool invariant() { return true; }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  using whywait::core::shared_clock;
  using whywait::mpi::clock_sync;
  if (whywait::core::cycle_clock::invariant()) {
    clock_sync<own_clock> clocks;
    double begin = now_ns();
    clocks.start(MPI_COMM_WORLD);
    double longest = now_ns() - begin;  // duration of the longest comparison
    std::uint64_t bracket = closest_pair(ranks);
    own_clock::readings.clear();
    CHECK(clocks.same_as_reference() == (rank == 0));
    usleep(400000);
    const std::uint64_t between = whywait::core::cycle_clock::now();
    usleep(400000);
    begin = now_ns();
    const shared_clock mine = clocks.finish(MPI_COMM_WORLD);
    longest = std::fmax(longest, now_ns() - begin);
    if (rank != 0) bracket = std::max(bracket, closest_pair(ranks));  // rank 0's time begins with its first reading
    clocks.release();
    shared_clock reference = mine;
    PMPI_Bcast(&reference, static_cast<int>(sizeof reference), MPI_BYTE, 0, MPI_COMM_WORLD);
    const double wrong = static_cast<double>(mine(ticks_of(rank, between)) - reference(ticks_of(0, between)));
    if (!CHECK(std::fabs(wrong) <= mine.error_ns + reference.error_ns + 1000))
      std::fprintf(stderr, "wrong by %.0f ns, stated %.0f ns\n", wrong, mine.error_ns);
    const double error = static_cast<double>(bracket) / 2 * mine.ns_per_tick;
    if (!CHECK(std::fabs(mine.error_ns - error) <= 1e-9 * error))
      std::fprintf(stderr, "stated %.3f ns, half of the bracket is %.3f ns\n", mine.error_ns, error);
    // half of the fastest round trip in it; on rank 0 of a single reading
    CHECK(mine.error_ns > 0 && 2 * mine.error_ns * (rank == 0 ? 1 : clock_sync<own_clock>::rounds) < longest);
  }
  clock_sync<one_clock> shared;
  shared.start(MPI_COMM_WORLD);
  CHECK(shared.same_as_reference());  // the test runs on one node
  usleep(1000);
  shared_clock mine = shared.finish(MPI_COMM_WORLD);
  shared.release();
  shared_clock reference = mine;
  PMPI_Bcast(&reference, static_cast<int>(sizeof reference), MPI_BYTE, 0, MPI_COMM_WORLD);
  CHECK(mine.origin == reference.origin && !(mine.ns_per_tick < reference.ns_per_tick) &&
        !(reference.ns_per_tick < mine.ns_per_tick));
  clock_sync<moved_clock> moved;
  moved.start(MPI_COMM_WORLD);
  CHECK(moved.same_as_reference() == (rank != 1));
  usleep(1000);
  PMPI_Barrier(MPI_COMM_WORLD);
  const std::uint64_t instant = whywait::core::cycle_clock::now();
  mine = moved.finish(MPI_COMM_WORLD);
  moved.release();
  reference = mine;
  PMPI_Bcast(&reference, static_cast<int>(sizeof reference), MPI_BYTE, 0, MPI_COMM_WORLD);
  // one instant by both clocks, on a machine with one counter
  const double apart = static_cast<double>(mine(instant + moved_clock::ahead()) - reference(instant));
  if (whywait::core::cycle_clock::invariant() && !CHECK(std::fabs(apart) <= mine.error_ns + reference.error_ns + 1000))
    std::fprintf(stderr, "apart by %.0f ns, stated %.0f ns\n", apart, mine.error_ns);
  MPI_Finalize();
  return result();
}
