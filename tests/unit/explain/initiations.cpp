#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/collectives.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

using namespace histories;
using whywait::explain::pattern;

// Collectives that a later call completes.
namespace {

constexpr std::int64_t ms = 1000000, us = 1000;

/// Leaves an initiation, and the call that completes it; returns the number of the latter.
std::uint32_t initiate(rank_data& r, mpi_call call, std::int64_t start_ns, std::int64_t wait_ns, std::int64_t leave_ns,
                       int root = -1, unsigned data = flag::contributes | flag::consumes) {
  r.collective(call, std::uint64_t(start_ns), std::uint64_t(start_ns) + 10, root, data);
  const std::uint32_t started = r.last();
  r.call(mpi_call::Wait, std::uint64_t(wait_ns), std::uint64_t(leave_ns)).posting = 0;
  r.completes(started);
  r.end_ns = std::max(r.end_ns, leave_ns);
  return r.last();
}

explain::options usual() {
  explain::options settings;
  settings.threshold_ns = 5 * us;
  return settings;
}

std::int64_t time_of(const explain::outcome& out, pattern why) {
  std::int64_t sum = 0;
  for (const auto& e : out.waits) sum += e.why == why ? e.wait_ns : 0;
  return sum;
}

}  // namespace

TEST_CASE("the call that completes a nonblocking collective waits for the member that initiated last") {
  for (const mpi_call call : {mpi_call::Ibarrier, mpi_call::Iallreduce, mpi_call::Ialltoallv}) {
    run r(4);
    const std::int64_t starts[] = {ms, 20 * ms, 2 * ms, 3 * ms}, waits[] = {5 * ms, 21 * ms, 30 * ms, 4 * ms};
    std::uint32_t record = 0;
    for (int i = 0; i != 4; ++i) {
      if (i == 1) r[i].step("before", std::uint64_t(20 * ms));
      record = initiate(r[i], call, starts[i], waits[i], std::max(waits[i], 20 * ms) + 10 * us);
    }
    const explain::outcome out = r.explain(usual());
    CAPTURE(core::name_of(call));
    CHECK(time_of(out, pattern::nonblocking_collective) == 15 * ms + 16 * ms);
    CHECK(r.notes.wait_of(0, record) == 15 * ms);
    CHECK(r.notes.wait_of(2, record) == 0);  // offered overlap
    CHECK(r.notes.wait_of(3, record) == 16 * ms);
    for (const auto& e : out.waits) {
      CHECK(e.causers.at(0).rank == 1);
      CHECK(e.trust == explain::quality::exact);
      CHECK(total(e.residual, "before") == std::int64_t(e.count) * 20 * ms);
    }
  }
}

TEST_CASE("rooted and scan collectives need the same members whether or not they block") {
  const auto waits = [](mpi_call call, int late) {
    run r(4);
    std::uint32_t record = 0;
    for (int i = 0; i != 4; ++i) {
      const core::call_role role = core::meeting_role_of(call);
      unsigned data = flag::contributes | flag::consumes;
      if (role == core::call_role::one_to_all) data = i == 0 ? flag::contributes : flag::consumes;
      if (role == core::call_role::all_to_one) data = i == 0 ? flag::consumes : flag::contributes;
      if (role == core::call_role::scan && i == 0) data = flag::contributes;
      const std::int64_t start = i == late ? 20 * ms : ms;
      const bool needs = role == core::call_role::one_to_all   ? late == 0
                         : role == core::call_role::all_to_one ? i == 0
                                                               : late < i;
      record = initiate(r[i], call, start, start + 20, std::max(start, needs ? 20 * ms : ms) + 20 * us, 0, data);
    }
    const explain::outcome out = r.explain(usual());
    whywait::base::vector<std::int64_t> result;
    for (int i = 0; i != 4; ++i) result.push_back(r.notes.wait_of(i, record) / ms);
    CHECK(time_of(out, pattern::nonblocking_collective) == out.waiting_ns);
    return result;
  };
  using list = whywait::base::vector<std::int64_t>;
  CHECK(waits(mpi_call::Ibcast, 0) == list{0, 18, 18, 18});
  CHECK(waits(mpi_call::Iscatterv, 2) == list{0, 0, 0, 0});
  CHECK(waits(mpi_call::Ireduce, 2) == list{18, 0, 0, 0});
  CHECK(waits(mpi_call::Iscan, 1) == list{0, 0, 18, 18});
}

