#include <whywait/coverage/counters/block_counts.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <random>

using whywait::coverage::block_counts;

TEST_CASE("counts of a segment are handed over once, and only those of blocks that ran") {
  block_counts counts;
  REQUIRE(counts.open(1000));
  CHECK(counts.visit(7));
  CHECK_FALSE(counts.visit(7));
  CHECK(counts.visit(999));
  std::map<std::uint32_t, std::uint64_t> seen;
  const auto collect = [&] {
    seen.clear();
    counts.collect([&](std::uint32_t block, std::uint64_t n) { seen[block] = n; });
  };
  collect();
  CHECK(seen == std::map<std::uint32_t, std::uint64_t>{{7, 2}, {999, 1}});
  collect();
  CHECK(seen.empty());
  CHECK(counts.visit(7));
  collect();
  CHECK(seen == std::map<std::uint32_t, std::uint64_t>{{7, 1}});
  counts.release();
}

TEST_CASE("random visits agree with a plain map") {
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  block_counts counts;
  REQUIRE(counts.open(64));
  std::map<std::uint32_t, std::uint64_t> wanted;
  for (int i = 0; i < 20000; ++i) {
    const auto block = static_cast<std::uint32_t>(random() % 64);
    CHECK(counts.visit(block) == (wanted[block]++ == 0));
    if (random() % 50 != 0) continue;
    std::map<std::uint32_t, std::uint64_t> seen;
    counts.collect([&](std::uint32_t b, std::uint64_t n) { seen[b] += n; });
    CHECK(seen == wanted);
    wanted.clear();
  }
  counts.release();
}
