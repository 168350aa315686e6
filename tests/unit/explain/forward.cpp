#include <whywait/explain/forward.hpp>

#include "histories.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace histories;

namespace {

const explain::wait_instance& wait_of(const run& r, int rank, std::uint32_t record) {
  for (const auto& w : r.notes.waits) {
    if (w.rank == rank && w.record == record) return w;
  }
  throw std::out_of_range("no such wait");
}

}  // namespace

TEST_CASE("a late sender is blamed on the sender's extra work") {
  run r(2);
  r[1].step("assemble", 60, 3);
  r[1].send(60, 61, 0);
  r[0].step("assemble", 20, 1);
  r[0].receive(20, 65, 1);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  const auto& e = out.waits[0];
  CHECK(e.wait_ns == 40);
  REQUIRE(e.residual.size() == 1);
  CHECK(e.residual[0].block == core::key_of("assemble"));
  CHECK(e.residual[0].total_ns == 40);
  CHECK(e.residual[0].visits_ns == 40);
  CHECK(e.residual[0].speed_ns == 0);
  CHECK(e.residual[0].causer_visits == 3);
  CHECK(e.residual[0].waiter_visits == 1);
  CHECK(e.unexplained_ns == 0);
}

TEST_CASE("oracle: a chain of three: 6 because of a, then 7 = a 5 + c 2") {
  run r(3);
  r[0].step("a", 10);
  r[0].send(10, 10, 1);
  r[1].step("a", 4);
  r[1].receive(4, 10, 0);
  r[1].step("c", 2);
  r[1].send(12, 12, 2);
  r[2].step("a", 5);
  r[2].receive(5, 12, 1);
  const auto out = r.explain();
  CHECK(out.waiting_ns == 13);
  CHECK(wait_of(r, 1, 0).wait_ns == 6);
  CHECK(total(wait_of(r, 1, 0).terms, "a") == 6);
  const auto& second = wait_of(r, 2, 0);
  CHECK(second.wait_ns == 7);
  CHECK(total(second.terms, "a") == 5);
  CHECK(total(second.terms, "c") == 2);
  // rank 1 ran c itself; rank 0, for which it had waited, ran a
  CHECK(term(second.terms, core::key_of("a"))->inherited_ns == 5);
  CHECK(term(second.terms, core::key_of("c"))->inherited_ns == 0);
}

TEST_CASE("a chain of four ranks leads to the first rank") {
  run r(4);
  r[0].step("guilty", 1000);
  r[0].send(1000, 1000, 1);
  for (int i = 1; i != 4; ++i) {
    const auto t = static_cast<std::uint64_t>(1000 + 10 * (i - 1));
    r[i].step("innocent", 100);
    r[i].receive(100, t, i - 1);
    r[i].step("relay", 10);
    if (i != 3) r[i].send(t + 10, t + 10, i + 1);
  }
  r.explain();
  const auto& last = wait_of(r, 3, 0);
  CHECK(last.wait_ns == 920);
  CHECK(total(last.terms, "guilty") == 1000);
  CHECK(total(last.terms, "innocent") == -100);
  CHECK(total(last.terms, "relay") == 20);
}

TEST_CASE("blocks that both sides run are not blamed") {
  run r(2);
  r[1].step("slow start", 50);
  r[1].step("common", 100);
  r[1].send(150, 151, 0);
  r[0].step("common", 100);
  r[0].receive(100, 152, 1);
  const auto out = r.explain();
  REQUIRE(out.waits[0].residual.size() == 1);
  CHECK(out.waits[0].residual[0].block == core::key_of("slow start"));
}

TEST_CASE("counts are those since the two were last aligned") {
  run r(2);
  for (int i = 0; i != 2; ++i) {
    r[i].step("loop", 1000, 10);
    r[i].collective(mpi_call::Barrier, 1000, 1001);
    r[i].step("loop", i == 0 ? 30 : 50, 5);
  }
  r[0].receive(1031, 1060, 1);
  r[1].send(1051, 1052, 0);
  r.explain();
  const auto& w = wait_of(r, 0, 1);
  const auto* loop = term(w.terms, core::key_of("loop"));
  REQUIRE(loop != nullptr);
  CHECK(loop->causer_visits == 5);
  CHECK(loop->waiter_visits == 5);
  CHECK(loop->visits_ns == 0);
  CHECK(loop->speed_ns == 20);
}

TEST_CASE("code without marks is a block named by the two call sites around it") {
  run r(2);
  r[1].call(mpi_call::Barrier, 10, 10, "first").comm = 9;  // unknown communicator, so the call only marks a place
  r[1].send(80, 81, 0, 0, "second");
  r[0].receive(20, 82, 1, 0, "third");
  const auto out = r.explain();
  const auto first = core::key_of("first"), second = core::key_of("second");
  REQUIRE(!out.waits.empty());
  const auto* between = term(out.waits[0].residual, explain::between_key(first, second));
  REQUIRE(between != nullptr);
  CHECK(between->total_ns == 70);
  bool named = false;
  for (const auto& m : out.meanings) {
    if (m.key != between->block) continue;
    named = m.kind == explain::block_kind::between && m.first == first && m.second == second;
  }
  CHECK(named);
}

