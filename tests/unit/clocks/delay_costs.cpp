#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/explain.hpp>

#include "../explain/reference_simulation.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace histories;

namespace {

explain::options with_costs() {
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  return settings;
}

const explain::delay_cost& cost_of(const explain::outcome& out, const std::string& block) {
  for (const auto& c : out.costs.blocks) {
    if (c.block == core::key_of(block.c_str())) return c;
  }
  throw std::out_of_range(block);
}

}  // namespace

TEST_CASE("oracle: a chain of three: c costs 1.75, a costs 6 and in the long term 5.25") {
  run r(3);  // hundredths
  r[0].step("a", 1000);
  r[0].send(1000, 1000, 1);
  r[1].step("a", 400);
  r[1].receive(400, 1000, 0);
  r[1].step("c", 200);
  r[1].send(1200, 1200, 2);
  r[2].step("a", 500);
  r[2].receive(500, 1200, 1);
  r[0].end_ns = 1000;
  r[1].end_ns = r[2].end_ns = 1200;
  const auto out = r.explain(with_costs());
  CHECK(cost_of(out, "c").short_ns == 175);
  CHECK(cost_of(out, "c").long_ns == 0);
  CHECK(cost_of(out, "a").short_ns == 600);
  CHECK(cost_of(out, "a").long_ns == 525);
  CHECK(out.costs.direct_ns == 775);
  CHECK(out.costs.indirect_ns == 525);
  CHECK(out.costs.propagating_ns == 600);
  CHECK(out.costs.terminal_ns == 700);
  CHECK(out.costs.nobody_ns == 0);
  CHECK(out.costs.blocks[0].block == core::key_of("a"));
}

TEST_CASE("at a barrier the last rank has the cost of all waits") {
  run r(3);
  r[0].step("a", 40);
  r[0].collective(mpi_call::Barrier, 40, 100);
  r[1].step("a", 70);
  r[1].collective(mpi_call::Barrier, 70, 100);
  r[2].step("a", 60);
  r[2].step("b", 40);
  r[2].collective(mpi_call::Barrier, 100, 100);
  for (int i = 0; i != 3; ++i) r[i].end_ns = 100;
  const auto out = r.explain(with_costs());
  // rank 0 waits 60, of which a 20 and b 40; rank 1 waits 30, which is b 40 scaled by 30/40
  CHECK(cost_of(out, "a").short_ns == 20);
  CHECK(cost_of(out, "b").short_ns == 70);
  CHECK(out.costs.direct_ns == 90);
  CHECK(out.costs.terminal_ns == 90);
}

TEST_CASE("blocks before the last common instant have no cost") {
  run r(2);
  for (int i = 0; i != 2; ++i) {
    r[i].step("before", i == 0 ? 100 : 20);
    r[i].collective(mpi_call::Barrier, i == 0 ? 100 : 20, 100);
  }
  r[0].step("early", 10);
  r[0].receive(110, 130, 1);
  r[1].step("after", 30);
  r[1].send(130, 130, 0);
  r[0].end_ns = r[1].end_ns = 130;
  const auto out = r.explain(with_costs());
  CHECK(cost_of(out, "before").short_ns == 80);
  CHECK(cost_of(out, "after").short_ns == 20);
  CHECK(out.costs.propagating_ns == 0);
}

TEST_CASE("costs are conserved: together they are all the waits") {
  std::int64_t long_term = 0;
  for (std::uint64_t seed = 1; seed <= repetitions(200u); ++seed) {
    CAPTURE(seed);
    reference::shape shape;
    shape.ranks = 2 + static_cast<int>(seed % 6);
    shape.events = 70;
    reference::program program(seed, shape);
    const auto out = program.histories().explain(with_costs());
    std::int64_t explained = 0, costs = out.costs.nobody_ns;
    for (const auto& w : program.histories().notes.waits) explained += w.explained ? w.wait_ns : 0;
    for (const auto& c : out.costs.blocks) {
      CHECK(c.short_ns >= 0);
      CHECK(c.long_ns >= 0);
      costs += c.short_ns + c.long_ns;
      long_term += c.long_ns;
    }
    const auto rounding = static_cast<double>(out.costs.blocks.size() + 3);
    CHECK(std::abs(static_cast<double>(costs - explained)) <= rounding);
    CHECK(std::abs(static_cast<double>(out.costs.propagating_ns + out.costs.terminal_ns - explained)) <= 2);
    CHECK(out.costs.nobody_ns * 100 <= explained);
  }
  CHECK(long_term > 0);
}
