#include <whywait/base/vector.hpp>
#include <whywait/whatif/balance.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

using namespace whywait::models;
using namespace whywait::whatif;

namespace {

// Two labels and three blocks: 0 compute, 1 prepare, 2 sometimes.
run_log lines_of(whywait::base::vector<whywait::base::vector<activity>> lines) {
  run_log log;
  log.labels = {"MPI_Send", "MPI_Recv"};
  log.blocks = {"compute", "prepare", "sometimes"};
  log.lines = std::move(lines);
  return log;
}
activity part(std::uint32_t label, double work, whywait::base::vector<block_time> blocks) {
  activity a;
  a.label = label;
  a.work_seconds = work;
  a.blocks = std::move(blocks);
  return a;
}
double total(const run_log& log) {
  double sum = 0;
  for (const auto& line : log.lines)
    for (const activity& a : line) sum += a.work_seconds;
  return sum;
}
run_log evened(const run_log& log, bool steps) {
  run_log into = log;
  detail::balancer even(log);
  std::string why;
  if (steps) REQUIRE_MESSAGE(even.steps(into, why), why);
  else even.totals(into);
  return into;
}

}  // namespace

TEST_CASE("a block is balanced over the ranks for any following call") {
  // a pipeline, in which the last rank sends to no rank, so that the same block ends with a receive there
  const run_log log = lines_of({{part(0, 3, {{0, 3}}), part(0, 5, {{0, 5}})}, {part(1, 1, {{0, 1}}), part(1, 1, {{0, 1}})}});
  const run_log steps = evened(log, true);
  CHECK(steps.lines[0][0].work_seconds == doctest::Approx(2));
  CHECK(steps.lines[1][0].work_seconds == doctest::Approx(2));
  CHECK(steps.lines[0][1].work_seconds == doctest::Approx(3));
  CHECK(steps.lines[1][1].work_seconds == doctest::Approx(3));
  const run_log totals = evened(log, false);
  CHECK(totals.lines[0][0].work_seconds == doctest::Approx(3 * 5.0 / 8));
  CHECK(totals.lines[1][1].work_seconds == doctest::Approx(2.5));
  CHECK(total(steps) == doctest::Approx(total(log)));
  CHECK(total(totals) == doctest::Approx(total(log)));
}

TEST_CASE("work that one rank does alone stays with it") {
  // both enter prepare, but the second has nothing to do in it
  const run_log log =
      lines_of({{part(0, 8, {{1, 8}}), part(1, 2, {{0, 2}})}, {part(0, 1e-6, {{1, 1e-6}}), part(1, 6, {{0, 6}})}});
  CHECK(serial_blocks(log) == whywait::base::pod_vector<char>{0, 1, 0});
  for (const bool steps : {false, true}) {
    const run_log even = evened(log, steps);
    CHECK(even.lines[0][0].work_seconds == doctest::Approx(8));
    CHECK(even.lines[1][0].work_seconds < 1e-5);
    CHECK(even.lines[0][1].work_seconds == doctest::Approx(4));
    CHECK(even.lines[1][1].work_seconds == doctest::Approx(4));
  }
}

TEST_CASE("a share of a hundredth of a block is not serial work") {
  const run_log log = lines_of({{part(0, 98, {{0, 98}})}, {part(0, 2, {{0, 2}})}});
  CHECK(serial_blocks(log) == whywait::base::pod_vector<char>{0, 0, 0});
  CHECK(evened(log, true).lines[1][0].work_seconds == doctest::Approx(50));
  // with one rank there is nothing to share
  CHECK(serial_blocks(lines_of({{part(0, 98, {{0, 98}})}})) == whywait::base::pod_vector<char>{0, 0, 0});
}

TEST_CASE("a block that is not entered in every step is balanced by the call that ends it") {
  const run_log log = lines_of({{part(0, 4, {{2, 3}}), part(0, 2, {{2, 2}})}, {part(0, 2, {}), part(0, 6, {{2, 5}})}});
  const run_log even = evened(log, true);
  CHECK(even.lines[0][0].work_seconds == doctest::Approx(3));
  CHECK(even.lines[1][0].work_seconds == doctest::Approx(3));
  CHECK(even.lines[0][1].work_seconds == doctest::Approx(4));
  CHECK(even.lines[1][1].work_seconds == doctest::Approx(4));
  CHECK(even.lines[0][0].blocks[0].seconds == doctest::Approx(2.25));
}

TEST_CASE("unnamed work is balanced by the call that ends it") {
  const run_log log = lines_of({{part(0, 5, {{0, 1}}), part(1, 1, {})}, {part(0, 3, {{0, 3}}), part(1, 3, {})}});
  const run_log even = evened(log, true);
  CHECK(even.lines[0][0].work_seconds == doctest::Approx(2 + 2));  // 1 and 3 of compute, 4 and 0 of unnamed work
  CHECK(even.lines[0][0].blocks[0].seconds == doctest::Approx(2));
  CHECK(even.lines[1][0].work_seconds == doctest::Approx(4));
  CHECK(even.lines[1][1].work_seconds == doctest::Approx(2));
  std::string why;
  run_log uneven = lines_of({{part(0, 5, {}), part(0, 1, {})}, {part(0, 3, {})}}), into = uneven;
  CHECK_FALSE(detail::balancer(uneven).steps(into, why));
  CHECK(why.find("same number of steps (MPI_Send)") != std::string::npos);
}
