#include <whywait/report/assemble.hpp>

#include <doctest/doctest.h>

#include "sample.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

using namespace sample;

TEST_CASE("the outcome becomes seconds, places and names") {
  const reports::result r = reports::assemble(outcome({late_sender()}), names(), facts());
  CHECK(r.run.ranks == 8);
  CHECK(r.run.locations == 8);
  CHECK(r.run.seconds == 12.4);
  CHECK(r.run.location_seconds == 99.2);
  CHECK(r.run.waiting_seconds == 18.9);
  CHECK(r.run.unexplained_seconds == 0.2);
  CHECK(r.run.mpi_calls == 12345);
  REQUIRE(r.waits.size() == 1);
  const reports::wait_entry& w = r.waits[0];
  CHECK(w.pattern == "late_sender");
  CHECK(w.quality == "exact");
  CHECK(w.seconds == 18.9);
  CHECK(w.operation.call == "MPI_Recv");
  CHECK(w.cause.line == 131);
  CHECK_FALSE(w.wrong_order);
  REQUIRE(w.residual.size() == 2);
  CHECK(w.residual[0].block == "compute_interior");
  CHECK(w.residual[0].kind == "region");
  CHECK(w.residual[0].where.file == "src/halo.cpp");
  CHECK(w.residual[0].inherited_seconds() == 1.0);
  CHECK(w.residual[1].visits_seconds() == 1.5);
  CHECK(w.waiters.size() == 7);
  CHECK(w.causers[0].seconds == 18.9);
  CHECK(w.advice.empty());  // no rules were evaluated
}

TEST_CASE("the most costly wait and the largest block come first") {
  explain::explanation small = late_sender();
  small.why = explain::pattern::wait_at_barrier;
  small.wait_ns = 1 * second;
  small.residual = {term(pack, 100000000, 0, 1, 0), term(compute, -900000000, 0, 0, 1)};
  const reports::result r = reports::assemble(outcome({small, late_sender()}), names(), facts());
  CHECK(r.waits[0].pattern == "late_sender");
  CHECK(r.waits[1].residual[0].block == "compute_interior");
}

TEST_CASE("residual and remainder add up to the wait for any outcome") {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<std::int64_t> ns(-1000000000000, 1000000000000);
  for (int i = 0; i < 500; ++i) {
    explain::explanation e = late_sender();
    e.wait_ns = std::abs(ns(random));
    e.unexplained_ns = ns(random);  // inconsistent on purpose
    e.residual.clear();
    double scale = 1;
    for (int t = 0; t < 20; ++t) {
      e.residual.push_back(term(compute, ns(random), ns(random)));
      scale += std::fabs(base::seconds_of(e.residual.back().total_ns));
    }
    const reports::result r = reports::assemble(outcome({e}), names(), facts());
    double sum = r.waits[0].unexplained_seconds;
    for (const reports::residual_entry& t : r.waits[0].residual) {
      sum += t.seconds();
      CHECK(std::fabs(t.seconds() - t.visits_seconds() - t.speed_seconds()) <= 1e-12 * scale);
    }
    CHECK(std::fabs(sum - r.waits[0].seconds) <= 1e-12 * scale);
  }
}

TEST_CASE("waiting that no entry lists counts as unexplained") {
  explain::outcome o = outcome({late_sender()});
  o.waiting_ns += 5 * second;
  CHECK(reports::assemble(o, names(), facts()).run.unexplained_seconds == 5.2);
}

TEST_CASE("derived blocks are named by their call sites") {
  explain::explanation e = late_sender();
  e.residual = {term(between_key, 4 * second, 0, 4, 0), term(100, 3 * second, 0, 4, 0), term(call_key, 2 * second, 0, 4, 0),
                term(101, second, 0), term(102, second / 2, 0)};
  explain::outcome o = outcome({e});
  o.meanings = {{between_key, explain::block_kind::between, waitall, send},
                {100, explain::block_kind::between, 0, send},
                {call_key, explain::block_kind::call, allreduce, 0},
                {101, explain::block_kind::startup, 0, 0},
                {102, explain::block_kind::other, 0, 0}};
  const reports::result r = reports::assemble(o, names(), facts());
  const auto& residual = r.waits[0].residual;
  CHECK(residual[0].block == "between MPI_Waitall at step (halo.cpp:20) and MPI_Send at exchange (halo.cpp:131)");
  CHECK(residual[0].kind == "between");
  REQUIRE(residual[0].from.has_value());
  CHECK(residual[0].from->line == 20);
  CHECK(residual[0].where.line == 131);
  CHECK(residual[1].block == "between MPI_Init and MPI_Send at exchange (halo.cpp:131)");
  CHECK_FALSE(residual[1].from.has_value());
  CHECK(residual[2].block == "inside MPI_Allreduce in norm (main.cpp:44)");
  CHECK(residual[3].kind == "startup");
  CHECK(residual[4].kind == "other");
}

TEST_CASE("untimed steps keep their kind and the region around them") {
  explain::explanation e = late_sender();
  e.residual.push_back(term(step, 0, 0, 100, 40));
  e.residual.back().within = compute;
  const reports::result r = reports::assemble(outcome({e}), names(), facts());
  CHECK(r.waits[0].residual[2].kind == "step");
  CHECK(r.waits[0].residual[2].block == "refine");
  CHECK(r.waits[0].residual[2].within == "compute_interior");
}

TEST_CASE("keys without a name still give a readable entry") {
  explain::explanation e = late_sender();
  e.operation = 4711;
  e.residual = {term(0xabc, 18900000000, 0)};
  const reports::result r = reports::assemble(outcome({e}), names(), facts());
  CHECK(r.waits[0].operation.call.empty());
  CHECK(r.waits[0].residual[0].block == "unnamed block abc");
}

TEST_CASE("a region's own name may hold a slash") {
  base::names known = names();
  known.add(500, block("io/flush", "main/io/flush", "a.cpp", 1));
  explain::explanation e = late_sender();
  e.residual = {term(500, second, 0)};
  CHECK(reports::assemble(outcome({e}), known, facts()).waits[0].residual[0].block == "io/flush");
}

TEST_CASE("answers for other speeds of a block are listed by block, the largest saving first and the network last") {
  explain::outcome o = outcome({late_sender()});
  o.total_ns = 12 * second;
  const auto add = [&o](whywait::core::stable_key block, double factor, std::int64_t saving_ns) {
    explain::what_if_answer a;
    a.question.changes = {{block, factor}};
    a.total_ns = o.total_ns - saving_ns;
    a.saving_ns = saving_ns;
    o.factors.push_back(a);
  };
  add(pack, 0.0, 2 * second);
  add(pack, 0.5, second);
  add(explain::network_key(), 0.0, 9 * second);
  add(compute, 0.0, 8 * second);
  const auto r = reported(o, names(), facts());
  REQUIRE(r.maps.speeds.size() == 3);
  CHECK(r.maps.speeds[0].where.name == "compute_interior");
  CHECK(r.maps.speeds[1].where.name == "pack_halo");
  REQUIRE(r.maps.speeds[1].answers.size() == 2);
  CHECK(r.maps.speeds[1].answers[1].factor == 0.5);
  CHECK(r.maps.speeds[1].answers[1].seconds == doctest::Approx(11));
  CHECK(r.maps.speeds[1].answers[1].saving_seconds == doctest::Approx(1));
  CHECK(r.maps.speeds[2].network);
}
