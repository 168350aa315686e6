#include "recorded.hpp"
#include "sample.hpp"

#include <whywait/base/vector.hpp>
#include <whywait/rules/collective_completion.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace {

namespace rules = sample::rules;
namespace base = sample::base;
namespace core = sample::core;
using core::mpi_call;

using packet = rules::own_packet;

/// Runs the transport, with rounds of packets until no rank sends any. Returns the sum of the uses of all ranks.
base::pod_vector<rules::site_use> uses_of(whywait::base::vector<sample::rank>& ranks, std::int64_t least_ns, std::size_t room) {
  whywait::base::vector<rules::completion> all;
  for (sample::rank& r : ranks) all.emplace_back(r.done(), least_ns);
  for (bool more = true; more;) {
    more = false;
    whywait::base::vector<packet> in(ranks.size());
    for (rules::completion& c : all)
      c.announce([&](std::int32_t to) -> packet& { return in[static_cast<std::size_t>(to)]; }, room);
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      more = more || !in[r].empty();
      all[r].receive(in[r].data(), in[r].size());
    }
  }
  base::pod_vector<rules::site_use> sum;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    base::pod_vector<rules::site_use> one = rules::uses_of(ranks[r].done());
    all[r].add_to(one);
    rules::merge_uses(sum, one);
  }
  return sum;
}

}  // namespace

TEST_CASE("a rank that leaves a complete barrier after the first one left late") {
  whywait::base::vector<sample::rank> ranks;
  for (std::int32_t r = 0; r < 2; ++r) ranks.emplace_back(r);
  ranks[0].call(mpi_call::Barrier, 10, 31, 2);
  ranks[1].call(mpi_call::Barrier, 30, 36, 2);  // 5 ms after rank 0
  ranks[0].call(mpi_call::Barrier, 40, 42, 2);
  ranks[1].call(mpi_call::Barrier, 41, 42, 2);
  const auto uses = uses_of(ranks, 10000, 1);
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].site == sample::barrier);
  CHECK(uses[0].calls == 4);
  CHECK(uses[0].ranks == 2);
  CHECK(uses[0].late_exits == 1);
  CHECK(uses[0].late_exit_ns == 5 * sample::ms);
  CHECK(uses[0].longest_late_exit_ns == 5 * sample::ms);
  CHECK(uses[0].what == rules::site_use::kind::barrier);
}

TEST_CASE("leaving before the last arrival is not counted, nor are differences within the clock error") {
  whywait::base::vector<sample::rank> ranks;
  for (std::int32_t r = 0; r < 2; ++r) ranks.emplace_back(r);
  ranks[0].call(mpi_call::Barrier, 10, 20, 2);  // clock error, rank 0 leaves before the other arrives
  ranks[1].call(mpi_call::Barrier, 30, 31, 2);
  CHECK(uses_of(ranks, 2 * sample::ms, 1000)[0].late_exits == 0);
  CHECK(uses_of(ranks, sample::ms, 1000)[0].late_exits == 1);
}

TEST_CASE("the late exits of random runs are those of a plain look at each instance") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto count = static_cast<std::int32_t>(2 + random() % 4);
    whywait::base::vector<sample::rank> ranks;
    for (std::int32_t r = 0; r < count; ++r) ranks.emplace_back(r);
    for (sample::rank& r : ranks) r.history.ranks = r.history.communicators[0].size = count;
    std::map<core::stable_key, std::pair<std::int64_t, std::int64_t>> wanted;  // site to exits, ns
    unsigned now = 0;
    for (int instance = 0; instance < 50; ++instance) {
      const bool barrier = random() % 2 == 0;
      // with counts of each rank one may get no data, and need not wait for all
      const auto without =
          barrier || random() % 3 != 0 ? count : static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(count));
      whywait::base::vector<std::pair<unsigned, unsigned>> times;
      unsigned last = 0, first = ~0u;
      for (std::int32_t r = 0; r < count; ++r) {
        const unsigned begin = now + static_cast<unsigned>(random() % 20), end = begin + static_cast<unsigned>(random() % 40);
        times.emplace_back(begin, end);
        last = std::max(last, begin);
        first = std::min(first, end);
        ranks[static_cast<std::size_t>(r)].call(barrier ? mpi_call::Barrier : mpi_call::Allreduce, begin, end, barrier ? 2 : 3);
        ranks[static_cast<std::size_t>(r)].records.back().bytes = without == r ? 0 : 8;
      }
      for (const auto& t : times) {
        const auto late = static_cast<std::int64_t>(t.second) - static_cast<std::int64_t>(std::max(last, first));
        if (late < 3 || without < count) continue;
        auto& sum = wanted[barrier ? sample::barrier : sample::waitall];
        ++sum.first;
        sum.second += late * sample::ms;
      }
      now += 60;
    }
    std::map<core::stable_key, std::pair<std::int64_t, std::int64_t>> found;
    for (const rules::site_use& u : uses_of(ranks, 3 * sample::ms, 1 + random() % 500))
      if (u.late_exits > 0) found[u.site] = {u.late_exits, u.late_exit_ns};
    CHECK(found == wanted);
  }
}

TEST_CASE("slow completion is a problem of its call site") {
  whywait::base::vector<sample::rank> ranks;
  for (std::int32_t r = 0; r < 2; ++r) ranks.emplace_back(r);
  for (unsigned i = 0; i < 100; ++i) {
    ranks[0].call(mpi_call::Barrier, 100 * i, 100 * i + 10, 2);
    ranks[1].call(mpi_call::Barrier, 100 * i, 100 * i + 20, 2);
  }
  const auto uses = uses_of(ranks, 10000, 4096);
  const auto said = sample::evaluate_with(
      sample::outcome({}), [&](auto& store, auto& facts) { rules::add_uses(store, uses, sample::names(), facts); });
  const rules::finding* const f = sample::find(said.problems, "slow_completion");
  REQUIRE(f != nullptr);
  CHECK(f->seconds == doctest::Approx(1.0));
  CHECK(f->actions.at(0).text == "MPI_Barrier in main (main.cpp:30)");
}
