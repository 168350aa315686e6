#include <whywait/base/vector.hpp>
#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/collectives.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

using namespace histories;
using whywait::explain::pattern;

namespace {

struct operation {
  explain::outcome out;
  whywait::base::vector<std::int64_t> waits;
};

// One operation on four ranks with the arrival and leave times of the oracle.
operation oracle(mpi_call call, int root, whywait::base::vector<std::uint64_t> enter = {10, 14, 12, 20},
                 whywait::base::vector<std::uint64_t> leave = {21, 21, 22, 21}) {
  run r(4);
  for (int i = 0; i != 4; ++i) {
    const auto k = static_cast<std::size_t>(i);
    unsigned data = flag::contributes | flag::consumes;
    if (core::role_of(call) == core::call_role::one_to_all) data = i == root ? flag::contributes : flag::consumes;
    if (core::role_of(call) == core::call_role::all_to_one) data = i == root ? flag::consumes : flag::contributes;
    if (core::role_of(call) == core::call_role::scan && i == 0) data = flag::contributes;
    r[i].collective(call, enter[k], leave[k], root, data);
  }
  operation o;
  o.out = r.explain();
  for (int i = 0; i != 4; ++i) o.waits.push_back(r.notes.wait_of(i, 0));
  return o;
}

using waits_ns = whywait::base::vector<std::int64_t>;

}  // namespace

TEST_CASE("oracle: NxN arrivals 10, 14, 12, 20 give waits 10, 6, 8, 0") {
  const operation o = oracle(mpi_call::Allreduce, -1);
  CHECK(o.waits == waits_ns{10, 6, 8, 0});
  REQUIRE(o.out.waits.size() == 1);
  CHECK(o.out.waits[0].why == pattern::wait_at_nxn);
  CHECK(o.out.waits[0].causers.at(0).rank == 3);
  CHECK(o.out.waits[0].trust == explain::quality::exact);
}

TEST_CASE("collectives of several threads match in the order in which they were called") {
  run r(2);
  r[0].locations.resize(2);
  r[0].call(mpi_call::Barrier, 10, 31, "first", 1).flags = flag::contributes | flag::consumes;
  r[0].call(mpi_call::Barrier, 40, 61, "second", 0).flags = flag::contributes | flag::consumes;
  r[1].collective(mpi_call::Barrier, 30, 31);
  r[1].collective(mpi_call::Barrier, 60, 61);
  const auto out = r.explain();
  CHECK(out.clock_violations == 0);
  REQUIRE(out.waits.size() == 2);
  for (const auto& e : out.waits) {
    CHECK(e.why == pattern::wait_at_barrier);
    CHECK(e.wait_ns == 20);
    CHECK(e.causers.at(0).rank == 1);
  }
}

TEST_CASE(
    "a wait of several threads in a collective is explained by what both sides ran since the last one on its communicator") {
  for (const int ranks : {2, 3}) {
    CAPTURE(ranks);
    run r(ranks);
    for (int i = 0; i != ranks; ++i) {
      r[i].locations.resize(2);
      explain::communicator own = r[i].communicators[0];
      own.id = core::key_of("of the second thread");
      r[i].communicators.push_back(own);
      for (std::uint64_t step = 0; step != 5; ++step)
        for (const std::size_t thread : {0u, 1u}) {
          // The second thread of one rank is late, of another one in each step.
          const std::uint64_t work =
              thread == 1 && static_cast<std::uint64_t>(i) == step % static_cast<std::uint64_t>(ranks) ? 30 : 10;
          r[i].step("work", work, 1, 0, "", thread);
          sync_record& c = r[i].call(mpi_call::Allreduce, 31 * step + work, 31 * step + 31, "", thread);
          c.flags = flag::contributes | flag::consumes;
          c.comm = static_cast<std::uint32_t>(thread);
        }
    }
    r.explain();
    CHECK(r.notes.waits.size() == 5 * static_cast<std::size_t>(ranks - 1));
    for (const explain::wait_instance& w : r.notes.waits) {
      CAPTURE(w.record);
      CHECK(w.location == 1);
      CHECK(w.wait_ns == 20);
      const explain::residual_term* const work = term(w.terms, core::key_of("work"));
      REQUIRE(work != nullptr);
      CHECK(work->causer_visits == 1);
      CHECK(work->waiter_visits == 1);
      CHECK(work->speed_ns == 20);
    }
  }
}

