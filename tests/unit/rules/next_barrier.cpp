#include "sample.hpp"

#include <whywait/rules/next_barrier.hpp>

#include <doctest/doctest.h>

#include <cstdint>

TEST_CASE("a barrier of threads divides the work if the late threads wait for the others in the next one") {
  namespace explain = sample::explain;
  using explain::pattern;
  const whywait::base::names names = sample::names();
  explain::explanation here =
      sample::wait(pattern::thread_barrier, sample::waitall, sample::waitall, {sample::term(sample::compute, 0, 600, 5, 5)});
  explain::explanation next =
      sample::wait(pattern::thread_barrier, sample::send, sample::send, {sample::term(sample::between, 0, 150, 5, 5)});
  next.waiters = {{0, 0, 150 * sample::ms}};
  next.causers = {{1, 0, 50 * sample::ms}, {2, 0, 50 * sample::ms}, {3, 0, 50 * sample::ms}};
  const auto saving_ms = [&](sample::key after) {
    explain::outcome found = sample::outcome({here, next});
    found.meanings.push_back({sample::between, explain::block_kind::between, after, sample::send});
    return whywait::rules::without_barrier_ns(here, found, explain::block_names(found, names)) / sample::ms;
  };
  CHECK(saving_ms(sample::waitall) == 150);
  CHECK(saving_ms(sample::recv) == 0);  // another call is in between
  next.waiters[0].ns = 300 * sample::ms;
  CHECK(saving_ms(sample::waitall) == 200);  // ranks 1 to 3 wait here for 200 ms each
  next.waiters[0].rank = 1;
  CHECK(saving_ms(sample::waitall) == 0);  // it waits in both
  next.waiters[0].rank = 0;
  next.causers[0].rank = 0;
  CHECK(saving_ms(sample::waitall) == 0);  // and is late in both
  next.causers[0].rank = 1;
  here.causers = {{0, 0, 500 * sample::ms}, {4, 0, 100 * sample::ms}};
  CHECK(saving_ms(sample::waitall) == 0);  // rank 4 is late here as well, and does not wait there
  next.waiters.push_back({4, 0, 120 * sample::ms});
  CHECK(saving_ms(sample::waitall) == 120);
  here.causers = {{0, 0, 600 * sample::ms}};
  next.operation = sample::waitall;
  CHECK(saving_ms(sample::waitall) == 0);
  next.operation = sample::send;
  next.why = pattern::latch;
  CHECK(saving_ms(sample::waitall) == 0);
  next.why = pattern::thread_barrier;
  here.wait_ns = 99 * sample::ms;  // below 1 % of the run
  CHECK(saving_ms(sample::waitall) == 0);
  here.wait_ns = 100 * sample::ms;
  CHECK(saving_ms(sample::waitall) == 200);
  here.causers.clear();
  for (int thread = 1; thread != 31; ++thread) here.causers.push_back({0, thread, 20 * sample::ms});
  CHECK(saving_ms(sample::waitall) == 0);  // many are late by a little, and do not wait there
}
