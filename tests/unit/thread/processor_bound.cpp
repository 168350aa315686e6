#include <whywait/thread/finalize/processor_bound.hpp>

#include <doctest/doctest.h>

using whywait::threads::bound_balances;
using whywait::threads::processor_time;

namespace {

whywait::explain::outcome balanced(std::int64_t saving_ns) {
  whywait::explain::outcome found;
  found.total_ns = 600;
  found.balances.emplace_back();
  found.balances.back().saving_ns = saving_ns;
  return found;
}

}  // namespace

TEST_CASE("more even work saves no more than the processors leave idle") {
  // Two processors were busy for 500 of 600 ns each.
  whywait::explain::outcome found = balanced(320);
  bound_balances(found, {1000, 2});
  CHECK(found.balances[0].saving_ns == 100);
  CHECK(found.balances[0].bounded);
}

TEST_CASE("a smaller answer about balancing remains a prediction") {
  whywait::explain::outcome found = balanced(90);
  bound_balances(found, {1000, 2});
  CHECK(found.balances[0].saving_ns == 90);
  CHECK_FALSE(found.balances[0].bounded);
}

TEST_CASE("busy processors leave nothing to save by balancing") {
  whywait::explain::outcome found = balanced(90);
  bound_balances(found, {1300, 2});
  CHECK(found.balances[0].saving_ns == 0);
}

TEST_CASE("without a number of processors nothing is bounded") {
  whywait::explain::outcome found = balanced(320);
  bound_balances(found, {});
  CHECK(found.balances[0].saving_ns == 320);
}

TEST_CASE("the processor time of this process grows with its work") {
  const processor_time before = processor_time::of_process();
  CHECK(before.processors >= 1);
  volatile std::int64_t sum = 0;
  while (processor_time::of_process().ns < before.ns + 2000000) sum = sum + 1;
  CHECK(processor_time::of_process().ns >= before.ns + 2000000);
}
