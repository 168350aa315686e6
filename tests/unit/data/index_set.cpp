#include <whywait/data/analysis/index_set.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>

namespace data = whywait::data;

TEST_CASE("a strided walk of single elements is one run, and the same walk again changes nothing") {
  data::index_set s;
  for (int round = 0; round != 3; ++round) {
    for (std::uint64_t i = 3; i < 100; i += 4) s.add({i, 1, 0, 1});
  }
  s.settle();
  REQUIRE(s.runs().size() == 1);
  CHECK(s.runs()[0] == data::index_run{3, 1, 4, 25});
  CHECK(s.size() == 25);
  CHECK(s.holds(7));
  CHECK_FALSE(s.holds(8));
  CHECK_FALSE(s.contiguous());
}

TEST_CASE("rows of a box are one run; filling the gaps makes it contiguous") {
  data::index_set s;
  s.add({10, 5, 20, 4});
  s.add({15, 15, 20, 3});
  s.settle();
  CHECK(s.contiguous());
  CHECK(s.runs()[0] == data::index_run{10, 65, 0, 1});
}

TEST_CASE("random unions equal a plain set, in order, disjoint and counted once") {
  for (std::uint64_t seed = 1; seed != 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint64_t low, std::uint64_t high) {
      return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    data::index_set s;
    std::set<std::uint64_t> plain;
    for (std::uint64_t n = pick(0, 12); n != 0; --n) {
      const data::index_run r{pick(0, 80), pick(0, 6), pick(1, 9), pick(1, 5)};
      s.add(r);
      for (std::uint64_t k = 0; r.length != 0 && k != r.count; ++k) {
        for (std::uint64_t i = 0; i != r.length; ++i) plain.insert(r.first + k * r.stride + i);
      }
      if (pick(0, 3) == 0) s.settle();
    }
    s.settle();
    CHECK(s.exact());
    REQUIRE(s.size() == plain.size());
    std::uint64_t k = 0;
    for (const std::uint64_t i : plain) CHECK(s.at(k++) == i);
    for (std::uint64_t i = 0; i != 140; ++i) CHECK(s.holds(i) == (plain.count(i) != 0));
  }
}

TEST_CASE("a loop over ever new adjacent elements keeps few runs while they are added") {
  data::index_set set;
  std::size_t most = 0;
  for (std::uint64_t i = 0; i != 20000; ++i) {
    set.add({i, 1, 0, 1});
    most = std::max(most, set.runs().size());
  }
  CHECK(most <= 4096);  // then they are merged
  set.settle();
  CHECK(set.size() == 20000);
  CHECK(set.contiguous());
}