TEST_CASE("oracle: the same arrivals at a barrier and at finalize") {
  CHECK(oracle(mpi_call::Barrier, -1).waits == waits_ns{10, 6, 8, 0});
  CHECK(oracle(mpi_call::Finalize, -1).waits == waits_ns{10, 6, 8, 0});
  CHECK(oracle(mpi_call::Barrier, -1).out.waits.at(0).why == pattern::wait_at_barrier);
  CHECK(oracle(mpi_call::Finalize, -1).out.waits.at(0).why == pattern::wait_at_finalize);
}

TEST_CASE("oracle: as broadcast from 1 they give 4, 0, 2, 0") {
  const operation o = oracle(mpi_call::Bcast, 1);
  CHECK(o.waits == waits_ns{4, 0, 2, 0});
  CHECK(o.out.waits.at(0).why == pattern::late_broadcast);
  // rank 3 arrived at 20, during the waiters' calls; the library may have routed data through it
  CHECK(o.out.waits.at(0).trust == explain::quality::hidden_tree);
}

TEST_CASE("oracle: as reduction to 0 they give 10, 0, 0, 0") {
  const operation o = oracle(mpi_call::Reduce, 0);
  CHECK(o.waits == waits_ns{10, 0, 0, 0});
  CHECK(o.out.waits.at(0).why == pattern::early_reduce);
  CHECK(o.out.waits.at(0).causers.at(0).rank == 3);
}

TEST_CASE("oracle: as scan they give 0, 0, 2, 0") {
  CHECK(oracle(mpi_call::Scan, -1).waits == waits_ns{0, 0, 2, 0});
  CHECK(oracle(mpi_call::Exscan, -1).waits == waits_ns{0, 0, 2, 0});
  CHECK(oracle(mpi_call::Scan, -1).out.waits.at(0).why == pattern::early_scan);
}

TEST_CASE("a broadcast whose ranks all came before the root hides no tree") {
  const operation o = oracle(mpi_call::Bcast, 3);
  CHECK(o.waits == waits_ns{10, 6, 8, 0});
  CHECK(o.out.waits.at(0).trust == explain::quality::exact);
}

TEST_CASE("creating a communicator is a wait only if all were inside at once") {
  CHECK(oracle(mpi_call::Comm_dup, -1).waits == waits_ns{10, 6, 8, 0});
  CHECK(oracle(mpi_call::Comm_dup, -1).out.waits.at(0).why == pattern::wait_at_create);
  CHECK(oracle(mpi_call::Comm_dup, -1, {10, 14, 12, 20}, {13, 21, 22, 21}).out.waits.empty());
  CHECK(oracle(mpi_call::Comm_idup, -1).out.waits.empty());
}

TEST_CASE("a collective call on a file is a wait where the library holds up its ranks") {
  CHECK(oracle(mpi_call::File_write_all, -1).waits == waits_ns{10, 6, 8, 0});
  CHECK(oracle(mpi_call::File_write_all, -1).out.waits.at(0).why == pattern::wait_at_nxn);
  CHECK(oracle(mpi_call::File_open, -1).out.waits.at(0).why == pattern::wait_at_create);
  CHECK(oracle(mpi_call::Comm_spawn, -1).out.waits.at(0).why == pattern::wait_at_create);
  CHECK(oracle(mpi_call::Comm_set_info, -1).out.waits.at(0).why == pattern::wait_at_barrier);
  CHECK(oracle(mpi_call::File_write_all, -1, {10, 14, 12, 20}, {13, 21, 22, 21}).out.waits.empty());
  // each rank stays as long as rank 3, which came last: they are busy with their own data
  constexpr std::uint64_t ms = 1000000;
  CHECK(oracle(mpi_call::File_write_all, -1, {10 * ms, 14 * ms, 12 * ms, 20 * ms}, {40 * ms, 44 * ms, 42 * ms, 50 * ms})
            .out.waits.empty());
  // rank 1 has a little more to do than it waited
  const operation o = oracle(mpi_call::File_write_all, -1, {10, 14, 12, 20}, {22, 40, 22, 22});
  CHECK(o.waits == waits_ns{10, 6, 8, 0});
  CHECK(o.out.waits.at(0).trust == explain::quality::bounded);
}

