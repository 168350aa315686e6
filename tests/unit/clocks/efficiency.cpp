#include <whywait/base/vector.hpp>
#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/explain/explain.hpp>

#include "../explain/histories.hpp"

#include <doctest/doctest.h>
#include <vector>

using namespace histories;

namespace {

struct expected {
  double load_balance, serialisation, transfer;
};

// Every rank ends with its last call unless `ends` gives a time.
explain::outcome explained(run& r, const whywait::base::vector<std::int64_t>& ends) {
  for (int i = 0; i != r.ranks(); ++i) r[i].end_ns = ends[static_cast<std::size_t>(i)];
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  return r.explain(settings);
}

void check(const explain::efficiencies& e, const expected& by_hand) {
  CHECK(e.load_balance == doctest::Approx(by_hand.load_balance));
  CHECK(e.serialisation == doctest::Approx(by_hand.serialisation));
  CHECK(e.transfer == doctest::Approx(by_hand.transfer));
  CHECK(e.communication == doctest::Approx(by_hand.serialisation * by_hand.transfer));
  CHECK(e.parallel == doctest::Approx(by_hand.load_balance * by_hand.serialisation * by_hand.transfer));
}

}  // namespace

TEST_CASE("efficiency 1: equal work and no communication is perfect") {
  run r(2);
  check(explained(r, {100, 100}).efficiency, {1, 1, 1});
}

TEST_CASE("efficiency 2, oracle: useful 8, 6, 4, 6 in 10, on an ideal network 9") {
  run r(4);
  r[0].send(5, 5, 1);
  r[1].receive(2, 6, 0);  // the message takes 1
  const auto out = explained(r, {8, 10, 4, 6});
  check(out.efficiency, {0.75, 8.0 / 9, 0.9});
  CHECK(out.efficiency.communication == doctest::Approx(0.8));
  CHECK(out.efficiency.parallel == doctest::Approx(0.6));
}

TEST_CASE("efficiency 3: unequal work at a barrier is load balance alone") {
  run r(2);
  r[0].collective(mpi_call::Barrier, 10, 20);
  r[1].collective(mpi_call::Barrier, 20, 20);
  check(explained(r, {20, 20}).efficiency, {0.75, 1, 1});
}

TEST_CASE("efficiency: time in files is neither transfer nor serialisation") {
  run r(2);
  r[0].send(10, 12, 1);  // a transfer of 2
  r[0].collective(mpi_call::File_write_all, 12, 20);
  r[1].receive(11, 12, 0);
  r[1].collective(mpi_call::File_write_all, 12, 20);
  const auto e = explained(r, {20, 20}).efficiency;
  CHECK(e.files == doctest::Approx(11.0 / 19));
  CHECK(e.transfer == doctest::Approx(0.95));
  CHECK(e.communication == doctest::Approx(e.serialisation * e.files * e.transfer));
}

TEST_CASE("efficiency 4: time in calls that do not wait is transfer only") {
  run r(2);
  r[0].send(10, 20, 1);
  r[1].send(10, 20, 0);
  check(explained(r, {20, 20}).efficiency, {1, 1, 0.5});
}

TEST_CASE("efficiency 5: one after the other is serialisation alone") {
  run r(2);
  r[0].send(10, 10, 1);
  r[1].receive(0, 10, 0);
  check(explained(r, {10, 20}).efficiency, {1, 0.5, 1});
}

TEST_CASE("efficiency 6: a pipeline of three") {
  run r(3);
  r[0].send(10, 10, 1);
  r[1].receive(0, 10, 0);
  r[1].send(20, 20, 2);
  r[2].receive(0, 20, 1);
  check(explained(r, {10, 20, 30}).efficiency, {1, 1.0 / 3, 1});
}

TEST_CASE("efficiency 7: one after the other, and the message takes time") {
  run r(2);
  r[0].send(10, 10, 1);
  r[1].receive(0, 15, 0);
  check(explained(r, {10, 25}).efficiency, {1, 0.5, 0.8});
}

TEST_CASE("efficiency 8: balance within nodes and between them") {
  run r(4);
  const std::int64_t useful[] = {8, 4, 2, 2};
  for (int i = 0; i != 4; ++i) {
    r[i].collective(mpi_call::Barrier, static_cast<std::uint64_t>(useful[i]), 8);
    r[i].end_ns = 8;
  }
  auto all = r.views();
  for (std::size_t i = 0; i != 4; ++i) all[i].node = i < 2 ? 0 : 1;
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  explain::simulated_transport transport(4);
  const auto out = explain::explain(transport, all, settings);
  check(out.efficiency, {0.5, 1, 1});
  CHECK(out.efficiency.balance_in_nodes == doctest::Approx(0.75));
  CHECK(out.efficiency.balance_between_nodes == doctest::Approx(4.0 / 6));
  CHECK(explained(r, {8, 8, 8, 8}).efficiency.balance_in_nodes == 0);  // the nodes are unknown
}