TEST_CASE("where all have initiated, the entry that moved the operation on ends the wait for progress") {
  run r(2);
  for (int k = 0; k != 3; ++k) {
    const std::int64_t t = k * 100 * ms + 1000;
    initiate(r[0], mpi_call::Iallreduce, t, t + 2 * ms, t + 30 * ms + 20 * us);
    r[1].collective(mpi_call::Iallreduce, std::uint64_t(t), std::uint64_t(t) + 10);
    const std::uint32_t started = r[1].last();
    r[1].step("before", std::uint64_t(30 * ms - 10));
    r[1].call(mpi_call::Test, std::uint64_t(t + 30 * ms), std::uint64_t(t + 30 * ms + 10)).flags = flag::found_nothing;
    r[1].step("after", std::uint64_t(20 * ms - 10));
    r[1].call(mpi_call::Wait, std::uint64_t(t + 50 * ms), std::uint64_t(t + 50 * ms + 10)).posting = 0;
    r[1].completes(started);
  }
  for (int i = 0; i != 2; ++i) r[i].end_ns = 300 * ms;
  const explain::outcome out = r.explain(usual());
  CHECK(time_of(out, pattern::wait_for_progress) == 3 * 28 * ms);
  CHECK(time_of(out, pattern::nonblocking_collective) == 0);
  std::int64_t before_ns = 0, after_ns = 0;
  for (const auto& e : out.waits) before_ns += total(e.residual, "before"), after_ns += total(e.residual, "after");
  CHECK(before_ns == 3 * (30 * ms - 10));
  CHECK(after_ns == 2 * (20 * ms - 10));  // of the rounds before, in which rank 0 idled
}

TEST_CASE("a call that completes several collectives waits once, for the last initiation") {
  run r(3);
  const std::int64_t starts[3][2] = {{ms, 2 * ms}, {20 * ms, 21 * ms}, {3 * ms, 40 * ms}};
  for (int i = 0; i != 3; ++i) {
    std::uint32_t started[2];
    for (int k = 0; k != 2; ++k) {  // rank 1 is late for the first, rank 2 for the second
      if (i == 2 && k == 1) r[i].step("last", std::uint64_t(30 * ms));
      const auto start = std::uint64_t(starts[i][k]);
      r[i].collective(k == 0 ? mpi_call::Ibarrier : mpi_call::Iallreduce, start, start + 10);
      started[k] = r[i].last();
    }
    const std::int64_t wait = i == 0 ? 5 * ms : 40 * ms + 100;
    r[i].call(mpi_call::Waitall, std::uint64_t(wait), std::uint64_t(40 * ms + 10 * us)).posting = 0;
    for (const std::uint32_t s : started) r[i].completes(s);
    r[i].end_ns = 50 * ms;
  }
  const explain::outcome out = r.explain(usual());
  CHECK(r.notes.wait_of(0, 2) == 35 * ms);
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::nonblocking_collective);
  CHECK(out.waits[0].causers.at(0).rank == 2);
  CHECK(total(out.waits[0].residual, "last") == 30 * ms);
}

TEST_CASE("persistent collectives are matched by request, in whatever order each rank starts them") {
  run r(2);
  for (int i = 0; i != 2; ++i) {
    for (int k = 0; k != 2; ++k) {
      const int request = i == 0 ? k : 1 - k;
      const std::int64_t start = (i == 0 ? 1 : 20 + 20 * k) * ms + k * 100;
      r[i].collective(mpi_call::Allreduce_init, std::uint64_t(start), std::uint64_t(start) + 10).tag = 1 + request;
    }
    for (int request = 0; request != 2; ++request) {  // rank 1 starts the second request first
      const std::int64_t wait = i == 0 ? (request == 0 ? 2 : 42) * ms : 50 * ms + request * 100;
      const std::int64_t leave = i == 0 ? (request == 0 ? 40 : 42) * ms + 20 * us : wait + 10;
      r[i].call(mpi_call::Wait, std::uint64_t(wait), std::uint64_t(leave)).posting = 0;
      r[i].completes(static_cast<std::uint32_t>(i == 0 ? request : 1 - request));
    }
    r[i].end_ns = 60 * ms;
  }
  r.explain(usual());
  CHECK(r.notes.wait_of(0, 2) == 38 * ms + 100);
  CHECK(r.notes.wait_of(0, 3) == 0);
}

