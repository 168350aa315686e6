#include <whywait/record/data/gathering.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>

using namespace whywait::record::data;
namespace core = whywait::core;

namespace {

void put(std::set<std::uint64_t>& all, const core::data_record& r) {
  const std::uint64_t stride = r.stride != 0 ? r.stride : r.end - r.begin, piece = r.stride != 0 ? r.piece : r.end - r.begin;
  for (std::uint64_t p = r.begin; p < r.end; p += stride)
    for (std::uint64_t b = p; b != p + piece; ++b) CHECK(all.insert(b).second);
}

}  // namespace

TEST_CASE("equal pieces at one distance are one record") {
  gathering g;
  for (std::uint64_t i = 0; i != 20; ++i) g.add(i * 100, i * 100 + 8);
  g.add(5000, 5004);
  int records = 0;
  g.take(core::data_record(), [&](const core::data_record& r) {
    ++records;
    if (records == 1) CHECK((r.begin == 0 && r.end == 1908 && r.stride == 100 && r.piece == 8));
    else CHECK((r.begin == 5000 && r.end == 5004 && r.stride == 0));
  });
  CHECK(records == 2);
  CHECK(g.empty());
}

TEST_CASE("what was added is what comes out, each byte once") {
  const unsigned seed = 77;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto number = [&](unsigned low, unsigned high) { return std::uniform_int_distribution<unsigned>(low, high)(random); };
  for (int round = 0; round != 2000; ++round) {
    gathering g;
    std::set<std::uint64_t> plain, found;
    const unsigned grid = number(1, 3) * 4, spread = number(10, 400);
    for (unsigned n = number(1, 200); n != 0 && !g.full(); --n) {
      const std::uint64_t begin = number(0, spread) * grid, size = number(1, 3) * 4;
      g.add(begin, begin + size);
      for (std::uint64_t b = begin; b != begin + size; ++b) plain.insert(b);
    }
    std::uint64_t last = 0;
    g.take(core::data_record(), [&](const core::data_record& r) {
      CHECK(r.begin >= last);
      last = r.begin;
      put(found, r);
    });
    REQUIRE(found == plain);
  }
}
