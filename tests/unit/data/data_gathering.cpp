#include "../../sanitizers.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/data/marks/gathering.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <set>

using namespace whywait::data;
namespace core = whywait::core;

namespace {

void put_once(std::set<std::uint64_t>& all, const core::data_record& r) {
  const std::uint64_t stride = r.stride != 0 ? r.stride : r.end - r.begin, piece = r.stride != 0 ? r.piece : r.end - r.begin;
  for (std::uint64_t p = r.begin; p < r.end; p += stride)
    for (std::uint64_t b = p; b != p + piece; ++b) CHECK(all.insert(b).second);
}

}  // namespace

TEST_CASE("equal pieces at one distance are one record, however many") {
  gathering g;
  int records = 0;
  const auto emit = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t stride, std::uint32_t piece) {
    ++records;
    if (records == 1) CHECK((begin == 0 && end == 199908 && stride == 100 && piece == 8));
    else CHECK((begin == 500000 && end == 500004 && stride == 0 && piece == 0));
  };
  for (std::uint64_t i = 0; i != 2000; ++i) g.add(i * 100, i * 100 + 8, emit);
  g.add(500000, 500004, emit);
  CHECK(records == 0);  // the record may still grow
  g.take(emit);
  CHECK(records == 2);
  g.take(emit);
  CHECK(records == 2);
}

TEST_CASE("adjacent intervals merge, and an interval out of order begins a new record") {
  gathering g;
  whywait::base::vector<std::uint64_t> told;
  const auto emit = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t, std::uint32_t) {
    told.push_back(begin);
    told.push_back(end);
  };
  g.add(0, 8, emit);
  g.add(8, 24, emit);
  g.add(32, 40, emit);
  g.add(4, 12, emit);
  g.take(emit);
  CHECK(told == whywait::base::vector<std::uint64_t>{0, 24, 32, 40, 4, 12});
}

TEST_CASE("the output contains each added byte once") {
  const unsigned seed = 77;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto number = [&](unsigned low, unsigned high) { return std::uniform_int_distribution<unsigned>(low, high)(random); };
  for (int round = 0; round != repetitions(2000); ++round) {
    gathering g;
    std::set<std::uint64_t> plain, found;
    std::uint64_t last = 0;
    const auto emit = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t stride, std::uint32_t piece) {
      CHECK(begin >= last);
      last = begin;
      core::data_record r;
      r.begin = begin, r.end = end, r.stride = stride, r.piece = piece;
      put_once(found, r);
    };
    const unsigned grid = number(1, 3) * 4, most = number(1, 3);
    std::uint64_t at = 0;
    for (unsigned n = number(1, 200); n != 0; --n) {
      const std::uint64_t begin = at + number(0, most) * grid, size = number(1, most) * 4;
      g.add(begin, begin + size, emit);
      for (std::uint64_t b = begin; b != begin + size; ++b) plain.insert(b);
      at = begin + size;
    }
    g.take(emit);
    REQUIRE(found == plain);
  }
}
