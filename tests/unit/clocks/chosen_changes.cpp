#include <whywait/clocks/chosen_changes.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <tuple>

namespace {

namespace clocks = whywait::clocks;
namespace explain = whywait::explain;
using explain::pattern;

explain::merged_class wait_in(std::uint64_t operation, pattern why, std::initializer_list<int> waiters,
                              std::initializer_list<int> causers, std::int64_t ns) {
  explain::merged_class c;
  c.sum.operation = operation;
  c.sum.why = why;
  c.sum.wait_ns = ns;
  for (const int rank : waiters) c.sum.waiters.push_back({rank, 0, ns});
  for (const int rank : causers) c.sum.causers.push_back({rank, 0, ns});
  return c;
}

}  // namespace

TEST_CASE("groups of ranks that wait for messages of each other in two calls take turns, whatever their order in the lists") {
  whywait::base::vector<explain::merged_class> all;
  all.push_back(wait_in(1, pattern::late_sender, {2, 3}, {0, 1}, 500));
  all.push_back(wait_in(2, pattern::late_sender, {1, 0}, {3, 2}, 300));
  all.push_back(wait_in(3, pattern::wait_at_nxn, {2, 3}, {0, 1}, 100));
  const explain::turn_taking turns = clocks::turns_to_end(all);
  CHECK(turns.one == 2);  // the shorter wait
  CHECK(turns.other == 1);
}

TEST_CASE("no turns are taken by others than the two, in one call, or for waits of another kind") {
  const auto turns = [](std::initializer_list<int> waiters, std::uint64_t operation, pattern why, std::int64_t others_ns) {
    whywait::base::vector<explain::merged_class> all;
    all.push_back(wait_in(1, why, {2, 3}, {0, 1}, 500));
    all.push_back(wait_in(operation, why, waiters, {2, 3}, 300));
    if (others_ns != 0) all.push_back(wait_in(operation, why, {4}, {2}, others_ns));
    return clocks::turns_to_end(all).one != 0;
  };
  CHECK(turns({0, 1}, 2, pattern::late_sender, 0));
  CHECK(turns({0, 1}, 2, pattern::latch, 20));
  CHECK(!turns({0, 1}, 2, pattern::late_sender, 50));
  CHECK(!turns({0, -1}, 2, pattern::late_sender, 0));  // not all of them are known
  CHECK(!turns({0}, 2, pattern::late_sender, 0));
  CHECK(!turns({0, 1, 2}, 2, pattern::late_sender, 0));
  CHECK(!turns({64, 65}, 2, pattern::late_sender, 0));  // not 0 and 1
  CHECK(!turns({0, 1}, 1, pattern::late_sender, 0));
  CHECK(!turns({0, 1}, 2, pattern::wait_at_nxn, 0));
}

TEST_CASE("threads that run something at the same time take no turns") {
  for (const std::int64_t beside : {0, 200}) {
    whywait::base::vector<explain::merged_class> all;
    all.push_back(wait_in(1, pattern::latch, {1}, {0}, 500));
    all.push_back(wait_in(2, pattern::latch, {0}, {1}, 300));
    for (explain::merged_class& c : all) {
      c.sum.residual.resize(1);
      c.sum.residual[0].causer_ns = 500;
      c.sum.residual[0].waiter_ns = beside;
    }
    CHECK((clocks::turns_to_end(all).one != 0) == (beside == 0));
  }
}

TEST_CASE("what holds up progress is asked about, longest first") {
  whywait::base::vector<explain::merged_class> all;
  for (const auto& [why, block, ns] :
       {std::tuple(pattern::wait_for_progress, 100u, 300), std::tuple(pattern::late_sender, 101u, 900),
        std::tuple(pattern::wait_for_progress, 102u, 500)}) {
    all.push_back(wait_in(1, why, {1}, {0}, ns));
    all.back().sum.residual.resize(2);
    all.back().sum.residual[0].block = block;
    all.back().sum.residual[0].total_ns = ns;
    all.back().sum.residual[1].block = 103;  // explains hardly any of it
    all.back().sum.residual[1].total_ns = ns / 5;
  }
  const auto code = clocks::code_behind(explain::pattern::wait_for_progress, all);
  REQUIRE(code.size() == 2);
  CHECK(code[0] == 102);
  CHECK(code[1] == 100);
}

TEST_CASE("blocks ahead of the same send move together") {
  const auto late = [](std::uint64_t block, std::uint64_t send, std::int64_t ns) {
    explain::merged_class c = wait_in(1, pattern::late_sender, {1}, {0}, ns);
    c.sum.cause = send;
    c.sum.residual.resize(1);
    c.sum.residual[0].block = block;
    c.sum.residual[0].total_ns = ns;
    return c;
  };
  whywait::base::vector<explain::merged_class> all;
  all.push_back(late(100, 10, 300));  // an inner rank sends to both sides
  all.push_back(late(100, 11, 300));
  all.push_back(late(101, 11, 200));  // one at the border to one
  all.push_back(late(102, 12, 100));  // another send
  all.push_back(late(103, 11, 5));  // hardly waited for
  const auto sends = clocks::sends_to_move(all);
  REQUIRE(sends.size() == 4);
  for (std::size_t i = 0; i != 3; ++i) CHECK(sends[i].group == sends[0].group);
  CHECK(sends[3].block == 102);
  CHECK(sends[3].group != sends[0].group);
  std::int64_t of_101 = 0;
  for (const explain::earlier_send& s : sends) of_101 += s.block == 101 ? s.wait_ns : 0;
  CHECK(of_101 == 200);
}
