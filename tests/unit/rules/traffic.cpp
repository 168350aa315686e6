#include "recorded.hpp"
#include "sample.hpp"

#include <whywait/rules/traffic.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace {

namespace rules = sample::rules;
using sample::rank;
using sample::core::mpi_call;
namespace flag = sample::core::sync_flag;

rules::evaluation evaluate(const sample::explain::outcome& o, const whywait::base::pod_vector<rules::site_use>& uses) {
  const whywait::base::names names = sample::names();
  return sample::evaluate_with(o, [&](rules::event_store& store, auto& facts) { rules::add_uses(store, uses, names, facts); });
}

}  // namespace

TEST_CASE("many small messages in a row are found in recorded calls, and nothing in a few") {
  const auto uses = [](unsigned messages) {
    rank r(0);
    r.history.clock.ns_per_tick = 1000;
    for (unsigned i = 0; i < messages; ++i) {
      r.call(mpi_call::Send, 15 * i, 15 * i + 10, 0, flag::posts_send, i % 8 < 4 ? 1 : 2);
      r.records.back().bytes = 64;
      if (i % 4 == 3) r.call(mpi_call::Recv, 15 * i + 11, 15 * i + 12, 1, flag::posts_receive, 1);
    }
    return rules::uses_of(r.done());
  };
  const auto many = uses(200000);
  REQUIRE(many.size() == 1);
  CHECK(many[0].calls == 200000);
  CHECK(many[0].bytes == 12800000);
  CHECK(many[0].batched == 150000);
  CHECK(many[0].runs == 50000);
  const auto e = evaluate(sample::outcome({}), many);
  const rules::finding* const f = sample::find(e.problems, "aggregate_messages");
  REQUIRE(f != nullptr);
  CHECK(f->seconds == doctest::Approx(2));
  CHECK(f->saving == doctest::Approx(1.5));
  CHECK(f->advice.find("the 4 messages that MPI_Send (halo.cpp:131)") != std::string::npos);
  CHECK(sample::find(evaluate(sample::outcome({}), uses(96)).problems, "aggregate_messages") == nullptr);
  auto slow = sample::outcome({});  // small messages are all there is: what they cost beside their sends is theirs
  slow.total_ns = 10'000'000'000;
  slow.efficiency.parallel = 0.3;
  slow.efficiency.transfer = 0.4;
  const auto costly = evaluate(slow, many);
  CHECK(sample::find(costly.problems, "aggregate_messages")->saving == doctest::Approx(0.75 * 6));
  slow.total_ns *= 10, slow.longest_ns *= 10;  // what else the library does is not theirs: eight times their sends at most
  CHECK(sample::find(evaluate(slow, many).problems, "aggregate_messages")->saving == doctest::Approx(0.75 * 8 * 2));
}

TEST_CASE(
    "of many messages in a row twenty at a time are put into one, which saves nearly all and delays no receiver for long") {
  rank r(0);
  r.history.clock.ns_per_tick = 1000;
  for (unsigned i = 0; i < 200000; ++i) {
    r.call(mpi_call::Send, 15 * i, 15 * i + 10, 0, flag::posts_send, i / 100 % 2 == 0 ? 1 : 2);
    r.records.back().bytes = 64;
  }
  const auto e = evaluate(sample::outcome({}), rules::uses_of(r.done()));
  const rules::finding* const f = sample::find(e.problems, "aggregate_messages");
  REQUIRE(f != nullptr);
  CHECK(f->verdict.find("sending 20 of them as one") != std::string::npos);
  CHECK(f->advice.find("put 20 at a time of the 100 messages that MPI_Send (halo.cpp:131) sends") == 0);
  CHECK(f->saving == doctest::Approx(2 * 0.95));
}

TEST_CASE("messages with code between them, and sends that wait for the receiver, are not those that one message replaces") {
  const auto uses = [](unsigned code_us, unsigned send_us) {
    rank r(0);
    r.history.clock.ns_per_tick = 1000;
    for (unsigned i = 0, now = 0; i < 200; ++i) {
      const unsigned begin = now + (i % 10 == 0 ? 100 : code_us);  // bursts of ten
      r.call(mpi_call::Send, begin, now = begin + send_us, 0, flag::posts_send, 1);
      r.records.back().bytes = 1000;
    }
    return rules::uses_of(r.done())[0];
  };
  CHECK(uses(5, 21).batched == 180);
  CHECK(uses(5, 21).runs == 20);
  CHECK(uses(5, 21).batched_ns == 180 * 21000);  // 20 us, and 1 ns for each byte
  CHECK(uses(5, 22).batched == 180);
  CHECK(uses(5, 22).batched_ns == 0);
  CHECK(uses(6, 1).batched == 0);
  CHECK(uses(6, 1).runs == 0);
}

TEST_CASE("small messages between which data comes may need it, so that sending them together is no certain advice") {
  const auto verdict_of = [](bool answered) {
    rank r(0);
    for (unsigned i = 0; i < 2000; ++i) {
      r.call(mpi_call::Send, 20 * i, 20 * i + 10, 0, flag::posts_send, i % 2 == 0 ? 1 : 2);
      r.records.back().bytes = 64;
      if (answered || i == 7) r.call(mpi_call::Recv, 20 * i + 11, 20 * i + 12, 1, flag::posts_receive, 1);
    }
    const auto uses = rules::uses_of(r.done());
    REQUIRE(uses.size() == 1);
    CHECK(uses[0].after_data == (answered ? 1999 : 1));
    const auto e = evaluate(sample::outcome({}), uses);
    const rules::finding* const f = sample::find(e.problems, "small_messages");
    REQUIRE(f != nullptr);
    const bool says = f->advice.find("if it does not need what is received in between") != std::string::npos;
    CHECK(says == answered);
    return f->verdict;
  };
  CHECK(verdict_of(true).find("together, if they do not need what is received in between,") != std::string::npos);
  CHECK(verdict_of(false).find("in between") == std::string::npos);
}

