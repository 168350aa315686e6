// The program of counted_lines.cpp and traced_lines.cpp. The last rank has four times the work and takes a branch that
// the others do not. `body` is the first line of a loop's block; 0 is its head, 1 the line after it.
#include "parts/comes_last.hpp"

#include <whywait/coverage.hpp>

#include <mpi.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr int rounds = 8, usual = 20000, extra = 2500;

#ifdef __clang__
constexpr int loop_lines = 2;  // clang counts the closing brace of the body
#else
constexpr int loop_lines = 1;
#endif

volatile double sink;

constexpr int loop_line = __LINE__ + 4;
__attribute__((noinline)) void work(int n) {
  double sum = 0;
  // the line below
  for (int i = 0; i < n; ++i) {
    sum += 1.0 / (i + 1.0);
  }
  sink = sum;
}

constexpr int branch_line = __LINE__ + 4;
__attribute__((noinline)) void refine(int n) {
  double sum = 0;
  // the line below
  for (int i = 0; i < n; ++i) {
    sum += 2.0 / (i + 2.0);
  }
  sink = sum;
}

// Makes the last rank late independently of the machine.
__attribute__((noinline)) void line_up(bool late, int ranks, comes_last& order) {
  if (!late) {
    order.waits_for(ranks - 1);
    return;
  }
  order.after_all();
  const timespec pause{0, 30000000};
  nanosleep(&pause, nullptr);
}

// Sums over all waits for the line `first`, or a range that begins there.
struct told {
  std::int64_t late = 0, waiting = 0;
  int last = 0;
  int strange = 0;  // entries with another file or without an interval
};

told about(const nlohmann::json& report, int first) {
  told sum;
  for (const nlohmann::json& wait : report["waits"]) {
    for (const nlohmann::json& r : wait["residual"]) {
      if (r["kind"] != "step" || r["line"] != first) continue;
      sum.late += r["causer_visits"].get<std::int64_t>();
      sum.waiting += r["waiter_visits"].get<std::int64_t>();
      sum.last = r.value("last_line", first);
      const std::string file = r["file"];
      const std::string within = r["within"];
      if (file.find("coverage_program.hpp") == std::string::npos || within.find("between MPI_") != 0) ++sum.strange;
    }
  }
  return sum;
}

// The number of runs of a line in one side of the picture of the longest wait, including loops around it.
std::int64_t ran(const nlohmann::json& report, int line, const char* side) {
  std::vector<std::int64_t> around;
  std::int64_t most = 0;
  for (const nlohmann::json& wait : report["waits"]) {
    if (!wait.contains("picture")) continue;
    for (const nlohmann::json& row : wait["picture"]["rows"]) {
      around.resize(row["depth"].get<std::size_t>() + 1);
      const std::int64_t count = row.contains(side) ? row[side]["count"].get<std::int64_t>() : 0;
      around.back() = (around.size() > 1 ? around[around.size() - 2] : 1) * count;
      if (row["kind"] == "step" && row.value("line", 0) == line) most = std::max(most, around.back());
    }
    break;
  }
  return most;
}

int failures;

void expect(const char* what, std::int64_t found, std::int64_t wanted) {
  if (found == wanted) return;
  std::fprintf(stderr, "FAILED: %s: %lld, not %lld\n", what, static_cast<long long>(found), static_cast<long long>(wanted));
  ++failures;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const bool late = rank == ranks - 1;
  comes_last order;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    work(late ? 4 * usual : usual);
    if (late) refine(extra);
    line_up(late, ranks, order);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  if (rank != 0) return 0;
  std::ifstream file("lines.json");
  if (!file) return std::fprintf(stderr, "FAILED: lines.json was not written\n"), 1;
  const nlohmann::json report = nlohmann::json::parse(file);
  const std::int64_t waits = std::int64_t(ranks - 1) * rounds;
  const told loop = about(report, loop_line + body);
  expect("the loop on the late side", loop.late, waits * 4 * usual);
  expect("the loop on the waiting side", loop.waiting, waits * usual);
  expect("the last line of the loop", loop.last, loop_line + loop_lines);
  const told branch = about(report, branch_line + body);
  expect("the branch on the late side", branch.late, waits * extra);
  expect("the branch on the waiting side", branch.waiting, 0);
  if (std::getenv("WHYWAIT_PATH") != nullptr) {
    expect("the loop in the causer's column", ran(report, loop_line + 1, "causer"), 4 * usual);
    expect("the loop in the waiter's column", ran(report, loop_line + 1, "waiter"), usual);
    expect("the branch in the causer's column", ran(report, branch_line + 1, "causer"), extra);
    expect("the branch in the waiter's column", ran(report, branch_line + 1, "waiter"), 0);
  }
  expect("entries in other files", loop.strange + branch.strange, 0);
  return failures == 0 ? 0 : 1;
}
