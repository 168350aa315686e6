// ranks: 2 4
// timeout: 60
// with: observer
// tries 3
// stderr ~ assertions\.cpp:\d+: WHYWAIT_CHECK\(waiting_share\(MPI_COMM_WORLD\) < 0\.02\) is false: 0\.\d+ < 0\.02\n  most waiting is in MPI_Barrier in \S+ \(assertions\.cpp:\d+\), because of assemble\n
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

void assemble(bool slow) {
  WHYWAIT_REGION("assemble");
  nap(slow ? 12 : 4);
}
void solve(bool slow) {
  WHYWAIT_REGION("solve");
  nap(slow ? 12 : 4);
}

enum class code { even, uneven_assembly, uneven_solver };

void run(code what, int late) {
  for (int k = 0; k < 12; ++k) {
    assemble(what == code::uneven_assembly && rank == late);
    MPI_Barrier(MPI_COMM_WORLD);
    solve(what == code::uneven_solver && rank == late);
    double x = 1;
    MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

void expect(bool good, const char* what) {
  if (good) return;
  ++wrong;
  std::printf("FAILED: rank %d: %s\n", rank, what);
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
  // The truth, by construction: everybody but one waits 8 ms of each step of 16.
  const double truth = (ranks - 1.0) / ranks * 0.5;
  for (const int late : {0, ranks - 1}) {
    testing::start(MPI_COMM_WORLD);
    run(code::uneven_assembly, late);
    const double share = testing::waiting_share(MPI_COMM_WORLD);
    expect(share > 0.8 * truth && share < 1.15 * truth, "waiting share of the uneven assembly");
    expect(testing::cause_of("MPI_Barrier") == "assemble" && testing::cause_of() == "assemble", "cause");
    expect(testing::waiting_share_at("MPI_Barrier") > 0.9 * share, "waiting at the barrier");
    expect(testing::efficiency(MPI_COMM_WORLD) < 1.15 * (1 - truth), "efficiency");

    testing::start(MPI_COMM_WORLD);
    run(code::uneven_solver, late);
    expect(testing::waiting_share(MPI_COMM_WORLD) > 0.8 * truth, "waiting share of the uneven solver");
    expect(testing::cause_of() == "solve" && testing::cause_of("MPI_Allreduce") == "solve", "cause of the uneven solver");
  }
  testing::start(MPI_COMM_WORLD);
  run(code::even, 0);
  expect(testing::waiting_share(MPI_COMM_WORLD) < 0.5 * truth, "waiting share of even code");
  expect(testing::failures() == 0, "no check was made so far");

  // all ranks count the same failures, and only one prints them
  testing::start(MPI_COMM_WORLD);
  run(code::uneven_assembly, ranks - 1);
  static std::string told;
  testing::on_failure([](const char*, int line, const std::string& message) { told = std::to_string(line) + message; });
  {
    using namespace whywait::testing;
    expect(!judge(split() << waiting_share(MPI_COMM_WORLD) < 0.02, "waiting_share(MPI_COMM_WORLD) < 0.02", __FILE__, 1).good,
           "a failure");
    expect(!judge(split() << cause_of("MPI_Barrier") == "somewhere else", R"(cause_of("MPI_Barrier") == "somewhere else")",
                  __FILE__, 2)
                .good,
           "another");
    expect(judge(split() << cause_of().empty() == false, "", __FILE__, 3).good, "no failure");
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
