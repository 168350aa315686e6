#include <whywait/explain/timeline.hpp>
#include <whywait/record/timeline_recorder.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <random>
#include <thread>
#include <vector>

using namespace whywait;
using happening = core::timeline_event;

namespace {

struct plain_event {
  happening::kind_t what;
  std::uint32_t number;
  std::uint64_t ticks;
};

explain::location_timeline read(record::timeline& from) {
  explain::location_timeline to;
  from.drain([&to](const core::timeline_event* first, std::uint64_t count) {
    to.events.insert(to.events.end(), first, first + count);
  });
  std::uint64_t kept = 0;
  for (const core::timeline_event& e : to.events) kept += e.kind() != happening::clock ? 1 : 0;
  to.lost = from.happened() - kept;
  to.lost_first = from.keeps_last();
  return to;
}

/// A random well-nested program of one thread, with time steps of up to `step` ticks.
std::vector<plain_event> random_events(std::mt19937_64& random, std::size_t count, std::uint64_t begin, std::uint64_t step) {
  std::vector<plain_event> events;
  std::vector<std::uint32_t> open;
  std::uint64_t now = begin;
  while (events.size() < count) {
    const std::uint32_t number = 1 + static_cast<std::uint32_t>(random() % 1000);
    const unsigned draw = static_cast<unsigned>(random() % 5);
    if (draw == 0 && !events.empty()) {
      events.push_back({happening::visit, number, events.back().ticks});
      continue;
    }
    now += random() % step;
    if (draw < 3 && open.size() < 20) {
      open.push_back(number);
      events.push_back({happening::enter, number, now});
    } else if (!open.empty()) {
      events.push_back({happening::leave, open.back(), now});
      open.pop_back();
    }
  }
  return events;
}

void tell(record::timeline& line, const std::vector<plain_event>& events) {
  for (const plain_event& e : events) {
    if (e.what == happening::enter) line.enter(e.number, e.ticks);
    else if (e.what == happening::leave) line.leave(e.number, e.ticks);
    else line.visit(e.number);
  }
}

// Checks that the events read back are those from `first` to `last`, in order and with full times.
void compare(const explain::location_timeline& found, const std::vector<plain_event>& events, std::size_t first,
             std::size_t last) {
  std::uint64_t high = 0;
  std::size_t at = first;
  for (const core::timeline_event& e : found.events) {
    if (e.kind() == happening::clock) {
      high = std::uint64_t(e.low) << 32;
      continue;
    }
    REQUIRE(at < last);
    REQUIRE(e.kind() == events[at].what);
    REQUIRE(e.number() == events[at].number);
    REQUIRE((high | e.low) == events[at].ticks);
    ++at;
  }
  REQUIRE(at == last);
}

void check_nesting(const whywait::base::vector<explain::timeline_mark>& marks) {
  std::vector<std::uint32_t> open;
  std::int64_t now = INT64_MIN;
  for (const explain::timeline_mark& m : marks) {
    REQUIRE(m.at_ns >= now);
    now = m.at_ns;
    if (m.kind == happening::enter) open.push_back(m.block);
    if (m.kind != happening::leave) continue;
    REQUIRE_FALSE(open.empty());
    REQUIRE(open.back() == m.block);
    open.pop_back();
  }
  REQUIRE(open.empty());
}

constexpr std::uint64_t before_wrap = (std::uint64_t(7) << 32) - 1000;

}  // namespace

TEST_CASE("with room for all, all events come back with their whole times") {
  const auto seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937_64 random(seed);
  for (const std::uint64_t step : {std::uint64_t(10), std::uint64_t(1) << 20, std::uint64_t(1) << 33})
    for (const bool last : {false, true}) {
      core::memory_budget budget;
      record::timeline line;
      REQUIRE(line.open(budget, last));
      // the first events are close to a change of the upper half
      std::vector<plain_event> events{{happening::enter, 1, before_wrap}};
      for (const plain_event& e : random_events(random, 30000, before_wrap, step)) events.push_back(e);
      events.push_back({happening::leave, 1, events.back().ticks});
      tell(line, events);
      CHECK(line.happened() == events.size());
      CHECK_FALSE(line.incomplete());
      const explain::location_timeline found = read(line);
      CHECK(found.lost == 0);
      compare(found, events, 0, events.size());
      line.release();
      CHECK(budget.used() == 0);
    }
}