TEST_CASE("where ranks take turns in a file, each waits for the lower ones") {
  const operation o = oracle(mpi_call::File_write_ordered, -1, {10, 12, 11, 20}, {12, 13, 14, 22});
  CHECK(o.waits == waits_ns{0, 0, 1, 0});
  CHECK(o.out.waits.at(0).why == pattern::early_scan);
}

TEST_CASE("one call on a file that a rank leaves before another comes shows that others wait for no rank either") {
  for (const bool shown : {false, true}) {
    run r(2);
    r[0].collective(mpi_call::File_write_all, 1, 6);
    r[1].collective(mpi_call::File_write_all, 5, 6);
    r[0].collective(mpi_call::File_write_all, 10, shown ? 11 : 16);
    r[1].collective(mpi_call::File_write_all, 15, 16);
    r.explain();
    CHECK(r.notes.wait_of(0, 0) == (shown ? 0 : 4));
    CHECK(r.notes.wait_of(0, 1) == (shown ? 0 : 5));
  }
}

TEST_CASE("a communicator with ranks of another world: those of the own one wait for each other, never for a relay") {
  run r(2);
  for (int i : {0, 1}) {
    explain::communicator merged;
    merged.id = core::key_of("merged");
    merged.size = 3;
    merged.rank = i + 1;
    merged.world = {-1, 0, 1};
    merged.outside = true;
    r[i].communicators.push_back(merged);
  }
  r[0].collective(mpi_call::Barrier, 1, 30).comm = 1;
  r[1].collective(mpi_call::Barrier, 9, 30).comm = 1;
  r[0].collective(mpi_call::Bcast, 31, 60, 0, flag::consumes).comm = 1;  // the root is elsewhere
  r[1].collective(mpi_call::Bcast, 50, 60, 0, flag::consumes).comm = 1;
  const auto out = r.explain();
  CHECK(r.notes.wait_of(0, 0) == 8);
  CHECK(r.notes.wait_of(0, 1) == 0);
  CHECK(out.waits.at(0).trust == explain::quality::bounded);
}

TEST_CASE("an NxN operation that does not overlap follows the data") {
  run r(3);
  // rank 0 only sends and leaves early; rank 1 only receives; rank 2 does both
  r[0].collective(mpi_call::Allgatherv, 1, 2, -1, flag::contributes);
  r[1].collective(mpi_call::Allgatherv, 3, 20, -1, flag::consumes);
  r[2].collective(mpi_call::Allgatherv, 9, 20, -1, flag::contributes | flag::consumes);
  r.explain();
  CHECK(r.notes.wait_of(0, 0) == 0);
  CHECK(r.notes.wait_of(1, 0) == 6);
  CHECK(r.notes.wait_of(2, 0) == 0);
}

TEST_CASE("an NxN operation without data synchronises no ranks") {
  run r(2);
  r[0].collective(mpi_call::Allgather, 1, 9, -1, 0);
  r[1].collective(mpi_call::Allgather, 8, 9, -1, 0);
  CHECK(r.explain().waits.empty());
}

TEST_CASE("a sparse Alltoallv waits for those ranks only from which it receives") {
  run r(3);
  const std::uint64_t enter[] = {1, 6, 15};
  for (int i = 0; i != 3; ++i) {
    sync_record& c = r[i].collective(mpi_call::Alltoallv, enter[i], 20, 0, flag::contributes | flag::sparse);
    c.tag = 0;
    c.peer = i == 0 ? 1 : 0;  // rank 0 needs rank 1, the others need no rank
  }
  r[0].locations[0].needs = {1};
  const auto out = r.explain();
  CHECK(r.notes.wait_of(0, 0) == 5);
  CHECK(r.notes.wait_of(1, 0) == 0);
  CHECK(out.waits.size() == 1);
}

TEST_CASE("ties are blamed on the lowest rank") {
  CHECK(oracle(mpi_call::Barrier, -1, {10, 20, 12, 20}).out.waits.at(0).causers.at(0).rank == 1);
}

