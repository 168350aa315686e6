#include <whywait/base/packed_list.hpp>
#include <whywait/base/vector.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace {

struct entry {
  std::uint32_t record;
  std::int32_t rank;
  std::uint32_t target;
  std::uint16_t location, slot;
};
using entry_list = whywait::base::packed_list;

bool same(const entry& a, const entry& b) {
  return a.record == b.record && a.rank == b.rank && a.target == b.target && a.location == b.location && a.slot == b.slot;
}

void check_read(const entry_list& packed, const whywait::base::vector<entry>& expected) {
  REQUIRE(packed.size() == expected.size());
  entry_list::reader at(packed);
  for (const entry& e : expected) {
    REQUIRE(!at.empty());
    REQUIRE(same(at.front<entry>(), e));
    at.pop();
  }
  CHECK(at.empty());
}

}  // namespace

TEST_CASE("a packed list returns its entries, whatever their differences are") {
  whywait::base::memory_pool memory;
  std::mt19937 random(3);
  // Of these each is the first or last one of its length, or a neighbour.
  const std::array<std::uint32_t, 16> edges{0,      1,      2,      127,        128,        129,        255,        256,
                                            0x7fff, 0x8000, 0x8001, 0x7fffffff, 0x80000000, 0xffff8000, 0xffff7fff, 0xffffff80};
  entry_list packed(memory);
  whywait::base::vector<entry> all;
  check_read(packed, all);
  for (int i = 0; i != 20000; ++i) {
    const auto pick = [&](std::uint32_t before) {
      switch (random() % 4) {
        case 0: return before + 1;
        case 1: return before + edges[random() % edges.size()];
        case 2: return before - edges[random() % edges.size()];
        default: return static_cast<std::uint32_t>(random());
      }
    };
    entry e = all.empty() ? entry{} : all.back();
    if (i % 50 > 20) {
      e.record += 2;  // others stay, as in a loop
    } else {
      e.record = pick(e.record);
      e.rank = static_cast<std::int32_t>(pick(static_cast<std::uint32_t>(e.rank)));
      e.target = pick(e.target);
      e.location = static_cast<std::uint16_t>(random());
      e.slot = static_cast<std::uint16_t>(random() % 2);
    }
    all.push_back(e);
    packed.push_back(e);
  }
  check_read(packed, all);
  packed.release();
  all.clear();
  check_read(packed, all);
  all.push_back({7, -1, 8, 9, 10});  // nothing of the former entries stays
  packed.push_back(all.back());
  check_read(packed, all);
}

TEST_CASE("a packed list is read while the places in it are copied") {
  whywait::base::memory_pool memory;
  entry_list packed(memory);
  for (std::uint32_t i = 0; i != 5; ++i) packed.push_back(entry{i, 0, 10 * i, 0, 0});
  entry_list::reader at(packed);
  at.pop();
  entry_list::reader copy = at;
  at.pop();
  CHECK(at.front<entry>().target == 20);
  CHECK(copy.front<entry>().target == 10);
  copy.pop();
  CHECK(same(at.front<entry>(), copy.front<entry>()));
}
