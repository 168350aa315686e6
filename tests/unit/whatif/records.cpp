#include <whywait/base/vector.hpp>
#include <whywait/whatif/ask.hpp>
#include <whywait/whatif/records.hpp>

#include "../models/support.hpp"

#include <doctest/doctest.h>

#include <deque>

using namespace whywait;
using namespace whywait::models;
using namespace whywait::whatif;
using test::near;

namespace {

constexpr double second = 1e9;

/// Records written by hand; owns the data of the views.
struct written_rank {
  explicit written_rank(std::int32_t rank) {
    h.rank = rank;
    h.ranks = 2;
    explain::communicator world;
    world.id = 77;
    world.size = 2;
    world.rank = rank;
    h.communicators.push_back(world);
    h.blocks = {0, core::key_of("compute")};
  }
  core::sync_record& call(core::mpi_call what, double enter, double leave, double computed) {
    core::path_step step{};
    step.block = 1;
    step.visits = 1;
    step.ticks = static_cast<std::uint64_t>(computed * second);
    steps.push_back(step);
    core::sync_record r{};
    r.call = what;
    r.begin = static_cast<std::uint64_t>(enter * second);
    r.duration = static_cast<std::uint64_t>((leave - enter) * second);
    r.steps = static_cast<std::uint32_t>(steps.size());
    r.peer = -1;
    r.site = static_cast<std::uint32_t>(sites.size());
    sites.push_back(core::key_of(core::name_of(what)));
    records.push_back(r);
    return records.back();
  }
  const explain::rank_history& history(double end) {
    h.end_ns = static_cast<std::int64_t>(end * second);
    record_chunk = records.data();
    step_chunk = steps.data();
    explain::location_history l;
    l.records = {&record_chunk, 63, records.size()};
    l.steps = {&step_chunk, 63, steps.size()};
    needs_chunk = needs.data();
    l.needs = {&needs_chunk, 63, needs.size()};
    l.call_sites = sites;
    h.locations = {l};
    return h;
  }
  explain::rank_history h;
  whywait::base::vector<core::sync_record> records;
  whywait::base::vector<core::path_step> steps;
  whywait::base::vector<std::int32_t> needs;
  std::vector<core::stable_key> sites;
  const core::sync_record* record_chunk = nullptr;
  const core::path_step* step_chunk = nullptr;
  const std::int32_t* needs_chunk = nullptr;
};

std::string name(core::stable_key k) { return k == core::key_of("compute") ? "compute" : "site"; }

/// `n` rounds. Rank 0 computes 2 s and sends, rank 1 computes 1 s and receives 0.1 s after the send; then a barrier of
/// 0.05 s, in which rank 0 waits for rank 1. `meeting`: what they call instead of the barrier.
whywait::base::vector<traced_line> two_ranks(int n, core::mpi_call meeting = core::mpi_call::Barrier) {
  written_rank a(0), b(1);
  double t = 0.0;
  for (int i = 0; i != n; ++i) {
    core::sync_record& s = a.call(core::mpi_call::Send, t + 2.0, t + 2.02, 2.0);
    s.flags = core::sync_flag::posts_send | core::sync_flag::complete;
    s.posting = static_cast<std::uint32_t>(i + 1);
    s.peer = 1;
    s.bytes = 1000;
    core::sync_record& r = b.call(core::mpi_call::Recv, t + 1.0, t + 2.1, 1.0);
    r.flags = core::sync_flag::posts_receive | core::sync_flag::complete;
    r.posting = static_cast<std::uint32_t>(i + 1);
    r.peer = 0;
    r.completion = static_cast<std::uint32_t>(b.records.size() - 1);
    a.call(meeting, t + 2.02, t + 2.55, 0.0);
    b.call(meeting, t + 2.5, t + 2.55, 0.4);
    t += 2.55;
  }
  whywait::base::vector<traced_line> lines = trace(a.history(t)), other = trace(b.history(t));
  lines.insert(lines.end(), other.begin(), other.end());
  return lines;
}

}  // namespace

TEST_CASE("records become a log whose replay is the run") {
  const run_log log = join(two_ranks(10), name);
  CHECK(log.doubts.empty());
  CHECK(near(log.measured_seconds, 25.5));
  CHECK(log.messages.size() == 10);
  CHECK(log.syncs.size() == 10);
  CHECK(near(log.messages[3].seconds, 0.1, 1e-6));
  CHECK(near(log.syncs[3].seconds, 0.05, 1e-6));
  const replayed r = replay(log);
  CHECK(near(r.seconds, 25.5, 1e-6));
  // each round has 1.1 s in the receive, 0.53 and 0.05 in the barrier
  CHECK(near(r.waiting_seconds, 10 * (1.1 + 0.53 + 0.05), 1e-6));
}