TEST_CASE("the k-th collective of each process in a communicator is one operation") {
  run r(3);
  for (int i : {0, 2}) {
    explain::communicator sub;
    sub.id = core::key_of("sub");
    sub.size = 2;
    sub.rank = i / 2;
    sub.world = {0, 2};
    r[i].communicators.push_back(sub);
  }
  r[0].collective(mpi_call::Barrier, 1, 6).comm = 1;
  r[2].collective(mpi_call::Barrier, 6, 7).comm = 1;
  for (int i = 0; i != 3; ++i) r[i].collective(mpi_call::Barrier, i == 1 ? 8 : 10, 10);
  r[0].collective(mpi_call::Barrier, 20, 21).comm = 1;
  r[2].collective(mpi_call::Barrier, 17, 21).comm = 1;
  r.explain();
  CHECK(r.notes.wait_of(0, 0) == 5);
  CHECK(r.notes.wait_of(1, 0) == 2);
  CHECK(r.notes.wait_of(2, 2) == 3);
  CHECK(r.notes.waits.size() == 3);
}

namespace {

/// Ranks 0 and 1 on one side, 2 and 3 on the other.
struct two_groups {
  run r{4};
  two_groups() {
    for (int i = 0; i != 4; ++i) {
      explain::communicator inter;
      inter.id = core::key_of("inter");
      inter.inter = true;
      inter.size = inter.own_size = 2;
      inter.rank = i % 2;
      inter.first = i < 2;
      inter.world = i < 2 ? std::vector<std::int32_t>{2, 3} : std::vector<std::int32_t>{0, 1};
      r[i].communicators.push_back(inter);
    }
  }
  sync_record& call(int rank, mpi_call what, std::uint64_t enter, std::uint64_t leave, unsigned data) {
    sync_record& c = r[rank].collective(what, enter, leave, -1, data);
    c.comm = 1;
    return c;
  }
  waits_ns waits() {
    explain::options settings = run::exact();
    settings.clocks = &clocks::virtual_clocks;
    out = r.explain(settings);
    CHECK(out.costs.propagating_ns + out.costs.terminal_ns == out.waiting_ns);
    waits_ns all;
    for (int i = 0; i != 4; ++i) all.push_back(r.notes.wait_of(i, 0));
    return all;
  }
  explain::outcome out;
};
constexpr unsigned gives = flag::contributes, takes = flag::consumes;

}  // namespace

TEST_CASE("a barrier of two groups holds both until the last of all has come") {
  two_groups t;
  const std::uint64_t enter[] = {10, 14, 12, 20};
  for (int i = 0; i != 4; ++i) t.call(i, mpi_call::Barrier, enter[i], 21, gives | takes);
  CHECK(t.waits() == waits_ns{10, 6, 8, 0});
  CHECK(t.out.waits.at(0).why == pattern::wait_at_barrier);
  CHECK(t.out.waits.at(0).causers.at(0).rank == 3);
}

TEST_CASE("a broadcast to the other group: only that group waits, for the root") {
  two_groups t;
  t.call(0, mpi_call::Bcast, 20, 21, gives);
  t.call(1, mpi_call::Bcast, 25, 26, 0);
  t.call(2, mpi_call::Bcast, 10, 21, takes);
  t.call(3, mpi_call::Bcast, 12, 21, takes);
  CHECK(t.waits() == waits_ns{0, 0, 10, 8});
  CHECK(t.out.waits.at(0).why == pattern::late_broadcast);
  CHECK(t.out.waits.at(0).causers.at(0).rank == 0);
}

TEST_CASE("a reduction from the other group: only the root waits, for the last of that group") {
  two_groups t;
  t.call(0, mpi_call::Reduce, 10, 11, gives);
  t.call(1, mpi_call::Reduce, 18, 19, gives);
  t.call(2, mpi_call::Reduce, 30, 31, 0);
  t.call(3, mpi_call::Reduce, 6, 19, takes);
  CHECK(t.waits() == waits_ns{0, 0, 0, 12});
  CHECK(t.out.waits.at(0).why == pattern::early_reduce);
  CHECK(t.out.waits.at(0).causers.at(0).rank == 1);
}

