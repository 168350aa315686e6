#include <whywait/base/vector.hpp>
#include <whywait/clocks/give_list.hpp>
#include <whywait/clocks/need_book.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>

using namespace whywait;
using clocks::clock_give;

namespace {

bool earlier(const clock_give& a, const clock_give& b) {
  return std::tie(a.record, a.rank, a.target, a.slot) < std::tie(b.record, b.rank, b.target, b.slot);
}

void check_gives(base::vector<clock_give> added) {
  base::memory_pool memory;
  clocks::give_list list(memory);
  for (const clock_give& g : added) list.add(g);
  list.sort();
  base::vector<clock_give> read;
  std::uint32_t last = 0;
  for (clocks::give_list::reader at(list); !at.empty(); at.pop()) {
    REQUIRE(last <= at.front().record);
    last = at.front().record;
    read.push_back(at.front());
  }
  std::sort(added.begin(), added.end(), earlier);
  std::sort(read.begin(), read.end(), earlier);
  REQUIRE(read.size() == added.size());
  for (std::size_t i = 0; i != read.size(); ++i) {
    REQUIRE(!earlier(read[i], added[i]));
    REQUIRE(!earlier(added[i], read[i]));
  }
}

}  // namespace

TEST_CASE("gives are read by record, in whatever order ranks ask for them") {
  std::mt19937 random(17);
  base::vector<clock_give> all;
  check_gives(all);
  for (std::uint32_t i = 0; i != 1000; ++i) all.push_back({i, 1, 2 * i, 0});
  check_gives(all);
  // Ranks that ask by record each, one after the other and in turn.
  for (const std::uint32_t ranks : {2u, 3u, 64u, 65u, 200u}) {
    all.clear();
    for (std::uint32_t rank = 0; rank != ranks; ++rank)
      for (std::uint32_t i = 0; i != 20; ++i) all.push_back({ranks * i + rank, static_cast<std::int32_t>(rank), i, rank});
    check_gives(all);
    std::shuffle(all.begin(), all.end(), random);
    check_gives(all);
    std::sort(all.begin(), all.end(), [](const clock_give& a, const clock_give& b) { return a.record > b.record; });
    check_gives(all);
  }
  all.clear();
  for (int i = 0; i != 5000; ++i)  // several gives of a record
    all.push_back({static_cast<std::uint32_t>(random() % 300), static_cast<std::int32_t>(random() % 4), 0, 0});
  check_gives(all);
}

TEST_CASE("a record may need any number of stamps") {
  base::memory_pool memory;
  clocks::need_counts counts(memory);
  CHECK(counts.empty());
  CHECK(counts[3] == 0);
  std::map<std::uint32_t, std::uint32_t> expected{{0, 1}, {1, 253}, {2, 254}, {3, 255}, {4, 256}, {7, 1000}, {9, 254}};
  base::vector<std::uint32_t> all;
  for (const auto& e : expected) all.resize(all.size() + e.second, e.first);
  std::shuffle(all.begin(), all.end(), std::mt19937(5));
  for (const std::uint32_t record : all) counts.add(record, 10);
  counts.add(10, 10);  // no record
  CHECK(!counts.empty());
  for (std::uint32_t record = 0; record != 12; ++record) CHECK(counts[record] == expected[record]);
}
