#include <whywait/core/shared_clock.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>

TEST_CASE("a clock map is linear, also before its origin") {
  whywait::core::shared_clock map;
  map.origin = 1000;
  map.ns_per_tick = 0.5;
  map.offset_ns = 70;
  CHECK(map(1000) == 70);
  CHECK(map(1100) == 120);
  CHECK(map(900) == 20);
}

TEST_CASE("nearest rounds like std::llround, including halves and their neighbours") {
  std::mt19937_64 random(2);
  for (int i = 0; i != 20000; ++i) {
    const double whole = static_cast<double>(static_cast<std::int64_t>(random()) >> (random() % 62 + 2));
    for (const double x : {whole, whole + 0.5, whole - 0.5, std::nextafter(whole + 0.5, -1e300),
                           std::nextafter(whole - 0.5, 1e300), whole * 1.1, whole / 1e6}) {
      CHECK(whywait::core::nearest(x) == std::llround(x));
    }
  }
  CHECK(whywait::core::nearest(0.49999999999999994) == 0);
  CHECK(whywait::core::nearest(-0.5) == -1);
}
