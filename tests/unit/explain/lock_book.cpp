#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/lock_book.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

using namespace histories;
using whywait::explain::pattern;

namespace {

// `kind`: 1: exclusive. The communicator of all ranks stands for the window.
void lock_call(rank_data& r, mpi_call what, std::uint64_t begin, std::uint64_t leave, int target, int kind = 0) {
  core::sync_record& l = r.call(what, begin, leave);
  l.posting = 0;
  l.peer = target;
  l.tag = kind;
}
void hold(rank_data& r, int target, int kind, std::uint64_t begin, std::uint64_t has, std::uint64_t unlock) {
  lock_call(r, mpi_call::Win_lock, begin, has, target, kind);
  lock_call(r, mpi_call::Win_unlock, unlock, unlock + 1, target);
}

}  // namespace

TEST_CASE("a lock waits for the unlock of its holder") {
  run r(3);
  hold(r[0], 2, 1, 1, 2, 50);
  hold(r[1], 2, 1, 10, 53, 60);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].why == pattern::window_lock_contention);
  CHECK(out.waits[0].wait_ns == 40);
  CHECK(out.waits[0].trust == explain::quality::exact);
  CHECK(out.waits[0].causers[0].rank == 0);
  CHECK(out.waits[0].cause == core::key_of("MPI_Win_unlock"));
}

TEST_CASE("of several holders the last one before the lock was granted is named") {
  run r(4);
  hold(r[0], 3, 1, 1, 2, 30);
  hold(r[1], 3, 1, 5, 31, 60);
  hold(r[2], 3, 1, 10, 62, 90);
  const auto out = r.explain();
  CHECK(r.notes.wait_of(1, 0) == 25);
  CHECK(r.notes.wait_of(2, 0) == 50);
  for (const auto& w : r.notes.waits) CHECK(w.causer_rank == (w.rank == 1 ? 0 : 1));
  CHECK(out.waits.size() == 1);
}

TEST_CASE("shared locks do not conflict with each other, but with exclusive ones") {
  for (const int kind : {0, 1}) {
    run r(3);
    hold(r[0], 2, 0, 1, 2, 50);
    hold(r[1], 2, kind, 10, 52, 60);
    const auto out = r.explain();
    CHECK(out.waiting_ns == (kind == 1 ? 40 : 0));
  }
}

TEST_CASE("a lock of all targets conflicts with an exclusive lock of one") {
  run r(3);
  lock_call(r[0], mpi_call::Win_lock_all, 1, 2, -1);
  lock_call(r[0], mpi_call::Win_unlock_all, 50, 51, -1);
  hold(r[1], 2, 1, 10, 52, 60);
  lock_call(r[2], mpi_call::Win_lock_all, 20, 61, -1);
  lock_call(r[2], mpi_call::Win_unlock_all, 70, 71, -1);
  const auto out = r.explain();
  CHECK(out.waiting_ns == 40 + 40);
  for (const auto& w : r.notes.waits) CHECK(w.causer_rank == (w.rank == 1 ? 0 : 1));
}

TEST_CASE("lists of locks that take several rounds of exchange are sent completely") {
  const std::uint64_t cycles = 1000;  // 64 kB of blocked calls, a packet has room for 16
  run r(3);
  for (std::uint64_t k = 0; k != cycles; ++k) {
    hold(r[0], 2, 1, 100 * k + 1, 100 * k + 2, 100 * k + 50);
    hold(r[1], 2, 1, 100 * k + 10, 100 * k + 53, 100 * k + 60);
  }
  const auto out = r.explain();
  CHECK(out.waiting_ns == std::int64_t(40 * cycles));
  CHECK(r.notes.waits.size() == cycles);
}

TEST_CASE("locks of other targets, and unlocks after the lock was granted, are no cause") {
  run r(4);
  hold(r[0], 3, 1, 1, 2, 50);
  hold(r[1], 2, 1, 10, 52, 60);
  CHECK(r.explain().waiting_ns == 0);
  run late(3);
  hold(late[0], 2, 1, 1, 2, 50);
  hold(late[1], 2, 1, 10, 40, 60);
  CHECK(late.explain().waiting_ns == 0);
}

