#include <whywait/base/vector.hpp>
#include <whywait/core/path_folder.hpp>
#include <whywait/explain/engine.hpp>
#include <whywait/explain/path_between.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>

using namespace histories;

namespace {

/// The path order of one rank, folded segment by segment like in the recorder.
class ordered {
 public:
  explicit ordered(std::uint32_t most = 4096) { REQUIRE(folder_.open(most)); }
  ~ordered() { folder_.release(); }
  ordered(const ordered&) = delete;
  ordered& operator=(const ordered&) = delete;

  void before(std::uint32_t record, const std::function<void(core::path_folder&)>& run) {
    run(folder_);
    core::order_segment s{nodes_.size(), 0, record, folder_.lost()};
    folder_.finish([this](const core::order_node& n) { nodes_.push_back(n); });
    s.nodes = static_cast<std::uint32_t>(nodes_.size() - s.first);
    segments_.push_back(s);
  }
  explain::rank_history view(rank_data& data, int ranks) {
    explain::rank_history h = data.view(ranks);
    chunk_ = nodes_.data();
    segment_chunk_ = segments_.data();
    h.locations[0].order_nodes = {&chunk_, 63, nodes_.size()};
    h.locations[0].order = {&segment_chunk_, 63, segments_.size()};
    return h;
  }

 private:
  core::path_folder folder_;
  whywait::base::vector<core::order_node> nodes_;
  whywait::base::vector<core::order_segment> segments_;
  const core::order_node* chunk_ = nullptr;
  const core::order_segment* segment_chunk_ = nullptr;
};

std::string name_of(core::stable_key key) {
  for (const char* known : {"compute", "pack", "refine", "outer", "MPI_Send", "MPI_Recv", "MPI_Barrier", "MPI_Isend"})
    if (core::key_of(known) == key) return known;
  return "?";
}

// Formats as "compute:50 2x(pack:3 MPI_Send:1)".
std::string text(const whywait::base::vector<explain::picture_node>& nodes, std::size_t first, std::size_t last) {
  std::string out;
  for (std::size_t at = first; at != last; at += nodes[at].body + 1) {
    const explain::picture_node& n = nodes[at];
    if (!out.empty()) out += ' ';
    if (n.count != 1) out += std::to_string(n.count) + "x";
    if (n.continued) out += "..";
    if (n.what == explain::ran::unmarked) out += "unmarked";
    else if (n.what == explain::ran::unordered) out += "unordered";
    else if (n.what != explain::ran::loop) out += name_of(n.key);
    if (n.body != 0) out += "(" + text(nodes, at + 1, at + 1 + n.body) + ")";
    if (n.unfinished) out += "..";
    if (n.what != explain::ran::step && n.what != explain::ran::loop) out += ":" + std::to_string(n.ns);
  }
  return out;
}
std::string text(const explain::picture_side& side) { return text(side.nodes, 0, side.nodes.size()); }

void timed(core::path_folder& f, std::uint32_t block, std::uint64_t ticks) {
  f.enter(block);
  f.spend(ticks);
  f.leave();
}

}  // namespace

TEST_CASE("a column holds all blocks and calls between two instants, with loops folded across segments") {
  rank_data data(0, 2);
  const std::uint32_t compute = data.number("compute"), refine = data.number("refine"), pack = data.number("pack");
  ordered order;
  std::uint64_t now = 0;
  for (int i = 0; i < 10; ++i) {  // compute{refine x4} 50, pack 3, then a send of 7
    order.before(static_cast<std::uint32_t>(i), [&](core::path_folder& f) {
      f.enter(compute);
      f.spend(50);
      for (int k = 0; k < 4; ++k) f.step(refine);
      f.leave();
      timed(f, pack, 3);
    });
    data.step("compute", 50);
    data.step("refine", 0, 4, 0, "compute");
    data.step("pack", 3);
    now += 53;
    data.send(now, now + 7, 1);
    now += 7;
  }
  data.end_ns = static_cast<std::int64_t>(now);
  const explain::rank_history rank = order.view(data, 2);

  // everything before the last send, which is nine rounds and part of the tenth
  CHECK(text(explain::path_between(rank, 0, INT64_MIN, 9)) ==
        "9x(compute(4xrefine):450 pack:27 MPI_Send:63) compute(4xrefine):50 pack:3");
  // the third record begins at 2 * 60 + 53; everything before it is common
  const explain::picture_side side = explain::path_between(rank, 0, 2 * 60 + 53, 5);
  CHECK(text(side) == "2x(compute(4xrefine):100 pack:6 MPI_Send:14) compute(4xrefine):50 pack:3");
  CHECK_FALSE(side.cut);
  CHECK(text(explain::path_between(rank, 0, INT64_MIN, 0)) == "compute(4xrefine):50 pack:3");
  CHECK(explain::path_between(rank, 0, INT64_MIN, 10).nodes.empty());  // no such record
  CHECK(explain::path_between(rank, 7, INT64_MIN, 0).nodes.empty());   // no such location
}

