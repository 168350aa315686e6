#include <whywait/base/pair_cache.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

TEST_CASE("a pair cache returns what its function finds, and asks it once for pairs in turn") {
  const auto value = [](std::uint32_t a, std::uint32_t b) { return (std::uint64_t{a} << 32 | b) * 0x9e3779b97f4a7c15u; };
  whywait::base::pair_cache<std::uint64_t, 3> cache;
  int asked = 0;
  const auto find = [&](std::uint32_t a, std::uint32_t b) {
    ++asked;
    return value(a, b);
  };
  std::mt19937 random(11);
  for (int i = 0; i != 100000; ++i) {
    auto a = static_cast<std::uint32_t>(random() % 20), b = static_cast<std::uint32_t>(random() % 20);
    if (a == 19) a = 0xffffffffu;  // no call before
    REQUIRE(cache(a, b, find) == value(a, b));
  }
  CHECK(asked < 100000);
  asked = 0;
  for (int i = 0; i != 1000; ++i) {
    REQUIRE(cache(3, 4, find) == value(3, 4));
    REQUIRE(cache(0xffffffffu, 0, find) == value(0xffffffffu, 0));
  }
  CHECK(asked <= 2);
}
