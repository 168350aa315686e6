#include <whywait/explain/history.hpp>

#include <doctest/doctest.h>

TEST_CASE("a clock map is linear, also before its origin") {
  whywait::explain::clock_map map;
  map.origin = 1000;
  map.ns_per_tick = 0.5;
  map.offset_ns = 70;
  CHECK(map(1000) == 70);
  CHECK(map(1100) == 120);
  CHECK(map(900) == 20);
}
