#include <whywait/finalize/joined_threads.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace whywait;
using namespace whywait::finalize;

namespace {

/// A location that calls something during [begin, end) of each pair, and threads beside it.
struct threads_beside {
  std::vector<core::sync_record> records;
  std::vector<core::path_step> steps;
  base::pod_vector<ended_thread> others;
  base::pod_vector<core::path_step> work;
  const core::sync_record* record_chunk = nullptr;
  const core::path_step* step_chunk = nullptr;
  core::location_history location;

  threads_beside& call(std::uint64_t begin, std::uint64_t end) {
    core::sync_record r{};
    r.begin = begin;
    r.duration = end - begin;
    r.steps = static_cast<std::uint32_t>(steps.size());
    records.push_back(r);
    return *this;
  }
  threads_beside& own(std::uint32_t block, std::uint64_t ticks) {
    steps.push_back({block, 0, 1, ticks, 0});
    return *this;
  }
  threads_beside& thread(std::uint64_t begin, std::uint64_t end, std::uint32_t block, std::uint64_t ticks) {
    others.push_back({begin, end, work.size(), 1});
    work.push_back({block, 0, 1, ticks, 0});
    return *this;
  }
  core::location_history& history() {
    record_chunk = records.data();
    step_chunk = steps.data();
    location.records = {&record_chunk, 63, records.size()};
    location.steps = {&step_chunk, 63, steps.size()};
    return location;
  }
};

struct block_ticks {
  std::uint32_t block;
  std::uint64_t ticks;
  bool operator==(const block_ticks& o) const { return block == o.block && ticks == o.ticks; }
};

/// The steps before a record; after the last one with `record` = their number.
std::vector<block_ticks> steps_before(const core::location_history& h, std::uint64_t record) {
  std::vector<block_ticks> all;
  const std::uint64_t first = record == 0 ? 0 : h.records[record - 1].steps;
  for (std::uint64_t i = first; i != (record == h.records.size() ? h.steps.size() : h.records[record].steps); ++i)
    all.push_back({h.steps[i].block, h.steps[i].ticks});
  return all;
}
using expected_steps = std::vector<block_ticks>;

}  // namespace

TEST_CASE("a thread that ended between two calls did its work for the location that called") {
  threads_beside t;
  t.own(1, 5).call(100, 110).call(200, 210).own(2, 7).call(300, 310);
  t.thread(120, 190, 9, 60).thread(10, 90, 8, 50).thread(320, 390, 7, 66);
  core::location_history& h = t.history();
  const joined_threads joined(h, t.others, t.work, 1, 400);
  CHECK(joined.threads() == 3);
  CHECK(joined.ticks() == 176);
  joined.show(h);
  REQUIRE(h.records.size() == 3);
  CHECK(steps_before(h, 0) == expected_steps{{1, 5}, {8, 50}});
  CHECK(steps_before(h, 1) == expected_steps{{9, 60}});
  CHECK(steps_before(h, 2) == expected_steps{{2, 7}});
  CHECK(steps_before(h, 3) == expected_steps{{7, 66}});
  CHECK(h.records[2].begin == 300);
}

TEST_CASE("a thread that lived while its rank called is not joined, and hides no other one") {
  threads_beside t;
  t.call(100, 110).call(200, 210).call(300, 310);
  t.thread(50, 250, 9, 180).thread(105, 150, 9, 40).thread(120, 190, 8, 60).thread(320, 500, 7, 100);
  core::location_history& h = t.history();
  const joined_threads joined(h, t.others, t.work, 1, 400);
  CHECK(joined.threads() == 1);
  joined.show(h);
  CHECK(steps_before(h, 1) == expected_steps{{8, 60}});
  CHECK(h.steps.size() == 1);
}

TEST_CASE("the location waited for the thread that ended last, and for others only before that one began") {
  threads_beside t;
  t.call(100, 110).call(210, 220);
  t.thread(120, 160, 8, 40).thread(150, 200, 9, 50).thread(155, 170, 7, 15);
  core::location_history& h = t.history();
  const joined_threads joined(h, t.others, t.work, 1, 400);
  CHECK(joined.threads() == 3);
  CHECK(joined.ticks() == 105);
  joined.show(h);
  CHECK(steps_before(h, 1) == expected_steps{{9, 49}, {7, 1}, {8, 29}});  // 80 in all
}

TEST_CASE("what ran side by side takes none of the location's own marked code") {
  threads_beside t;
  t.call(100, 110).own(1, 30).call(210, 220);
  for (int i = 0; i != 4; ++i) t.thread(120, 160, 9, 40);
  threads_beside busy;
  busy.call(100, 110).own(1, 80).call(210, 220).thread(120, 160, 9, 40);
  core::location_history& b = busy.history();
  const joined_threads joined(b, busy.others, busy.work, 1, 400);
  joined.show(b);
  CHECK(steps_before(b, 1) == expected_steps{{1, 80}, {9, 20}});  // 100 in all
  const joined_threads four(t.history(), t.others, t.work, 1, 400);
  core::location_history shown = t.location;
  four.show(shown);
  CHECK(steps_before(shown, 1) == expected_steps{{1, 30}, {9, 37}, {9, 1}, {9, 1}, {9, 1}});
}

TEST_CASE("records of an earlier epoch and what was before the first one are left alone") {
  threads_beside t;
  t.call(10, 20).call(100, 110).call(200, 210);
  t.thread(50, 90, 9, 30).thread(120, 190, 8, 60);
  core::location_history& h = t.history();
  h.carried = 1;
  const joined_threads joined(h, t.others, t.work, 0, 400);
  CHECK(joined.threads() == 1);
  joined.show(h);
  CHECK(h.records[0].steps == 0);
  CHECK(h.records[1].steps == 0);
  CHECK(steps_before(h, 2) == expected_steps{{8, 60}});
  const joined_threads nobody(h, {}, t.work, 0, 400);
  CHECK(nobody.threads() == 0);
}

TEST_CASE("threads that were added up count as many, for as long as one of them ran") {
  threads_beside t;
  t.call(100, 110).call(200, 210);
  t.work.push_back({9, 0, 4, 90, 0});
  t.others.push_back({120, 190, 0, 1, 45, 4});  // 45 of 70 ticks, two side by side
  core::location_history& h = t.history();
  const joined_threads joined(h, t.others, t.work, 1, 400);
  CHECK(joined.threads() == 4);
  CHECK(joined.ticks() == 90);
  joined.show(h);
  REQUIRE(h.steps.size() == 1);
  CHECK(h.steps[0].visits == 4);
  CHECK(h.steps[0].ticks == 45);
}
