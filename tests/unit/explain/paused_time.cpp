#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/paused_time.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

using namespace histories;
using whywait::explain::paused_time;

namespace {

void pcontrol(rank_data& r, std::uint64_t at, int level, std::size_t location = 0) {
  sync_record& c = r.call(mpi_call::Pcontrol, at, at, "", location);
  c.posting = 0;
  c.tag = level;
}
paused_time paused_by(std::initializer_list<std::pair<std::int64_t, int>> changes) {
  paused_time p;
  for (const auto& c : changes) {
    sync_record r{};
    r.tag = c.second;
    p.add(r, c.first);
  }
  return p;
}

}  // namespace

TEST_CASE("time between the levels 0 and 1 is paused") {
  paused_time p = paused_by({{10, 0}, {20, 1}, {30, 0}, {35, 0}, {33, 2}, {40, 1}, {41, 1}});
  CHECK(!p.close(false));
  for (const int at : {9, 20, 29, 40, 45}) CHECK(!p.contains(at));
  for (const int at : {10, 19, 30, 35, 39}) CHECK(p.contains(at));
  CHECK(p.within(0, 100) == 20);
  CHECK(p.within(15, 32) == 7);
}

TEST_CASE("a pause goes on from epoch to epoch, and changes of several threads may come in any order") {
  paused_time before = paused_by({{5, 0}});
  CHECK(before.close(false));
  CHECK(before.contains(1000));
  paused_time p = paused_by({{30, 0}, {10, 1}});
  CHECK(p.close(true));
  CHECK(p.contains(3));
  CHECK(!p.contains(10));
  CHECK(p.contains(31));
  paused_time none;
  CHECK(!none.close(false));
  CHECK(!none.contains(0));
  CHECK(none.within(0, 10) == 0);
}

TEST_CASE("waits of a paused rank are not counted, but passed on") {
  for (const bool paused : {false, true}) {
    run r(3);
    if (paused) pcontrol(r[1], 0, 0);
    r[0].step("late", 100);
    r[0].send(100, 101, 1);
    r[1].receive(1, 101, 0);
    if (paused) pcontrol(r[1], 101, 1);
    r[1].send(102, 103, 2);
    r[2].receive(1, 103, 1);
    explain::options settings = run::exact();
    settings.clocks = &whywait::clocks::virtual_clocks;
    const auto out = r.explain(settings);
    CHECK(out.waiting_ns == (paused ? 0 : 99) + 101);
    CHECK(out.paused_ns == (paused ? 101 : 0));
    std::int64_t count = 0;
    for (const auto& e : out.waits) count += e.count;
    CHECK(count == (paused ? 1 : 2));
    CHECK(out.without_overhead.waiting_ns == out.waiting_ns);
    auto costs = static_cast<double>(out.costs.nobody_ns);
    for (const auto& c : out.costs.blocks) costs += static_cast<double>(c.short_ns + c.long_ns);
    CHECK(costs == doctest::Approx(static_cast<double>(out.waiting_ns)).epsilon(0.03));
    for (const auto& e : out.waits) {
      if (e.waiters[0].rank != 2) continue;
      CHECK(e.causers[0].rank == 1);
      REQUIRE(!e.residual.empty());
      CHECK(e.residual[0].block == core::key_of("late"));
    }
  }
}
