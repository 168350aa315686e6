#include <whywait/models/detail/token_board.hpp>
#include <whywait/models/learn.hpp>
#include <whywait/models/solve.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <deque>

using namespace whywait::models;

namespace {

/// Plays a graph and records the tokens; every destination has at most one AND of D.
std::vector<observed_task> play(const control_graph& g, const program& p, random_source& random) {
  std::vector<observed_task> seen;
  std::map<std::string, std::vector<std::string>> waiting;  // operands that have arrived
  std::deque<std::pair<std::uint32_t, std::vector<std::string>>> active;
  for (const std::uint32_t s : p.start) active.push_back({s, {}});
  detail::token_board board(p, random);
  while (!active.empty()) {
    const std::size_t pick = random.below(static_cast<std::uint32_t>(active.size()));
    const auto now = active[pick];
    active.erase(active.begin() + static_cast<std::ptrdiff_t>(pick));
    observed_task t{g.nodes[now.first].name, {}, now.second, random.exponential()};
    for (const token_delivery& d : board.choose(now.first).deliveries) {
      const graph_node& to = g.nodes[d.destination];
      t.sent.push_back(to.name);
      if (to.needs.find('.') == std::string::npos) {
        active.push_back({d.destination, {t.label}});
        continue;
      }
      std::vector<std::string>& have = waiting[to.name];
      have.push_back(t.label);
      std::size_t operands = 1;
      for (const char c : to.needs) operands += c == '.';
      if (have.size() != operands) continue;
      active.push_back({d.destination, have});
      have.clear();
    }
    seen.push_back(t);
  }
  return seen;
}

learned_program learned(const control_graph& g, std::size_t runs, std::uint64_t seed) {
  const program p = compile(g);
  random_source random(seed);
  std::vector<std::vector<observed_task>> all;
  for (std::size_t i = 0; i != runs; ++i) all.push_back(play(g, p, random));
  return learn(all);
}

double mean_of(const control_graph& g) { return solve(generate(compile(g)), {machine::servers_for_all({1.0}), {}}).mean; }

}  // namespace

TEST_CASE("figure 3.4 is recovered from its executions") {
  const control_graph g = control_graph()
                              .add("1", "(3|1/2+4|1/2)|1/3 . 5|3/4")
                              .add("2", "4|5/6+5|1/6")
                              .add("3", "", "1")
                              .add("4", "", "1.2")
                              .add("5", "", "1+2");
  double worst = 0.0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const learned_program l = learned(g, 3000, seed);
    CHECK(l.doubts.empty());
    worst = std::max(worst, std::fabs(mean_of(l.graph) / mean_of(g) - 1.0));
    for (const graph_node& n : l.graph.nodes) {
      if (n.name == "4") CHECK(n.needs == "1.2");
      if (n.name == "5") CHECK(n.needs == "1+2");
    }
  }
  CHECK_MESSAGE(worst < 0.015, worst);
}

TEST_CASE("process P with its loop is recovered") {
  const control_graph g = control_graph()
                              .add("1", "2")
                              .add("2", "3|1/3+4|1/3+5|1/3", "1+14")
                              .add("3", "12", "2")
                              .add("12", "14", "3")
                              .add("4", "6", "2")
                              .add("6", "9", "4")
                              .add("9", "14", "6")
                              .add("5", "7.8", "2")
                              .add("7", "13", "5")
                              .add("8", "10", "5")
                              .add("10", "11", "8")
                              .add("11", "13", "10")
                              .add("13", "14", "7.11")
                              .add("14", "2|1/10+15|9/10", "12+9+13")
                              .add("15", "", "14");
  const learned_program l = learned(g, 2000, 3);
  CHECK(l.doubts.empty());
  CHECK(std::fabs(mean_of(l.graph) / mean_of(g) - 1.0) < 0.03);
  for (std::size_t i = 0; i != l.graph.nodes.size(); ++i)
    if (l.graph.nodes[i].name == "2") CHECK(std::fabs(l.cv2[i] - 1.0) < 0.2);
}

TEST_CASE("independent arcs become AND with weights, dependent ones a list of sets") {
  const learned_program apart = learned(control_graph().add("1", "2|1/2.3|1/3").add("2", "", "1").add("3", "", "1"), 2000, 1);
  CHECK(apart.graph.nodes[0].enables.find('+') == std::string::npos);
  CHECK(apart.graph.nodes[0].enables.find('.') != std::string::npos);
  const control_graph g =
      control_graph().add("1", "(2.3)|1/4+4|1/2+2|1/4").add("2", "", "1").add("3", "", "1").add("4", "", "1");
  const learned_program list = learned(g, 4000, 1);
  CHECK(list.graph.nodes[0].enables.find('+') != std::string::npos);
  CHECK(std::fabs(mean_of(list.graph) / mean_of(g) - 1.0) < 0.02);
  const learned_program maybe = learned(control_graph().add("1", "2|1/4").add("2", "", "1"), 1000, 1);
  CHECK(std::fabs(mean_of(maybe.graph) - 1.25) < 0.05);
}

TEST_CASE("a set that never completed is named as a doubt") {
  observed_task a{"a", {"c"}, {}, 1.0}, b{"b", {"c"}, {}, 1.0}, c{"c", {}, {"a"}, 1.0};
  const learned_program l = learn({{a, b, c}});
  REQUIRE(l.doubts.size() == 1);
  CHECK(l.doubts[0].find("'b'") != std::string::npos);
  const learned_program never = learn({{a}});
  REQUIRE(never.doubts.size() == 1);
  CHECK(never.graph.nodes[0].enables.empty());
  CHECK(test::number_of_error([] { learn({}); }) == "whywait-P022");
}

TEST_CASE("a log becomes a graph: lines are loops, a barrier is an immediate node") {
  run_log log;
  const std::uint32_t step = log.label("step"), sync = log.label("MPI_Barrier"), end = log.label("end");
  for (std::uint32_t i = 0; i != 50; ++i) {
    sync_edge s{sync, {}, {}, 0.0};
    for (std::uint32_t l = 0; l != 2; ++l) {
      const place p = log.add(l, {step, 1.0, 0.0});
      s.in.push_back(p);
      s.out.push_back(p);
    }
    log.syncs.push_back(s);
  }
  for (std::uint32_t l = 0; l != 2; ++l) log.add(l, {end, 1.0, 0.0});
  const learned_program l = learn({observe(log)});
  const solution s = solve(generate(compile(l.graph)), {machine::servers_for_all({1.0}), {}});
  // 50 steps on average, each the longer of two, and the end
  CHECK(std::fabs(s.mean - 51 * 1.5) < 1.0);
}