TEST_CASE("an exchange in which one group sends nothing: only the other one is needed") {
  two_groups t;
  t.call(0, mpi_call::Allgather, 5, 15, takes);
  t.call(1, mpi_call::Allgather, 30, 31, takes);
  t.call(2, mpi_call::Allgather, 10, 11, gives);
  t.call(3, mpi_call::Allgather, 14, 15, gives);
  CHECK(t.waits() == waits_ns{9, 0, 0, 0});
  CHECK(t.out.waits.at(0).causers.at(0).rank == 3);
}

TEST_CASE("the clocks let members of one group wait for those of the other") {
  constexpr std::uint64_t ms = 1000000, transfer = 20000;
  for (const mpi_call what : {mpi_call::Bcast, mpi_call::Allgather}) {
    two_groups t;
    for (int i = 0; i != 4; ++i) {
      t.r[i].step(i == 0 ? "solve" : "other", i == 0 ? 40 * ms : ms);
      const std::uint64_t enter = i == 0 ? 40 * ms : ms, leave = i < 2 ? enter + 1000 : 40 * ms + transfer;
      t.call(i, what, enter, leave, i < 2 ? (i == 0 ? gives : 0u) : takes);
      t.r[i].end_ns = static_cast<std::int64_t>(leave + (i < 2 ? 0 : 10 * ms));
    }
    explain::options settings = run::exact();
    settings.clocks = &clocks::virtual_clocks;
    explain::what_if half;
    half.changes.push_back({core::key_of("solve"), 0.5});
    settings.questions.push_back(half);
    const explain::outcome out = t.r.explain(settings);
    REQUIRE(out.answers.size() == 1);
    CHECK(out.answers[0].total_ns == static_cast<std::int64_t>(30 * ms + transfer));
  }
}

TEST_CASE("a sparse exchange needs the listed members of the other group") {
  two_groups t;
  t.call(0, mpi_call::Alltoallv, 5, 12, gives | takes);
  t.call(1, mpi_call::Alltoallv, 30, 31, gives | takes);
  t.call(2, mpi_call::Alltoallv, 11, 12, gives);
  t.call(3, mpi_call::Alltoallv, 20, 31, gives | takes);
  sync_record& some = t.r[0].locations[0].records[0];  // needs rank 0 of the remote group only
  some.flags = static_cast<std::uint16_t>(some.flags | flag::sparse);
  some.peer = 1;
  some.tag = 0;
  t.r[0].locations[0].needs = {0};
  CHECK(t.waits() == waits_ns{6, 0, 0, 10});
}

TEST_CASE("calls that make or end a communicator synchronise only if all were inside at once") {
  for (const mpi_call what : {mpi_call::Comm_dup, mpi_call::Comm_disconnect}) {
    two_groups together, apart;
    const std::uint64_t enter[] = {10, 14, 12, 20};
    for (int i = 0; i != 4; ++i) {
      together.call(i, what, enter[i], 21, gives | takes);
      apart.call(i, what, enter[i], enter[i] + 1, gives | takes);
    }
    CHECK(together.waits() == waits_ns{10, 6, 8, 0});
    CHECK(apart.waits() == waits_ns{0, 0, 0, 0});
  }
  CHECK(oracle(mpi_call::Comm_create_group, -1).waits == waits_ns{10, 6, 8, 0});
  CHECK(oracle(mpi_call::Comm_create_group, -1).out.waits.at(0).why == pattern::wait_at_create);
  CHECK(oracle(mpi_call::Comm_disconnect, -1).out.waits.at(0).why == pattern::wait_at_barrier);
  CHECK(oracle(mpi_call::Comm_free, -1).waits == waits_ns{0, 0, 0, 0});
}

TEST_CASE("collectives of groups of unknown size are skipped, those with missing members are bounded") {
  run r(2);
  for (int i = 0; i != 2; ++i) {
    explain::communicator inter;
    inter.id = core::key_of("inter");
    inter.inter = true;
    inter.size = 1;
    inter.world = {1 - i};
    r[i].communicators.push_back(inter);
  }
  r[0].collective(mpi_call::Barrier, 1, 6).comm = 1;
  r[1].collective(mpi_call::Barrier, 5, 6).comm = 1;
  CHECK(r.explain().waits.empty());

  run missing(3);
  missing[0].collective(mpi_call::Barrier, 1, 6);
  missing[1].collective(mpi_call::Barrier, 5, 6);
  CHECK(missing.explain().waits.at(0).trust == explain::quality::bounded);
}
