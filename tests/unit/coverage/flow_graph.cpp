#include <whywait/base/vector.hpp>
#include <whywait/coverage/names/flow_graph.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <random>

namespace coverage = whywait::coverage;

namespace {

using coverage::counter_form;
using coverage::flow_graph;
using coverage::line_group;

std::int64_t value(const counter_form& form, const whywait::base::vector<std::int64_t>& counters) {
  std::int64_t sum = 0;
  for (const auto& [counter, factor] : form) sum += factor * counters[counter];
  return sum;
}

// entry 0 -> 2 (line 1) -> 3 (line 2, test) -> 4 (line 3, body) -> 3; 3 -> 5 (line 4) -> exit 1
flow_graph loop() {
  flow_graph f;
  f.blocks.resize(6);
  f.blocks[2].lines = {1};
  f.blocks[3].lines = {2};
  f.blocks[4].lines = {3, 2};
  f.blocks[5].lines = {4};
  f.arcs = {{0, 2, true, false},  {2, 3, false, false}, {3, 4, true, false},
            {3, 5, false, false}, {4, 3, false, false}, {5, 1, false, false}};
  return f;
}

}  // namespace

TEST_CASE("a loop counts its iterations, and the code around it counts calls") {
  const whywait::base::vector<line_group> lines = coverage::lines_of(loop());
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].first_line == 1);
  CHECK_FALSE(lines[0].loop);
  CHECK(value(lines[0].visits, {3, 70}) == 3);
  CHECK(lines[1].first_line == 2);
  CHECK(lines[1].last_line == 3);
  CHECK(lines[1].loop);
  CHECK(value(lines[1].visits, {3, 70}) == 70);
}

TEST_CASE("lines that run equally often are one group, named by their longest run") {
  flow_graph f = loop();
  f.blocks[2].lines = {1};
  f.blocks[5].lines = {4, 5, 6};
  const whywait::base::vector<line_group> lines = coverage::lines_of(f);
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].first_line == 4);
  CHECK(lines[1].last_line == 6);
}

TEST_CASE("a call that has not returned leaves over its fake arc") {
  // entry -> 2 (call) -> 3 -> exit, 2 -> exit by the fake arc; counters: entry, 2 -> 3
  flow_graph f;
  f.blocks.resize(4);
  f.blocks[2].lines = {1};
  f.blocks[3].lines = {2};
  f.arcs = {{0, 2, true, false}, {2, 3, true, false}, {2, 1, false, true}, {3, 1, false, false}};
  const whywait::base::vector<line_group> lines = coverage::lines_of(f);
  REQUIRE(lines.size() == 2);
  CHECK(value(lines[0].visits, {5, 4}) == 5);
  CHECK(value(lines[1].visits, {5, 4}) == 4);
}

TEST_CASE("inner loops are deeper") {
  // 2 -> 3 (head) -> 4 (inner head and body) -> 4 | 5 -> 3 | 6
  flow_graph f;
  f.blocks.resize(7);
  f.arcs = {{0, 2, true, false}, {2, 3, false, false}, {3, 4, true, false},  {3, 6, false, false},
            {4, 4, true, false}, {4, 5, false, false}, {5, 3, false, false}, {6, 1, false, false}};
  const coverage::detail::loop_depths depths(f);
  CHECK(depths.depth == coverage::detail::number_list{0, 0, 0, 1, 2, 1, 0});
}

TEST_CASE("in random flow graphs every block's form equals the counts of a random walk") {
  const unsigned seed = std::random_device()();
  std::printf("seed %u\n", seed);
  std::mt19937 engine(seed);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int trial = 0; trial < 300; ++trial) {
    const std::uint32_t n = 3 + random() % 20;
    flow_graph f;
    f.blocks.resize(n);
    for (std::uint32_t b = 0; b != n; ++b) f.blocks[b].lines = {static_cast<int>(b) + 1};
    // each block has an arc to a later one, so that every walk ends, and random arcs; the last one leads to the exit
    const auto add = [&](std::uint32_t from, std::uint32_t to) { f.arcs.push_back({from, to, true, false}); };
    add(0, 2);
    for (std::uint32_t b = 2; b != n; ++b) {
      add(b, b + 1 == n ? 1 : b + 1 + random() % (n - b - 1));
      for (std::uint32_t more = random() % 3; more != 0; --more) add(b, 2 + random() % (n - 2));
    }
    // the arcs of a spanning tree that contains the arc from exit to entry need no counters
    whywait::base::vector<std::uint32_t> group(n);
    for (std::uint32_t b = 0; b != n; ++b) group[b] = b;
    const auto join = [&](std::uint32_t a, std::uint32_t b) {
      if (group[a] == group[b]) return false;
      const std::uint32_t old = group[a], kept = group[b];
      for (std::uint32_t& g : group)
        if (g == old) g = kept;
      return true;
    };
    join(0, 1);
    for (flow_graph::arc& a : f.arcs) a.counted = random() % 2 != 0 || !join(a.from, a.to);
    for (flow_graph::arc& a : f.arcs)
      if (a.counted && join(a.from, a.to)) a.counted = false;

    whywait::base::vector<std::int64_t> visits(n), taken(f.arcs.size());
    for (int walk = 0; walk < 5; ++walk) {
      std::uint32_t at = 0;
      for (int step = 0; at != 1; ++step) {
        ++visits[at];
        whywait::base::vector<std::uint32_t> out;
        for (std::uint32_t a = 0; a != f.arcs.size(); ++a)
          if (f.arcs[a].from == at) out.push_back(a);
        const std::uint32_t way = step > 200 ? out[0] : out[random() % out.size()];
        ++taken[way];
        at = f.arcs[way].to;
      }
      ++visits[1];
    }
    whywait::base::vector<std::int64_t> counters;
    for (std::size_t a = 0; a != f.arcs.size(); ++a)
      if (f.arcs[a].counted) counters.push_back(taken[a]);
    const coverage::detail::flow_solver solver(f);
    for (std::uint32_t b = 0; b != n; ++b) {
      if (!solver.solved(b)) {
        CHECK_MESSAGE(false, "trial " << trial << " block " << b << " is not solved");
      } else {
        CHECK(value(solver.count(b), counters) == visits[b]);
      }
    }
  }
}
