// ranks: 2
// timeout: 60
// beside: nothing
// with: observer
// tries 3
// stderr ~ assertions\.cpp:\d+: WHYWAIT_CHECK\(waiting_share\(MPI_COMM_WORLD\) < 0\.02\) is false: 0\.\d+ < 0\.02\n  most waiting is in MPI_Barrier in \S+ \(assertions\.cpp:\d+\)( from main \(assertions\.cpp:\d+\))?, because of assemble\n
// stderr ~ WHYWAIT_CHECK\(cause_of\("MPI_Barrier"\) == "somewhere else"\) is false: "assemble" == "somewhere else"
//
// Assertions on code that is balanced, uneven, and uneven in another place, whichever rank is late. The same with doctest.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <whywait/testing.hpp>

#include <mpi.h>

#include <cstdio>
#include <ctime>
#include <sstream>
#include <string>

namespace {

int rank, ranks, wrong;

void nap(int ms) {
  const timespec t{0, ms * 1000000L};
  nanosleep(&t, nullptr);
}

constexpr int steps = 8, short_ms = 5, long_ms = 35;

void assemble(bool slow) {
  WHYWAIT_REGION("assemble");
  nap(slow ? long_ms : short_ms);
}
void solve(bool slow) {
  WHYWAIT_REGION("solve");
  nap(slow ? long_ms : short_ms);
}

enum class code { even, uneven_assembly, uneven_solver };

/// Even code takes long everywhere, so that what a busy machine adds is small beside it.
void run(code what, int late) {
  for (int k = 0; k < steps; ++k) {
    assemble(what == code::even || (what == code::uneven_assembly && rank == late));
    MPI_Barrier(MPI_COMM_WORLD);
    solve(what == code::even || (what == code::uneven_solver && rank == late));
    double x = 1;
    MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

void expect(bool good, const char* what) {
  if (good) return;
  ++wrong;
  std::printf("FAILED: rank %d: %s\n", rank, what);
}
void expect(bool good, const char* what, double found, double truth) {
  if (good) return;
  ++wrong;
  std::printf("FAILED: rank %d: %s: found %g, truth %g\n", rank, what, found, truth);
}

}  // namespace

TEST_CASE("an uneven assembly is found") {
  whywait::testing::start(MPI_COMM_WORLD);
  run(code::uneven_assembly, ranks - 1);
  WHYWAIT_CHECK(cause_of() == "assemble");
  WHYWAIT_CHECK(waiting_share(MPI_COMM_WORLD) > 0.1);
}

TEST_CASE("and this test expects it to be even" * doctest::should_fail()) {
  whywait::testing::start(MPI_COMM_WORLD);
  run(code::uneven_assembly, 0);
  WHYWAIT_CHECK(load_balance(MPI_COMM_WORLD) > 0.95);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  namespace testing = whywait::testing;
  // The truth, by construction: all ranks but one wait while that one sleeps longer.
  const double truth = (ranks - 1.0) / ranks * (long_ms - short_ms) / (long_ms + short_ms);
  for (const int late : {0, ranks - 1}) {
    testing::start(MPI_COMM_WORLD);
    run(code::uneven_assembly, late);
    const double share = testing::waiting_share(MPI_COMM_WORLD);
    expect(share > 0.8 * truth && share < 1.15 * truth, "waiting share of the uneven assembly", share, truth);
    expect(testing::cause_of("MPI_Barrier") == "assemble" && testing::cause_of() == "assemble", "cause");
    const double at = testing::waiting_share_at("MPI_Barrier"), efficiency = testing::efficiency(MPI_COMM_WORLD);
    expect(at > 0.9 * share, "waiting at the barrier", at, share);
    expect(efficiency < 1.15 * (1 - truth), "efficiency", efficiency, 1 - truth);

    testing::start(MPI_COMM_WORLD);
    run(code::uneven_solver, late);
    const double in_solver = testing::waiting_share(MPI_COMM_WORLD);
    expect(in_solver > 0.8 * truth, "waiting share of the uneven solver", in_solver, truth);
    const std::string cause = testing::cause_of(), there = testing::cause_of("MPI_Allreduce");
    expect(cause == "solve" && there == "solve", ("cause of the uneven solver: " + cause + ", " + there).c_str());
  }
  testing::start(MPI_COMM_WORLD);
  run(code::even, 0);
  const double even = testing::waiting_share(MPI_COMM_WORLD);
  expect(even < 0.5 * truth, "waiting share of even code", even, truth);
  expect(testing::failures() == 0, "no check was made so far");

  // all ranks count the same failures, and only one prints them
  testing::start(MPI_COMM_WORLD);
  run(code::uneven_assembly, ranks - 1);
  static std::string told;
  testing::on_failure([](const char*, int line, const std::string& message) { told = std::to_string(line) + message; });
  {
    using namespace whywait::testing;
    expect(!judge((split() << waiting_share(MPI_COMM_WORLD)) < 0.02, "waiting_share(MPI_COMM_WORLD) < 0.02", __FILE__, 1).good,
           "a failure");
    expect(!judge((split() << cause_of("MPI_Barrier")) == "somewhere else", R"(cause_of("MPI_Barrier") == "somewhere else")",
                  __FILE__, 2)
                .good,
           "another");
    expect(judge((split() << cause_of().empty()) == false, "", __FILE__, 3).good, "no failure");
  }
  expect(testing::failures() == 2 && testing::checks() == 3 && testing::status() == 1, "totals");
  expect(told.compare(0, 14, "2WHYWAIT_CHECK") == 0, "the hook of other frameworks");
  testing::on_failure(nullptr);

  doctest::Context context;
  std::ostringstream out;
  context.setCout(&out);
  expect(context.run() == 0, "doctest: one test passes, one fails as expected");
  if (rank == 0) std::printf("%s", out.str().c_str());
  MPI_Finalize();
  return wrong != 0;
}
