#include <whywait/thread/finalize/processor_bound.hpp>

#include "../explain/histories.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using whywait::threads::bound_balances;
using whywait::threads::leave_out_waits;
using whywait::threads::processor_time;

namespace {

whywait::explain::outcome balanced(std::int64_t saving_ns) {
  whywait::explain::outcome found;
  found.total_ns = 600;
  found.balances.emplace_back();
  found.balances.back().saving_ns = saving_ns;
  return found;
}

}  // namespace

TEST_CASE("more even work saves no more than the processors leave idle") {
  // Two processors were busy for 500 of 600 ns each.
  whywait::explain::outcome found = balanced(320);
  bound_balances(found, {1000, 2});
  CHECK(found.balances[0].saving_ns == 100);
  CHECK(found.balances[0].bounded);
}

TEST_CASE("a smaller answer about balancing remains a prediction") {
  whywait::explain::outcome found = balanced(90);
  bound_balances(found, {1000, 2});
  CHECK(found.balances[0].saving_ns == 90);
  CHECK_FALSE(found.balances[0].bounded);
}

TEST_CASE("starting many threads is no work of threads that were not recorded") {
  whywait::reports::unrecorded_threads others;
  others.seconds = 0.05;
  others.share = 0.2;
  whywait::threads::leave_out_starts(others, 500);
  CHECK(others.seconds == doctest::Approx(0.04));
  CHECK(others.share == doctest::Approx(0.16));
  whywait::threads::leave_out_starts(others, 3000);
  CHECK(others.seconds == 0);
  CHECK(others.share == 0);
}

TEST_CASE("busy processors leave nothing to save by balancing") {
  whywait::explain::outcome found = balanced(90);
  bound_balances(found, {1300, 2});
  CHECK(found.balances[0].saving_ns == 0);
}

TEST_CASE("no other division of the work is faster than all threads that never wait") {
  whywait::explain::outcome found = balanced(320);
  found.locations = 4;
  found.location_ns = 2000;
  found.waiting_ns = 400;  // 1,600 of work: at least 400 on four threads
  CHECK(whywait::threads::most_divided_ns(found, {0, 2}) == 200);
  CHECK(whywait::threads::most_divided_ns(found, {0, 0}) == 200);
  CHECK(whywait::threads::most_divided_ns(found, {1000, 2}) == 100);
}

TEST_CASE("code of one thread beside threads that come and go is divided in any way that the processors allow") {
  for (const std::int64_t location_ns : {900, 1200}) {
    CAPTURE(location_ns);
    whywait::explain::outcome found = balanced(120);
    found.locations = 2;
    found.location_ns = location_ns;
    found.waiting_ns = location_ns - 800;
    whywait::explain::balance_answer& b = found.balances[0];
    b.ranks = 1;
    b.among = 2;
    b.most_ns = 580;
    bound_balances(found, {700, 2});
    CHECK(b.saving_ns == (location_ns == 900 ? 200 : 120));  // 800 ns of code on two threads
    CHECK(b.bounded == (location_ns == 900));
  }
}

TEST_CASE("while a thread has no processor, all are busy") {
  whywait::explain::outcome found = balanced(320);
  bound_balances(found, {600, 2, 450});
  CHECK(found.balances[0].saving_ns == 150);
}

TEST_CASE("balancing a block saves what its slowest thread ran above the mean, not its time without a processor") {
  constexpr std::uint64_t block = 7;
  whywait::threads::own_code code;
  for (std::int32_t rank = 0; rank != 4; ++rank) {
    whywait::rules::rank_code own;
    own.block = block;
    own.ns = rank == 2 ? 500 : 100;
    own.visits = 1;
    own.counts[whywait::core::code_count::delay_ns] = rank == 2 ? 360 : 60;  // they run for 140 and 40 ns
    code.add({own}, {}, 1, 2);
  }
  const auto saved = [&](std::int32_t rank, bool several, std::int64_t saving_ns) {
    whywait::explain::outcome found = balanced(saving_ns);
    whywait::explain::balance_answer& b = found.balances[0];
    b.block = b.piece = block;
    b.rank = rank;
    b.among = b.ranks = 4;
    b.several = several;
    bound_balances(found, {0, 2}, code);
    return b.saving_ns;
  };
  CHECK(saved(2, false, 300) == 75);
  CHECK(saved(2, false, 70) == 70);
  CHECK(saved(1, false, 300) == 240);  // its own delay of 60 ns may have made a part
  CHECK(saved(2, true, 300) == 165);  // the mean delay of 135 ns may have made it
  CHECK(saved(2, true, 100) == 0);
}

