#include <whywait/thread/finalize/thread_time.hpp>

#include <doctest/doctest.h>

using whywait::core::code_count;
using whywait::threads::thread_time;

TEST_CASE("calls that only yield the processor are no time that the program spends in the kernel") {
  thread_time asleep;
  asleep.add(0, 1, 30, 1);
  asleep.add(1, 1, 50, 1);
  whywait::rules::code_use whole;
  whole.most_rank = 1;
  whole.counts[code_count::system_ns] = 100;
  whole.most_counts[code_count::system_ns] = 40;
  leave_out_sleep(whole, asleep);
  CHECK(whole.counts[code_count::system_ns] == 20);
  CHECK(whole.most_counts[code_count::system_ns] == 0);
  CHECK(asleep.of(2) == 0);
}
