#include <whywait/clocks/slow_ranks.hpp>
#include <whywait/clocks/virtual_clocks.hpp>

#include "../explain/histories.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>

using namespace histories;

namespace teams {

constexpr std::int64_t ms = 1000000;
constexpr int ranks = 2, threads = 2, steps = 40;

using work = std::function<std::int64_t(int rank, int thread, int step)>;

void caused_by(sync_record& r, std::size_t location, std::uint32_t record) {
  r.completed_by = static_cast<std::uint32_t>(location);
  r.completion = record;
  r.flags = static_cast<std::uint16_t>(r.flags | core::thread_flag::caused);
}

/// Ranks with a team of two threads each: in each step a parallel region, in which thread t of rank r makes four visits that take
/// `what(r, t, step)` together, and an operation of all ranks.
class program {
 public:
  program(const work& what, bool marked) : data(ranks) {
    for (int r = 0; r != ranks; ++r) {
      data[r].locations.resize(threads);
      data[r].locations[1].whole = false;  // it counts until its last call
    }
    std::uint64_t now = 1000;
    for (int k = 0; k != steps; ++k) {
      std::uint64_t last = 0, joined[ranks];
      for (int r = 0; r != ranks; ++r) last = std::max(last, joined[r] = region(r, now, what(r, 0, k), what(r, 1, k), marked));
      for (int r = 0; r != ranks; ++r) data[r].collective(mpi_call::Allreduce, joined[r], last + 100);
      now = last + 100;
    }
    for (int r = 0; r != ranks; ++r) data[r].end_ns = static_cast<std::int64_t>(now);
  }

  explain::outcome explain() {
    explain::options settings = run::exact();
    settings.clocks = &clocks::virtual_clocks;
    return data.explain(settings);
  }

  run data;

 private:
  // Returns the end of the region, which begins `now`.
  std::uint64_t region(int r, std::uint64_t now, std::int64_t of_main, std::int64_t of_worker, bool marked) {
    rank_data& rank = data[r];
    rank.call(mpi_call::omp_parallel, now, now);
    sync_record& idle = rank.call(mpi_call::omp_idle, std::min(idle_since_[r], now), now, "", 1);
    caused_by(idle, 0, rank.last());
    const std::uint64_t ends[] = {now + static_cast<std::uint64_t>(of_main), now + static_cast<std::uint64_t>(of_worker)};
    const std::uint64_t end = std::max(ends[0], ends[1]);
    for (std::size_t t = 0; t != threads; ++t) {
      if (marked) rank.step("solve", ends[t] - now, 4, 0, "", t);
      rank.call(mpi_call::omp_parallel_end, ends[t], end, "", t);
    }
    const std::size_t first = ends[0] < ends[1] ? 0 : 1;
    if (ends[0] != ends[1]) caused_by(rank.locations[first].records.back(), 1 - first, rank.last(1 - first));
    idle_since_[r] = end;
    return end;
  }

  std::uint64_t idle_since_[ranks] = {};
};

}  // namespace teams

TEST_CASE("a block is balanced over the threads of all ranks") {
  // one thread of all: 12 ms, the others 4 ms
  for (int thread = 0; thread != teams::threads; ++thread) {
    CAPTURE(thread);
    teams::program p([thread](int r, int t, int) { return (r == 1 && t == thread ? 12 : 4) * teams::ms; }, true);
    const explain::outcome found = p.explain();
    REQUIRE_FALSE(found.balances.empty());
    const explain::balance_answer& b = found.balances[0];
    CHECK(b.rank == 1);
    CHECK(b.thread == thread);
    CHECK(b.ranks == 4);
    CHECK(b.among == 4);
    CHECK(b.slow_ranks == 1);
    CHECK(double(b.saving_ns) == doctest::Approx(teams::steps * 6.0 * teams::ms).epsilon(0.02));
  }
  // the same thread of each rank: balancing ranks would save nothing
  teams::program both([](int, int t, int) { return (t == 1 ? 12 : 4) * teams::ms; }, true);
  const explain::outcome found = both.explain();
  REQUIRE_FALSE(found.balances.empty());
  const explain::balance_answer& b = found.balances[0];
  REQUIRE(b.slow_ranks == 2);
  CHECK(b.slow[0] == explain::thread_of_rank{0, 1});
  CHECK(b.slow[1] == explain::thread_of_rank{1, 1});
  CHECK(double(b.saving_ns) == doctest::Approx(teams::steps * 4.0 * teams::ms).epsilon(0.02));
}

