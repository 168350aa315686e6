#include <whywait/clocks/balance_course.hpp>
#include <whywait/clocks/virtual_clocks.hpp>

#include "../explain/histories.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

using namespace histories;

namespace {

constexpr std::int64_t us = 1000;

explain::outcome with_clocks(run& r) {
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  return r.explain(settings);
}

using work = std::function<std::int64_t(int rank, int step)>;

/// Ranks that work and meet, step by step.
class meeting {
 public:
  meeting(int ranks, int steps, const work& what, bool marked) : data(ranks), totals_(static_cast<std::size_t>(ranks), 0) {
    std::uint64_t now = 1000;
    for (int k = 0; k != steps; ++k) {
      std::int64_t most = 0, sum = 0;
      for (int r = 0; r != ranks; ++r) {
        const std::int64_t ns = what(r, k);
        most = std::max(most, ns);
        sum += ns;
        totals_[static_cast<std::size_t>(r)] += ns;
      }
      for (int r = 0; r != ranks; ++r) {
        const auto ns = static_cast<std::uint64_t>(what(r, k));
        if (marked) data[r].step("solve", ns);
        data[r].collective(mpi_call::Allreduce, now + ns, now + static_cast<std::uint64_t>(most) + 100);
      }
      now += static_cast<std::uint64_t>(most) + 100;
      even_ns += most - sum / ranks;
    }
    for (int r = 0; r != ranks; ++r) data[r].end_ns = static_cast<std::int64_t>(now);
  }
  /// The largest total of a rank, above the mean.
  std::int64_t excess_ns() const {
    std::int64_t sum = 0;
    for (const std::int64_t t : totals_) sum += t;
    return *std::max_element(totals_.begin(), totals_.end()) - sum / static_cast<std::int64_t>(totals_.size());
  }
  explain::balance_answer best() {
    const explain::outcome out = with_clocks(data);
    return out.balances.empty() ? explain::balance_answer() : out.balances[0];
  }

  run data;
  std::int64_t even_ns = 0;  ///< what dividing each step evenly saves

 private:
  std::vector<std::int64_t> totals_;
};

}  // namespace

TEST_CASE("imbalance that grows is balanced where it is") {
  for (const bool marked : {true, false}) {
    CAPTURE(marked);
    meeting m(
        4, 60, [](int rank, int k) { return (rank == 3 ? 3000 + 200 * k : 3000) * us; }, marked);
    const explain::balance_answer b = m.best();
    CHECK(b.rank == 3);
    CHECK(double(b.saving_ns) == doctest::Approx(double(m.even_ns)).epsilon(0.02));
  }
}

TEST_CASE("bursts of one rank are balanced where they are, with and without marks") {
  for (const bool marked : {true, false}) {
    CAPTURE(marked);
    meeting m(
        4, 80, [](int rank, int k) { return (rank == 1 && k % 10 == 9 ? 44000 : 4000) * us; }, marked);
    const explain::balance_answer b = m.best();
    CHECK(b.rank == 1);
    CHECK(double(b.saving_ns) == doctest::Approx(double(m.even_ns)).epsilon(0.02));
  }
}

TEST_CASE("time that varies on all ranks is not what balancing saves") {
  for (const std::int64_t slower : {0, 2000}) {
    CAPTURE(slower);
    meeting m(
        4, 80,
        [slower](int rank, int k) {
          std::mt19937 random(static_cast<unsigned>(1000 * rank + k));
          random.discard(3);
          const std::int64_t more = rank == 2 ? slower : 0;
          return (4000 + static_cast<std::int64_t>(random() % 8000) + more) * us;
        },
        true);
    const explain::balance_answer b = m.best();
    CHECK(b.saving_ns <= m.excess_ns());
    CHECK(2 * m.even_ns > 3 * m.excess_ns());  // dividing each step evenly would save much more
    if (slower == 0) continue;
    CHECK(b.rank == 2);
    CHECK(double(b.saving_ns) == doctest::Approx(double(m.excess_ns())).epsilon(0.02));
  }
}

TEST_CASE("imbalance that moves from rank to rank is known to save more than what one rank has above the mean") {
  const auto best = [](const work& what) {
    meeting m(4, 40, what, true);
    const explain::balance_answer b = m.best();
    CHECK(b.saving_ns <= m.even_ns);
    CHECK(b.saving_ns <= m.excess_ns());
    return b;
  };
  CHECK(best([](int rank, int k) { return (rank == k % 2 ? 12000 : 4000) * us; }).moves);
  CHECK(best([](int rank, int k) { return (rank == 1 ? 4000 + 250 * k : rank == 2 ? 14000 - 250 * k : 4000) * us; }).moves);
  CHECK_FALSE(best([](int rank, int) { return (rank == 1 ? 12000 : 4000) * us; }).moves);
  CHECK_FALSE(best([](int rank, int k) { return (rank == 1 ? 4000 + 250 * k : 4000) * us; }).moves);
}