TEST_CASE("regions around calls go on across them, also where nothing else happened") {
  rank_data data(0, 2);
  const std::uint32_t outer = data.number("outer"), pack = data.number("pack");
  ordered order;
  order.before(0, [&](core::path_folder& f) {
    f.enter(outer);
    f.spend(10);
  });
  data.step("outer", 10);
  data.send(10, 12, 1);
  data.step("outer", 5, 0);  // without an event there is no segment
  data.send(17, 20, 1);
  order.before(2, [&](core::path_folder& f) {
    f.enter(outer, core::order_flag::region | core::order_flag::continued);
    timed(f, pack, 4);
    f.spend(1);
    f.leave();
  });
  data.step("outer", 1, 0);
  data.step("pack", 4);
  data.receive(27, 40, 1);  // 2 of the 7 ticks before it are outside any region
  const explain::rank_history rank = order.view(data, 2);
  CHECK(text(explain::path_between(rank, 0, INT64_MIN, 2)) == "outer(2xMPI_Send:5 pack:4):25 unmarked:2");
  // from the second call on, the begin of `outer` is unknown
  CHECK(text(explain::path_between(rank, 0, 10, 1)) == "..outer..:5");
  CHECK(text(explain::path_between(rank, 0, 10, 2)) == "..outer..:5 MPI_Send:3 ..outer(pack:4):5 unmarked:2");
}

TEST_CASE("without an order the picture shows counts and marks them as unordered") {
  rank_data data(0, 2);
  const std::uint32_t compute = data.number("compute");
  ordered order(4);
  data.step("compute", 60, 6);
  data.step("refine", 0, 9, 0, "compute");
  data.send(60, 61, 1);  // the segment was dropped for lack of memory
  order.before(1, [&](core::path_folder& f) {
    timed(f, compute, 10);
    for (std::uint32_t other = 100; other < 110; ++other) f.step(other);  // more than fits
  });
  data.step("compute", 30, 3);
  data.step("pack", 5, 1);
  data.receive(96, 100, 1);
  const explain::rank_history rank = order.view(data, 2);
  CHECK(text(explain::path_between(rank, 0, INT64_MIN, 0)) == "unordered(6xcompute:60 9xrefine):60");
  CHECK(text(explain::path_between(rank, 0, 60, 1)) == "compute:10 ? ? ? unordered(2xcompute:20 pack:5):25");
}

TEST_CASE("compiler-counted code is shown by lines") {
  rank_data data(0, 2);
  const std::uint32_t outer = data.number("outer"), code = core::site_table::capacity;
  explain::counted_code lines;  // counters 1 and 3 are of one line, 2 of another, 5 of a third; 4 has none
  lines.add(code + 1, {{core::key_of("compute"), 1}}, code + 1);
  lines.add(code + 2, {{core::key_of("pack"), 1}}, code + 2);
  lines.add(code + 3, {{core::key_of("not told"), 1}}, code + 1);
  lines.add(code + 4, {});
  lines.add(code + 5, {{core::key_of("refine"), 1}}, code + 5);
  ordered order;
  order.before(0, [&](core::path_folder& f) {
    for (int i = 0; i < 3; ++i) f.step(code + 1);
    f.step(code + 3);  // the same line, visited 3 times, not 4
    for (int i = 0; i < 10; ++i) {  // a loop of one line
      f.step(code + 5);
      f.step(code + 4);
    }
    f.enter(outer);
    for (int i = 0; i < 7; ++i) {  // a loop of two lines
      f.step(code + 1);
      f.step(code + 3);
      f.step(code + 4);
      f.step(code + 2);
    }
    f.spend(40);
    f.leave();
    for (int i = 0; i < 20; ++i) f.step(code + 4);  // has no line
    for (int i = 0; i < 5; ++i) {
      f.step(code + 4);
      f.step(code + 6);
    }
    f.step(code + 2);
  });
  data.step("outer", 40);
  data.send(40, 41, 1);
  explain::rank_history rank = order.view(data, 2);
  rank.code = lines;
  CHECK(text(explain::path_between(rank, 0, INT64_MIN, 0)) == "3xcompute 10xrefine outer(7x(compute pack)):40 pack");
}

TEST_CASE("each class keeps its longest wait, with ranks, calls and the last common instant") {
  run r(2);
  std::uint64_t late = 0, early = 0;
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t work = i == 3 ? 900 : 500;
    r[0].step("compute", work);
    late += work;
    r[0].send(late, late + 10, 1);
    late += 10;
    r[1].step("compute", 100);
    early += 100;
    r[1].receive(early, late, 0);
    early = late;
  }
  r[0].end_ns = r[1].end_ns = static_cast<std::int64_t>(late);
  const explain::outcome out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].count == 5);
  const explain::wait_sample& longest = out.waits[0].longest;
  CHECK(longest.wait_ns == out.waits[0].longest_ns);
  CHECK(longest.rank == 1);
  CHECK(longest.record == 3);
  CHECK(longest.causer_rank == 0);
  CHECK(longest.causer_record == 3);
  CHECK(longest.since_ns == 2 * 510 + 500);  // begin of the third send, for which the receiver waited
  // each interval therefore is the round since then
  const whywait::base::vector<explain::rank_history> ranks = r.views();
  CHECK(text(explain::path_between(ranks[0], 0, longest.since_ns, 3)) == "unordered(compute:900):900");
}
