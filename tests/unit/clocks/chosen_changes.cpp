#include <whywait/clocks/chosen_changes.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

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
