#include "histories.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <vector>

using namespace histories;

namespace {

/// What one rank does in the interior of one step: `visits` visits of `each` ticks.
struct interior {
  std::uint64_t visits, each;
};

/// Ranks in a line that exchange halos with their neighbours, step by step: MPI_Irecv and MPI_Isend for each neighbour,
/// the interior, MPI_Waitall. Sends are eager. `all_every`: steps between two operations of all; 0: none.
class halo {
 public:
  using work = std::function<interior(int rank, int step)>;

  halo(int ranks, int steps, const work& what, bool marked, int all_every = 0) : data(ranks) {
    std::vector<std::uint64_t> now(static_cast<std::size_t>(ranks), 1);
    for (int k = 0; k != steps; ++k) {
      std::vector<std::uint64_t> sent(now.size()), begin(now.size());
      std::vector<std::vector<std::uint32_t>> posted(now.size());
      for (int r = 0; r != ranks; ++r) {
        const auto i = static_cast<std::size_t>(r);
        for (const int n : neighbours(r)) posted[i].push_back(data[r].post_receive(now[i], now[i], n));
        sent[i] = now[i];
        for (const int n : neighbours(r)) posted[i].push_back(data[r].post_send(now[i], now[i], n));
        now[i] = run_interior(r, what(r, k), now[i], marked);
        begin[i] = now[i];
      }
      for (int r = 0; r != ranks; ++r) {
        const auto i = static_cast<std::size_t>(r);
        std::uint64_t leave = begin[i];
        for (const int n : neighbours(r)) leave = std::max(leave, sent[static_cast<std::size_t>(n)]);
        now[i] = leave + 1;
        data[r].call(mpi_call::Waitall, begin[i], now[i]);
        for (const std::uint32_t p : posted[i]) data[r].completes(p);
      }
      if (all_every != 0 && (k + 1) % all_every == 0) meet(now);
    }
    for (int r = 0; r != ranks; ++r) data[r].end_ns = static_cast<std::int64_t>(now[static_cast<std::size_t>(r)]);
  }

  run data;

 private:
  std::vector<int> neighbours(int rank) const {
    std::vector<int> all;
    if (rank != 0) all.push_back(rank - 1);
    if (rank + 1 != data.ranks()) all.push_back(rank + 1);
    return all;
  }

  // Without marks each visit ends with a call that synchronises nothing.
  std::uint64_t run_interior(int rank, const interior& w, std::uint64_t now, bool marked) {
    if (marked) {
      data[rank].step("interior", w.visits * w.each, w.visits);
      return now + w.visits * w.each;
    }
    for (std::uint64_t v = 0; v != w.visits; ++v) {
      now += w.each;
      data[rank].call(mpi_call::Barrier, now, now, "part").comm = 9;
    }
    return now + 1;
  }

