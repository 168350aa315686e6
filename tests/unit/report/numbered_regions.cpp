#include <whywait/report/numbered_regions.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

namespace base = whywait::base;
namespace reports = whywait::reports;

reports::residual_entry region(const std::string& name, int line, std::int64_t late, std::int64_t waiting, double seconds) {
  reports::residual_entry r;
  r.block = name;
  r.kind = "region";
  r.where.file = "solve.cpp";
  r.where.line = line;
  r.causer_visits = late;
  r.waiter_visits = waiting;
  r.total_ns = static_cast<std::int64_t>(seconds * 1e9);
  return r;
}
std::string said(std::initializer_list<reports::residual_entry> rows) {
  base::vector<reports::wait_entry> waits(1);
  waits[0].seconds = 1;
  for (const reports::residual_entry& r : rows) waits[0].residual.push_back(reports::residual_entry(r));
  return reports::numbered_regions(waits);
}

}  // namespace

TEST_CASE("names differ in numbers only") {
  CHECK(reports::differ_in_numbers("solve rank 0", "solve rank 12"));
  CHECK(reports::differ_in_numbers("7 of 9", "8 of 10"));
  CHECK_FALSE(reports::differ_in_numbers("step 7", "step 7"));
  CHECK_FALSE(reports::differ_in_numbers("step 7", "step"));
  CHECK_FALSE(reports::differ_in_numbers("step 7", "stop 7"));
  CHECK_FALSE(reports::differ_in_numbers("7step", "step7"));
  CHECK_FALSE(reports::differ_in_numbers("", "1"));
}

TEST_CASE("regions of one line whose names have the number of the rank are the same code on both sides") {
  CHECK(said({region("solve rank 1", 8, 100, 0, 2), region("solve rank 0", 8, 0, 100, -1)}) ==
        "names of regions at solve.cpp:8 differ in a number, as solve rank 1 and solve rank 0 do: code is compared by name, so "
        "that "
        "the same code counts as other code");
  CHECK(said({region("solve", 8, 100, 0, 2), region("solve", 8, 0, 100, -1)})
            .empty());  // of waits in which now one side has more
  CHECK(said({region("level 1", 8, 100, 100, 2), region("level 2", 8, 100, 100, -1)}).empty());
  CHECK(said({region("level 2", 8, 100, 0, 0.9), region("level 1", 8, 0, 10, -0.1)}).empty());
  CHECK(said({region("solve 1", 8, 100, 0, 2), region("solve 2", 9, 0, 100, -1)}).empty());
  CHECK(said({region("solve", 8, 100, 0, 2), region("update", 8, 0, 100, -1)}).empty());
}

TEST_CASE("regions of one line whose names have the number of the step") {
  base::vector<reports::wait_entry> waits(1);
  waits[0].seconds = 1;
  for (int step = 0; step != 10; ++step) waits[0].residual.push_back(region("step " + std::to_string(step), 8, 1, 1, 0.05));
  CHECK(reports::numbered_regions(waits).empty());
  waits[0].residual.push_back(region("step 10", 8, 1, 1, 0.05));
  CHECK(reports::numbered_regions(waits).find("as step 0 and step 10 do") != std::string::npos);
}
