#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/epoch_postings.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace histories;
using whywait::explain::pattern;

namespace {

// A call that begins or ends an epoch, in the form of the recorder: a posting per member and tag, then the call. The
// communicator of all ranks stands for the window.
void epoch_call(rank_data& r, mpi_call what, std::uint64_t begin, std::uint64_t leave, const std::vector<int>& peers) {
  using namespace core::epoch_tag;
  const bool opens = what == mpi_call::Win_post || what == mpi_call::Win_start;
  const bool sends = what == mpi_call::Win_post || what == mpi_call::Win_complete;
  std::vector<std::uint32_t> postings;
  for (const int peer : peers) {
    for (int tag = opens ? post : done; tag <= (opens ? post : last_operation); ++tag) {
      core::sync_record& p = r.call(what, begin, begin);
      p.peer = peer;
      p.tag = tag;
      p.flags = sends ? flag::posts_send : flag::posts_receive;
      postings.push_back(r.last());
    }
  }
  r.call(what, begin, leave).posting = 0;
  for (const std::uint32_t p : postings) r.completes(p);
}
void put(rank_data& r, std::uint64_t begin, std::uint64_t leave, int target) {
  core::sync_record& p = r.call(mpi_call::Put, begin, leave);
  p.posting = 0;
  p.peer = target;
}

std::int64_t time_of_pattern(const explain::outcome& out, pattern why) {
  std::int64_t sum = 0;
  for (const auto& e : out.waits) sum += e.why == why ? e.wait_ns : 0;
  return sum;
}

}  // namespace

TEST_CASE("oracle: post 9 and a blocking start from 3 to 10 give a late post of 6") {
  run r(2);
  epoch_call(r[0], mpi_call::Win_start, 3, 10, {1});
  epoch_call(r[0], mpi_call::Win_complete, 11, 12, {1});
  epoch_call(r[1], mpi_call::Win_post, 9, 10, {0});
  epoch_call(r[1], mpi_call::Win_wait, 13, 14, {0});
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::late_post);
  CHECK(out.waits[0].wait_ns == 6);
  CHECK(out.waits[0].causers[0].rank == 1);
  CHECK(out.clock_violations == 0);
}

TEST_CASE("oracle: post 9, a start that returns before it and complete from 6 to 10 give a late post of 3") {
  run r(2);
  epoch_call(r[0], mpi_call::Win_start, 3, 4, {1});
  epoch_call(r[0], mpi_call::Win_complete, 6, 10, {1});
  epoch_call(r[1], mpi_call::Win_post, 9, 10, {0});
  epoch_call(r[1], mpi_call::Win_wait, 13, 14, {0});
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::late_post);
  CHECK(out.waits[0].wait_ns == 3);
  CHECK(out.clock_violations == 0);
}

TEST_CASE("a start with several targets waits for the last post") {
  run r(3);
  epoch_call(r[0], mpi_call::Win_start, 3, 12, {1, 2});
  epoch_call(r[0], mpi_call::Win_complete, 12, 13, {1, 2});
  for (int target : {1, 2}) {
    epoch_call(r[target], mpi_call::Win_post, target == 1 ? 11 : 7, 12, {0});
    epoch_call(r[target], mpi_call::Win_wait, 13, 14, {0});
  }
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].wait_ns == 8);
  CHECK(out.waits[0].causers[0].rank == 1);
}

TEST_CASE("oracle: wait 4, completes 7 and 11, last operation 8 give 7, of which 3 are a late complete") {
  run r(3);
  for (int origin : {1, 2}) {
    epoch_call(r[origin], mpi_call::Win_start, 1, 2, {0});
    put(r[origin], origin == 1 ? 3 : 8, origin == 1 ? 4 : 9, 0);
    epoch_call(r[origin], mpi_call::Win_complete, origin == 1 ? 7 : 11, 12, {0});
  }
  epoch_call(r[0], mpi_call::Win_post, 0, 1, {1, 2});
  epoch_call(r[0], mpi_call::Win_wait, 4, 12, {1, 2});
  const auto out = r.explain();
  CHECK(time_of_pattern(out, pattern::early_wait) == 4);
  CHECK(time_of_pattern(out, pattern::late_complete) == 3);
  CHECK(out.waiting_ns == 7);
  for (const auto& e : out.waits) CHECK(e.causers.at(0).rank == 2);
}

TEST_CASE("without an operation the target waits for the complete alone") {
  run r(2);
  epoch_call(r[1], mpi_call::Win_start, 1, 2, {0});
  put(r[1], 3, 4, 1);  // on another target
  epoch_call(r[1], mpi_call::Win_complete, 11, 12, {0});
  epoch_call(r[0], mpi_call::Win_post, 0, 1, {1});
  epoch_call(r[0], mpi_call::Win_wait, 4, 12, {1});
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::early_wait);
  CHECK(out.waits[0].wait_ns == 7);
}

TEST_CASE("a complete that returns only after the target has come waits for its progress") {
  run r(2);
  epoch_call(r[0], mpi_call::Win_start, 1, 2, {1});
  epoch_call(r[0], mpi_call::Win_complete, 3, 12, {1});
  epoch_call(r[1], mpi_call::Win_post, 0, 1, {0});
  epoch_call(r[1], mpi_call::Win_wait, 10, 13, {0});
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::wait_for_progress);
  CHECK(out.waits[0].wait_ns == 7);
}

TEST_CASE("the code of the origin explains the wait, and what-if questions shorten it") {
  run r(2);
  const std::uint64_t ms = 1000000;
  epoch_call(r[0], mpi_call::Win_post, 0, 1000, {1});
  epoch_call(r[0], mpi_call::Win_wait, 10 * ms, 51 * ms, {1});
  epoch_call(r[1], mpi_call::Win_start, 1000, 2000, {0});
  r[1].step("first", 30 * ms - 2000);
  put(r[1], 30 * ms, 30 * ms + 1000, 0);
  r[1].step("second", 20 * ms - 1000);
  epoch_call(r[1], mpi_call::Win_complete, 50 * ms, 51 * ms, {0});
  r[0].end_ns = r[1].end_ns = 51 * 1000000;
  explain::options settings = run::exact();
  settings.threshold_ns = 1000;
  settings.clocks = &whywait::clocks::virtual_clocks;
  explain::what_if half;
  half.changes.push_back({core::key_of("second"), 0.5});
  settings.questions.push_back(half);
  const auto out = r.explain(settings);
  REQUIRE(out.waits.size() == 2);
  for (const auto& e : out.waits) {
    CHECK(e.wait_ns == 20 * 1000000);
    if (e.why == pattern::late_complete) CHECK(total(e.residual, "second") == 20 * 1000000 - 1000);
    else CHECK(total(e.residual, "first") == 30 * 1000000 - 2000);
  }
  REQUIRE(out.answers.size() == 1);
  CHECK(out.answers[0].total_ns < 42 * 1000000);
}
