// ranks: 2 4
//
// The clocks of ranks that share none are mapped to that of rank 0: offset and drift are injected through a
// clock of the test's own and must be found again within the error that the measurement states.

#include "checks.hpp"

#include <cmath>
#include <ctime>
#include <unistd.h>

using namespace checks;

namespace {

int rank = 0;

// Ticks of rank r when the machine's counter shows t.
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
  static std::uint64_t now() { return ticks_of(rank, whywait::core::cycle_clock::now()); }
  static bool invariant() { return false; }  // so nobody shares it
};

struct one_clock {
  static std::uint64_t now() { return whywait::core::cycle_clock::now(); }
  static bool invariant() { return true; }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  using whywait::sync::mpi::clock_sync;
  using whywait::sync::mpi::shared_clock;
  if (whywait::core::cycle_clock::invariant()) {
    clock_sync<own_clock> clocks;
    double begin = now_ns();
    clocks.start(MPI_COMM_WORLD);
    double longest = now_ns() - begin;  // that a comparison took
    CHECK(clocks.same_as_reference() == (rank == 0));
    usleep(400000);
    const std::uint64_t between = whywait::core::cycle_clock::now();
    usleep(400000);
    begin = now_ns();
    const shared_clock mine = clocks.finish(MPI_COMM_WORLD);
    longest = std::fmax(longest, now_ns() - begin);
    clocks.release();
    shared_clock reference = mine;
    PMPI_Bcast(&reference, static_cast<int>(sizeof reference), MPI_BYTE, 0, MPI_COMM_WORLD);
    const double wrong = mine(ticks_of(rank, between)) - reference(ticks_of(0, between));
    if (!CHECK(std::fabs(wrong) <= mine.error_ns + reference.error_ns + 1000))
      std::fprintf(stderr, "wrong by %.0f ns, stated %.0f ns\n", wrong, mine.error_ns);
    // half of the fastest of the round trips in it, on rank 0 of one reading
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
  MPI_Finalize();
  return result();
}