TEST_CASE("of a slow rank all threads are known to be slow, and of many threads the first three and the last one") {
  teams::program p([](int r, int, int) { return (r == 1 ? 12 : 4) * teams::ms; }, true);
  const explain::outcome found = p.explain();
  REQUIRE_FALSE(found.balances.empty());
  REQUIRE(found.balances[0].slow_ranks == 2);
  CHECK(found.balances[0].slow[0] == explain::thread_of_rank{1, 0});
  CHECK(found.balances[0].slow[1] == explain::thread_of_rank{1, 1});
  CHECK(double(found.balances[0].saving_ns) == doctest::Approx(teams::steps * 4.0 * teams::ms).epsilon(0.02));

  explain::balance_answer b;
  b.rank = 1;
  b.most_ns = 1000;
  b.sum_ns = 8400;
  b.ranks = b.among = 24;  // mean 350
  clocks::slow_ranks all;
  for (std::int32_t rank = 0; rank != 3; ++rank) {
    clocks::slow_ranks one;
    one.begin(1);
    for (std::int32_t thread = 0; thread != 8; ++thread) one.measure({rank, thread}, 0, b, rank == 1 ? 1000 - thread : 25);
    base::packet out;
    one.write(out);
    base::packet_reader in(out.data(), out.size());
    if (rank == 0) all = one;
    else all.merge(in);
  }
  all.name(b, 0);
  CHECK(b.slow_ranks == 8);
  CHECK(b.slow_ns == 8000 - 28);
  CHECK(b.slow[0] == explain::thread_of_rank{1, 0});
  CHECK(b.slow[2] == explain::thread_of_rank{1, 2});
  CHECK(b.slow[3] == explain::thread_of_rank{1, 7});
}

TEST_CASE("imbalance of threads that grows is balanced where it is") {
  const auto of_worker = [](int k) { return (4000 + 400 * k) * teams::ms / 1000; };
  teams::program p([&](int r, int t, int k) { return r == 0 && t == 1 ? of_worker(k) : 4 * teams::ms; }, true);
  std::int64_t even_ns = 0;
  for (int k = 0; k != teams::steps; ++k) even_ns += (of_worker(k) - 4 * teams::ms) * 3 / 4;
  const explain::outcome found = p.explain();
  REQUIRE_FALSE(found.balances.empty());
  CHECK(found.balances[0].thread == 1);
  CHECK(double(found.balances[0].saving_ns) == doctest::Approx(double(even_ns)).epsilon(0.03));
}

TEST_CASE("unmarked code of threads counts where their waits are known") {
  teams::program p([](int r, int t, int) { return (r == 1 && t == 1 ? 12 : 4) * teams::ms; }, false);
  const explain::outcome found = p.explain();
  REQUIRE_FALSE(found.balances.empty());
  const explain::balance_answer& b =
      found.balances[0];  // of the workers: without functions it is not known to be that of main threads
  CHECK(b.thread == 1);
  CHECK(b.ranks == 2);
  CHECK(b.unmarked);
  CHECK(double(b.saving_ns) == doctest::Approx(teams::steps * 4.0 * teams::ms).epsilon(0.02));
}

TEST_CASE("visits of a thread without operations of all ranks are compared with those of one that makes them") {
  for (int thread = 0; thread != teams::threads; ++thread) {
    CAPTURE(thread);
    teams::program p([thread](int r, int t, int) { return (r == 1 && t == thread ? 12 : 4) * teams::ms; }, true);
    const explain::outcome found = p.explain();
    std::int64_t waits = 0;
    for (const explain::explanation& e : found.waits) {
      if (e.why != explain::pattern::thread_barrier) continue;
      waits += e.count;
      const explain::residual_term* const solve = term(e.residual, core::key_of("solve"));
      REQUIRE(solve != nullptr);
      CHECK(solve->total_ns == e.wait_ns);
      CHECK(solve->causer_visits == 4 * e.count);
      CHECK(solve->waiter_visits == 4 * e.count);
      CHECK(solve->lead_visits == 0);
      CHECK(solve->visits_ns == 0);
      CHECK(solve->causer_ns == e.count * 12 * teams::ms);
      CHECK(solve->waiter_ns == e.count * 4 * teams::ms);
    }
    CHECK(waits == teams::steps);
  }
}
