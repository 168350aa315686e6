#include <whywait/models/simulate.hpp>
#include <whywait/models/solve.hpp>

#include "support.hpp"

#include <doctest/doctest.h>

using namespace whywait::models;
using test::number_of_error;

namespace {

route through(std::size_t station, double mean, service_time::law how = service_time::law::exponential, double shape = 1.0) {
  return {{{station, {mean, how, shape}, 1.0, false}}};
}
simulation_options runs(std::uint64_t n) {
  simulation_options o;
  o.runs = n;
  o.seed = 42;
  return o;
}
program fork(int n) {
  control_graph g;
  for (int i = 0; i != n; ++i) g.add("t" + std::to_string(i), "");
  return compile(g);
}
void within(const simulation& s, double truth) {
  CHECK_MESSAGE(std::fabs(s.mean - truth) <= 2.0 * s.half_width + 1e-12,
                s.mean << " +- " << s.half_width << " against " << truth);
}

}  // namespace

TEST_CASE("queues, shared servers and delays give the known times") {
  detailed_machine m;
  m.stations = {{server_group::discipline::first_come, 1, "q"},
                {server_group::discipline::sharing, 1, "ps"},
                {server_group::discipline::delay, 1, "d"},
                {server_group::discipline::first_come, 3, "pool"},
                {server_group::discipline::sharing, 2, "ps2"}};
  m.tasks = {through(0, 1.0)};
  within(simulate(fork(4), m, runs(20000)), 4.0);
  m.tasks = {through(1, 1.0)};
  within(simulate(fork(4), m, runs(20000)), 4.0);
  m.tasks = {through(2, 1.0)};
  within(simulate(fork(4), m, runs(20000)), 25.0 / 12.0);
  m.tasks = {through(3, 1.0)};
  within(simulate(fork(5), m, runs(20000)), 1.0 / 3 + 1.0 / 3 + 1.0 / 3 + 0.5 + 1.0);
  m.tasks = {through(4, 1.0)};
  within(simulate(fork(5), m, runs(20000)), 0.5 * 4 + 1.0);
}

TEST_CASE("constant times share a server exactly") {
  detailed_machine m;
  m.stations = {{server_group::discipline::sharing, 1, "ps"}, {server_group::discipline::first_come, 1, "q"}};
  m.tasks = {through(0, 1.0, service_time::law::constant)};
  const simulation s = simulate(fork(3), m, runs(10));
  CHECK(s.mean == doctest::Approx(3.0));
  CHECK(s.variance == doctest::Approx(0.0));
  CHECK(s.parallelism[3] == doctest::Approx(1.0));
  m.tasks = {through(1, 1.0, service_time::law::constant)};
  CHECK(simulate(fork(3), m, runs(10)).parallelism[1] == doctest::Approx(1.0 / 3));
}

TEST_CASE("every law has the mean and the variation that it promises") {
  detailed_machine m;
  m.stations = {{server_group::discipline::delay, 1, "d"}};
  const struct {
    service_time::law how;
    double shape, cv2;
  } laws[] = {{service_time::law::exponential, 1, 1},
              {service_time::law::erlang, 4, 0.25},
              {service_time::law::hyper, 3, 3},
              {service_time::law::uniform, 0.5, 0.25 / 3}};
  for (const auto& l : laws) {
    m.tasks = {through(0, 2.0, l.how, l.shape)};
    const simulation s = simulate(fork(1), m, runs(200000));
    within(s, 2.0);
    CHECK(s.variance == doctest::Approx(4.0 * l.cv2).epsilon(0.03));
  }
}

TEST_CASE("equal seeds give equal results, different seeds different ones") {
  const environment e{machine::servers_for_all({1.0}), {}};
  simulation_options o = runs(100);
  const double first = simulate_reduced(fork(3), e, o).mean;
  CHECK_FALSE(simulate_reduced(fork(3), e, o).mean < first);
  CHECK_FALSE(simulate_reduced(fork(3), e, o).mean > first);
  o.seed = 43;
  CHECK(std::fabs(simulate_reduced(fork(3), e, o).mean - first) > 0.0);
}

TEST_CASE("routes without meaning are refused") {
  detailed_machine m;
  m.stations = {{server_group::discipline::delay, 1, "d"}};
  CHECK(number_of_error([&] { simulate(fork(1), m); }) == "whywait-P015");
  m.tasks = {through(7, 1.0)};
  CHECK(number_of_error([&] { simulate(fork(1), m); }) == "whywait-P021");
  m.tasks = {{{{0, {1.0}, 0.5, false}}}};
  CHECK(number_of_error([&] { simulate(fork(1), m); }) == "whywait-P021");
  m.tasks = {route()};
  CHECK(number_of_error([&] { simulate(fork(1), m); }) == "whywait-P021");
}

TEST_CASE("a run that does not end is cut off") {
  const program p = compile(control_graph().add("i", "a").add("a", "b", "i+b").add("b", "a", "a"));
  simulation_options o = runs(1);
  o.most_events = 1000;
  CHECK(number_of_error([&] { simulate_reduced(p, {machine::servers_for_all({1.0}), {}}, o); }) == "whywait-P016");
}