TEST_CASE("a later start is a block of its own") {
  run r(2);
  r[1].begin_ns = 30;
  r[1].step("work", 10);
  r[1].send(40, 41, 0);
  r[0].step("work", 10);
  r[0].receive(10, 41, 1);
  r.explain();
  const auto& w = wait_of(r, 0, 0);
  CHECK(term(w.terms, explain::startup_key())->total_ns == 30);
  CHECK(total(w.terms, "work") == 0);
}

TEST_CASE("untimed steps are carried as counts and never enter the sums") {
  run r(2);
  r[1].step("cell", 0, 900, 0, "loop");
  r[1].step("loop", 60, 1);
  r[1].send(60, 61, 0);
  r[0].step("cell", 0, 300, 0, "loop");
  r[0].step("loop", 20, 1);
  r[0].receive(20, 65, 1);
  const auto out = r.explain();
  const auto* cell = term(out.waits[0].residual, core::key_of("cell"));
  REQUIRE(cell != nullptr);
  CHECK(cell->within == core::key_of("loop"));
  CHECK(cell->total_ns == 0);
  CHECK(cell->causer_visits == 900);
  CHECK(cell->waiter_visits == 300);
  CHECK(sum(out.waits[0].residual) + out.waits[0].unexplained_ns == 40);
}

TEST_CASE("compiler-counted code becomes blocks within the surrounding unmarked code") {
  // counter 70000 is the entry of a loop body and 70001 one of its two exits; the other exit is the difference
  const core::stable_key body = core::key_of("body"), other = core::key_of("other");
  run r(2);
  for (int rank : {0, 1}) {
    r[rank].code.add(70000, {{body, 1}, {other, 1}});
    r[rank].code.add(70001, {{other, -1}});
  }
  r[1].counted(70000, 900);
  r[1].counted(70001, 100);
  r[1].counted(70007, 55);  // unknown counter
  r[1].send(60, 61, 0);
  r[0].counted(70000, 300);
  r[0].counted(70001, 300);
  r[0].receive(20, 65, 1);
  const auto out = r.explain();
  REQUIRE(out.waits.size() == 1);
  const auto* in_body = term(out.waits[0].residual, body);
  const auto* in_other = term(out.waits[0].residual, other);
  REQUIRE(in_body != nullptr);
  REQUIRE(in_other != nullptr);
  CHECK(in_body->causer_visits == 900);
  CHECK(in_other->causer_visits == 800);
  CHECK(in_body->total_ns == 0);
  // each block is within the code that ends at its own call, which the report can name
  CHECK(in_body->within == explain::between_key(0, core::key_of("MPI_Send")));
  CHECK(std::any_of(out.meanings.begin(), out.meanings.end(),
                    [&](const explain::block_meaning& m) { return m.key == in_body->within; }));
  CHECK(sum(out.waits[0].residual) + out.waits[0].unexplained_ns == 40);
}

TEST_CASE("counted blocks of the same interval are compared, and equal ones are not listed") {
  const core::stable_key body = core::key_of("body"), same = core::key_of("same");
  run r(2);
  for (int rank : {0, 1}) {
    r[rank].code.add(70000, {{body, 1}});
    r[rank].code.add(70001, {{same, 1}});
    r[rank].collective(mpi_call::Barrier, 1, 2);
    r[rank].counted(70000, rank == 1 ? 400 : 100);
    r[rank].counted(70001, 7);
  }
  r[1].collective(mpi_call::Barrier, 60, 61);
  r[0].collective(mpi_call::Barrier, 20, 61);
  const auto out = r.explain();
  REQUIRE_FALSE(out.waits.empty());
  const auto* in_body = term(out.waits[0].residual, body);
  REQUIRE(in_body != nullptr);
  CHECK(in_body->causer_visits == 400);
  CHECK(in_body->waiter_visits == 100);
  CHECK(term(out.waits[0].residual, same) == nullptr);
}

TEST_CASE("steps that claim more time than there was are cut") {
  run r(2);
  r[1].step("work", 500);
  r[1].send(60, 61, 0);
  r[0].receive(20, 65, 1);
  r.explain();
  CHECK(sum(wait_of(r, 0, 0).terms) == 40);
  for (const auto& p : r.notes.paths) {
    std::int64_t all = 0;
    for (const auto& t : p.entries) all += t.causer_ns;
    CHECK(all == p.elapsed_ns);
  }
}

TEST_CASE("a rank that never waits does not run away from one that always does") {
  run r(2);
  std::uint64_t t = 0;
  for (int k = 0; k != 3000; ++k) {
    r[0].step("produce", 10);
    t += 10;
    r[0].send(t, t, 1);
    r[1].receive(t - 10, t, 0);
  }
  const auto out = r.explain();
  CHECK(out.waits.at(0).count == 3000);
  CHECK(total(out.waits.at(0).residual, "produce") == 30000);
}

TEST_CASE("an observed profile ends as the critical path") {
  run r(2);
  r[1].step("long", 100);
  r[1].send(100, 100, 0);
  r[1].end_ns = 100;
  r[0].receive(0, 100, 1);
  r[0].step("short", 5);
  r[0].end_ns = 105;
  r.explain();
  for (const auto& p : r.notes.paths) {
    if (p.rank != 0) continue;
    CHECK(p.elapsed_ns == 105);
    CHECK(term(p.entries, core::key_of("long"))->causer_ns == 100);
    CHECK(term(p.entries, core::key_of("short"))->causer_ns == 5);
  }
}
