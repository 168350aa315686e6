#include <whywait/base/vector.hpp>
#include <whywait/report/merge_lines.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

namespace base = whywait::base;
namespace reports = whywait::reports;

namespace {

reports::residual_entry lines(int first, int last, std::int64_t late, std::int64_t waiting,
                              const std::string& function = "f()") {
  reports::residual_entry r;
  r.kind = "step";
  r.block = "f";
  r.within = "between";
  r.where.file = "f.cpp";
  r.where.function = function;
  r.where.line = first;
  r.where.last_line = last;
  r.causer_visits = late;
  r.waiter_visits = waiting;
  return r;
}

}  // namespace

TEST_CASE("lines that both sides ran equally often become a range") {
  whywait::base::vector<reports::residual_entry> all = {lines(12, 12, 40, 10), lines(10, 10, 40, 10), lines(14, 15, 40, 10)};
  reports::merge_lines(all, false);
  REQUIRE(all.size() == 1);
  CHECK(all[0].where.line == 10);
  CHECK(all[0].where.last_line == 15);
  CHECK(all[0].causer_visits == 40);
}

TEST_CASE("different counts, functions or lines in between prevent merging") {
  whywait::base::vector<reports::residual_entry> all = {lines(10, 10, 40, 10), lines(12, 12, 90, 10), lines(14, 14, 40, 10),
                                                        lines(15, 15, 40, 10, "g()")};
  reports::merge_lines(all, false);
  REQUIRE(all.size() == 4);
  CHECK(all[0].where.line == 12);  // sorted by difference
}

TEST_CASE("roughly: the test of a loop runs once more than its body") {
  whywait::base::vector<reports::residual_entry> all = {lines(10, 10, 4001, 1001), lines(11, 11, 4000, 1000)};
  reports::merge_lines(all, false);
  CHECK(all.size() == 2);
  reports::merge_lines(all, true);
  REQUIRE(all.size() == 1);
  CHECK(all[0].causer_visits == 4000);
  CHECK(all[0].waiter_visits == 1000);
}

TEST_CASE("of several blocks on a line the one that differs most stands for it") {
  whywait::base::vector<reports::residual_entry> all = {lines(10, 10, 5, 1), lines(10, 10, 100, 20)};
  reports::merge_lines(all, false);
  REQUIRE(all.size() == 1);
  CHECK(all[0].causer_visits == 100);
}

TEST_CASE("timed blocks and marked steps stay, and steps come last") {
  reports::residual_entry timed = lines(1, 0, 5, 5);
  timed.kind = "region";
  timed.total_ns = 1000000000;
  reports::residual_entry step = lines(10, 0, 7, 2);  // marked blocks have no range
  whywait::base::vector<reports::residual_entry> all = {step, step, timed};
  reports::merge_lines(all, true);
  REQUIRE(all.size() == 3);
  CHECK(all[0].kind == "region");
  CHECK(all[1].kind == "step");
}
