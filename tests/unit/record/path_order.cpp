#include <whywait/record/path_order_recorder.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

using namespace whywait;
namespace flag = core::order_flag;

namespace {

/// The parts of a location that path_order reads, which are its records and open regions.
struct hand_made {
  struct open_regions {
    std::vector<std::uint32_t> open;
    std::uint32_t depth() const noexcept { return static_cast<std::uint32_t>(open.size()); }
    std::uint32_t open_region(std::uint32_t level) const noexcept { return open[level]; }
  } path;
  core::event_buffer<core::sync_record> syncs;
  core::memory_budget budget, small;
  record::path_order order;

  explicit hand_made(std::uint64_t bytes = ~std::uint64_t(0)) {
    small.limit(bytes);
    REQUIRE(syncs.open(budget));
    REQUIRE(order.open(small));
  }
  ~hand_made() {
    order.release();
    syncs.release();
  }
  void enter(std::uint32_t block, std::uint64_t now) {
    order.enter(*this, block, now);
    path.open.push_back(block);
  }
  void leave(std::uint64_t now) {
    order.leave(*this, now);
    if (!path.open.empty()) path.open.pop_back();
  }
  void visit(std::uint32_t block) { order.visit(*this, block); }
  void call(std::uint64_t begin, std::uint64_t duration) {
    core::sync_record r{};
    r.begin = begin;
    r.duration = duration;
    syncs.push(r);
  }

  std::string text(std::uint64_t segment) const {
    const core::order_segment s = order.segments()[segment];
    return std::to_string(s.record) + ": " + text(s.first, s.first + s.nodes);
  }
  std::string text(std::uint64_t first, std::uint64_t last) const {
    std::string out;
    for (std::uint64_t at = first; at != last; at += order.nodes()[at].body + 1) {
      const core::order_node n = order.nodes()[at];
      if (!out.empty()) out += ' ';
      if (n.count != 1) out += std::to_string(n.count) + "x";
      if (n.is(flag::continued)) out += "..";
      if (!n.is_loop()) out += std::to_string(n.number());
      if (n.body != 0) out += "(" + text(at + 1, at + 1 + n.body) + ")";
      if (n.is(flag::unfinished)) out += "..";
      if (n.is(flag::region)) out += "=" + std::to_string(static_cast<long>(n.ticks));
    }
    return out;
  }
};

}  // namespace

TEST_CASE("segments are cut at records without a notification") {
  hand_made here;
  here.enter(1, 100);
  here.visit(7);
  here.visit(7);
  here.call(110, 5);
  here.enter(2, 120);
  here.leave(127);
  here.call(130, 10);
  here.call(140, 10);  // empty segment
  here.visit(8);
  here.leave(160);
  here.visit(9);
  CHECK(here.order.segments().size() == 2);
  here.order.flush(here);
  CHECK(here.order.segments().size() == 2);  // no record ends the third segment
  here.call(170, 1);
  here.order.flush(here);
  here.order.flush(here);
  REQUIRE(here.order.segments().size() == 3);
  CHECK(here.text(0) == "0: 1(2x7)..=10");
  CHECK(here.text(1) == "1: ..1(2=7)..=8");
  CHECK(here.text(2) == "3: ..1(8)=10 9");
  CHECK(here.order.lost_segments() == 0);
}

TEST_CASE("a path longer than its bound is cut and the rest counted") {
  hand_made here;
  for (std::uint32_t i = 1; i <= record::path_order::most_nodes + 100; ++i) here.visit(i);
  here.call(10, 1);
  here.visit(5);
  here.call(20, 1);
  here.order.flush(here);
  REQUIRE(here.order.segments().size() == 2);
  CHECK(here.order.segments()[0].nodes == record::path_order::most_nodes);
  CHECK(here.order.segments()[0].lost == 100);
  CHECK(here.text(1) == "1: 5");
}

TEST_CASE("when memory is used up segments are lost, counted, and never torn") {
  hand_made here(4 * (1u << 16));
  std::uint32_t records = 0;
  for (; records < 20000; ++records) {
    here.visit(1 + records % 3);
    here.visit(4 + records % 5);
    here.call(10 * (records + 1), 1);
  }
  here.order.flush(here);
  CHECK(here.order.lost_segments() > 0);
  CHECK(here.order.segments().size() + here.order.lost_segments() == records);
  for (std::uint64_t i = 0; i < here.order.segments().size(); ++i) {
    const core::order_segment s = here.order.segments()[i];
    REQUIRE(s.record == i);
    REQUIRE(s.nodes == 2);
    REQUIRE(here.order.nodes()[s.first].number() == 1 + i % 3);
    REQUIRE(here.order.nodes()[s.first + 1].number() == 4 + i % 5);
  }
}

TEST_CASE("an end without an open region leaves no trace in the order") {
  hand_made here;
  here.leave(5);
  here.visit(3);
  here.call(10, 1);
  here.order.flush(here);
  REQUIRE(here.order.segments().size() == 1);
  CHECK(here.text(0) == "0: 3");
  CHECK(here.order.segments()[0].lost == 0);
}

TEST_CASE("after the records were taken, segments are counted from the first again") {
  hand_made here;
  for (std::uint64_t t = 0; t != 300; t += 100) {
    here.enter(1, t);
    here.leave(t + 50);
    here.call(t + 50, 10);
  }
  here.order.flush(here);
  REQUIRE(here.order.segments().size() == 3);
  CHECK(here.order.used_bytes() > 0);
  here.syncs.rewind();
  here.order.rewind(here);
  CHECK(here.order.segments().size() == 0);
  CHECK(here.order.nodes().size() == 0);
  CHECK(here.order.used_bytes() == 0);
  here.enter(2, 1000);
  here.leave(1070);
  here.call(1070, 10);
  here.order.flush(here);
  REQUIRE(here.order.segments().size() == 1);
  CHECK(here.text(0).substr(0, 4) == "0: 2");
}