TEST_CASE("efficiency 9: a collective that takes time after the last arrival") {
  run r(2);
  r[0].collective(mpi_call::Allreduce, 10, 12);
  r[1].collective(mpi_call::Allreduce, 6, 12);
  check(explained(r, {12, 12}).efficiency, {0.8, 1, 10.0 / 12});
}

TEST_CASE("efficiency 10: a synchronous send that waits for its receiver") {
  run r(2);
  r[0].send(4, 10, 1).flags |= flag::synchronous;
  r[1].receive(10, 10, 0);
  check(explained(r, {16, 12}).efficiency, {11.0 / 12, 12.0 / 16, 1});
}

namespace {

// With `nodes` 2, each half of the ranks runs on its own node; with 1 all share a node; with 0 nodes are unknown.
explain::efficiencies on_nodes(run& r, int nodes) {
  auto all = r.views();
  for (std::size_t i = 0; i != all.size(); ++i) all[i].node = nodes < 2 ? nodes - 1 : i < all.size() / 2 ? 7 : 3;
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  explain::simulated_transport transport(static_cast<std::int32_t>(all.size()));
  return explain::explain(transport, all, settings).efficiency;
}

void check_transfer(const explain::efficiencies& e, double in_nodes, double between_nodes) {
  CHECK(e.transfer_in_nodes == doctest::Approx(in_nodes));
  CHECK(e.transfer_between_nodes == doctest::Approx(between_nodes));
}

}  // namespace

TEST_CASE("efficiency 11: transfer within nodes and between them") {
  run r(4);  // 10 of work pass through all ranks; messages take 2 and 4 within the nodes, 6 between them
  r[0].send(10, 10, 1);
  r[1].receive(0, 12, 0);
  r[1].send(12, 12, 2);
  r[2].receive(0, 18, 1);
  r[2].send(18, 18, 3);
  r[3].receive(0, 22, 2);
  const std::int64_t ends[] = {10, 12, 18, 22};
  for (int i = 0; i != 4; ++i) r[i].end_ns = ends[i];
  CHECK(on_nodes(r, 2).transfer == doctest::Approx(10.0 / 22));
  check_transfer(on_nodes(r, 2), 16.0 / 22, 10.0 / 16);
  check_transfer(on_nodes(r, 1), 10.0 / 22, 1);
  check_transfer(on_nodes(r, 0), 0, 0);
}

TEST_CASE("efficiency 12: a call that completes messages of both kinds, or a collective of both nodes, lies between them") {
  run r(4);
  r[0].send(10, 10, 1);
  r[2].send(10, 10, 1);
  const std::uint32_t near = r[1].post_receive(1, 1, 0), far = r[1].post_receive(1, 1, 2);
  r[1].call(mpi_call::Waitall, 2, 15);
  r[1].completes(near);
  r[1].completes(far);
  for (int i = 0; i != 4; ++i) {
    r[i].collective(mpi_call::Barrier, 15, 18);
    r[i].end_ns = 18;
  }
  check_transfer(on_nodes(r, 2), 1, 15.0 / 18);

  run s(4);  // without the message from the other node and with its own communicator, all transfer is within nodes
  s[0].send(10, 10, 1);
  const std::uint32_t only = s[1].post_receive(1, 1, 0);
  s[1].call(mpi_call::Waitall, 2, 15);
  s[1].completes(only);
  for (int i = 0; i != 4; ++i) s[i].end_ns = i == 1 ? 15 : 10;
  check_transfer(on_nodes(s, 2), 10.0 / 15, 1);
}

TEST_CASE("calibrated constants count as overhead: before, inside and after the call") {
  run r(1);
  r[0].call(mpi_call::Test, 100, 120);
  r[0].call(mpi_call::Test, 200, 220).overhead = 7;
  r[0].end_ns = 300;
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  std::vector<core::call_overhead> each(static_cast<std::size_t>(mpi_call::count_));
  each[static_cast<std::size_t>(mpi_call::Test)] = {5, 3, 1, 3, 6};
  r[0].locations[0].call_overheads = each;
  const auto out = r.explain(settings);
  CHECK(out.without_overhead.error_ns == 2 * 6);
  CHECK(out.total_ns == 300);
  CHECK(out.without_overhead.overhead_ns == 2 * (5 + 4 + 3) + 7);
  CHECK(out.without_overhead.total_ns == 300 - 31);
  CHECK(out.without_overhead.bound_ns == 31);
}

