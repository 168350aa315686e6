#include "ranks.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/footprint.hpp>

#include <doctest/doctest.h>

#include <random>
#include <set>

using namespace ranks;

TEST_CASE("a region of a part is the right elements of the whole array") {
  for (std::uint64_t seed = 1; seed != 300; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&random](std::uint64_t low, std::uint64_t high) {
      return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
    };
    core::data_object o;
    o.key = 1;
    o.element_bytes = static_cast<std::uint32_t>(pick(1, 2) * 4);
    o.dimensions = static_cast<std::uint16_t>(pick(1, 3));
    o.global = pick(0, 3) != 0;
    for (unsigned d = 0; d != o.dimensions; ++d) {
      o.extent[d] = pick(1, 6);
      o.first[d] = o.global ? pick(0, 3) : 0;
      o.whole[d] = o.first[d] + o.extent[d] + (o.global ? pick(0, 3) : 0);
      if (o.global && pick(0, 1) == 0) o.whole[d] = o.extent[d] + (o.first[d] = 0);
    }
    data::region r{pick(0, o.bytes() / 2) / 4 * 4, o.bytes() - pick(0, o.bytes() / 3), 0, 0};
    if (r.end < r.begin) r.end = r.begin;
    if (pick(0, 1) == 0) {
      r.stride = pick(2, 5) * o.element_bytes;
      r.piece = pick(1, 2) * o.element_bytes;
      r.begin = r.begin / o.element_bytes * o.element_bytes;
    }
    std::set<std::uint64_t> plain;
    for (std::uint64_t b = r.begin; b < r.end; ++b) {
      if (!r.contiguous() && (b - r.begin) % r.stride >= r.piece) continue;
      std::uint64_t local = b / o.element_bytes, global = 0, factor = 1;
      for (unsigned d = o.dimensions; d-- != 0;) {
        global += (local % o.extent[d] + (o.global ? o.first[d] : 0)) * factor;
        local /= o.extent[d];
        factor *= o.global ? o.whole[d] : o.extent[d];
      }
      plain.insert(global);
    }
    data::index_set set;
    data::for_each_run(o, r, [&set](const data::index_run& run) { set.add(run); });
    set.settle();
    REQUIRE(set.size() == plain.size());
    for (const std::uint64_t e : plain) CHECK(set.holds(e));
  }
}

TEST_CASE("a loop that runs a thousand times leaves one footprint, and it travels") {
  program p(2);
  const auto u = p.object("u", {32, 32}, 8);
  for (int step = 0; step != 1000; ++step) {
    for (std::uint64_t row = 1; row != 9; ++row) p.write(1, "update", u, {row * 512, row * 512 + 256, 0, 0});
    p.read(1, "update", u, {0, 512, 64, 8});
    p.add(1, core::data_op::iterations, "update", 0, {1, 9, 2, 0});
  }
  auto& data = p.finished();
  data::footprint_book book(data[1]);
  for (std::uint64_t i = 0; i != data[1].locations[0].records.size(); ++i) book.take(data[1].locations[0].records[i]);
  const auto& list = book.result();
  REQUIRE(list.size() == 3);
  CHECK(list[0].set.runs().size() == 1);
  CHECK(list[0].set.runs()[0] == data::index_run{64, 32, 64, 8});
  base::packet packet;
  data::pack_footprints(list, packet);
  whywait::base::vector<data::footprint> back;
  data::unpack_footprints(packet.data(), packet.size(), back);
  REQUIRE(back.size() == 3);
  for (std::size_t i = 0; i != 3; ++i) {
    CHECK(back[i].set == list[i].set);
    CHECK(back[i].kind == list[i].kind);
    CHECK(back[i].array == list[i].array);
    CHECK(back[i].space == list[i].space);
    CHECK(back[i].rank == 1);
  }
  CHECK(back[2].set.runs()[0] == data::index_run{1, 1, 2, 4});
}