  void meet(std::vector<std::uint64_t>& now) {
    const std::uint64_t last = *std::max_element(now.begin(), now.end());
    for (int r = 0; r != data.ranks(); ++r) {
      std::uint64_t& t = now[static_cast<std::size_t>(r)];
      data[r].collective(mpi_call::Allreduce, t, last + 1);
      t = last + 1;
    }
  }
};

core::stable_key interior_key(bool marked) {
  return marked ? core::key_of("interior") : explain::between_key(core::key_of("part"), core::key_of("part"));
}

struct split_sums {
  std::int64_t total = 0, visits = 0, speed = 0, size = 0, more = 0, lead = 0;
};
split_sums sums_of(const run& r, core::stable_key block) {
  split_sums s;
  for (const auto& w : r.notes.waits) {
    CHECK(sum(w.terms) == w.wait_ns);
    for (const auto& t : w.terms) {
      CHECK(t.visits_ns + t.speed_ns == t.total_ns);
      if (t.block != block) continue;
      s.total += t.total_ns;
      s.visits += t.visits_ns;
      s.speed += t.speed_ns;
      s.size += std::abs(t.visits_ns);
      s.more += t.causer_visits - t.waiter_visits;
      s.lead += std::abs(t.lead_visits);
    }
  }
  return s;
}

/// Every rank runs the same number of visits in each stretch: nothing in any block may be a matter of visits.
void check_same_visits(halo& h) {
  h.data.explain();
  REQUIRE(h.data.notes.waits.size() > 3);
  std::int64_t slower = 0;
  for (const auto& w : h.data.notes.waits) {
    CHECK(sum(w.terms) == w.wait_ns);
    for (const auto& t : w.terms) {
      CAPTURE(w.rank);
      CAPTURE(w.record);
      CHECK(t.visits_ns == 0);
      CHECK(t.causer_visits == t.waiter_visits);
      slower += t.speed_ns;
    }
  }
  CHECK(slower == h.data.explain().waiting_ns);
}

/// One rank runs the block twice as often, and each visit takes equally long everywhere.
void check_twice(halo& h, bool marked) {
  h.data.explain();
  const split_sums s = sums_of(h.data, interior_key(marked));
  CHECK(s.total > 0);
  CHECK(s.visits == s.total);
  CHECK(s.speed == 0);
}

/// A pipeline of two ranks that both run `stage`, the first one `more` times more often, at the end.
run pipeline(int more) {
  run r(2);
  std::uint64_t now[2] = {0, 0};
  for (int k = 0; k != 20; ++k) {
    r[0].step("stage", 30);
    now[0] += 30;
    r[0].send(now[0], now[0], 1);
    const std::uint64_t begin = now[1];
    now[1] = std::max(now[1], now[0]) + 1;
    r[1].receive(begin, now[1], 0);
    r[1].step("stage", 10);
    now[1] += 10;
  }
  for (int k = 0; k != more; ++k) {
    r[0].step("stage", 30);
    now[0] += 30;
  }
  r[0].end_ns = static_cast<std::int64_t>(now[0]);
  r[1].end_ns = static_cast<std::int64_t>(now[1]);
  return r;
}

interior slow_rank(int rank, int slow) { return {2, rank == slow ? 50u : 25u}; }

}  // namespace

TEST_CASE("a rank that is a step ahead ran no more visits: two ranks, one slow, with and without marks") {
  for (const bool marked : {true, false}) {
    for (const int all_every : {0, 8}) {
      CAPTURE(marked);
      CAPTURE(all_every);
      halo h(
          2, 80, [](int rank, int) { return slow_rank(rank, 1); }, marked, all_every);
      check_same_visits(h);
      const split_sums s = sums_of(h.data, interior_key(marked));
      CHECK(s.lead > 0);
    }
  }
}

TEST_CASE("a rank that is a step ahead ran no more visits: a chain of three with inherited parts") {
  for (const bool marked : {true, false}) {
    for (const int all_every : {0, 8}) {
      CAPTURE(marked);
      CAPTURE(all_every);
      halo h(
          3, 80, [](int rank, int) { return slow_rank(rank, 2); }, marked, all_every);
      check_same_visits(h);
      CHECK(std::any_of(h.data.notes.waits.begin(), h.data.notes.waits.end(), [](const explain::wait_instance& w) {
        return std::any_of(w.terms.begin(), w.terms.end(), [](const explain::residual_term& t) { return t.inherited_ns > 0; });
      }));
    }
  }
}

TEST_CASE("a rank that is a step ahead ran no more visits: waits in alternating directions") {
  for (const bool marked : {true, false}) {
    for (const int ranks : {2, 3, 5}) {
      CAPTURE(marked);
      CAPTURE(ranks);
      halo h(
          ranks, 80, [ranks](int rank, int step) { return slow_rank(rank, step / 7 % ranks); }, marked);
      check_same_visits(h);
    }
  }
}

TEST_CASE("a rank that really runs a block twice as often gets all of it: two ranks") {
  for (const bool marked : {true, false}) {
    for (const int all_every : {0, 8}) {
      CAPTURE(marked);
      CAPTURE(all_every);
      const std::uint64_t apart = marked ? 0 : 1;  // between n calls there are n - 1 parts
      halo h(
          2, 80,
          [apart](int rank, int) {
            return interior{(rank == 1 ? 6u : 3u) + apart, 10};
          },
          marked, all_every);
      check_twice(h, marked);
    }
  }
}