TEST_CASE("ranks meet when they disconnect a communicator, not when they free one") {
  const run_log log = join(two_ranks(10, core::mpi_call::Comm_disconnect), name);
  CHECK(log.syncs.size() == 10);
  CHECK(near(replay(log).waiting_seconds, 10 * (1.1 + 0.53 + 0.05), 1e-6));
  CHECK(join(two_ranks(10, core::mpi_call::Comm_free), name).syncs.empty());
}

TEST_CASE("the call that completes a nonblocking collective waits in the replay for the members that it needs") {
  using core::mpi_call;
  for (const mpi_call call : {mpi_call::Ibarrier, mpi_call::Iallreduce, mpi_call::Ibcast, mpi_call::Iscan,
                              mpi_call::Neighbor_alltoall, mpi_call::Ineighbor_alltoall, mpi_call::Allreduce_init}) {
    written_rank early(1), late(0);  // rank 1 needs rank 0, which computes 4 s instead of 1 s
    for (written_rank* r : {&early, &late}) {
      const double start = r == &late ? 4.0 : 1.0;
      const bool waits = core::initiates(call);
      core::sync_record& c = r->call(call, start, waits ? start + 0.1 : 4.2, start);
      c.peer = call == mpi_call::Ibcast ? 0 : -1;
      c.posting = 1;
      c.tag = call == mpi_call::Allreduce_init ? 3 : 0;
      if (call == mpi_call::Neighbor_alltoall || call == mpi_call::Ineighbor_alltoall) {
        c.flags |= core::sync_flag::sparse;
        c.peer = r == &early ? 1 : 0;
        c.tag = 1;
        r->needs = {9, 0};
      }
      if (waits) {
        c.flags |= core::sync_flag::complete;
        c.completion = 1;
        r->call(mpi_call::Wait, start + 0.1, 4.2, 0);
      }
    }
    whywait::base::vector<traced_line> lines = trace(late.history(5.0));
    for (traced_line& l : trace(early.history(5.0))) lines.push_back(std::move(l));
    whywait::base::vector<traced_line> copy;
    const base::packet bytes = pack(lines);
    unpack(bytes.data(), bytes.size(), copy);
    const run_log log = join(std::move(copy), name);
    CAPTURE(core::name_of(call));
    CHECK(near(replay(log).seconds, 5.0, 1e-6));
    run_log faster = log;
    for (activity& a : faster.lines[0])
      if (a.work_seconds > 3.9) a.work_seconds = 2.0;
    CHECK(near(replay(faster).seconds, 3.0, 1e-6));
  }
}

TEST_CASE("a question to the records: the sender's block twice as fast") {
  const run_log log = join(two_ranks(20), name);
  const answer a = ask(log, parse_questions("block compute x2")).front();
  REQUIRE(a.answered);
  // rank 0 takes 1 s, the message arrives at 1.1, then 0.2 s and the barrier of 0.05
  CHECK(near(a.seconds, 20 * 1.35, 1e-4));
  CHECK(std::fabs(a.baseline_error) < 1e-6);
}

TEST_CASE("lines survive the way through bytes, damaged bytes are refused") {
  const base::vector<traced_line> lines = two_ranks(3);
  base::packet bytes = pack({lines[0]});
  const base::packet more = pack({lines[1]});
  bytes.insert(bytes.end(), more.begin(), more.end());
  base::vector<traced_line> back;
  unpack(bytes.data(), bytes.size(), back);
  REQUIRE(back.size() == 2);
  CHECK(near(replay(join(back, name)).seconds, replay(join(lines, name)).seconds));
  for (const std::size_t cut : {bytes.size() - 1, std::size_t(20), std::size_t(60)}) {
    base::vector<traced_line> ignored;
    CHECK(test::number_of_error([&] { unpack(bytes.data(), cut, ignored); }) == "whywait-P022");
  }
}

TEST_CASE("unmatched operations are reported") {
  whywait::base::vector<traced_line> lines = two_ranks(3);
  lines[0].calls.pop_back();
  lines[0].dropped = 1;
  lines[1].calls[0].tag = 9;
  const run_log log = join(lines, name);
  CHECK(log.doubts.size() == 3);
  CHECK(log.messages.size() == 2);
  CHECK(log.syncs.size() == 2);
}

TEST_CASE("the number of kept calls is limited") {
  written_rank a(0);
  for (int i = 0; i != 10; ++i) a.call(core::mpi_call::Iprobe, i, i + 0.1, 0.5);
  const whywait::base::vector<traced_line> lines = trace(a.history(10.0), 4);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].calls.size() == 4);
  CHECK(lines[0].dropped == 6);
  CHECK(near(join(lines, name).measured_seconds, 3.1));
}

