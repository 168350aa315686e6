#include <whywait/core/clock.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using namespace whywait::core;

namespace {

// Three ticks per nanosecond; a reading takes `cost` ticks.
struct fake_clock {
  static inline std::uint64_t cost = 0;
  static inline std::uint64_t time = 0;
  static std::uint64_t now() noexcept { return time += cost; }
};

}  // namespace

TEST_CASE("neither clock runs backwards") {
  bool rising = true;
  std::uint64_t ticks = cycle_clock::now(), ns = monotonic_ns();
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t next_ticks = cycle_clock::now(), next_ns = monotonic_ns();
    rising = rising && next_ticks >= ticks && next_ns >= ns;
    ticks = next_ticks;
    ns = next_ns;
  }
  CHECK(rising);
}

TEST_CASE("where the counter cannot be trusted, ticks are nanoseconds of CLOCK_MONOTONIC") {
  const clock_source before = cycle_clock::used();
  cycle_clock::use(clock_source::monotonic);
  CHECK(cycle_clock::used() == clock_source::monotonic);
  const std::uint64_t earlier = monotonic_ns();
  const std::uint64_t now = cycle_clock::now();
  const std::uint64_t later = monotonic_ns();
  CHECK(earlier <= now);
  CHECK(now <= later);
  cycle_clock::use(before);
  CHECK(cycle_clock::used() == before);
}

TEST_CASE("the fenced counter is the same counter") {
  const clock_source before = cycle_clock::used();
  cycle_clock::use(clock_source::fenced);
  bool between = true;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t earlier = plain_counter::now();
    const std::uint64_t fenced = fenced_counter::now(), chosen = cycle_clock::now();
    const std::uint64_t later = fenced_counter::now();
    between = between && earlier <= fenced && fenced <= chosen && chosen <= later;
  }
  CHECK(between);
  cycle_clock::use(before);
}

TEST_CASE("an anchor keeps the tightest of its brackets") {
  fake_clock::time = 100;
  fake_clock::cost = 7;
  const clock_anchor anchor = clock_anchor::take<fake_clock>(3);
  CHECK(anchor.error_ticks == 7);
  CHECK(anchor.ticks == 100 + 7 + 3);
  CHECK(anchor.ns > 0);
}

TEST_CASE("the rate follows from two anchors") {
  CHECK(clock_anchor::rate({1000, 50, 0}, {4000, 1050, 0}) == doctest::Approx(1.0 / 3));
  CHECK(clock_anchor::rate({1000, 50, 0}, {1000, 1050, 0}) == 1.0);  // no distance, so no rate and no division by zero
  CHECK(clock_anchor::rate({1000, 50, 0}, {900, 1050, 0}) == 1.0);
}
