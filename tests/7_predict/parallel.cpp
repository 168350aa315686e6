#include <whywait/predict/parallel.hpp>
#include <whywait/predict/reduce.hpp>
#include <whywait/predict/solve.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace whywait::predict;
using test::near;

TEST_CASE("two exponential tasks in parallel are exact on every machine") {
  for (const machine& m : {machine::servers_for_all({1.0}), machine::table({1.0}), machine::table({0.25, 0.45, 0.6})}) {
    const segment t = task_segment(m), both = parallel(t, t, m);
    const solution truth = solve(generate(compile(control_graph().add("a", "").add("b", ""))), {m, {}});
    CHECK(near(both.mean, truth.mean));
    CHECK(near(both.tasks, 2.0));
    for (std::size_t k = 1; k != 3; ++k) CHECK(near(both.parallelism[k], truth.parallelism[k]));
  }
}

TEST_CASE("without variance the default rule is the report's") {
  const machine m = machine::table({0.25, 0.45, 0.6, 0.7, 0.75, 0.78});
  segment a{3, 9, 0, {0, .5, .5}}, b{5, 11, 0, {0, .2, .3, .5}};
  const segment fluid = parallel(a, b, m, parallel_rule::fluid), ours = parallel(a, b, m);
  CHECK(near(fluid.mean, ours.mean));
  for (std::size_t k = 0; k != fluid.parallelism.size(); ++k) CHECK(std::fabs(fluid.parallelism[k] - ours.parallelism[k]) < 1e-12);
}

TEST_CASE("the mean of the longest of many equal tasks is met for every variation") {
  // E[max of 64] by numerical integration of 1 - F^64 over gamma times: an independent way
  const machine own = machine::servers_for_all({1.0});
  for (const double cv2 : {1.0, 0.25, 0.04}) {
    const double shape = 1.0 / cv2, top = 1.0 + 14.0 * std::sqrt(cv2);
    double truth = 0.0;
    const int n = 20000;
    for (int i = 0; i != n; ++i) truth += top / n * (1.0 - std::pow(detail::gamma_function(shape, shape * top * (i + 0.5) / n), 64));
    const segment s = parallel(std::vector<segment>(64, task_segment(own, 1.0, cv2)), own);
    CHECK_MESSAGE(near(s.mean, truth, 0.003), "cv2 " << cv2 << ": " << s.mean << " against " << truth);
  }
}

TEST_CASE("the minimum of gamma times is continuous from exponential to constant") {
  using detail::minimum_of;
  CHECK(near(minimum_of(1, 1, 1, 1).mean, 0.5, 1e-13));
  CHECK(near(minimum_of(2, 1, 3, 1).mean, 1.2, 1e-13));
  CHECK(near(minimum_of(2, 1, 3, 1).square, 2 * 1.2 * 1.2, 1e-13));
  CHECK(near(minimum_of(2, 0, 3, 0).mean, 2.0));
  CHECK(near(minimum_of(1, 0, 1, 1).mean, 1.0 - std::exp(-1.0), 1e-12));
  // across the borders between the formulas
  CHECK(near(minimum_of(1.01, 0.99e-4, 1, 0.99e-4).mean, minimum_of(1.01, 1.01e-4, 1, 1.01e-4).mean, 1e-4));
  CHECK(near(minimum_of(1, 0.99e-6, 1, 0.5).mean, minimum_of(1, 1.01e-6, 1, 0.5).mean, 1e-6));
  CHECK(near(minimum_of(1, 1e-8, 1.0, 1e-8).mean, 1.0, 1e-4));
  for (const double cv2 : {2.0, 0.7, 0.1, 1e-3}) {
    const auto m = minimum_of(1.3, cv2, 1.7, cv2);
    CHECK(m.mean < 1.3);
    CHECK(m.mean > 0.0);
    CHECK(m.square >= m.mean * m.mean);
  }
}

TEST_CASE("the overlapped loop of figure 3.5(d) is close to its chain") {
  const machine own = machine::servers_for_all({1.0});
  const segment t = task_segment(own);
  CHECK(near(overlapped_loop(t, t, 0.5, own).mean, 3.1562993351983315, 0.02));
  CHECK(near(overlapped_loop(t, t, 0.5, own).tasks, 4.0, 1e-6));
  CHECK(overlapped_loop(t, t, 0.5, own, parallel_rule::fluid).mean < 3.1562993351983315);
  CHECK(near(overlapped_loop(t, t, 0.0, own).mean, 2.0));
}

namespace {

struct errors {
  std::vector<double> ours, fluid;
  double median(const std::vector<double>& e) const { return e[e.size() / 2]; }
};

errors against_chains(bool headed) {
  errors e;
  std::vector<double> four;
  for (std::size_t k = 1; k != 60; ++k) four.push_back(static_cast<double>(std::min<std::size_t>(k, 4)));
  const std::vector<double> cm{.238095, .427989, .580788, .704762, .806151, .889713, .959100, 1.017144, 1.066049, 1.107542, 1.142985, 1.17346};
  for (const machine& m : {machine::servers_for_all({1.0}), machine::table(four), machine::table(cm)}) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      detail::random_source random(seed * 7919);
      const composition c = test::random_program(random, 6 + static_cast<int>(seed % 20), headed);
      chain_options options;
      options.most_states = 20000;
      CAPTURE(seed);
      solution truth;
      try {
        solve_options quick;
        quick.backward = quick.populations = false;
        truth = solve(generate(compile(graph_of(c)), options), {m, {}}, quick);
      } catch (const prediction_error& x) {
        REQUIRE(x.code() == fault::too_many_states);
        continue;
      }
      const segment s = segment_of(c, m);
      CHECK(near(s.tasks, truth.tasks[0], 1e-8));
      e.ours.push_back(std::fabs(s.mean / truth.mean - 1.0));
      e.fluid.push_back(std::fabs(segment_of(c, m, parallel_rule::fluid).mean / truth.mean - 1.0));
      // the reduction finds the structure in the graph; it folds forks within forks in another order
      const reduction r = reduce(graph_of(c), m);
      CHECK(r.complete);
      CHECK(near(r.whole.mean, s.mean, headed ? 0.01 : 0.05));
    }
  }
  std::sort(e.ours.begin(), e.ours.end());
  std::sort(e.fluid.begin(), e.fluid.end());
  MESSAGE(e.ours.size() << std::string(headed ? " programs: " : " programs of forks within forks: ") << 100 * e.median(e.ours) << " % median, "
                        << 100 * e.ours.back() << " % worst; the report's rule " << 100 * e.median(e.fluid) << " %, " << 100 * e.fluid.back() << " %");
  return e;
}

}  // namespace

TEST_CASE("random structured programs: the default rule is within 0.3 % of the chain in the median and 2 % at worst") {
  const errors e = against_chains(true);
  REQUIRE(e.ours.size() > 100);
  CHECK(e.median(e.ours) < 0.003);
  CHECK(e.ours.back() < 0.02);
  CHECK(e.median(e.fluid) > 10.0 * e.median(e.ours));
}

TEST_CASE("forks within forks on few servers are the worst case, and still better than the report's rule") {
  const errors e = against_chains(false);
  REQUIRE(e.ours.size() > 100);
  CHECK(e.median(e.ours) < 0.003);
  CHECK(e.ours.back() < 0.08);
  CHECK(e.fluid.back() > 2.0 * e.ours.back());
}
