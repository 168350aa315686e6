// timeout: 60
// not: thread address
// beside: nothing
// stderr ~ time without a processor|no counters of the processor
// stderr !~ threads that were not recorded
// tries 6
//
// Two threads run the same code; one is slow for a known reason. See slower.hpp. Where the processor has no counters, the program
// runs again with those of fake_counters.hpp.
#include "slower.hpp"

#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

#include <cstdint>
#include <thread>

extern "C" long syscall(long number, ...) noexcept {
  va_list arguments;
  va_start(arguments, number);
  const long result = fake_counters::call(number, arguments);
  va_end(arguments);
  return result;
}

namespace {

void play() {
  slower::disturber other;
  if (!slower::pin(0)) {
    std::fprintf(stderr, "no counters of the processor: one processor only; skipped\n");
    return;
  }
  const std::uint64_t rounds = slower::rounds_of(0.010);
  whywait::barrier meet(2);
  slower::accounts kernel[2][5];
  const auto run = [&](int number) {
    slower::pin(number);
    whywait::barrier alone(1);
    slower::side mine(number, other, rounds);
    slower::accounts* at = kernel[number];
    const auto each = [&](auto step) {
      *at++ = slower::repeat(
          10, [&] { meet.arrive_and_wait(); }, step);
    };
    meet.arrive_and_wait();
    mine.let_compete(true);
    each([&] { mine.with_competitor(); });
    mine.let_compete(false);
    each([&] { mine.touch(); });
    each([&] { mine.instructions(); });
    each([&] { mine.ping_pong([&] { alone.arrive_and_wait(); }); });
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
  slower::pin(-1);
}

}  // namespace

int main(int argc, char** argv) {
  fake_counters::enabled = argc > 1;
  play();
  if (slower::failures != 0 || slower::has_counters || fake_counters::enabled) return slower::failures == 0 ? 0 : 1;
  const pid_t again = fork();
  if (again == 0) {
    execl("/proc/self/exe", argv[0], "with fake counters", nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(again, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