TEST_CASE("a neighbourhood collective waits for the listed neighbours only, blocking or not") {
  for (const bool blocks : {true, false}) {
    run r(4);
    for (int i = 0; i != 4; ++i) {  // a line of which rank 3 is late
      const std::int64_t start = i == 3 ? 20 * ms : ms;
      const std::int64_t leave = (i >= 2 ? 20 * ms : ms) + 20 * us;
      const unsigned data = flag::contributes | flag::consumes | flag::sparse;
      r[i].locations[0].needs = {7};  // the list of another call
      const mpi_call call = blocks ? mpi_call::Neighbor_alltoall : mpi_call::Ineighbor_alltoall;
      if (blocks) r[i].collective(call, std::uint64_t(start), std::uint64_t(leave), -1, data);
      else initiate(r[i], call, start, start + 20, leave, -1, data);
      sync_record& c = r[i].locations[0].records[0];
      c.tag = 1;
      for (int q = std::max(0, i - 1); q <= std::min(3, i + 1); ++q)
        if (q != i) r[i].locations[0].needs.push_back(q);
      c.peer = static_cast<std::int32_t>(r[i].locations[0].needs.size()) - 1;
      r[i].end_ns = 30 * ms;
    }
    explain::options settings = usual();
    settings.clocks = &clocks::virtual_clocks;
    const explain::outcome out = r.explain(settings);
    const std::uint32_t record = blocks ? 0 : 1;
    for (int i = 0; i != 4; ++i) CHECK(r.notes.wait_of(i, record) == (i == 2 ? 19 * ms - (blocks ? 0 : 20) : 0));
    REQUIRE(out.waits.size() == 1);
    CHECK(out.waits[0].why == (blocks ? pattern::wait_at_nxn : pattern::nonblocking_collective));
    CHECK(out.costs.propagating_ns + out.costs.terminal_ns == out.waiting_ns);
  }
}

TEST_CASE("the virtual clocks follow initiations: a faster late member shortens the run") {
  for (const mpi_call call : {mpi_call::Iallreduce, mpi_call::Ibcast, mpi_call::Ireduce, mpi_call::Iexscan}) {
    run r(2);
    const bool up = call == mpi_call::Ireduce;  // to rank 0; the others go from rank 0 to rank 1
    const int late = up ? 1 : 0;
    for (int i = 0; i != 2; ++i) {
      unsigned data = flag::contributes | flag::consumes;
      if (call != mpi_call::Iallreduce) data = i == late ? flag::contributes : flag::consumes;
      if (i == late) r[i].step("late", std::uint64_t(40 * ms));
      const std::int64_t start = i == late ? 40 * ms : ms;
      initiate(r[i], call, start, start + 100, 40 * ms + 100, 0, data);
      r[i].end_ns = 50 * ms;
    }
    explain::options settings = usual();
    settings.clocks = &clocks::virtual_clocks;
    explain::what_if half;
    half.changes.push_back({core::key_of("late"), 0.5});
    settings.questions.push_back(half);
    const explain::outcome out = r.explain(settings);
    CAPTURE(core::name_of(call));
    REQUIRE(out.answers.size() == 1);
    CHECK(out.answers[0].total_ns == 30 * ms);
    CHECK(time_of(out, pattern::nonblocking_collective) == 39 * ms - 100);
    CHECK(out.costs.propagating_ns + out.costs.terminal_ns == out.waiting_ns);
  }
}

TEST_CASE("calls of MPI in the code that holds up progress save what the waiting rank has to do after it") {
  for (const std::int64_t own : {28 * ms, std::int64_t{0}}) {
    run r(2);
    constexpr int rounds = 4;
    for (int k = 0; k != rounds; ++k) {
      const std::int64_t t = ms + k * 100 * ms;
      initiate(r[0], mpi_call::Iallreduce, t, t + 2 * ms, t + 30 * ms + 20 * us);
      if (own != 0) r[0].step("own", std::uint64_t(own));
      r[1].collective(mpi_call::Iallreduce, std::uint64_t(t), std::uint64_t(t) + 10, -1, flag::contributes | flag::consumes);
      const std::uint32_t started = r[1].last();
      r[1].step("late", std::uint64_t(30 * ms));
      r[1].call(mpi_call::Wait, std::uint64_t(t + 30 * ms), std::uint64_t(t + 30 * ms + 20 * us)).posting = 0;
      r[1].completes(started);
      const std::int64_t meet = t + 30 * ms + 20 * us + own;
      r[0].collective(mpi_call::Barrier, std::uint64_t(meet), std::uint64_t(meet) + 10);
      r[1].collective(mpi_call::Barrier, std::uint64_t(t + 30 * ms + 20 * us), std::uint64_t(meet) + 10);
      for (int i = 0; i != 2; ++i) r[i].end_ns = meet + 10;
    }
    explain::options settings = usual();
    settings.clocks = &clocks::virtual_clocks;
    const explain::outcome out = r.explain(settings);
    CHECK(time_of(out, pattern::wait_for_progress) > 100 * ms);
    CHECK(out.polls.site != 0);
    CHECK(out.polls.saving_ns == doctest::Approx(double(rounds * own)).epsilon(0.01));
  }
}