TEST_CASE("late receivers show whether sends wait for receivers") {
  // 100 bytes are buffered, 9000 are not; the sender arrives 1 s earlier each time
  written_rank a(0), b(1);
  double t = 0.0;
  for (int i = 0; i != 4; ++i) {
    const bool large = i % 2 == 1;
    core::sync_record& s = a.call(core::mpi_call::Send, t + 1.0, t + (large ? 2.1 : 1.01), 1.0);
    s.flags = core::sync_flag::posts_send | core::sync_flag::complete;
    s.completion = static_cast<std::uint32_t>(i);
    s.posting = static_cast<std::uint32_t>(i + 1);
    s.peer = 1;
    s.bytes = large ? 9000 : 100;
    core::sync_record& r = b.call(core::mpi_call::Recv, t + 2.0, t + 2.1, 1.0);
    r.flags = core::sync_flag::posts_receive | core::sync_flag::complete;
    r.posting = static_cast<std::uint32_t>(i + 1);
    r.peer = 0;
    r.completion = static_cast<std::uint32_t>(i);
    t += 2.1;
  }
  whywait::base::vector<traced_line> lines = trace(a.history(t)), other = trace(b.history(t));
  lines.insert(lines.end(), other.begin(), other.end());
  const run_log log = join(lines, name);
  REQUIRE(log.messages.size() == 4);
  for (const message_edge& m : log.messages) CHECK(m.rendezvous == (m.bytes > 1000));
  CHECK(near(replay(log).seconds, t, 1e-6));
}

TEST_CASE("first-come first-served and polling programs are refused") {
  whywait::base::vector<traced_line> lines = two_ranks(3);
  for (traced_call& c : lines[1].calls)
    if ((c.flags & core::sync_flag::posts_receive) != 0) {
      c.flags |= core::sync_flag::any_source;
      traced_call answer = c;
      answer.flags = core::sync_flag::posts_send | core::sync_flag::complete;
      answer.enter_ns = answer.leave_ns = c.leave_ns;
      answer.call = core::mpi_call::Send;
      lines[1].calls.insert(lines[1].calls.begin() + (&c - lines[1].calls.data()) + 1, answer);
      break;
    }
  CHECK(join(lines, name).open.find("rank 1 answers the first rank that asks") != std::string::npos);

  written_rank p(0);
  for (int i = 0; i != 10; ++i) p.call(core::mpi_call::Iprobe, i, i + 0.1, 0.5);
  CHECK(join(trace(p.history(10.0)), name).open.find("again and again") != std::string::npos);
}

TEST_CASE("calls after a common time are left out") {
  written_rank a(0);
  for (int i = 0; i != 10; ++i) a.call(core::mpi_call::Barrier, i + 0.5, i + 0.9, 0.5);
  const whywait::base::vector<traced_line> lines = trace(a.history(10.0), 100, static_cast<std::int64_t>(3.95 * second));
  CHECK(lines[0].calls.size() == 4);
  CHECK(lines[0].dropped == 6);
  CHECK(near(join(lines, name).measured_seconds, 3.95));
}

TEST_CASE("receives that complete at the sender's next entry depend on it in the log") {
  // The sender posts at 1 and enters MPI again at 2 to 2.9; the receiver, in MPI from 0.5 on, leaves 0.01 later.
  written_rank a(0), b(1);
  double t = 0.0;
  constexpr int rounds = 8;
  for (int i = 0; i != rounds; ++i) {
    const double again = 2.0 + 0.1 * i;
    core::sync_record& s = a.call(core::mpi_call::Isend, t + 1.0, t + 1.001, 1.0);
    s.flags = core::sync_flag::posts_send | core::sync_flag::complete;
    s.posting = static_cast<std::uint32_t>(i + 1);
    s.completion = static_cast<std::uint32_t>(2 * i + 1);
    s.peer = 1;
    s.bytes = 100000;
    a.call(core::mpi_call::Wait, t + again, t + again + 0.005, again - 1.001);
    core::sync_record& r = b.call(core::mpi_call::Recv, t + 0.5, t + again + 0.01, 0.5);
    r.flags = core::sync_flag::posts_receive | core::sync_flag::complete;
    r.posting = static_cast<std::uint32_t>(i + 1);
    r.completion = static_cast<std::uint32_t>(i);
    r.peer = 0;
    t += again + 0.01;
  }
  whywait::base::vector<traced_line> lines = trace(a.history(t)), other = trace(b.history(t));
  lines.insert(lines.end(), other.begin(), other.end());
  const run_log log = join(lines, name);
  REQUIRE(log.messages.size() == rounds);
  int found = 0;
  for (const auto& e : log.entries)
    found += e.to.line == 1 && e.from.line == 0 && log.lines[0][e.from.index].label == log.lines[0][1].label ? 1 : 0;
  CHECK(found >= rounds);
}
