#include <whywait/explain/slower_parts.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>

using namespace whywait;
using core::code_count;
using explain::counted_side;
using explain::divide_speed;
using explain::slower_parts;

namespace {

constexpr std::int64_t msec = 1000000;

// All of it was read, and it was on a processor.
counted_side counted_side_of(std::int64_t times, std::int64_t ns) {
  counted_side out;
  out.times = times;
  out.ns = out.counts[code_count::read_ns] = out.counts[code_count::ran_ns] = ns;
  return out;
}

// S of docs/method.md 1.4.
std::int64_t speed_term_of(const counted_side& a, const counted_side& b) {
  const double mean_a = static_cast<double>(a.ns) / static_cast<double>(a.times),
               mean_b = static_cast<double>(b.ns) / static_cast<double>(b.times);
  return static_cast<std::int64_t>(std::llround((mean_b - mean_a) * static_cast<double>(a.times + b.times) / 2));
}

std::int64_t sum_of_parts(const slower_parts& p) { return p.known_ns() + p.not_counted_ns; }

}  // namespace

TEST_CASE("slower visits are divided by what was counted: the worked example of the method") {
  counted_side a = counted_side_of(10, 100 * msec), b = counted_side_of(10, 290 * msec);
  a.counts[code_count::counted_ns] = 100 * msec;
  a.counts[code_count::instructions] = 200'000'000;
  a.counts[code_count::cycles] = 200'000'000;
  b.counts[code_count::delay_ns] = 30 * msec;
  b.counts[code_count::ran_ns] = 260 * msec;
  b.counts[code_count::system_ns] = 20 * msec;
  b.counts[code_count::faults] = 40000;
  b.counts[code_count::moves] = 20;
  b.counts[code_count::counted_ns] = 260 * msec;
  b.counts[code_count::instructions] = 240'000'000;
  b.counts[code_count::cycles] = 480'000'000;
  b.counts[code_count::stalled] = 240'000'000;
  const slower_parts p = divide_speed(a, b, speed_term_of(a, b));
  CHECK(speed_term_of(a, b) == 190 * msec);
  CHECK(p.counted);
  CHECK(p.preempted_ns == 30 * msec);
  CHECK(p.kernel_ns == 20 * msec);
  CHECK(p.more_faults == 40000);
  CHECK(p.more_moves == 20);
  CHECK(p.blocked_ns == 0);
  CHECK(p.instructions_ns == doctest::Approx(29.156 * msec).epsilon(1e-4));  // (240 - 100) ln(1.2) / ln(2.4)
  CHECK(p.cycles_ns == doctest::Approx(110.844 * msec).epsilon(1e-4));       // (240 - 100) ln(2) / ln(2.4)
  CHECK(p.memory_ns == p.cycles_ns);  // one cycle more for each instruction, and one stalled
  CHECK(p.frequency_ns == 0);
  CHECK(std::llabs(p.not_counted_ns) <= 4);
  CHECK(sum_of_parts(p) == 190 * msec);
}

TEST_CASE("a slower clock of the processor is no property of the code") {
  counted_side a = counted_side_of(4, 40 * msec), b = counted_side_of(4, 80 * msec);
  for (counted_side* const s : {&a, &b}) {
    s->counts[code_count::counted_ns] = s->ns;
    s->counts[code_count::instructions] = 80'000'000;
    s->counts[code_count::cycles] = 80'000'000;
  }
  const slower_parts p = divide_speed(a, b, speed_term_of(a, b));
  CHECK(p.frequency_ns == 40 * msec);
  CHECK(p.instructions_ns == 0);
  CHECK(p.cycles_ns == 0);
}

TEST_CASE("what one side did not count has no reason") {
  counted_side a = counted_side_of(4, 40 * msec), b = counted_side_of(4, 80 * msec);
  b.counts[code_count::counted_ns] = 80 * msec;
  b.counts[code_count::instructions] = 80'000'000;
  b.counts[code_count::cycles] = 80'000'000;
  const slower_parts p = divide_speed(a, b, speed_term_of(a, b));
  CHECK_FALSE(p.counted);
  CHECK(p.not_counted_ns == 40 * msec);
  CHECK(p.known_ns() == 0);
  SUBCASE("and neither has what was counted for less than half of the time") {
    a.counts[code_count::counted_ns] = 15 * msec;
    a.counts[code_count::instructions] = a.counts[code_count::cycles] = 15'000'000;
    CHECK_FALSE(divide_speed(a, b, speed_term_of(a, b)).counted);
  }
  SUBCASE("and without visits there is nothing to divide") {
    CHECK(divide_speed(counted_side_of(0, 0), b, 7).not_counted_ns == 7);
    CHECK(divide_speed(b, counted_side_of(0, 0), -7).not_counted_ns == -7);
  }
}

