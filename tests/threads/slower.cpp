// timeout: 60
// not: thread address
// beside: nothing
// stderr ~ time without a processor|no counters of the processor
// stderr !~ threads that were not recorded
// tries 6
//
// Two threads run the same code; one is slow for a known reason. See slower.hpp.
#include "slower.hpp"

#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

#include <cstdint>
#include <thread>

int main() {
  slower::competitor other;
  if (!slower::pin(0)) return std::fprintf(stderr, "no counters of the processor: one processor only; skipped\n"), 0;
  static slower::shared_line line;
  const std::uint64_t rounds = slower::rounds_of(0.010);
  whywait::barrier meet(2);
  slower::accounts kernel[2][5];
  const auto run = [&](int number) {
    slower::pin(number);
    slower::side mine(number, line, other, rounds);
    slower::accounts* at = kernel[number];
    const auto each = [&](auto step) {
      *at++ = slower::repeat(
          12, [&] { meet.arrive_and_wait(); }, step);
    };
    meet.arrive_and_wait();
    mine.let_compete(true);
    each([&] { mine.with_competitor(); });
    mine.let_compete(false);
    each([&] { mine.touch(); });
    each([&] { mine.instructions(); });
    each([&] { mine.ping_pong(); });
    each([&] { mine.stride(); });
  };
  whywait::thread slow(run, 1);
  run(0);
  slow.join();
  const whywait::result found = whywait::report();
  const auto check = [&](int number, const char* region, slower::reason why) {
    slower::check(found, region, why, kernel[1][number] - kernel[0][number]);
  };
  check(0, "competitor", slower::reason::preempted);
  check(1, "first touch", slower::reason::kernel);
  check(2, "instructions", slower::reason::instructions);
  check(3, "ping-pong", slower::reason::cycles);
  check(4, "stride", slower::reason::cycles);
  return slower::failures == 0 ? 0 : 1;
}
