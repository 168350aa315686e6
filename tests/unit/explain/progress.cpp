#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/progress.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

using namespace histories;
using whywait::explain::pattern;

namespace {

constexpr std::int64_t ms = 1000000, us = 1000;

struct halo {
  int steps = 20;
  std::uint64_t bytes = 65536;
  std::int64_t fast_ns = 5 * ms, slow_ns = 10 * ms, transfer_ns = 20 * us;
  bool dependent = true;    ///< sends complete when the receiver enters MPI again; otherwise after transfer_ns
  std::int64_t tail_ns = 0; ///< additional time of each send, without the receiver
};

/// Two ranks post a receive and a send, compute, and wait for both. Rank 1 computes longer. A simulation of its own: it
/// includes nothing of the room. Returns how long rank 0 was blocked after both sides had posted.
std::int64_t simulate(run& r, const halo& h) {
  std::int64_t now[2] = {1000, 1000};
  std::int64_t blocked_ns = 0;
  for (int step = 0; step != h.steps; ++step) {
    std::int64_t posted[2], enters[2], leaves[2];
    std::uint32_t requests[2][2];
    for (int i = 0; i != 2; ++i) {
      requests[i][0] = r[i].post_receive(std::uint64_t(now[i]), std::uint64_t(now[i]) + 100, 1 - i);
      posted[i] = now[i] + 200;
      requests[i][1] = r[i].post_send(std::uint64_t(posted[i]), std::uint64_t(posted[i]) + 100, 1 - i);
      for (const std::uint32_t q : requests[i]) r[i].locations[0].records[q].bytes = h.bytes;
      const std::int64_t work_ns = i == 0 ? h.fast_ns : h.slow_ns;
      r[i].step("interior", std::uint64_t(work_ns));
      enters[i] = posted[i] + 100 + work_ns;
    }
    for (int i = 0; i != 2; ++i) {
      // What it receives was sent before it waits, or arrives when its partner posts.
      std::int64_t done = std::max(enters[i], posted[1 - i]);
      const std::int64_t sent = h.dependent ? enters[1 - i] : std::max(posted[0], posted[1]);
      leaves[i] = std::max(done, sent + h.tail_ns) + h.transfer_ns;
      if (i == 0 && h.dependent) blocked_ns += std::max<std::int64_t>(0, sent - done);
    }
    for (int i = 0; i != 2; ++i) {
      r[i].call(mpi_call::Waitall, std::uint64_t(enters[i]), std::uint64_t(leaves[i]));
      for (const std::uint32_t q : requests[i]) r[i].completes(q);
      now[i] = leaves[i] + 100;
    }
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = now[i] + 1000;
  return blocked_ns;
}

/// Ranks on a line exchange large messages with their neighbours; rank 1 computes longer. Each leaves its call when all its
/// neighbours have entered theirs. Rank 3 waits for rank 2, which waits for rank 1, and so is half a step behind it.
void simulate_line(run& r, int ranks, int steps, std::int64_t fast_ns, std::int64_t slow_ns) {
  const std::size_t n = static_cast<std::size_t>(ranks);
  std::vector<std::int64_t> now(n, 1000), enters(n);
  std::vector<std::vector<std::uint32_t>> requests(n);
  for (int step = 0; step != steps; ++step) {
    for (std::size_t i = 0; i != n; ++i) {
      requests[i].clear();
      std::int64_t t = now[i];
      for (const bool sends : {false, true}) {
        for (const int peer : {int(i) - 1, int(i) + 1}) {
          if (peer < 0 || peer == ranks) continue;
          const auto begin = std::uint64_t(t), end = begin + 100;
          requests[i].push_back(sends ? r[int(i)].post_send(begin, end, peer) : r[int(i)].post_receive(begin, end, peer));
          r[int(i)].locations[0].records[requests[i].back()].bytes = 65536;
          t += 200;
        }
      }
      const std::int64_t work_ns = i == 1 ? slow_ns : fast_ns;
      r[int(i)].step("interior", std::uint64_t(work_ns));
      enters[i] = t + work_ns;
    }
    for (std::size_t i = 0; i != n; ++i) {
      std::int64_t leaves = enters[i];
      if (i != 0) leaves = std::max(leaves, enters[i - 1]);
      if (i + 1 != n) leaves = std::max(leaves, enters[i + 1]);
      leaves += 20 * us;
      r[int(i)].call(mpi_call::Waitall, std::uint64_t(enters[i]), std::uint64_t(leaves));
      for (const std::uint32_t q : requests[i]) r[int(i)].completes(q);
      now[i] = leaves + 100;
    }
  }
  for (std::size_t i = 0; i != n; ++i) r[int(i)].end_ns = now[i] + 1000;
}

explain::options usual() {
  explain::options settings;
  settings.kept_share = 1;
  settings.least_share = 0;
  return settings;
}

std::int64_t time_of(const explain::outcome& out, pattern why) {
  std::int64_t sum_ns = 0;
  for (const auto& e : out.waits) sum_ns += e.why == why ? e.wait_ns : 0;
  return sum_ns;
}

}  // namespace

TEST_CASE("what a partner did while a call was blocked ends where the partner is not needed any more") {
  using whywait::core::mpi_call;
  whywait::explain::mpi_entries calls;
  calls.add(0, 10 * us, mpi_call::Barrier);
  calls.add(1 * ms, 1 * ms + 10 * us, mpi_call::Send);
  calls.add(1 * ms + 20 * us, 1 * ms + 50 * us, mpi_call::Recv);  // the same visit
  calls.add(6 * ms, 6 * ms + 10 * us, mpi_call::Barrier);
  const auto all = calls.while_blocked(5 * us, 9 * ms, 9 * ms);
  CHECK(all.first == 3);
  CHECK(all.last_ns == 6 * ms);
  CHECK(all.inside_ns == 45 * us);
  CHECK(all.outside_ns == 6 * ms + 10 * us);
  const auto needed = calls.while_blocked(5 * us, 9 * ms, 2 * ms);
  CHECK(needed.first == 1);
  CHECK(needed.last_ns == 1 * ms + 20 * us);
  CHECK(needed.inside_ns == 5 * us);
  CHECK(needed.outside_ns == 6 * ms + 10 * us);
  CHECK(calls.while_blocked(5 * us, 6 * ms + 5 * us, 9 * ms).outside_ns == INT64_MAX);  // still inside
  const auto never = calls.while_blocked(-2 * ms, -1 * ms, 9 * ms);
  CHECK(never.first == whywait::explain::mpi_entries::none);
  CHECK(never.outside_ns == INT64_MIN);
}

TEST_CASE("the calls of a location are found again, however long they and the times between them are") {
  using whywait::core::mpi_call;
  std::mt19937_64 random(9);
  const std::int64_t long_ns = std::int64_t{1} << 31, span_ns = std::int64_t{1} << 32;
  const std::int64_t times[] = {0,       1,           50 * us, long_ns - 2, long_ns - 1,
                                long_ns, span_ns - 1, span_ns, span_ns + 1, 100 * span_ns};
  struct known {
    std::int64_t begin_ns, leave_ns;
    bool posts;
  };
  std::vector<known> all;
  whywait::explain::mpi_entries calls;
  std::int64_t now_ns = -7 * span_ns;
  for (int i = 0; i != 400; ++i) {
    const bool posts = random() % 2 == 0;
    const std::int64_t begin_ns = now_ns + times[random() % (i % 40 < 30 ? 3 : 10)];
    now_ns = begin_ns + times[random() % (i % 50 < 40 ? 3 : 10)];
    all.push_back({begin_ns, now_ns, posts});
    calls.add(begin_ns, now_ns, posts ? mpi_call::Isend : mpi_call::Recv);
  }
  for (std::size_t i = 0; i != all.size(); ++i) {
    REQUIRE(calls[i].begin_ns == all[i].begin_ns);
    REQUIRE(calls[i].leave_ns == all[i].leave_ns);
    for (const std::int64_t more_ns : {-1, 0, 1}) {
      const std::int64_t at_ns = all[i].begin_ns + more_ns;
      const auto next = std::find_if(all.begin(), all.end(), [&](const known& k) { return k.begin_ns > at_ns; }) - all.begin();
      REQUIRE(calls.last_until(at_ns) + 1 == static_cast<std::size_t>(next));
      const std::int64_t until_ns = at_ns + 3 * long_ns;
      const auto worked = std::find_if(all.begin(), all.end(), [&](const known& k) {
        const bool last = k.begin_ns < at_ns && (&k == &all.back() || (&k)[1].begin_ns >= at_ns);
        return !k.posts && ((k.begin_ns >= at_ns && k.begin_ns <= until_ns) || (last && k.leave_ns > at_ns));
      });
      const std::size_t first =
          worked == all.end() ? whywait::explain::mpi_entries::none : static_cast<std::size_t>(worked - all.begin());
      REQUIRE(calls.first_in(at_ns, until_ns) == first);
    }
  }
}

TEST_CASE("a send that completes at the receiver's next entry is a wait for progress, explained by the receiver's work") {
  run r(2);
  const std::int64_t blocked_ns = simulate(r, {});
  REQUIRE(blocked_ns > 90 * ms);
  const explain::outcome out = r.explain(usual());
  CHECK(time_of(out, pattern::wait_for_progress) == doctest::Approx(double(blocked_ns)).epsilon(0.01));
  CHECK(time_of(out, pattern::late_sender) < blocked_ns / 100);
  REQUIRE_FALSE(out.waits.empty());
  const explain::explanation& e = out.waits[0];
  CHECK(e.why == pattern::wait_for_progress);
  CHECK(e.trust == explain::quality::exact);
  CHECK(e.waiters.at(0).rank == 0);
  CHECK(e.causers.at(0).rank == 1);
  CHECK(total(e.residual, "interior") == doctest::Approx(double(e.wait_ns)).epsilon(0.02));
  REQUIRE(out.progress.size() == 1);
  CHECK(out.progress[0].sends);
  CHECK(out.progress[0].least_bytes == 65536);
  CHECK(out.progress[0].calls == 20);
}

TEST_CASE(
    "few calls that ended soon after an entry may be chance, unless it was the only one for long and they ended at once") {
  struct {
    std::int64_t blocked_ns, after_ns, inside_ns;  // inside_ns: the partner was in MPI before the entry
    int calls;
    bool depends;
  } cases[] = {
      {10 * ms, 100 * us, 0, 1, true},  {10 * ms, 1 * ms, 0, 2, false},         // not at once
      {10 * ms, 1 * ms, 0, 3, true},    {10 * ms, 100 * us, 1 * ms, 2, false},  // there was an earlier entry
      {900 * us, 10 * us, 0, 2, false},       // not long
      {900 * us, 10 * us, 0, 3, true},
  };
  for (const auto& c : cases) {
    whywait::explain::progress_votes votes;
    for (int i = 0; i != c.calls; ++i) {
      const whywait::explain::blocked_call call{0, c.blocked_ns + c.after_ns, c.blocked_ns, c.inside_ns, INT64_MAX};
      const whywait::explain::progress_votes::message m{call, 7};
      whywait::explain::progress_votes rank;
      rank.count(&m, 1, 5 * us);
      votes.add(rank);
    }
    CAPTURE(c.blocked_ns);
    CAPTURE(c.after_ns);
    CHECK(votes.dependent(7) == c.depends);
    CHECK(votes.facts().size() == (c.depends ? 1 : 0));
  }
}

TEST_CASE("a transfer that needs no partner is no wait for progress, however long it takes") {
  run r(2);
  halo h;
  h.dependent = false;
  h.tail_ns = 8 * ms;  // longer than the faster rank computes, shorter than the slower one
  simulate(r, h);
  const explain::outcome out = r.explain(usual());
  CHECK(time_of(out, pattern::wait_for_progress) == 0);
  CHECK(out.progress.empty());
}

TEST_CASE("small messages that are sent at once depend on no partner") {
  run r(2);
  halo h;
  h.bytes = 8;
  h.dependent = false;
  simulate(r, h);
  const explain::outcome out = r.explain(usual());
  CHECK(time_of(out, pattern::wait_for_progress) == 0);
  CHECK(out.progress.empty());
}

TEST_CASE("the virtual clocks know that the send needs its receiver") {
  run r(2);
  simulate(r, {});
  explain::options settings = usual();
  settings.clocks = &clocks::virtual_clocks;
  explain::what_if half;
  half.changes.push_back({core::key_of("interior"), 0.5});
  settings.questions.push_back(half);
  const explain::outcome out = r.explain(settings);
  run changed(2);
  halo h;
  h.fast_ns /= 2;
  h.slow_ns /= 2;
  simulate(changed, h);
  REQUIRE(out.answers.size() == 1);
  CHECK(out.answers[0].total_ns == doctest::Approx(double(changed[1].end_ns)).epsilon(0.01));
  // the critical path is the work of the slower rank
  REQUIRE_FALSE(out.critical_path.empty());
  CHECK(out.critical_path[0].block == core::key_of("interior"));
  CHECK(out.critical_path[0].ns == doctest::Approx(20.0 * 10 * ms).epsilon(0.02));
}

TEST_CASE("the slower rank needs its partner too, once it is the faster one") {
  for (const bool of_second_thread : {false, true}) {
    CAPTURE(of_second_thread);
    run r(2);
    simulate(r, {});
    explain::options settings = usual();
    settings.clocks = &clocks::virtual_clocks;
    explain::what_if much_faster;  // only rank 1 runs a block of this name below
    much_faster.changes.push_back({core::key_of("only 1"), 0.1});
    settings.questions.push_back(much_faster);
    for (core::path_step& s : r[1].locations[0].steps) s.block = r[1].number("only 1");
    for (int i = 0; of_second_thread && i != 2; ++i) {
      // another thread comes first, with two calls of its own
      auto& locations = r[i].locations;
      locations.insert(locations.begin(), location_data());
      locations[0].whole = false;
      for (const std::uint64_t t : {100u, 300u}) r[i].call(mpi_call::Iprobe, t, t + 50).flags = flag::found_nothing;
      for (core::sync_record& m : locations[1].records)
        if (m.has(flag::complete)) m.completed_by = 1;
    }
    const explain::outcome out = r.explain(settings);
    run changed(2);
    halo h;
    h.slow_ns /= 10;
    simulate(changed, h);
    REQUIRE(out.answers.size() == 1);
    CHECK(out.answers[0].total_ns == doctest::Approx(double(changed[0].end_ns)).epsilon(0.02));
  }
}

TEST_CASE("a late posting comes first, then the wait for progress") {
  run r(2);
  for (int k = 0; k != 4; ++k) {
    const std::uint64_t t = std::uint64_t(k) * 100 * ms + 1000;
    r[0].send(t, t + 12520 * us, 1).bytes = 1 << 20;
    r[1].step("before", 10 * ms);
    const std::uint32_t posted = r[1].post_receive(t + 10 * ms, t + 10 * ms + 200, 0);
    r[1].locations[0].records[posted].bytes = 1 << 20;
    r[1].step("after", 2500 * us);
    r[1].call(mpi_call::Wait, t + 12500 * us, t + 12530 * us);
    r[1].completes(posted);
    for (int i = 0; i != 2; ++i) r[i].call(mpi_call::Barrier, t + 90 * ms, t + 90 * ms + 100).flags = flag::contributes;
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = 500 * ms;
  explain::options settings = usual();
  settings.clocks = &clocks::virtual_clocks;
  const explain::outcome out = r.explain(settings);
  CHECK(time_of(out, pattern::late_receiver) == 40 * ms);
  CHECK(time_of(out, pattern::wait_for_progress) == doctest::Approx(10.0 * ms).epsilon(0.001));
  std::int64_t before_ns = 0, after_ns = 0;
  for (const auto& e : out.waits) {
    (e.why == pattern::late_receiver ? before_ns : after_ns) +=
        total(e.residual, e.why == pattern::late_receiver ? "before" : "after");
  }
  CHECK(before_ns == doctest::Approx(40.0 * ms).epsilon(0.01));
  CHECK(after_ns == doctest::Approx(10.0 * ms).epsilon(0.01));
  // both waits of a call are charged
  CHECK(out.costs.propagating_ns + out.costs.terminal_ns == out.waiting_ns);
}

TEST_CASE("a call waits for its sender, then for its receiver, then for the receiver's progress") {
  run r(3);
  for (int k = 0; k != 4; ++k) {
    const std::uint64_t t = std::uint64_t(k) * 100 * ms + 1000;
    const std::uint32_t received = r[0].post_receive(t, t + 100, 2);
    const std::uint32_t sent = r[0].post_send(t + 200, t + 300, 1);
    r[0].call(mpi_call::Waitall, t + 1000, t + 30020 * us);
    r[0].completes(received);
    r[0].completes(sent);
    r[1].step("before", 24 * ms);
    const std::uint32_t posted = r[1].post_receive(t + 24 * ms, t + 24 * ms + 200, 0);
    r[1].step("after", 6 * ms);
    r[1].call(mpi_call::Wait, t + 30 * ms, t + 30030 * us);
    r[1].completes(posted);
    r[2].step("first", 10 * ms);
    r[2].send(t + 10 * ms, t + 10 * ms + 200, 0);
    for (const std::uint32_t q : {received, sent}) r[0].locations[0].records[q].bytes = 1 << 20;
    r[1].locations[0].records[posted].bytes = 1 << 20;
    for (int i = 0; i != 3; ++i) r[i].collective(mpi_call::Barrier, t + 90 * ms - (i == 0 ? 0 : 1000), t + 90 * ms + 100);
  }
  for (int i = 0; i != 3; ++i) r[i].end_ns = 500 * ms;
  explain::options settings = usual();
  settings.clocks = &clocks::virtual_clocks;
  const explain::outcome out = r.explain(settings);
  struct part {
    std::int64_t wait_ns;
    const char* guilty;
    std::int64_t guilty_ns;
  };
  const std::map<pattern, part> expected{{pattern::late_sender, {10 * ms - 1000, "first", 10 * ms}},
                                         {pattern::late_receiver, {14 * ms, "before", 24 * ms}},
                                         {pattern::wait_for_progress, {6 * ms, "after", 6 * ms}}};
  std::map<pattern, int> count;
  for (const auto& w : r.notes.waits) {
    if (w.rank != 0) continue;  // at the barrier
    const part& x = expected.at(w.why);
    ++count[w.why];
    CHECK(w.wait_ns == x.wait_ns);
    CHECK(w.explained);
    CHECK(sum(w.terms) == w.wait_ns);
    CHECK(total(w.terms, x.guilty) == doctest::Approx(double(x.guilty_ns)).epsilon(0.001));
  }
  for (const auto& x : expected) CHECK(count[x.first] == 4);
  CHECK(out.costs.propagating_ns + out.costs.terminal_ns == out.waiting_ns);
  for (const auto& p : r.notes.paths) {
    std::int64_t all_ns = 0;
    for (const auto& e : p.entries) all_ns += e.causer_ns;
    CHECK(all_ns == p.elapsed_ns);
  }
}

TEST_CASE("a poll that finds nothing is an entry that ends a wait for progress") {
  run r(2);
  for (int k = 0; k != 4; ++k) {
    const std::uint64_t t = std::uint64_t(k) * 100 * ms + 1000;
    const std::uint32_t sent = r[0].post_send(t, t + 200, 1);
    r[0].locations[0].records[sent].bytes = 1 << 16;
    r[0].call(mpi_call::Wait, t + 1000, t + 10020 * us);
    r[0].completes(sent);
    r[0].step("after", 20 * ms);  // before the next round
    const std::uint32_t posted = r[1].post_receive(t, t + 200, 0);
    r[1].locations[0].records[posted].bytes = 1 << 16;
    r[1].step("before", 10 * ms);
    r[1].call(mpi_call::Test, t + 10 * ms, t + 10030 * us).flags = flag::found_nothing;
    r[1].step("after", 20 * ms);
    r[1].call(mpi_call::Wait, t + 31 * ms, t + 31 * ms + 1000);
    r[1].completes(posted);
    for (int i = 0; i != 2; ++i) r[i].call(mpi_call::Barrier, t + 90 * ms, t + 90 * ms + 100).flags = flag::contributes;
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = 500 * ms;
  const explain::outcome out = r.explain(usual());
  CHECK(time_of(out, pattern::wait_for_progress) == doctest::Approx(40.0 * ms).epsilon(0.001));
  std::int64_t before_ns = 0, after_ns = 0;
  for (const auto& e : out.waits) {
    if (e.why != pattern::wait_for_progress) continue;
    before_ns += total(e.residual, "before");
    after_ns += total(e.residual, "after");
  }
  CHECK(before_ns == doctest::Approx(40.0 * ms).epsilon(0.001));
  CHECK(after_ns == 0);
}

TEST_CASE("a send that is over before its receive is posted may have waited for progress") {
  run r(2);
  for (int k = 0; k != 4; ++k) {
    const std::uint64_t t = std::uint64_t(k) * 100 * ms + 1000;
    r[0].send(t, t + 10020 * us, 1).bytes = 1 << 16;
    r[1].step("before", 10 * ms);
    r[1].call(mpi_call::Test, t + 10 * ms, t + 10030 * us).flags = flag::found_nothing;  // takes the message into a buffer
    r[1].step("after", 20 * ms);
    r[1].receive(t + 31 * ms, t + 31 * ms + 1000, 0).bytes = 1 << 16;
    for (int i = 0; i != 2; ++i) r[i].call(mpi_call::Barrier, t + 90 * ms, t + 90 * ms + 100).flags = flag::contributes;
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = 500 * ms;
  const explain::outcome out = r.explain(usual());
  CHECK(time_of(out, pattern::wait_for_progress) == doctest::Approx(40.0 * ms).epsilon(0.001));
  CHECK(time_of(out, pattern::late_receiver) == 0);
}

TEST_CASE("MPI_Comm_idup waits until all have started it, then for the call in which the last one makes progress") {
  run r(3);
  // rank 1 starts it late, and works again before it completes it
  const std::int64_t starts[] = {ms, 20 * ms, 2 * ms}, enters[] = {2 * ms, 50 * ms, 3 * ms};
  const std::int64_t leaves[] = {50 * ms + 20 * us, 50 * ms + 10 * us, 20 * ms + 20 * us};  // rank 2 does not need the second
  for (int i = 0; i != 3; ++i) {
    if (i == 1) r[i].step("first", 20 * ms - 2 * us);
    r[i].collective(mpi_call::Comm_idup, std::uint64_t(starts[i]), std::uint64_t(starts[i]) + 1000);
    const std::uint32_t started = r[i].last();
    if (i == 1) r[i].step("second", 29 * ms);
    r[i].call(mpi_call::Wait, std::uint64_t(enters[i]), std::uint64_t(leaves[i])).posting = 0;
    r[i].completes(started);
    r[i].end_ns = (i == 2 ? 30 : 60) * ms;
  }
  explain::options settings = usual();
  settings.clocks = &clocks::virtual_clocks;
  explain::what_if half;
  half.changes.push_back({core::key_of("second"), 0.5});
  settings.questions.push_back(half);
  const explain::outcome out = r.explain(settings);
  REQUIRE(out.answers.size() == 1);
  CHECK(out.answers[0].total_ns == 60 * ms - 29 * ms / 2);
  CHECK(time_of(out, pattern::wait_at_create) == 18 * ms + 17 * ms);
  CHECK(time_of(out, pattern::wait_for_progress) == 30 * ms);
  CHECK(r.notes.wait_of(0, 1) == 48 * ms);
  CHECK(r.notes.wait_of(2, 1) == 17 * ms);
  CHECK(r.notes.wait_of(1, 1) == 0);
  for (const auto& e : out.waits) {
    CHECK(e.causers.at(0).rank == 1);
    if (e.why == pattern::wait_for_progress) CHECK(total(e.residual, "second") == 29 * ms);
  }
  CHECK(out.costs.propagating_ns + out.costs.terminal_ns == out.waiting_ns);
}

TEST_CASE("a member that waits for a relay of a broadcast is not blamed itself") {
  run r(3);
  // data goes from 0 over 1 to 2; rank 1 is late by its own work
  for (int i = 0; i != 3; ++i) {
    r[i].step(i == 1 ? "solve" : "other", std::uint64_t(i == 1 ? 50 * ms : ms));
    const std::uint64_t enter = std::uint64_t(i == 1 ? 50 * ms : ms) + 1000;
    const std::uint64_t leave = i == 0 ? enter + 2000 : std::uint64_t(50 * ms) + 1000 + 20 * us * std::uint64_t(i);
    r[i].collective(mpi_call::Bcast, enter, leave, 0, i == 0 ? flag::contributes : flag::consumes);
    r[i].end_ns = 60 * ms;
  }
  const explain::outcome out = r.explain(usual());
  CHECK(r.notes.wait_of(0, 0) == 0);
  CHECK(r.notes.wait_of(2, 0) == 49 * ms);
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::wait_for_progress);
  CHECK(out.waits[0].causers.at(0).rank == 1);
  CHECK(out.waits[0].trust == explain::quality::exact);
  CHECK(total(out.waits[0].residual, "solve") == 50 * ms);
  CHECK(total(out.waits[0].residual, "other") == -ms);
}

TEST_CASE("the root of a broadcast waits for a member that makes other calls right ahead of it") {
  const auto waited = [](std::int64_t late_us) {
    run r(3);
    for (int i = 0; i != 3; ++i) {
      r[i].step(i == 1 ? "solve" : "other", std::uint64_t(i == 1 ? 50 * ms : (1 + i) * ms));
      const std::uint64_t enter = i == 1 ? std::uint64_t(51 * ms + late_us * us) : std::uint64_t((1 + i) * ms) + 1000;
      const std::uint64_t leave = i == 0 ? std::uint64_t(51 * ms) : std::uint64_t(i == 1 ? 55 * ms : 3 * ms) + 1000;
      if (i == 1) r[i].call(mpi_call::Send, std::uint64_t(51 * ms), std::uint64_t(51 * ms) + 1000);
      r[i].collective(mpi_call::Bcast, enter, leave, 0, i == 0 ? flag::contributes : flag::consumes);
      r[i].end_ns = 60 * ms;
    }
    const explain::outcome out = r.explain(usual());
    if (!out.waits.empty()) CHECK(out.waits[0].causers.at(0).rank == 1);
    return time_of(out, pattern::wait_for_progress);
  };
  CHECK(waited(100) == doctest::Approx(double(50 * ms)).epsilon(0.01));
  CHECK(waited(1500) == doctest::Approx(double(50 * ms)).epsilon(0.01));
  CHECK(waited(1700) == 0);  // a thirty-second of 50 ms is 1.56 ms
}

TEST_CASE("a relay that cannot be told from another member makes the wait uncertain") {
  run r(4);
  for (int i = 0; i != 4; ++i) {
    const std::uint64_t enter = 1000 + std::uint64_t(i == 1 ? 50 * ms : i == 2 ? 49 * ms : ms);
    r[i].collective(mpi_call::Bcast, enter, std::uint64_t(50 * ms) + 1000 + 30 * us, 0,
                    i == 0 ? flag::contributes : flag::consumes);
    r[i].end_ns = 60 * ms;
  }
  const explain::outcome out = r.explain(usual());
  CHECK(r.notes.wait_of(3, 0) == 49 * ms);
  for (const auto& e : out.waits) CHECK(e.trust == explain::quality::hidden_tree);
}

TEST_CASE("the clocks let a member of a broadcast wait for its relay") {
  run r(3);
  for (int i = 0; i != 3; ++i) {
    r[i].step(i == 1 ? "solve" : "other", std::uint64_t(i == 1 ? 50 * ms : ms));
    const std::uint64_t enter = std::uint64_t(i == 1 ? 50 * ms : ms);
    r[i].collective(mpi_call::Bcast, enter, std::uint64_t(50 * ms) + 20 * us, 0, i == 0 ? flag::contributes : flag::consumes);
    r[i].end_ns = std::int64_t(50 * ms) + 20 * us + (i == 2 ? 10 * ms : 0);
  }
  explain::options settings = usual();
  settings.clocks = &clocks::virtual_clocks;
  explain::what_if half;
  half.changes.push_back({core::key_of("solve"), 0.5});
  settings.questions.push_back(half);
  const explain::outcome out = r.explain(settings);
  REQUIRE(out.answers.size() == 1);
  CHECK(out.answers[0].total_ns == 35 * ms + 20 * us);
}

TEST_CASE("the clocks predict what balancing a block saves") {
  run r(2);
  simulate(r, {});
  explain::options settings = usual();
  settings.clocks = &clocks::virtual_clocks;
  const explain::outcome out = r.explain(settings);
  run changed(2);
  halo h;
  h.fast_ns = h.slow_ns = (h.fast_ns + h.slow_ns) / 2;
  simulate(changed, h);
  REQUIRE_FALSE(out.balances.empty());
  const explain::balance_answer& b = out.balances[0];
  CHECK(b.block == core::key_of("interior"));
  CHECK(b.rank == 1);
  CHECK(b.ranks == 2);
  CHECK(b.most_ns == 200 * ms);
  CHECK(b.sum_ns == 300 * ms);
  CHECK(out.total_ns - b.saving_ns == doctest::Approx(double(changed[1].end_ns)).epsilon(0.01));
}

TEST_CASE("what a neighbour of the slow rank passes on is inherited, and vanishes when the slow rank is balanced") {
  constexpr int ranks = 4, steps = 40;
  run r(ranks);
  simulate_line(r, ranks, steps, 5 * ms, 10 * ms);
  explain::options settings = usual();
  settings.clocks = &clocks::virtual_clocks;
  const explain::outcome out = r.explain(settings);
  CHECK(out.waiting_ns == doctest::Approx(3.0 * steps * 5 * ms).epsilon(0.02));
  double by_rank_1 = 0, others = 0;
  for (const auto& e : out.waits) {
    for (const auto& c : e.causers) (c.rank == 1 ? by_rank_1 : others) += double(c.ns);
    by_rank_1 += double(e.indirect_ns);
    others -= double(e.indirect_ns);
  }
  CHECK(by_rank_1 == doctest::Approx(double(out.waiting_ns)).epsilon(0.02));
  CHECK(others < 0.02 * double(out.waiting_ns));
  run changed(ranks);
  simulate_line(changed, ranks, steps, 25 * ms / 4, 25 * ms / 4);
  REQUIRE_FALSE(out.balances.empty());
  CHECK(out.balances[0].rank == 1);
  CHECK(out.total_ns - out.balances[0].saving_ns == doctest::Approx(double(changed[1].end_ns)).epsilon(0.02));
}

TEST_CASE("a posting during the partner's call and its next entry are one wait for that partner") {
  run r(4);
  simulate_line(r, 4, 40, 5 * ms, 10 * ms);
  for (core::sync_record& record : r[3].locations[0].records) {  // it enters its calls before rank 2 posts the next message
    if (record.call != mpi_call::Waitall) continue;
    record.begin -= 100 * us;
    record.duration += 100 * us;
  }
  const explain::outcome out = r.explain(usual());
  double by_rank_2 = 0, inherited = 0;
  for (const auto& e : out.waits) {
    for (const auto& c : e.causers) {
      if (c.rank != 2) continue;
      by_rank_2 += double(c.ns);
      inherited += double(e.indirect_ns);
    }
  }
  REQUIRE(by_rank_2 > 100.0 * ms);
  CHECK(inherited > 0.95 * by_rank_2);
}

TEST_CASE("a send that waits for a late receiver waits for no progress") {
  run r(2);
  std::int64_t now = 1000;
  for (int step = 0; step != 20; ++step) {
    // the receiver posts 10 ms after the send began, and both end 20 us later
    r[1].step("interior", std::uint64_t(10 * ms));
    r[0].send(std::uint64_t(now), std::uint64_t(now + 10 * ms + 20 * us), 1);
    r[1].receive(std::uint64_t(now + 10 * ms), std::uint64_t(now + 10 * ms + 20 * us), 0);
    r[0].locations[0].records.back().bytes = r[1].locations[0].records.back().bytes = 1048576;
    now += 10 * ms + 30 * us;
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = now;
  const explain::outcome out = r.explain(usual());
  CHECK(time_of(out, pattern::late_receiver) == doctest::Approx(20.0 * 10 * ms).epsilon(0.01));
  CHECK(time_of(out, pattern::wait_for_progress) == 0);
  CHECK(out.progress.empty());
}
