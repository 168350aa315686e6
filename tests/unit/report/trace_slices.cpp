#include <whywait/report/trace_slices.hpp>

#include <doctest/doctest.h>

#include <cstdint>

using namespace whywait::reports;

namespace {

trace_slice slice(std::int64_t begin, std::int64_t end, slice_kind kind = slice_kind::region, std::uint16_t location = 0) {
  trace_slice s;
  s.begin_ns = begin;
  s.end_ns = end;
  s.kind = kind;
  s.location = location;
  return s;
}

}  // namespace

TEST_CASE("slices are sorted so that the enclosing one comes first") {
  whywait::base::pod_vector<trace_slice> all = {slice(10, 20, slice_kind::wait), slice(10, 20, slice_kind::call), slice(0, 100),
                                                slice(5, 7, slice_kind::call, 1)};
  nest(all);
  CHECK(all[0].end_ns == 100);
  CHECK(all[1].kind == slice_kind::call);
  CHECK(all[2].kind == slice_kind::wait);
  CHECK(all[3].location == 1);
}

TEST_CASE("what reaches beyond the slice around it is cut") {
  whywait::base::pod_vector<trace_slice> all = {slice(0, 50, slice_kind::call), slice(40, 80), slice(60, 70)};
  nest(all);
  CHECK(all[1].end_ns == 50);
  CHECK(all[2].end_ns == 70);
}

TEST_CASE("slices that touch do not nest") {
  whywait::base::pod_vector<trace_slice> all = {slice(0, 50), slice(50, 80)};
  nest(all);
  CHECK(all[1].end_ns == 80);
}

TEST_CASE("each duration lies in its step, and steps ascend") {
  for (int step = 1; step < 200; ++step) CHECK(duration_histogram::least_of(step) >= duration_histogram::least_of(step - 1));
  for (const std::int64_t ns : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 1000, 123456789}) {
    const int step = duration_histogram::step_of(ns);
    CAPTURE(ns);
    CHECK(duration_histogram::least_of(step) <= ns);
    CHECK(duration_histogram::least_of(step + 4) > ns);
  }
}

TEST_CASE("the shortest slices are left out so that the rest fits") {
  duration_histogram lines;
  whywait::base::pod_vector<trace_slice> all;
  for (int i = 0; i != 1000; ++i) all.push_back(slice(0, 100));
  for (int i = 0; i != 100; ++i) all.push_back(slice(0, 5000));
  for (int i = 0; i != 10; ++i) all.push_back(slice(0, 90000, slice_kind::wait));  // three lines each
  for (const trace_slice& s : all) lines.add(s);
  CHECK(lines.least_duration(1130) == 0);
  const std::int64_t least = lines.least_duration(1129);
  CHECK(least > 100);
  CHECK(least <= 5000);
  CHECK(lines.least_duration(129) > 5000);
  CHECK(lines.least_duration(10) > 90000);
}