TEST_CASE("evened out over more threads than processors, code is as long as on all processors") {
  const auto saved = [](std::int64_t processors, std::int64_t used_ns) {
    whywait::explain::outcome found = balanced(100);
    whywait::explain::balance_answer& b = found.balances[0];
    b.among = b.ranks = 3;
    b.most_ns = 280;
    b.sum_ns = 540;  // two workers, and one that hardly runs it
    bound_balances(found, {used_ns, processors});
    return b.saving_ns;
  };
  CHECK(saved(2, 540) == 10);
  CHECK(saved(2, 450) == 55);
  CHECK(saved(2, 300) == 100);  // they slept
  CHECK(saved(3, 540) == 100);
  CHECK(saved(0, 540) == 100);
}

TEST_CASE("of the excess of joined code the part that the most uneven piece ran itself counts") {
  whywait::threads::own_code code;
  for (std::int32_t rank = 0; rank != 2; ++rank) {
    whywait::rules::rank_code own;
    own.block = 7;
    own.ns = rank == 1 ? 500 : 100;
    own.visits = 1;
    own.counts[whywait::core::code_count::delay_ns] = rank == 1 ? 100 : 0;
    code.add({own}, {}, 1, 2);
  }
  for (const std::int32_t pieces : {1, 2}) {
    whywait::explain::outcome found = balanced(300);
    whywait::explain::balance_answer& b = found.balances[0];
    b.block = pieces == 1 ? 7 : 8;
    b.piece = 7;
    b.rank = 1;
    b.among = b.ranks = 2;
    b.pieces = pieces;
    bound_balances(found, {0, 2}, code);
    CHECK(b.saving_ns == (pieces == 1 ? 150 : 225));  // 150 of the 200 ns that the piece has above the mean
  }
}

TEST_CASE("threads that wait in a loop leave their processors to others") {
  whywait::threads::own_code code;
  for (std::int32_t rank = 0; rank != 2; ++rank) {
    whywait::rules::rank_code own;
    own.ns = rank == 0 ? 200 : 590;
    own.visits = 1;
    own.counts[whywait::core::code_count::delay_ns] = 10;
    code.add({own}, {}, 1, 2);
  }
  processor_time used{1200, 2};  // both threads all the time
  leave_out_waits(used, code, {});
  CHECK(used.ns == 770);
  whywait::reports::unrecorded_threads others;
  others.seconds = 300e-9;
  used.ns = 1200;
  leave_out_waits(used, code, others);
  CHECK(used.ns == 1070);
  used.ns = 400;  // they slept
  leave_out_waits(used, code, others);
  CHECK(used.ns == 400);
}

TEST_CASE("code that is divided among threads runs on no more processors than there are") {
  const auto saved = [](std::int32_t among, std::int64_t processors) {
    whywait::explain::outcome found = balanced(320);
    found.balances[0].most_ns = 480;
    found.balances[0].among = among;
    found.balances[0].ranks = 1;
    bound_balances(found, {0, processors});
    return found.balances[0].saving_ns;
  };
  CHECK(saved(3, 2) == 240);  // the third thread had its place in another part of the run
  CHECK(saved(3, 4) == 320);
  CHECK(saved(3, 1) == 0);
  CHECK(saved(3, 0) == 320);  // it is not known
}

TEST_CASE("without a number of processors nothing is bounded") {
  whywait::explain::outcome found = balanced(320);
  bound_balances(found, {});
  CHECK(found.balances[0].saving_ns == 320);
}

TEST_CASE("the processor time of this process grows with its work") {
  whywait::core::registry& registry = *whywait::core::the_registry();
  const processor_time before = processor_time::of_process(registry);
  CHECK(before.processors >= 1);
  volatile std::int64_t sum = 0;
  while (processor_time::of_process(registry).ns < before.ns + 2000000) sum = sum + 1;
  CHECK(processor_time::of_process(registry).ns >= before.ns + 2000000);
}

TEST_CASE("threads that follow one another do not run at the same time") {
  constexpr std::uint64_t ms = 1000000;
  histories::run r(4);  // the first one is main, and the last one leaves no record
  const auto lives = [&r](int place, std::uint64_t from, std::uint64_t to) {
    r[place].call(whywait::core::mpi_call::thread_begin, from, from);
    if (to != 0) r[place].call(whywait::core::mpi_call::thread_end, to, to);
  };
  CHECK(whywait::threads::threads_at_once(histories::run(1).views()) == 1);
  lives(1, 10 * ms, 20 * ms);
  lives(1, 30 * ms, 40 * ms);
  lives(2, 20 * ms - ms / 2, 21 * ms);  // began while the other one ended
  CHECK(whywait::threads::threads_at_once(r.views()) == 2);
  lives(2, 38 * ms, 39 * ms - 1);  // short
  CHECK(whywait::threads::threads_at_once(r.views()) == 2);
  lives(2, 39 * ms + 1, 0);  // and still runs
  CHECK(whywait::threads::threads_at_once(r.views()) == 2);
  lives(1, 50 * ms, 60 * ms);
  CHECK(whywait::threads::threads_at_once(r.views()) == 3);
}