TEST_CASE("a rank that really runs a block twice as often gets all of it: a chain of three") {
  for (const bool marked : {true, false}) {
    CAPTURE(marked);
    const std::uint64_t apart = marked ? 0 : 1;
    halo h(
        3, 80,
        [apart](int rank, int) {
          return interior{(rank == 2 ? 6u : 3u) + apart, 10};
        },
        marked);
    check_twice(h, marked);
    // In a steady state rank 0 waits for rank 1, whose time is that of rank 2: three visits more in each step.
    const auto& waits = h.data.notes.waits;
    const auto last = std::find_if(waits.rbegin(), waits.rend(), [](const explain::wait_instance& w) { return w.rank == 0; });
    REQUIRE(last != waits.rend());
    const auto* t = term(last->terms, interior_key(marked));
    REQUIRE(t != nullptr);
    CHECK(t->causer_visits == 6);
    CHECK(t->waiter_visits == 3);
    CHECK(t->inherited_ns == t->total_ns);
  }
}

TEST_CASE("more visits and a few waits in the opposite direction: the visits stay true") {
  // Rank 1 runs four times as many visits. In every tenth step rank 0 is late for another reason.
  halo h(
      2, 80,
      [](int rank, int step) {
        return interior{rank == 1 ? 16u : 4u, rank == 0 && step % 10 == 9 ? 400u : 10u};
      },
      true);
  const auto out = h.data.explain();
  const explain::explanation& first = out.waits.at(0);
  for (const auto& t : first.residual) {
    if (t.block != core::key_of("interior")) continue;
    CHECK(std::abs(t.causer_visits - 4 * t.waiter_visits) <= 4);
  }
}

TEST_CASE("a pipeline that fills: the first stage is ahead by one visit and has no more visits") {
  run r = pipeline(0);
  r.explain();
  const split_sums s = sums_of(r, core::key_of("stage"));
  CHECK(s.total > 0);
  CHECK(s.size == 0);
  CHECK(s.more == 0);
  REQUIRE_FALSE(r.notes.waits.empty());
  CHECK(term(r.notes.waits.front().terms, core::key_of("stage"))->lead_visits == -1);
}

TEST_CASE("as many visits at the same place are no reason for time, although one rank runs the block once more later") {
  run r = pipeline(1);
  r.explain();
  REQUIRE_FALSE(r.notes.waits.empty());
  const auto* first = term(r.notes.waits.front().terms, core::key_of("stage"));
  REQUIRE(first != nullptr);
  CHECK(first->causer_visits == 1);
  CHECK(first->waiter_visits == 1);  // 20 of 21, which the second rank makes later
  CHECK(first->speed_ns == first->total_ns);
  for (const auto& w : r.notes.waits) {
    for (const auto& t : w.terms) {
      if (t.causer_visits == t.waiter_visits && t.causer_visits != 0) CHECK(t.visits_ns == 0);
    }
  }
}

TEST_CASE("imbalance that moves between operations of all is visits, not lead") {
  run r(2);
  std::uint64_t now = 0;
  for (int k = 0; k != 12; ++k) {
    const std::uint64_t visits[2] = {k % 2 == 0 ? 4u : 1u, k % 2 == 0 ? 1u : 4u};
    for (int rank = 0; rank != 2; ++rank) {
      r[rank].step("work", 10 * visits[rank], visits[rank]);
      r[rank].collective(mpi_call::Allreduce, now + 10 * visits[rank], now + 41);
    }
    now += 41;
  }
  r.explain();
  const split_sums s = sums_of(r, core::key_of("work"));
  CHECK(s.total == 12 * 30);
  CHECK(s.visits == s.total);
  CHECK(s.more == 12 * 3);
  CHECK(s.lead == 0);
}