TEST_CASE("overhead that does not fit before its call was spent inside and after it, and what does not fit there is cut") {
  const auto without = [](std::uint32_t overhead) {
    run r(1);
    r[0].call(mpi_call::Test, 10, 14).overhead = overhead;
    r[0].end_ns = 30;
    explain::options settings = run::exact();
    settings.clocks = &clocks::virtual_clocks;
    return r.explain(settings).without_overhead.total_ns;
  };
  CHECK(without(7) == 23);
  CHECK(without(19) == 11);  // 10 before, 3 inside, 6 after
  CHECK(without(28) == 4);   // 10 before, 4 inside instead of 6, 12 after
  CHECK(without(5000) == 0);
}

TEST_CASE("a wildcard that would have taken another message first is counted") {
  run r(3);
  r[1].send(30, 30, 0);
  r[2].send(40, 40, 0).overhead = 25;  // without overhead it is sent at 15, before the other
  for (int k = 0; k != 2; ++k) {
    sync_record& q = r[0].receive(k == 0 ? 5 : 31, k == 0 ? 31 : 41, k + 1);
    q.flags |= flag::any_source;
  }
  for (int i = 0; i != 3; ++i) r[i].end_ns = 50;
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  const auto out = r.explain(settings);
  CHECK(out.without_overhead.inversions == 1);
  int suspect = 0;
  for (const auto& e : out.waits) suspect += e.compensated_trust == explain::quality::order_suspect ? 1 : 0;
  CHECK(suspect == 1);
}

TEST_CASE("wildcards that were posted together and waited for one by one are compared in the order of posting") {
  for (const bool backwards : {false, true}) {
    CAPTURE(backwards);
    run r(3);
    r[1].send(30, 30, 0);
    r[2].send(40, 40, 0).overhead = 25;  // without overhead it is sent at 15, before the other
    std::uint32_t posted[2];
    for (int k = 0; k != 2; ++k) {
      posted[k] = r[0].post_receive(5, 5, k + 1);
      r[0].locations[0].records[posted[k]].flags |= flag::any_source;
    }
    for (int k = 0; k != 2; ++k) {
      r[0].call(mpi_call::Wait, k == 0 ? 6 : 41, k == 0 ? 41 : 42);
      r[0].completes(posted[backwards ? 1 - k : k]);
    }
    for (int i = 0; i != 3; ++i) r[i].end_ns = 50;
    explain::options settings = run::exact();
    settings.clocks = &clocks::virtual_clocks;
    CHECK(r.explain(settings).without_overhead.inversions == 1);
    r[2].locations[0].records[0].overhead = 5;  // still after the other
    CHECK(r.explain(settings).without_overhead.inversions == 0);
  }
}

TEST_CASE("a wildcard whose call also waited for a collective says nothing about the order of messages") {
  for (const bool together : {false, true}) {
    CAPTURE(together);
    run r(3);
    for (int i = 0; i != 3; ++i) r[i].collective(mpi_call::Ibarrier, i == 0 ? 2 : 3, i == 0 ? 2 : 3);
    r[1].send(30, 30, 0);
    r[2].send(40, 40, 0).overhead = 25;  // without overhead it is sent before the other
    std::uint32_t posted[2];
    for (int k = 0; k != 2; ++k) {
      posted[k] = r[0].post_receive(5, 5, k + 1);
      r[0].locations[0].records[posted[k]].flags |= flag::any_source;
    }
    r[0].call(mpi_call::Waitall, 6, 41);
    r[0].completes(posted[0]);
    if (together) r[0].completes(0);
    r[0].call(mpi_call::Wait, 41, 42);
    r[0].completes(posted[1]);
    for (int i = 0; i != 3; ++i) {
      r[i].call(mpi_call::Wait, 45, 46);
      if (i != 0 || !together) r[i].completes(0);
      r[i].end_ns = 50;
    }
    explain::options settings = run::exact();
    settings.clocks = &clocks::virtual_clocks;
    CHECK(r.explain(settings).without_overhead.inversions == (together ? 0 : 1));
  }
}

TEST_CASE("a Waitany that would have taken another message is counted, if that could have been taken then") {
  for (const bool posted_before : {true, false}) {
    CAPTURE(posted_before);
    run r(3);
    r[1].send(30, 30, 0);
    r[2].send(40, 40, 0).overhead = 25;
    const std::uint32_t first = r[0].post_receive(5, 5, 1);
    std::uint32_t second = posted_before ? r[0].post_receive(5, 5, 2) : 0;
    r[0].call(mpi_call::Waitany, 6, 31);
    r[0].completes(first);
    if (!posted_before) second = r[0].post_receive(32, 32, 2);
    r[0].call(mpi_call::Waitany, 33, 41);
    r[0].completes(second);
    for (int i = 0; i != 3; ++i) r[i].end_ns = 50;
    explain::options settings = run::exact();
    settings.clocks = &clocks::virtual_clocks;
    const auto out = r.explain(settings);
    CHECK(out.without_overhead.inversions == (posted_before ? 1 : 0));
    int suspect = 0;
    for (const auto& e : out.waits) suspect += e.compensated_trust == explain::quality::order_suspect ? 1 : 0;
    CHECK(suspect == (posted_before ? 1 : 0));
  }
}