TEST_CASE("drop_newest keeps the first events and counts the rest") {
  const auto seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937_64 random(seed);
  core::memory_budget budget;
  budget.limit(4 * 65536);
  record::timeline line;
  REQUIRE(line.open(budget, false));
  const std::vector<plain_event> events = random_events(random, 100000, before_wrap, 1u << 16);
  tell(line, events);
  CHECK(line.incomplete());
  const explain::location_timeline found = read(line);
  CHECK(found.lost > events.size() / 2);
  CHECK_FALSE(found.lost_first);
  compare(found, events, 0, events.size() - found.lost);
  const whywait::base::vector<explain::timeline_mark> marks = explain::marks_of(found, {}, INT64_MAX);
  check_nesting(marks);
  CHECK(marks.back().at_ns == static_cast<std::int64_t>(events[events.size() - found.lost - 1].ticks));
  line.release();
}

TEST_CASE("overwrite_oldest keeps the last events with full times, although the first clock event is lost") {
  const auto seed = std::random_device{}();
  MESSAGE("seed ", seed);
  std::mt19937_64 random(seed);
  core::memory_budget budget;
  budget.limit(4 * 65536);
  record::timeline line;
  REQUIRE(line.open(budget, true));
  const std::vector<plain_event> events = random_events(random, 100000, before_wrap, 1u << 16);
  tell(line, events);
  CHECK(line.incomplete());
  const explain::location_timeline found = read(line);
  CHECK(found.lost > events.size() / 2);
  CHECK(found.lost_first);
  compare(found, events, found.lost, events.size());
  const auto end_ns = static_cast<std::int64_t>(events.back().ticks) + 5;
  const whywait::base::vector<explain::timeline_mark> marks = explain::marks_of(found, {}, end_ns);
  check_nesting(marks);
  std::size_t open_at_end = 0, open_at_begin = 0;
  for (const explain::timeline_mark& m : marks) {
    open_at_begin += m.kind == happening::enter && m.at_ns == marks.front().at_ns ? 1 : 0;
    open_at_end += m.at_ns == end_ns ? 1 : 0;
  }
  CHECK(marks.size() >= events.size() - found.lost);
  CHECK(open_at_begin + open_at_end >= marks.size() - (events.size() - found.lost));
  line.release();
}

TEST_CASE("a concurrent reader gets every kept event once and in order, with several threads") {
  std::vector<std::thread> writers;
  std::deque<record::timeline> lines(3);
  core::memory_budget budget;
  budget.limit(16 * 65536);
  std::atomic<int> running{3};
  constexpr std::uint64_t count = 200000;
  for (record::timeline& line : lines) {
    REQUIRE(line.open(budget, false));
    writers.emplace_back([&line, &running] {
      for (std::uint64_t i = 0; i < count; i += 2) {
        line.enter(1 + static_cast<std::uint32_t>(i), 3 * i);
        line.leave(1 + static_cast<std::uint32_t>(i), 3 * i + 3);
      }
      --running;
    });
  }
  std::vector<std::uint64_t> seen(lines.size(), 0), latest(lines.size(), 0), wrong(lines.size(), 0);
  std::vector<std::uint64_t> high(lines.size(), 0);
  for (bool last_round = false; !last_round;) {
    last_round = running == 0;
    for (std::size_t l = 0; l < lines.size(); ++l)
      lines[l].drain([&](const core::timeline_event* first, std::uint64_t events) {
        for (std::uint64_t i = 0; i < events; ++i) {
          if (first[i].kind() == happening::clock) {
            high[l] = std::uint64_t(first[i].low) << 32;
            continue;
          }
          ++seen[l];
          const std::uint64_t ticks = high[l] | first[i].low;
          const std::uint64_t expected = first[i].kind() == happening::enter ? 3 * std::uint64_t(first[i].number() - 1)
                                                                             : 3 * std::uint64_t(first[i].number() - 1) + 3;
          wrong[l] += ticks != expected || ticks < latest[l] ? 1 : 0;
          latest[l] = ticks;
        }
      });
  }
  for (std::thread& each : writers) each.join();
  for (std::size_t l = 0; l < lines.size(); ++l) {
    CHECK(wrong[l] == 0);
    CHECK(seen[l] <= lines[l].happened());
    CHECK(lines[l].happened() == count);
    CHECK((seen[l] == count || lines[l].incomplete()));
    lines[l].release();
  }
}
