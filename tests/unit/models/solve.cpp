#include <whywait/models/layered.hpp>
#include <whywait/models/lump.hpp>
#include <whywait/models/solve.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using test::near;
using test::number_of_error;

namespace {

environment own(std::size_t classes = 1) { return {machine::servers_for_all(std::vector<double>(classes, 1.0)), {}}; }

control_graph looping(const std::string& again, const std::string& leave) {
  return control_graph().add("i", "a").add("a", "b", "i+b").add("b", "a|" + again + "+x|" + leave, "a").add("x", "", "b");
}

}  // namespace

TEST_CASE("a loop that is left once in 2^50 trips keeps its digits") {
  const double trips = std::ldexp(1.0, 50);
  const solution s = solve(generate(compile(looping("1125899906842623/1125899906842624", "1/1125899906842624"))), own());
  CHECK(near(s.mean, 2.0 + 2.0 * trips, 1e-12));
  CHECK(near(s.tasks[0], 2.0 + 2.0 * trips, 1e-12));
  // two exponential tasks per trip, a geometric number of trips
  CHECK(near(s.variance, 2.0 + 2.0 * trips + (trips * trips - trips) * 4.0, 1e-12));
}

TEST_CASE("iteration and tearing agree") {
  // a grid of states that lead back: three loops side by side
  control_graph g;
  for (const char* k : {"1", "2", "3"})
    g.add(std::string("a") + k, std::string("b") + k, std::string("b") + k)
        .add(std::string("b") + k, std::string("a") + k + "|3/4+x" + k + "|1/4", std::string("a") + k)
        .add(std::string("x") + k, "", std::string("b") + k);
  g.start = {"a1", "a2", "a3"};
  const chain c = generate(compile(g));
  solve_options sweeps;
  sweeps.most_feedback = 0;
  const environment e{machine::table({1.0, 1.6, 1.9}), {}};
  const solution torn = solve(c, e), swept = solve(c, e, sweeps);
  CHECK(torn.error <= 0.0);
  CHECK(swept.error > 0.0);
  CHECK(near(torn.mean, swept.mean, 1e-11));
  CHECK(near(torn.variance, swept.variance, 1e-10));
  CHECK(near(torn.gradient[0], torn.mean, 1e-12));
}

TEST_CASE("the gradients sum to the mean and match differences") {
  control_graph g = control_graph()
                        .add("s", "a.b.c", "", "x")
                        .add("a", "d", "s", "y")
                        .add("b", "d", "s", "z")
                        .add("c", "e|1/3", "s", "x")
                        .add("d", "", "a.b", "y")
                        .add("e", "", "c", "z");
  const chain c = generate(compile(g));
  const std::vector<double> mean{1.3, 0.7, 2.1};
  const solution s = solve(c, {machine::servers_for_all(mean), {}});
  double sum = 0.0;
  for (std::size_t k = 0; k != mean.size(); ++k) {
    std::vector<double> up = mean, down = mean;
    up[k] *= std::exp(1e-5);
    down[k] *= std::exp(-1e-5);
    const double slope =
        (solve(c, {machine::servers_for_all(up), {}}).mean - solve(c, {machine::servers_for_all(down), {}}).mean) / 2e-5;
    CHECK(near(slope, s.gradient[k], 1e-8));
    sum += s.gradient[k];
  }
  CHECK(near(sum, s.mean, 1e-13));
}

TEST_CASE("one structure serves every machine") {
  const chain c = generate(compile(control_graph().add("a", "").add("b", "").add("c", "")));
  CHECK(near(solve(c, own()).mean, 11.0 / 6.0));
  CHECK(near(solve(c, {machine::table({1.0}), {}}).mean, 3.0));
  CHECK(number_of_error([&] { solve(c, own(2)); }) == "whywait-P015");
}

TEST_CASE("a program that cannot end is refused") {
  const control_graph g = control_graph().add("i", "a").add("a", "b", "i+b").add("b", "a", "a");
  CHECK(number_of_error([&] { solve(generate(compile(g)), own()); }) == "whywait-P016");
}

TEST_CASE("an unbounded program needs a cap, whose probability is reported") {
  const control_graph g = [] {
    control_graph x = control_graph().add("A", "A|9/10 . B", "A").add("B", "", "A");
    x.start = {"A"};
    return x;
  }();
  chain_options few;
  few.most_states = 1000;
  CHECK(number_of_error([&] { generate(compile(g), few); }) == "whywait-P012");
  few.most_tasks = 3;
  const solution s = solve(generate(compile(g), few), {machine::table({1.0}), {}});
  CHECK(s.capped > 0.01);
  CHECK(s.capped < 1.0);
}

TEST_CASE("a fork whose tasks start twice holds two instances in one state") {
  control_graph g = control_graph().add("a", "");
  g.start = {"a", "a", "a"};
  const solution s = solve(generate(compile(g)), own());
  CHECK(s.states == 3);
  CHECK(near(s.mean, 11.0 / 6.0));
  CHECK(near(solve_layered(compile(g), own()).mean, 11.0 / 6.0));
}

TEST_CASE("immediate nodes at the start may begin in several states, or end at once") {
  const control_graph g = control_graph().add_immediate("s", "a|1/2+b|1/4+(a.b)|1/4").add("a", "", "s").add("b", "", "s");
  const program p = compile(g);
  const solution s = solve(generate(p), own());
  CHECK(near(s.mean, 0.75 + 0.25 * 1.5));
  CHECK(near(solve_layered(p, own()).mean, s.mean));
  const control_graph nothing = control_graph().add_immediate("s", "a|1/2").add("a", "", "s");
  CHECK(near(solve(generate(compile(nothing)), own()).mean, 0.5));
}

TEST_CASE("a loop has no layers") {
  CHECK(number_of_error([] { solve_layered(compile(looping("1/2", "1/2")), own()); }) == "whywait-P020");
}

TEST_CASE("a machine with fewer classes or customers is refused") {
  const program p = compile(control_graph().add("a", "", "", "x").add("b", "", "", "y"));
  CHECK(number_of_error([&] { solve_layered(p, own()); }) == "whywait-P015");
}