TEST_CASE("parts add up, are negated when the sides are exchanged, and depend on the ratio of visits only through their mean") {
  std::mt19937 random(7);
  const auto upto = [&random](std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(1, most)(random); };
  for (int round = 0; round != 1000; ++round) {
    counted_side s[2];
    for (counted_side& x : s) {
      x.times = upto(100);
      x.ns = upto(1000 * msec);
      x.counts[code_count::read_ns] = x.ns - upto(x.ns) / 3;
      x.counts[code_count::ran_ns] = upto(x.ns);
      x.counts[code_count::delay_ns] = upto(x.ns);
      x.counts[code_count::blocked_ns] = upto(x.ns);
      x.counts[code_count::system_ns] = upto(x.ns);
      x.counts[code_count::faults] = upto(1000);
      x.counts[code_count::moves] = upto(10);
      x.counts[code_count::counted_ns] = upto(x.counts[code_count::ran_ns]);
      x.counts[code_count::instructions] = upto(1'000'000'000);
      x.counts[code_count::cycles] = upto(1'000'000'000);
      x.counts[code_count::stalled] = upto(x.counts[code_count::cycles]);
      if (round % 2 == 0) x.counts[code_count::blocked_ns] = x.ns;  // nothing of the time is unknown
    }
    const slower_parts there = divide_speed(s[0], s[1], speed_term_of(s[0], s[1]));
    const slower_parts back = divide_speed(s[1], s[0], -speed_term_of(s[0], s[1]));
    CHECK(sum_of_parts(there) == speed_term_of(s[0], s[1]));
    CHECK(there.counted == back.counted);
    CHECK(std::llabs(there.preempted_ns + back.preempted_ns) <= 1);
    CHECK(std::llabs(there.blocked_ns + back.blocked_ns) <= 1);
    CHECK(std::llabs(there.kernel_ns + back.kernel_ns) <= 1);
    CHECK(std::llabs(there.instructions_ns + back.instructions_ns) <= 1);
    CHECK(std::llabs(there.cycles_ns + back.cycles_ns) <= 1);
    CHECK(std::llabs(there.frequency_ns + back.frequency_ns) <= 1);
    CHECK(std::llabs(there.not_counted_ns + back.not_counted_ns) <= 6);
    if (there.counted && round % 2 == 0) CHECK(std::llabs(there.not_counted_ns) <= 6);
  }
}

TEST_CASE("page faults take at least what one was measured to take") {
  counted_side a = counted_side_of(10, 100 * msec), b = counted_side_of(10, 200 * msec);
  b.counts[code_count::system_ns] = 40 * msec;
  b.counts[code_count::faults] = 10000;
  CHECK(divide_speed(a, b, 100 * msec, 3000).kernel_ns == 40 * msec);
  CHECK(divide_speed(a, b, 100 * msec, 9000).kernel_ns == 90 * msec);
  CHECK(divide_speed(a, b, 100 * msec, 9000).not_counted_ns == 10 * msec);
  CHECK(divide_speed(a, b, 100 * msec, 90000).kernel_ns == 200 * msec);  // never more than the time itself
}

TEST_CASE("time asleep is neither more instructions nor a slower clock") {
  counted_side a = counted_side_of(10, 100 * msec), b = counted_side_of(10, 150 * msec);
  for (counted_side* const s : {&a, &b}) {
    s->counts[code_count::ran_ns] = s->counts[code_count::counted_ns] = 100 * msec;
    s->counts[code_count::instructions] = s->counts[code_count::cycles] = 100'000'000;
  }
  SUBCASE("it waited for something") { b.counts[code_count::blocked_ns] = 50 * msec; }
  SUBCASE("or the host of a virtual machine took the processor") {}
  const slower_parts p = divide_speed(a, b, 50 * msec);
  CHECK(p.counted);
  CHECK(p.blocked_ns == b.counts[code_count::blocked_ns]);
  CHECK(p.blocked_ns + p.not_counted_ns == 50 * msec);
  CHECK(p.instructions_ns == 0);
  CHECK(p.cycles_ns == 0);
  CHECK(p.frequency_ns == 0);
}

TEST_CASE("what was read for more than half of the time stands for the rest, else there is no reason") {
  counted_side a = counted_side_of(10, 100 * msec), b = counted_side_of(10, 200 * msec);
  b.counts[code_count::delay_ns] = 60 * msec;
  b.counts[code_count::ran_ns] = 60 * msec;
  b.counts[code_count::read_ns] = 120 * msec;
  CHECK(divide_speed(a, b, 100 * msec).preempted_ns == 100 * msec);
  b.counts[code_count::read_ns] = 99 * msec;
  CHECK(divide_speed(a, b, 100 * msec).not_counted_ns == 100 * msec);
}

TEST_CASE("delay before a thread began is no part of its code") {
  counted_side a = counted_side_of(1, 10 * msec), b = counted_side_of(1, 12 * msec);
  b.counts[code_count::delay_ns] = 50 * msec;
  const slower_parts p = divide_speed(a, b, 2 * msec);  // all of it ran
  CHECK(p.preempted_ns == 0);
}