TEST_CASE("the ranks that take nearly as long as the slowest one are known") {
  meeting m(
      8, 40,
      [](int rank, int) {
        constexpr std::int64_t each[] = {20, 20, 60, 20, 20, 55, 20, 25};
        return each[rank] * 100 * us;
      },
      true);
  const explain::balance_answer b = m.best();
  CHECK(b.rank == 2);
  CHECK(b.ranks == 8);
  CHECK(b.visits == 8 * 40);
  REQUIRE(b.slow_ranks == 2);
  CHECK(b.slow[0].rank == 2);
  CHECK(b.slow[1].rank == 5);
  CHECK(b.slow_ns == 40 * 115 * 100 * us);
}

TEST_CASE("a call that notices late that it can go on is late in another run as far as it waits there") {
  run r(2);
  constexpr std::int64_t late_ns = 500 * us, each_ns[] = {4000 * us, 10000 * us};
  constexpr int steps = 44, punctual = 4;  // first rank 0 takes longer, and does not wait
  std::uint64_t now[] = {1000, 1000};
  for (int k = 0; k != steps; ++k) {
    const bool waits = k >= punctual;
    std::uint64_t enter[2];
    for (int i = 0; i != 2; ++i) {
      const std::int64_t ns = each_ns[waits ? i : 1 - i];
      r[i].step("solve", static_cast<std::uint64_t>(ns));
      enter[i] = now[i] + static_cast<std::uint64_t>(ns);
    }
    now[1] = std::max(enter[0], enter[1]) + 100;
    now[0] = now[1] + (waits ? static_cast<std::uint64_t>(late_ns) : 0);
    for (int i = 0; i != 2; ++i) r[i].collective(mpi_call::Allreduce, enter[i], now[i]);
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = static_cast<std::int64_t>(now[1]) + late_ns;
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  explain::what_if half;
  half.changes.push_back({core::key_of("solve"), 0.5});
  settings.questions.push_back(half);
  const explain::outcome out = r.explain(settings);
  REQUIRE_FALSE(out.balances.empty());
  // evenly divided no rank waits, and none is late; what is claimed is at most what the rank has above the mean
  const std::int64_t most_ns = (steps - punctual) * each_ns[1] + punctual * each_ns[0];
  CHECK(out.balances[0].most_ns == most_ns);
  CHECK(double(out.balances[0].saving_ns) == doctest::Approx(double(most_ns - steps * 7000 * us)).epsilon(0.01));
  // twice as fast each rank waits half as long, which does not delay the slow one
  CHECK(double(out.answers.at(0).total_ns) == doctest::Approx(steps * 5000.0 * us).epsilon(0.01));
}

// Rank 1 waits for rank 0, which waits for rank 2. In a run in which "solve" takes a quarter of the time rank 1 waits less, and is
// less late; in one in which it takes none it waits as long as now.
TEST_CASE("faster code makes the run no longer, although a call is later that waits longer") {
  run r(3);
  constexpr std::uint64_t each = 1000 * us, late = 10 * each;
  constexpr int steps = 44, punctual = 4;
  std::uint64_t now = 1000;
  for (int k = 0; k != steps; ++k) {
    const bool waits = k >= punctual;
    r[2].step("other", 3 * each);
    r[2].send(now + 3 * each, now + 3 * each + 1, 0);
    r[0].step("solve", 8 * each);
    r[0].receive(now + 8 * each, now + 8 * each + 1, 2);
    r[0].send(now + 8 * each + 1, now + 8 * each + 2, 1);
    r[1].step(waits ? "solve" : "alone", (waits ? 6 : 9) * each);
    const std::uint64_t leave = now + (waits ? 8 * each + late : 9 * each) + 3;
    r[1].receive(now + (waits ? 6 : 9) * each, leave, 0);
    r[0].collective(mpi_call::Allreduce, now + 8 * each + 2, leave + 100);
    r[1].collective(mpi_call::Allreduce, leave, leave + 100);
    r[2].collective(mpi_call::Allreduce, now + 3 * each + 1, leave + 100);
    now = leave + 100;
  }
  for (int i = 0; i != 3; ++i) r[i].end_ns = static_cast<std::int64_t>(now);
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  settings.maps = true;
  const explain::outcome out = r.explain(settings);
  REQUIRE(out.factors.size() >= 4);
  REQUIRE(out.factors[0].question.changes[0].block == core::key_of("solve"));
  for (std::size_t k = 1; k != 4; ++k) CHECK(out.factors[k - 1].total_ns <= out.factors[k].total_ns);
  CHECK(double(out.factors[1].total_ns) ==
        doctest::Approx((steps - punctual) * 12000.0 * us + punctual * 9000.0 * us).epsilon(0.01));
}

TEST_CASE("a part of the run has enough visits of each rank") {
  clocks::balance_course c;
  for (std::size_t p = 0; p != clocks::balance_course::parts; ++p) {
    c.pieces[p] = 8;
    c.ns[p] = 100;
    c.ranks[p] = p % 4 == 0 ? 4 : 2;
  }
  CHECK(c.together(1) == 1);
  CHECK(c.together(4) == 4);
  CHECK(c.together(1000) == clocks::balance_course::parts);
  c.join(4);
  CHECK(c.ns[7] == 400);
  CHECK(c.pieces[7] == 32);
  CHECK(c.ranks[7] == 4);
}

TEST_CASE("a Waitany that waits until the receiver of its send calls MPI waits for it in another run as well") {
  run r(2);
  std::uint64_t now = 1000;
  constexpr std::uint64_t short_ns = 4000 * us, long_ns = 10000 * us;
  for (int k = 0; k != 20; ++k) {
    const std::uint32_t sent = r[0].post_send(now, now, 1), received = r[1].post_receive(now, now, 0);
    r[0].step("work", short_ns);
    r[1].step("work", long_ns);
    r[0].call(mpi_call::Waitany, now + short_ns, now + long_ns + 10);
    r[0].completes(sent);
    r[1].call(mpi_call::Waitany, now + long_ns, now + long_ns + 10);
    r[1].completes(received);
    now += long_ns + 20;
  }
  r[0].end_ns = r[1].end_ns = static_cast<std::int64_t>(now);
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  explain::what_if half;
  half.changes.push_back({core::key_of("work"), 0.5});
  settings.questions.push_back(half);
  const explain::outcome out = r.explain(settings);
  CHECK(out.waiting_ns == 20 * static_cast<std::int64_t>(long_ns - short_ns));
  REQUIRE(out.answers.size() == 1);
  CHECK(double(out.answers[0].total_ns) == doctest::Approx(double(out.total_ns) / 2).epsilon(0.01));
  REQUIRE_FALSE(out.balances.empty());
  CHECK(double(out.balances[0].saving_ns) == doctest::Approx(20.0 * double(long_ns - short_ns) / 2).epsilon(0.01));
}

TEST_CASE("imbalance that grows between exchanges is balanced where it is") {
  constexpr int ranks = 4, steps = 60;
  run r(ranks);
  std::uint64_t now[ranks] = {1000, 1000, 1000, 1000};
  std::int64_t even_ns = 0;
  for (int k = 0; k != steps; ++k) {
    std::uint64_t sent[ranks], begin[ranks];
    std::uint32_t posted[ranks][2];
    std::int64_t sum_ns = 0;
    for (int i = 0; i != ranks; ++i) {
      const std::int64_t ns = (i == 3 ? 4000 + 150 * k : 4000) * us;
      sum_ns += ns;
      r[i].step("solve", static_cast<std::uint64_t>(ns));
      now[i] += static_cast<std::uint64_t>(ns);
      posted[i][0] = r[i].post_receive(now[i], now[i], (i + ranks - 1) % ranks);
      posted[i][1] = r[i].post_send(now[i], now[i], (i + 1) % ranks);
      sent[i] = begin[i] = now[i];
    }
    even_ns += sum_ns / ranks + 1;
    for (int i = 0; i != ranks; ++i) {
      now[i] = std::max(begin[i], sent[(i + ranks - 1) % ranks]) + 1;
      r[i].call(mpi_call::Waitall, begin[i], now[i]);
      for (const std::uint32_t p : posted[i]) r[i].completes(p);
    }
    if (k % 5 != 4) continue;
    const std::uint64_t last = *std::max_element(now, now + ranks);
    for (int i = 0; i != ranks; ++i) {
      r[i].collective(mpi_call::Allreduce, now[i], last + 1);
      now[i] = last + 1;
    }
    ++even_ns;
  }
  for (int i = 0; i != ranks; ++i) r[i].end_ns = static_cast<std::int64_t>(now[i]);
  const explain::outcome out = with_clocks(r);
  REQUIRE_FALSE(out.balances.empty());
  CHECK(out.balances[0].rank == 3);
  CHECK(double(out.total_ns - out.balances[0].saving_ns) == doctest::Approx(double(even_ns)).epsilon(0.02));
}

// In the first half rank 2 works longer than the others would if they divided their work evenly, so that dividing all of it
// evenly over the run would take longer than now.
TEST_CASE("work is divided evenly within each part of the run, not over all of it") {
  constexpr int ranks = 3, steps = 80;
  run r(ranks);
  std::uint64_t now = 1000;
  for (int k = 0; k != steps; ++k) {
    const bool first = 2 * k < steps;
    const std::int64_t solve[ranks] = {(first ? 2000 : 1000) * us, (first ? 12000 : 1000) * us, 0},
                       other = first ? 10000 * us : 0;
    const std::uint64_t end = now + static_cast<std::uint64_t>((first ? 12000 : 1000) * us) + 100;
    for (int i = 0; i != ranks; ++i) {
      const std::int64_t ns = i == 2 ? other : solve[i];
      if (ns != 0) r[i].step(i == 2 ? "other" : "solve", static_cast<std::uint64_t>(ns));
      r[i].collective(mpi_call::Allreduce, now + static_cast<std::uint64_t>(ns), end);
    }
    now = end;
  }
  for (int i = 0; i != ranks; ++i) r[i].end_ns = static_cast<std::int64_t>(now);
  const explain::outcome out = with_clocks(r);
  const auto* const solved = std::find_if(out.balances.begin(), out.balances.end(),
                                          [](const explain::balance_answer& b) { return b.block == core::key_of("solve"); });
  REQUIRE(solved != out.balances.end());
  CHECK(solved->rank == 1);
  CHECK(double(solved->saving_ns) == doctest::Approx(steps / 2 * 2000.0 * us).epsilon(0.02));
}

// Ranks 1 and 2 enter the region and leave it at once, the first time later than others because the code is not in the cache.
TEST_CASE("a rank that hardly runs a block takes equally long in all its visits once the block is balanced") {
  constexpr int ranks = 3, steps = 16;
  constexpr std::int64_t serial = 8000 * us;
  run r(ranks);
  std::uint64_t now = 1000;
  for (int k = 0; k != steps; ++k) {
    if (k == 1)
      for (int i = 0; i != ranks; ++i)
        r[i].collective(mpi_call::Barrier, now, now);  // so that the first visit is another place
    const std::uint64_t end = now + static_cast<std::uint64_t>(serial) + 100;
    for (int i = 0; i != ranks; ++i) {
      const std::int64_t ns = i == 0 ? serial : k == 0 ? 3000 : 200;
      r[i].step("serial", static_cast<std::uint64_t>(ns));
      r[i].collective(mpi_call::Allreduce, now + static_cast<std::uint64_t>(ns), end);
    }
    now = end;
  }
  for (int i = 0; i != ranks; ++i) r[i].end_ns = static_cast<std::int64_t>(now);
  const explain::outcome out = with_clocks(r);
  REQUIRE(out.balances.size() == 1);
  CHECK(double(out.balances[0].saving_ns) == doctest::Approx(steps * serial * 2.0 / 3).epsilon(0.01));
}

// Each visit of the region has several sweeps of two calls; only rank 0 works, ahead of the first of them.
TEST_CASE("what balancing a region saves does not depend on how many calls of MPI are made in a visit") {
  constexpr int sweeps = 24;
  constexpr std::int64_t serial = 1500 * us, hardly = 200;
  for (const int visits : {1, 2, 4, 24}) {
    CAPTURE(visits);
    run r(2);
    std::uint64_t now = 1000;
    for (int k = 0; k != sweeps; ++k) {
      const std::uint64_t entered = k % (sweeps / visits) == 0 ? 1 : 0;
      for (const mpi_call what : {mpi_call::Alltoall, mpi_call::Allreduce}) {
        const bool first = what == mpi_call::Alltoall;
        const std::uint64_t end = now + static_cast<std::uint64_t>(first ? serial : hardly) + 100;
        for (int i = 0; i != 2; ++i) {
          const auto ns = static_cast<std::uint64_t>(first && i == 0 ? serial : hardly);
          r[i].step("solve", ns, first ? entered : 0);
          r[i].collective(what, now + ns, end);
        }
        now = end;
      }
    }
    for (int i = 0; i != 2; ++i) r[i].end_ns = static_cast<std::int64_t>(now);
    const explain::outcome out = with_clocks(r);
    REQUIRE(!out.balances.empty());
    CHECK(out.balances[0].block == core::key_of("solve"));
    CHECK(out.balances[0].visits == 2 * visits);
    CHECK(double(out.balances[0].saving_ns) == doctest::Approx(sweeps * serial / 2.0).epsilon(0.02));
  }
}

// A region around a whole solve: even sweeps, and a serial part on rank 0 between two calls that both ranks make.
TEST_CASE("a serial part inside a region around even work saves what dividing it saves") {
  constexpr int steps = 40, sweeps = 6;
  constexpr std::int64_t even = 400 * us, serial = 1000 * us, hardly = 200;
  run r(2);
  std::uint64_t now = 1000;
  const auto part = [&](mpi_call what, std::int64_t one_ns, std::int64_t other_ns, std::uint64_t visits) {
    const std::uint64_t end = now + static_cast<std::uint64_t>(std::max(one_ns, other_ns)) + 100;
    for (int i = 0; i != 2; ++i) {
      const auto ns = static_cast<std::uint64_t>(i == 0 ? one_ns : other_ns);
      r[i].step("solve", ns, visits);
      r[i].collective(what, now + ns, end);
    }
    now = end;
  };
  for (int k = 0; k != steps; ++k) {
    for (int s = 0; s != sweeps; ++s) part(mpi_call::Alltoall, even, even + (s + k) % 3 * us, s == 0 ? 1 : 0);
    part(mpi_call::Barrier, even, even, 0);
    part(mpi_call::Allreduce, serial, hardly + k % 5 * 100, 0);
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = static_cast<std::int64_t>(now);
  const explain::outcome out = with_clocks(r);
  REQUIRE(!out.balances.empty());
  CHECK(out.balances[0].block == core::key_of("solve"));
  CHECK(double(out.balances[0].saving_ns) == doctest::Approx(steps * serial / 2.0).epsilon(0.03));
}

TEST_CASE("a Waitsome that waits for a message needs it, although it completes sends as well") {
  run r(2);
  std::uint64_t now = 1000;
  constexpr std::uint64_t short_ns = 4000 * us, long_ns = 10000 * us;
  for (int k = 0; k != 20; ++k) {
    for (int rank = 0; rank != 2; ++rank) {
      const std::uint64_t at = now + (rank == 0 ? short_ns : long_ns);
      r[rank].step("work", rank == 0 ? short_ns : long_ns);
      const std::uint32_t received = r[rank].post_receive(at, at, 1 - rank), sent = r[rank].post_send(at, at, 1 - rank);
      r[rank].call(mpi_call::Waitsome, at, now + long_ns + 10);
      r[rank].completes(received);
      r[rank].completes(sent);
    }
    now += long_ns + 10;
  }
  r[0].end_ns = r[1].end_ns = static_cast<std::int64_t>(now);
  const explain::outcome out = with_clocks(r);
  CHECK(out.waiting_ns == 20 * static_cast<std::int64_t>(long_ns - short_ns));
  REQUIRE_FALSE(out.balances.empty());
  CHECK(double(out.balances[0].saving_ns) == doctest::Approx(20.0 * double(long_ns - short_ns) / 2).epsilon(0.01));
}

// Ranks meet in the same call before two pieces of code of which one is uneven. Balanced together, the even one would become uneven.
TEST_CASE("code after one call is balanced piece by piece") {
  constexpr int ranks = 2, steps = 40;
  run r(ranks);
  std::uint64_t now = 1000;
  for (int k = 0; k != steps; ++k) {
    const auto meet = [&](const char* place, std::int64_t first, std::int64_t second) {
      const std::int64_t ns[ranks] = {first, second}, most = std::max(first, second);
      for (int i = 0; i != ranks; ++i) {
        sync_record& all = r[i].call(mpi_call::Allreduce, now + static_cast<std::uint64_t>(ns[i]),
                                     now + static_cast<std::uint64_t>(most) + 100, place);
        all.peer = -1;
        all.flags = static_cast<std::uint16_t>(flag::contributes | flag::consumes);
      }
      now += static_cast<std::uint64_t>(most) + 100;
    };
    meet("residual", 0, 0);
    meet("uneven", 4000 * us, 8000 * us);
    meet("residual", 0, 0);
    meet("even", 5000 * us, 5000 * us);
  }
  for (int i = 0; i != ranks; ++i) r[i].end_ns = static_cast<std::int64_t>(now);
  const explain::outcome out = with_clocks(r);
  bool found = false;
  for (const explain::balance_answer& b : out.balances) {
    if (!b.after) continue;
    found = true;
    CHECK(b.rank == 1);
    CHECK(double(b.saving_ns) == doctest::Approx(steps * 2000.0 * us).epsilon(0.02));
  }
  CHECK(found);
}
