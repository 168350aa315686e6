#include <whywait/models/parallel.hpp>
#include <whywait/models/solve.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
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
  for (std::size_t k = 0; k != fluid.parallelism.size(); ++k)
    CHECK(std::fabs(fluid.parallelism[k] - ours.parallelism[k]) < 1e-12);
}

TEST_CASE("the minimum of gamma times is continuous from exponential to constant") {
  CHECK(near(minimum_of(1, 1, 1, 1).mean, 0.5, 1e-13));
  CHECK(near(minimum_of(2, 1, 3, 1).mean, 1.2, 1e-13));
  CHECK(near(minimum_of(2, 1, 3, 1).square, 2 * 1.2 * 1.2, 1e-13));
  CHECK(near(minimum_of(2, 0, 3, 0).mean, 2.0));
  CHECK(near(minimum_of(1, 0, 1, 1).mean, 1.0 - std::exp(-1.0), 1e-12));
  // on both sides of the limits between the formulas
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