TEST_CASE("an unlock whose lock is not recorded names its holder as bounded") {
  run r(3);
  lock_call(r[0], mpi_call::Win_unlock, 50, 51, 2);
  hold(r[1], 2, 1, 10, 53, 60);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].trust == explain::quality::bounded);
  CHECK(out.waits[0].causers[0].rank == 0);
}

TEST_CASE("calls that return whenever the target enters MPI wait for its progress") {
  const std::uint64_t usec = 1000;
  run r(2);
  for (std::uint64_t k = 0; k != 4; ++k) {
    const std::uint64_t from = k * 1000 * usec;
    lock_call(r[0], mpi_call::Win_lock, from, from + usec, 1, 1);
    lock_call(r[0], mpi_call::Win_flush, from + 10 * usec, from + 405 * usec, 1);
    lock_call(r[0], mpi_call::Win_unlock, from + 410 * usec, from + 411 * usec, 1);
    r[1].step("work", 400 * usec);
    r[1].collective(mpi_call::Barrier, from + 400 * usec, from + 800 * usec);
    r[0].collective(mpi_call::Barrier, from + 799 * usec, from + 800 * usec);
  }
  explain::options settings = run::exact();
  settings.threshold_ns = 2000;
  settings.clocks = &whywait::clocks::virtual_clocks;
  const auto out = r.explain(settings);
  std::int64_t found = 0;
  for (const auto& e : out.waits) {
    if (e.why != pattern::wait_for_progress) continue;
    found += e.wait_ns;
    CHECK(e.operation == core::key_of("MPI_Win_flush"));
    CHECK(e.causers[0].rank == 1);
  }
  CHECK(found == 4 * 390 * 1000);
  CHECK(out.progress.empty());  // says nothing about messages
}

TEST_CASE("the wait for a request of an operation is like a flush, once for each target") {
  const std::uint64_t usec = 1000;
  run r(3);
  for (std::uint64_t k = 0; k != 4; ++k) {
    const std::uint64_t from = k * 1000 * usec;
    lock_call(r[0], mpi_call::Win_lock_all, from, from + usec, -1);
    const std::uint32_t first = r[0].last() + 1;
    for (const int target : {1, 2, 1}) lock_call(r[0], mpi_call::Rget, from + 2 * usec, from + 3 * usec, target);
    lock_call(r[0], mpi_call::Waitall, from + 10 * usec, from + 405 * usec, -1);
    for (std::uint32_t i = first; i != first + 3; ++i) r[0].completes(i);
    lock_call(r[0], mpi_call::Win_unlock_all, from + 410 * usec, from + 411 * usec, -1);
    r[1].step("work", 400 * usec);
    r[1].collective(mpi_call::Barrier, from + 400 * usec, from + 800 * usec);
    r[0].collective(mpi_call::Barrier, from + 799 * usec, from + 800 * usec);
    r[2].collective(mpi_call::Barrier, from + 100 * usec, from + 800 * usec);
  }
  explain::options settings = run::exact();
  settings.threshold_ns = 2000;
  settings.clocks = &whywait::clocks::virtual_clocks;
  const auto out = r.explain(settings);
  std::int64_t found = 0;
  for (const auto& e : out.waits) {
    if (e.why != pattern::wait_for_progress) continue;
    found += e.wait_ns;
    CHECK(e.operation == core::key_of("MPI_Waitall"));
    CHECK(e.causers[0].rank == 1);
  }
  CHECK(found == 4 * 390 * 1000);
}

TEST_CASE("locks of rank 0's memory are like all others") {
  for (const int target : {0, 2}) {
    CAPTURE(target);
    run r(3);
    hold(r[1], target, 1, 1, 2, 50);
    hold(r[2 - target], target, 1, 10, 53, 60);
    const auto out = r.explain();
    CHECK(out.waiting_ns == 40);
    REQUIRE(r.notes.waits.size() == 1);
    CHECK(r.notes.waits[0].causer_rank == 1);
  }
}
