#include <whywait/finalize/pause_limit.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using namespace whywait;
using finalize::recorded_again_after;

namespace {

constexpr std::uint64_t second = 2000000000;  // ticks of half a nanosecond

core::settings limited(std::uint64_t percent, std::uint64_t free_seconds) {
  core::settings limit;
  limit.pauses_percent = percent;
  limit.pauses_free_seconds = free_seconds;
  return limit;
}

}  // namespace

TEST_CASE("pauses of a percentage end when the program has run long enough for one more like the last") {
  // 12 s of its own, of which pauses then take 6
  CHECK(recorded_again_after(limited(50, 0), 0.5, 3 * second, 3 * second) == 15 * second);
  CHECK(recorded_again_after(limited(50, 0), 0.5, 9 * second, 1 * second) == 29 * second);
  CHECK(recorded_again_after(limited(10, 0), 0.5, 1 * second, 1 * second) == 21 * second);
  CHECK(recorded_again_after(limited(200, 0), 0.5, 1 * second, 1 * second) == 2 * second);
}

TEST_CASE("without a setting the first ten minutes of pauses are free") {
  const core::settings usual;
  CHECK(recorded_again_after(usual, 0.5, 599 * second, 20 * second) == 0);
  CHECK(recorded_again_after(usual, 0.5, 600 * second, 20 * second) == 600 * second + 1240 * second);
  CHECK(recorded_again_after(usual, 0.25, 600 * second, 20 * second) == 0);  // 300 s
}

TEST_CASE("unlimited pauses leave nothing out") {
  CHECK(recorded_again_after(limited(0, 0), 0.5, 10000 * second, 1 * second) == 0);
}
