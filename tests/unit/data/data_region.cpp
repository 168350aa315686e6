#include <whywait/data/analysis/data_region.hpp>

#include <doctest/doctest.h>

namespace data = whywait::data;
namespace core = whywait::core;
using data::region_kind;

namespace {

core::data_object square(std::uint64_t rows, std::uint64_t columns) {
  core::data_object o;
  o.key = 1;
  o.element_bytes = 8;
  o.dimensions = 2;
  o.extent[0] = rows;
  o.extent[1] = columns;
  return o;
}

}  // namespace

TEST_CASE("a region has the bytes of its pieces, the last of which may be cut off") {
  CHECK(data::region{4, 20, 0, 0}.bytes() == 16);
  CHECK(data::region{0, 50, 16, 4}.pieces() == 4);
  CHECK(data::region{0, 50, 16, 4}.bytes() == 14);
  CHECK(data::region{8, 8, 16, 4}.bytes() == 0);
  std::uint64_t sum = 0;
  data::for_each_piece({0, 50, 16, 4}, [&sum](std::uint64_t begin, std::uint64_t end) { sum += end - begin; });
  CHECK(sum == 14);
}

TEST_CASE("a record never reaches beyond its object") {
  core::data_record r;
  r.begin = 100;
  r.end = UINT64_MAX;
  CHECK(data::region_of(r, 128).bytes() == 28);
  r.begin = 200;
  CHECK(data::region_of(r, 128).bytes() == 0);
  r.begin = 0;
  r.end = 128;
  r.stride = 16;  // without piece length, so contiguous
  CHECK(data::region_of(r, 128).bytes() == 128);
}

TEST_CASE("rows and columns at a border are sides, others are slabs") {
  const core::data_object o = square(64, 32);
  const auto row = [&](std::uint64_t first, std::uint64_t count) {
    return data::kind_of(o, {first * 256, (first + count) * 256, 0, 0});
  };
  const auto column = [&](std::uint64_t first, std::uint64_t count) {
    return data::kind_of(o, {first * 8, 63 * 256 + (first + count) * 8, 256, count * 8});
  };
  CHECK(row(0, 1).kind == region_kind::low_side);
  CHECK(row(1, 1).kind == region_kind::low_side);
  CHECK(row(2, 1).kind == region_kind::slab);
  CHECK(row(62, 2).kind == region_kind::high_side);
  CHECK(row(62, 2).dimension == 0);
  CHECK(row(8, 16).kind == region_kind::slab);
  CHECK(row(0, 64).kind == region_kind::whole);
  CHECK(row(0, 60).kind == region_kind::part);
  CHECK(column(0, 1).kind == region_kind::low_side);
  CHECK(column(0, 1).dimension == 1);
  CHECK(column(30, 1).kind == region_kind::high_side);
  CHECK(column(10, 2).kind == region_kind::slab);
  CHECK(data::kind_of(o, {256 + 8, 256 + 31 * 8, 0, 0}).kind == region_kind::low_side);  // a row without its corners
  CHECK(data::kind_of(o, {0, 8, 0, 0}).kind == region_kind::part);
  CHECK(data::kind_of(o, {0, 0, 0, 0}).kind == region_kind::part);
}

TEST_CASE("a kind travels as a number") {
  const data::kind_of_region k{region_kind::high_side, 2};
  CHECK(data::kind_of_region::from(k.code()).kind == k.kind);
  CHECK(data::kind_of_region::from(k.code()).dimension == k.dimension);
}

TEST_CASE("a list of pieces is cut where the region ends") {
  const whywait::core::byte_list::piece pieces[] = {{0, 3}, {5, 6}, {10, 14}};
  const whywait::core::byte_list list{pieces, 3, 8};
  for (std::uint64_t end = 0; end != 20; ++end) {
    CAPTURE(end);
    whywait::core::data_record r;
    r.op = whywait::core::data_op::send;
    r.flags = whywait::core::data_flag::listed;
    r.stride = reinterpret_cast<std::uintptr_t>(&list);
    r.begin = 100;
    r.end = 100 + std::min<std::uint64_t>(end, 14);
    const auto cut = whywait::data::region_of(r, 1000);
    CHECK_FALSE(cut.contiguous());
    std::uint64_t bytes = 0, visited = 0;
    for (const auto& p : pieces)
      for (std::uint64_t b = p.begin; b != p.end; ++b) bytes += b < end ? 1 : 0;
    std::uint64_t count = 0;
    whywait::data::for_each_piece(cut, [&](std::uint64_t from, std::uint64_t to) {
      CHECK(from == 100 + pieces[count].begin);
      CHECK(to == 100 + std::min(pieces[count].end, end));
      visited += to - from;
      ++count;
    });
    CHECK(visited == bytes);
    CHECK(cut.bytes() == bytes);
    CHECK(cut.pieces() == count);
    CHECK(whywait::data::region_of(r, 103).bytes() == std::min<std::uint64_t>(bytes, 3));
    r.op = whywait::core::data_op::write;  // for writes, the same bit means update
    CHECK(r.list() == nullptr);
  }
}