TEST_CASE("a receive that is posted earlier saves what the sender has to do after it, if it need not wait for a message then") {
  enum class answer { none, of_its_own, to_what_came };
  for (const std::int64_t own : {28 * ms, std::int64_t{0}}) {
    for (const auto answers : {answer::none, answer::of_its_own, answer::to_what_came}) {
      CAPTURE(own);
      CAPTURE(static_cast<int>(answers));
      run r(2);
      constexpr int rounds = 4;
      for (int k = 0; k != rounds; ++k) {
        const std::int64_t t = ms + k * 100 * ms, got = t + 30 * ms + 20 * us, meet = got + 1000 + own;
        r[0].send(std::uint64_t(t), std::uint64_t(got), 1);
        r[1].step("late", std::uint64_t(30 * ms));
        if (answers == answer::of_its_own) {  // sent after the same code: it moves as well
          const std::uint64_t at = std::uint64_t(t + 30 * ms);
          const std::uint32_t posted = r[1].post_receive(at, at, 0);
          r[1].send(at, at + 100, 0, 1);
          r[1].call(mpi_call::Wait, at + 100, std::uint64_t(got)).posting = 0;
          r[1].completes(posted);
        } else {
          r[1].receive(std::uint64_t(t + 30 * ms), std::uint64_t(got), 0);
          if (answers == answer::to_what_came) r[1].send(std::uint64_t(got), std::uint64_t(got) + 100, 0, 1);
        }
        if (answers != answer::none) r[0].receive(std::uint64_t(got), std::uint64_t(got) + 200, 1, 1);
        if (own != 0) r[0].step("own", std::uint64_t(own));
        for (int i = 0; i != 2; ++i) {
          r[i].collective(mpi_call::Barrier, std::uint64_t(i == 0 ? meet : got + 1000), std::uint64_t(meet) + 10);
          r[i].end_ns = meet + 10;
        }
      }
      explain::options settings = usual();
      settings.clocks = &clocks::virtual_clocks;
      const explain::outcome out = r.explain(settings);
      CHECK(time_of(out, pattern::late_receiver) > 100 * ms);
      CHECK(out.posts.site != 0);
      const std::int64_t saved = answers == answer::to_what_came ? 0 : rounds * own;
      CHECK(out.posts.saving_ns == doctest::Approx(double(saved)).epsilon(0.01));
    }
  }
}

TEST_CASE("a blocking and a nonblocking collective are not one operation") {
  // as in a wrong program or in damaged records; whichever rank is first
  for (const int blocking : {0, 1, 2}) {
    CAPTURE(blocking);
    run r(3);
    for (int i = 0; i != 3; ++i) {
      const std::int64_t start = (i + 1) * ms;
      if (i != blocking) initiate(r[i], mpi_call::Iallreduce, start, start + 100, 5 * ms);
      else r[i].collective(mpi_call::Allreduce, std::uint64_t(start), std::uint64_t(5 * ms));
    }
    CHECK(r.explain(usual()).waits.empty());
  }
}

TEST_CASE("members that initiate one collective in different epochs are not matched with the next one") {
  run first(2), second(2);
  // rank 0 initiates the first one before the epoch ends, rank 1 after; of the second one rank 1 is late
  first[0].collective(mpi_call::Ibarrier, std::uint64_t(ms), std::uint64_t(ms) + 10);
  for (int i = 0; i != 2; ++i) {
    explain::communicator sub;
    sub.id = core::key_of("sub");
    sub.size = 2;
    sub.rank = i;
    for (run* r : {&first, &second}) (*r)[i].communicators.push_back(sub);
    first[i].collective(mpi_call::Barrier, std::uint64_t(5 * ms), std::uint64_t(5 * ms) + 100);
    first[i].end_ns = second[i].begin_ns = 5 * ms;
  }
  first[0].locations[0].records[0].comm = 1;
  second[1].collective(mpi_call::Ibarrier, std::uint64_t(6 * ms), std::uint64_t(6 * ms) + 10).comm = 1;
  for (int i = 0; i != 2; ++i) {
    const std::int64_t start = (i == 0 ? 7 : 20) * ms;
    initiate(second[i], mpi_call::Ibarrier, start, start + 100, 20 * ms + 10 * us);
    second[i].locations[0].records[i == 0 ? 0 : 1].comm = 1;
    second[i].end_ns = 30 * ms;
  }
  whywait::base::vector<explain::epoch_memory> memories(2);
  explain::options settings = usual();
  explain::outcome out;
  for (run* r : {&first, &second}) {
    settings.watch = &r->notes;
    auto views = r->views();
    for (auto& v : views) (r == &first ? v.continues : v.continued) = true;
    explain::simulated_transport transport(2);
    out = explain::explain_epoch(transport, views.data(), memories.data(), 2, settings);
  }
  CHECK(time_of(out, pattern::nonblocking_collective) == 13 * ms - 100);
  CHECK(second.notes.wait_of(0, 1) == 13 * ms - 100);
}