TEST_CASE("a barrier before a collective that holds all ranks is needless, one that orders messages is not") {
  const auto uses = [](bool between) {
    rank r(0);
    for (unsigned i = 0; i < 10; ++i) {
      r.call(mpi_call::Send, 100 * i, 100 * i + 1, 0, flag::posts_send, 1);
      r.call(mpi_call::Barrier, 100 * i + 2, 100 * i + 50, 2);
      if (between && i == 7) r.call(mpi_call::Recv, 100 * i + 52, 100 * i + 53, 1, flag::posts_receive, 1);
      r.call(mpi_call::Allreduce, 100 * i + 60, 100 * i + 61, 3);
      r.records.back().bytes = 8;
    }
    return rules::uses_of(r.done());
  };
  auto wait = sample::wait(sample::explain::pattern::wait_at_barrier, sample::barrier, sample::barrier,
                           {sample::term(sample::compute, 0, 1000, 9, 9, 2000, 1000)}, 303);
  const auto fires = evaluate(sample::outcome({wait}), uses(false));
  REQUIRE(sample::find(fires.waits[0].list, "needless_barrier") != nullptr);
  CHECK(sample::find(fires.waits[0].list, "wait_at_barrier") == nullptr);
  wait.unexplained_ns = 297 * sample::ms;  // removing it would save less than 1 % of the run, which is nothing to report
  CHECK(evaluate(sample::outcome({wait}), uses(false)).waits[0].list.empty());
  const auto silent = evaluate(sample::outcome({wait}), uses(true));
  CHECK(sample::find(silent.waits[0].list, "needless_barrier") == nullptr);
  CHECK(sample::find(silent.waits[0].list, "wait_at_barrier") != nullptr);
}

TEST_CASE("of two barriers in a row one is needless; with nothing but local calls in between the later one") {
  rank r(0);
  r.call(mpi_call::Barrier, 0, 1, 2);
  r.call(mpi_call::Barrier, 2, 3, 2);
  r.call(mpi_call::Send, 4, 5, 0, flag::posts_send, 1);
  r.call(mpi_call::Barrier, 6, 7, 2);
  r.call(mpi_call::Request_free, 8, 9, 1);
  r.call(mpi_call::Barrier, 10, 11, 2);
  const auto uses = rules::uses_of(r.done());
  REQUIRE(uses.size() == 2);
  const auto& barrier = uses[0].what == rules::site_use::kind::barrier ? uses[0] : uses[1];
  CHECK(barrier.calls == 4);
  CHECK(barrier.before_collective == 1);
  CHECK(barrier.after_collective == 0);
  CHECK(barrier.idle == 1);
}

TEST_CASE("uses of several ranks add up site by site") {
  rank a(0), b(1);
  a.call(mpi_call::Send, 0, 1, 0, flag::posts_send, 1);
  b.call(mpi_call::Send, 0, 2, 0, flag::posts_send, 0);
  b.call(mpi_call::Barrier, 3, 4, 2);
  auto all = rules::uses_of(a.done());
  rules::merge_uses(all, rules::uses_of(b.done()));
  REQUIRE(all.size() == 2);
  CHECK(all[0].site == sample::send);
  CHECK(all[0].calls == 2);
  CHECK(all[0].ranks == 2);
  CHECK(all[0].duration_ns == 3000000);
}

TEST_CASE("waits for notifications that were lost or came in vain are counted") {
  namespace thread_flag = sample::core::thread_flag;
  rank r(0);
  for (unsigned i = 0; i < 10; ++i) {
    r.call(mpi_call::condition_wait, 100 * i, 100 * i + 20, 1, i % 2 == 1 ? unsigned{thread_flag::in_vain} : 0u);
    r.call(mpi_call::mutex_lock, 100 * i + 20, 100 * i + 50, 0);  // before it returns
  }
  r.call(mpi_call::condition_wait_for, 1000, 1030, 2, thread_flag::timed_out | thread_flag::missed);
  r.call(mpi_call::condition_wait_for, 1040, 1050, 2, thread_flag::timed_out);
  auto uses = rules::uses_of(r.done());
  REQUIRE(uses.size() == 2);
  const rules::site_use& woken = uses[0].calls == 10 ? uses[0] : uses[1];
  const rules::site_use& limited = uses[0].calls == 10 ? uses[1] : uses[0];
  CHECK(woken.in_vain == 5);
  const std::int64_t unit = limited.missed_ns / 30;  // of the sample's clock
  CHECK(unit > 0);
  CHECK(woken.in_vain_ns == 5 * 80 * unit);
  CHECK(woken.missed == 0);
  CHECK(limited.calls == 2);
  CHECK(limited.missed == 1);
  CHECK(limited.in_vain == 0);
  const whywait::base::pod_vector<rules::site_use> others = uses;
  rules::merge_uses(uses, others);
  const rules::site_use& both = uses[0].calls == 20 ? uses[1] : uses[0];
  CHECK(both.missed == 2);
  CHECK(both.missed_ns == 60 * unit);
  CHECK(both.most_missed_ns == 30 * unit);
}
