#include <whywait/models/composition.hpp>
#include <whywait/models/segment.hpp>
#include <whywait/models/solve.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using test::near;
using test::number_of_error;

namespace {
const machine& shared() {
  static const machine m = machine::table({0.25, 0.45, 0.6, 0.7});
  return m;
}
solution exact(const composition& c) { return solve(generate(compile(graph_of(c))), {shared(), {}}); }
}  // namespace

TEST_CASE("sequence, choice and loops are exact in every moment") {
  const composition t = composition::task();
  const composition inner =
      composition::loop(composition::sequence({t, composition::choice({t, composition::sequence({t, t})}, {0.3, 0.7})}), 0.4);
  const composition whole = composition::sequence({t, composition::loop(composition::sequence({inner, t}), 0.75), t});
  const segment s = segment_of(whole, shared());
  const solution truth = exact(whole);
  CHECK(near(s.mean, truth.mean));
  CHECK(near(s.tasks, truth.tasks[0]));
  CHECK(near(s.variance, truth.variance));
}

TEST_CASE("a flowchart covers sequence, choice and loop") {
  const segment a = task_segment(shared()), b = task_segment(shared(), 2.0, 0.3);
  const segment chart = flowchart(std::vector<segment>{a, b}, {{0, 1, 0}, {0.6, 0, 0.4}});
  const segment tree = repeated(sequential(std::vector<segment>{a, b}), 0.6);
  CHECK(near(chart.mean, tree.mean));
  CHECK(near(chart.variance, tree.variance));
  CHECK(near(chart.tasks, tree.tasks));
  CHECK(number_of_error([&] { flowchart(std::vector<segment>{a}, {{1.0}}); }) == "whywait-P016");
  CHECK(number_of_error([&] { flowchart(std::vector<segment>{a}, {{1.1}}); }) == "whywait-P002");
}

TEST_CASE("a loop tested first may not run at all") {
  const segment a = task_segment(shared());
  CHECK(near(repeated(a, 0.75, true).tasks, 3.0));
  CHECK(near(repeated(a, 0.75).tasks, 4.0));
  CHECK(repeated(a, 0.0, true).mean <= 0.0);
  CHECK(number_of_error([&] { repeated(a, 1.0); }) == "whywait-P018");
}

TEST_CASE("several classes go through sequence, choice and loop") {
  control_graph g = control_graph().add("a", "b.c", "", "x").add("b", "", "a", "y").add("c", "", "a", "x");
  const environment e{machine::servers_for_all({1.0, 2.0}), {}};
  const class_segment s = class_segment_of(solve(generate(compile(g)), e));
  const class_segment twice = sequential(std::vector<class_segment>{s, s});
  CHECK(near(twice.tasks[0], 4.0));
  CHECK(near(twice.tasks[1], 2.0));
  double all = 0.0;
  for (const auto& p : twice.parallelism) all += p.second;
  CHECK(near(all, 1.0));
  CHECK(near(repeated(s, 0.5).mean, 2.0 * s.mean));
}

TEST_CASE("weights and tasks without meaning are refused") {
  const segment a = task_segment(shared());
  CHECK(number_of_error([&] { exclusive_or(std::vector<segment>{a, a}, {0.5, 0.4}); }) == "whywait-P003");
  CHECK(number_of_error([] { task_segment(shared(), -1.0); }) == "whywait-P018");
  CHECK(number_of_error([] { task_segment(machine::servers_for_all({1.0, 1.0})); }) == "whywait-P017");
}