TEST_CASE("a hidden tree stays marked when it is compensated") {
  run r(3);
  r[0].collective(mpi_call::Bcast, 50, 52, 0, flag::contributes).overhead = 10;
  r[1].collective(mpi_call::Bcast, 55, 60, 0, flag::consumes);  // between the root and the end of the next
  r[2].collective(mpi_call::Bcast, 5, 60, 0, flag::consumes);
  for (int i = 0; i != 3; ++i) r[i].end_ns = 70;
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  const auto out = r.explain(settings);
  REQUIRE(out.waits.size() == 1);
  CHECK(out.waits[0].compensated_trust == explain::quality::hidden_tree);
  CHECK(out.waits[0].compensated_ns == 35);
}

TEST_CASE("the cost of marks follows from their visits and is limited by the time of their readings") {
  run r(1);
  r[0].locations[0].mark_overheads = {4, 1, 0.25, 2};
  r[0].step("region", 40, 5);     // 5 visits of 4 ns
  r[0].step("step", 0, 7);        // 7 visits of 1 ns
  r[0].step("repeated", 10, 90);  // counted repeatedly; its 10 ns contain at most 5 readings of 2 ns
  r[0].call(mpi_call::Test, 100, 120);
  r[0].end_ns = 130;
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  const auto out = r.explain(settings).without_overhead;
  CHECK(out.overhead_ns == 20 + 7 + 20);
  CHECK(out.total_ns == 130 - 47);
  CHECK(out.error_ns == 12);  // a quarter of the overhead
}

TEST_CASE("errors of constants add up along the worst path, and waiting does not forget them") {
  run r(2);
  std::vector<core::call_overhead> each(static_cast<std::size_t>(mpi_call::count_));
  for (core::call_overhead& c : each) c = {2, 0, 0, 0, 1};
  for (int i = 0; i != 2; ++i) r[i].locations[0].call_overheads = each;
  for (int k = 0; k != 5; ++k)
    r[0].call(mpi_call::Test, static_cast<std::uint64_t>(10 + 10 * k), static_cast<std::uint64_t>(11 + 10 * k));
  r[0].send(60, 60, 1);
  r[1].receive(20, 60, 0);
  r[0].end_ns = r[1].end_ns = 70;
  explain::options settings = run::exact();
  settings.clocks = &clocks::virtual_clocks;
  settings.clock_error_ns = 3;
  const auto out = r.explain(settings).without_overhead;
  CHECK(out.bound_ns == 12);
  CHECK(out.error_ns == 6 + 2 * 3);  // five tests and the send; the receiver's test is on a shorter path
}

TEST_CASE("savings are computed automatically for the largest explaining blocks and others of the path, twice as fast") {
  run r(2);
  r[0].step("slow", 80);
  r[0].step("other", 20);
  r[0].send(100, 100, 1);
  r[1].step("other", 20);
  r[1].receive(20, 100, 0);
  const auto out = explained(r, {100, 100});
  REQUIRE(out.savings.size() == 2);
  CHECK(out.savings[0].question.changes[0].block == core::key_of("slow"));
  CHECK(out.savings[0].saving_ns == 40);
  CHECK(out.savings[1].question.changes[0].block == core::key_of("other"));  // not part of any explanation
  CHECK(out.savings[1].saving_ns == 10);
  CHECK(out.waits[0].saving_ns == 40);
  REQUIRE(out.critical_path.size() == 2);
  CHECK(out.critical_path[0].block == core::key_of("slow"));
  CHECK(out.critical_path[0].imbalance_ns == 40);  // 80 on the path, 40 on average
  CHECK(out.critical_path[1].imbalance_ns == 0);
}

TEST_CASE("no efficiency is above 1 where a thread is useful for longer than the clocks know") {
  clocks::clock_result all;
  all.measured_end_ns = 1000;
  all.locations = 2;
  all.useful_ns = 1500;
  all.most_useful_ns = 950;
  const explain::efficiencies e = all.efficiency(0, 900, 900, 900);  // the ends on ideal networks
  CHECK(e.serialisation == doctest::Approx(1));
  CHECK(e.transfer == doctest::Approx(0.95));
  CHECK(e.parallel == doctest::Approx(0.75));
  CHECK(e.load_balance * e.serialisation * e.files * e.transfer == doctest::Approx(e.parallel));
  all.most_useful_ns = 1100;  // more than the run
  CHECK(all.efficiency(0, 900, 900, 900).communication <= 1);
}
