#include <whywait/mpi/data_types.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

using namespace whywait::mpi;

namespace {

/// Bytes that a pattern touches, one by one.
std::set<std::int64_t> bytes_of(const type_pattern& p) {
  std::set<std::int64_t> all;
  const auto add = [&all](std::int64_t from, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i != bytes; ++i) all.insert(from + static_cast<std::int64_t>(i));
  };
  if (p.regular)
    for (std::uint64_t k = 0; k != p.count; ++k) add(p.low + static_cast<std::int64_t>(k * p.stride), p.piece);
  else if (p.list != nullptr)
    for (std::uint64_t k = 0; k != p.list->count; ++k)
      add(p.low + static_cast<std::int64_t>(p.list->pieces[k].begin), p.list->pieces[k].end - p.list->pieces[k].begin);
  return all;
}

}  // namespace

TEST_CASE("runs that meet are one piece, and equal ones at one distance are regular") {
  pattern_builder beside(nullptr);
  beside.add(type_pattern::run(0, 8), 16, 4, 8);
  beside.add(type_pattern::run(0, 4), 48, 1, 0);
  const type_pattern run = beside.result();
  CHECK(run.regular);
  CHECK(run.count == 1);
  CHECK(run.low == 16);
  CHECK(run.high == 52);
  CHECK(run.piece == 36);
  CHECK(run.size == 36);

  pattern_builder column(nullptr);
  column.add(type_pattern::run(0, 8), 0, 3, 24);
  const type_pattern rows = column.result();
  CHECK(rows.regular);
  CHECK(rows.count == 3);
  CHECK(rows.stride == 24);
  CHECK(rows.piece == 8);
  CHECK(rows.high == 56);
  CHECK(rows.size == 24);

  pattern_builder back(nullptr);
  back.add(type_pattern::run(0, 8), 32, 3, -16);
  CHECK_FALSE(back.result().regular);
  CHECK(back.result().low == 0);
  CHECK(back.result().high == 40);
  CHECK(back.result().size == 24);

  pattern_builder nothing(nullptr);
  nothing.add(type_pattern::run(0, 0), 8, 3, 8);
  nothing.add(type_pattern::run(0, 8), 8, 0, 8);
  CHECK(nothing.result().count == 0);
}

TEST_CASE("random type maps touch the bytes of their parts, each of them once") {
  const auto lists = std::make_unique<byte_lists>();
  std::mt19937 random(11);
  int irregular = 0;
  for (int round = 0; round != 400; ++round) {
    CAPTURE(round);
    const bool listed = round % 4 != 0;
    pattern_builder all(listed ? lists.get() : nullptr);
    std::set<std::int64_t> truth;
    std::int64_t at = 0;
    for (unsigned parts = 1 + static_cast<unsigned>(random() % 3); parts != 0; --parts) {
      const auto bytes = static_cast<std::int64_t>(1 + random() % 6), gap = static_cast<std::int64_t>(random() % 3 * 2);
      const auto n = static_cast<std::uint64_t>(random() % 4);
      all.add(type_pattern::run(0, static_cast<std::uint64_t>(bytes)), at, n, bytes + gap);
      for (std::uint64_t copy = 0; copy != n; ++copy)
        for (std::int64_t byte = 0; byte != bytes; ++byte)
          truth.insert(at + static_cast<std::int64_t>(copy) * (bytes + gap) + byte);
      at += static_cast<std::int64_t>(n) * (bytes + gap) + static_cast<std::int64_t>(random() % 2 * 5);
    }
    const type_pattern found = all.result();
    CHECK(found.size == truth.size());
    if (truth.empty()) continue;
    CHECK(found.low == *truth.begin());
    CHECK(found.high == *truth.rbegin() + 1);
    irregular += found.regular ? 0 : 1;
    if (listed || found.regular) CHECK(bytes_of(found) == truth);
  }
  CHECK(irregular > 20);
}
