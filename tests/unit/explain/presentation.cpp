#include <whywait/base/vector.hpp>
#include <whywait/explain/presentation.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

using namespace histories;

namespace {

explain::explanation with(whywait::base::vector<std::int64_t> totals) {
  explain::explanation e;
  core::stable_key key = 0;
  for (const std::int64_t t : totals) {
    explain::residual_term term;
    term.block = ++key;
    term.total_ns = t;
    e.residual.push_back(term);
    e.wait_ns += t;
  }
  return e;
}

}  // namespace

TEST_CASE("the smallest terms are dropped while the others make up 95 percent; dropped terms are unexplained") {
  explain::explanation e = with({700, 260, 30, 10});
  explain::cut_residual(e, {});
  REQUIRE(e.residual.size() == 2);
  CHECK(e.residual[0].total_ns == 700);
  CHECK(e.unexplained_ns == 40);
  CHECK(sum(e.residual) + e.unexplained_ns == e.wait_ns);
}

TEST_CASE("terms that matter stay, negative ones as well") {
  explain::explanation e = with({1200, -200, 3, -3});
  explain::cut_residual(e, {});
  REQUIRE(e.residual.size() == 2);
  CHECK(e.residual[1].total_ns == -200);
  CHECK(e.unexplained_ns == 0);
}

TEST_CASE("terms under one percent are never shown, however many") {
  whywait::base::vector<std::int64_t> totals = {900};
  for (int i = 0; i != 25; ++i) totals.push_back(4);
  explain::explanation e = with(totals);
  explain::cut_residual(e, {});
  CHECK(e.residual.size() == 1);
  CHECK(e.unexplained_ns == 100);
}

TEST_CASE("of many terms that cancel each other, few are shown") {
  whywait::base::vector<std::int64_t> totals = {1000};
  for (int i = 0; i != 200; ++i) {
    totals.push_back(60);
    totals.push_back(-60);
  }
  explain::explanation e = with(totals);
  explain::cut_residual(e, {});
  CHECK(e.residual.size() <= 16);
  CHECK(e.residual.size() > 8);
  CHECK(e.residual[0].total_ns == 1000);
  CHECK(sum(e.residual) + e.unexplained_ns == e.wait_ns);
}

TEST_CASE("many terms that make up a wait together stay") {
  explain::explanation e = with(whywait::base::vector<std::int64_t>(60, 10));
  explain::cut_residual(e, {});
  CHECK(e.residual.size() == 57);  // 95 % of it
  CHECK(e.unexplained_ns == 30);
}

TEST_CASE("earlier unexplained time does not widen the cut") {
  explain::explanation e = with({100, 20});
  e.wait_ns += 1000;
  e.unexplained_ns = 1000;
  explain::cut_residual(e, {});
  CHECK(e.residual.size() == 2);
  CHECK(e.unexplained_ns == 1000);
}

TEST_CASE("lists of locations are bounded, most first, and keep their sum") {
  whywait::base::vector<explain::location_share> list;
  for (int i = 0; i != 20; ++i) explain::add_share(list, {i, 0, 100 + i}, 18);
  explain::bound_shares(list, 16);
  REQUIRE(list.size() == 17);
  CHECK(list[0].ns == 117);
  CHECK(list.back().rank == -1);
  std::int64_t all = 0;
  for (const auto& l : list) all += l.ns;
  CHECK(all == 20 * 100 + 190);
}

TEST_CASE("waits below the threshold join the largest class of their key") {
  run r(2);
  std::uint64_t t = 0;
  for (const std::uint64_t late : {500u, 5u, 400u}) {
    r[1].step("work", late);
    r[1].send(t + late, t + late, 0);
    r[0].receive(t, t + late, 1);
    t += late;
  }
  auto settings = run::exact();
  settings.threshold_ns = 100;
  const auto out = r.explain(settings);
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].count == 3);
  CHECK(out.waits[0].wait_ns == 905);
  // The 5 ns are unexplained. The later explanation contains the 5 ns of work that had been omitted, so that the
  // presentation removes the time in the call (-5).
  CHECK(total(out.waits[0].residual, "work") == 905);
  CHECK(sum(out.waits[0].residual) + out.waits[0].unexplained_ns == 905);
}

TEST_CASE("the most costly explanation comes first") {
  run r(2);
  r[1].step("a", 10);
  r[1].send(10, 10, 0, 1, "small");
  r[1].step("b", 90);
  r[1].send(100, 100, 0, 2, "large");
  r[0].receive(0, 10, 1, 1);
  r[0].receive(10, 100, 1, 2);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 2);
  CHECK(out.waits[0].wait_ns == 90);
  CHECK(out.waits[0].cause == core::key_of("large"));
}
