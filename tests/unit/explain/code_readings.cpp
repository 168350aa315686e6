#include <whywait/explain/code_readings.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <utility>

using namespace whywait;
using core::code_count;
using explain::code_readings;

namespace {

using given_counts = std::map<std::pair<std::uint32_t, code_count>, std::int64_t>;

given_counts given_at_end(code_readings& r) {
  given_counts out;
  r.end_segment([&out](std::uint32_t block, code_count what, std::int64_t value) { out[{block, what}] += value; });
  return out;
}

void read_counts(code_readings& r, std::int64_t faults, std::int64_t instructions) {
  core::code_counts counts{};
  counts[code_count::faults] = faults;
  counts[code_count::instructions] = instructions;
  core::counted_step::write(counts, [&r](const core::path_step& step) { CHECK(r.take(step)); });
}

}  // namespace

TEST_CASE("what is counted between two readings belongs to the blocks that ran, by their time") {
  code_readings r;
  r.ran(3, 300);
  CHECK(given_at_end(r).empty());  // nothing was read yet: the next reading is about this segment as well
  r.ran(5, 100);
  r.ran(3, 300);
  read_counts(r, 8, 70);
  const given_counts all = given_at_end(r);
  CHECK(all.at({3, code_count::faults}) + all.at({5, code_count::faults}) == 8);
  CHECK(all.at({3, code_count::faults}) == 7);  // 8 * 600 / 700 = 6.86
  CHECK(all.at({3, code_count::instructions}) == 60);
  CHECK(all.at({5, code_count::instructions}) == 10);
  CHECK(all.at({3, code_count::read_ns}) == 600);
  CHECK(all.at({5, code_count::read_ns}) == 100);
  CHECK(all.size() == 6);
  r.ran(5, 1);
  read_counts(r, 2, 0);
  const given_counts next = given_at_end(r);
  CHECK(next.at({5, code_count::faults}) == 2);
  CHECK(next.at({5, code_count::read_ns}) == 1);
  CHECK(next.size() == 2);
}

TEST_CASE("a thread that gave its processor up was blocked for the time that the kernel counts nowhere") {
  const auto blocked = [](std::int64_t sleeps, std::int64_t delay, std::int64_t ran) {
    code_readings r;
    r.ran(7, 100);
    core::code_counts counts{};
    counts[code_count::sleeps] = sleeps;
    counts[code_count::delay_ns] = delay;
    counts[code_count::ran_ns] = ran;
    core::counted_step::write(counts, [&r](const core::path_step& step) { CHECK(r.take(step)); });
    given_counts all = given_at_end(r);
    CHECK(all.count({7, code_count::sleeps}) == 0);
    return all[{7, code_count::blocked_ns}];
  };
  CHECK(blocked(1, 10, 60) == 30);
  CHECK(blocked(0, 10, 60) == 0);  // a host took it
  CHECK(blocked(1, 50, 60) == 0);
}

TEST_CASE("of several blocks each was blocked for what cannot have been the time of the others") {
  const auto blocked = [](std::int64_t first, std::int64_t second, std::int64_t ran, std::int64_t& rest) {
    code_readings r;
    r.ran(7, first);
    r.ran(8, second);
    core::code_counts counts{};
    counts[code_count::sleeps] = 1;
    counts[code_count::ran_ns] = ran;
    core::counted_step::write(counts, [&r](const core::path_step& step) { CHECK(r.take(step)); });
    given_counts all;
    rest = r.end_segment([&all](std::uint32_t block, code_count what, std::int64_t value) { all[{block, what}] += value; });
    return std::make_pair(all[{7, code_count::blocked_ns}], all[{8, code_count::blocked_ns}]);
  };
  std::int64_t rest = 0;
  CHECK(blocked(500, 300, 300, rest) == std::make_pair(std::int64_t{200}, std::int64_t{0}));
  CHECK(rest == 300);
  CHECK(blocked(500, 300, 0, rest) == std::make_pair(std::int64_t{500}, std::int64_t{300}));
  CHECK(rest == 0);
  CHECK(blocked(500, 500, 500, rest) == std::make_pair(std::int64_t{0}, std::int64_t{0}));
  CHECK(rest == 500);
  CHECK(blocked(500, 0, 100, rest).first == 400);
  CHECK(rest == 0);
}

TEST_CASE("what may have been counted in calls belongs to no block") {
  code_readings r;
  r.ran(1, 700);
  SUBCASE("calls took an eighth of the time") {
    r.called(core::mpi_call::mutex_lock, 100);
    read_counts(r, 5, 0);
    CHECK(given_at_end(r).at({1, code_count::faults}) == 5);
  }
  SUBCASE("calls took more") {
    r.called(core::mpi_call::mutex_lock, 101);
    read_counts(r, 5, 0);
    CHECK(given_at_end(r).empty());
  }
  SUBCASE("a thread began after the calls: what is counted of it begins there") {
    r.called(core::mpi_call::mutex_lock, 5000);
    r.called(core::mpi_call::thread_begin, 5000);
    r.ran(2, 10);
    read_counts(r, 5, 0);
    const given_counts all = given_at_end(r);
    CHECK(all.size() == 2);
    CHECK(all.at({2, code_count::faults}) == 5);
  }
  SUBCASE("a long call was followed by a reading that nothing is about") {
    CHECK(r.take({core::counted_step::restart, 0, 0, 0, 0}));
    r.ran(2, 10);
    read_counts(r, 5, 0);
    const given_counts all = given_at_end(r);
    CHECK(all.size() == 2);
    CHECK(all.at({2, code_count::faults}) == 5);
  }
  SUBCASE("no code at all") {
    code_readings empty;
    read_counts(empty, 5, 0);
    CHECK(given_at_end(empty).empty());
  }
}

TEST_CASE("only steps of readings are taken, and keys of counts are recognised") {
  code_readings r;
  CHECK_FALSE(r.take({17, 0, 1, 1, 0}));
  code_count what{};
  CHECK(explain::is_count_key(explain::count_key(code_count::stalled), what));
  CHECK(what == code_count::stalled);
  CHECK_FALSE(explain::is_count_key(explain::count_key(code_count::count_), what));
  CHECK_FALSE(explain::is_count_key(0, what));
}
