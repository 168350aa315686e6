#include <whywait/base/vector.hpp>
#include <whywait/report/words.hpp>

#include <doctest/doctest.h>

#include <errno.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace whywait::base;
using namespace whywait::reports;

namespace {

residual_entry entry(std::int64_t late, std::int64_t waiting, double visits_seconds, double speed_seconds) {
  residual_entry r;
  r.kind = "region";
  r.causer_visits = late;
  r.waiter_visits = waiting;
  r.visits_ns = std::llround(visits_seconds * 1e9);
  r.speed_ns = std::llround(speed_seconds * 1e9);
  r.total_ns = r.visits_ns + r.speed_ns;
  return r;
}

std::string ranks(whywait::base::vector<int> list) {
  whywait::base::vector<location_seconds> out;
  for (const int rank : list) out.push_back({rank, 0, 1.0});
  return words_for(out).text;
}

}  // namespace

TEST_CASE("what advice saves stands behind its first remedy, or at the end of a text that is shortened") {
  const std::string saving = " (saves at most 2 s)";
  CHECK(reports::with_saving("a; or b; if c, d", saving) == "a (saves at most 2 s); or b; if c, d");
  CHECK(reports::with_saving("a; if c, b", saving) == "a (saves at most 2 s); if c, b");
  CHECK(reports::with_saving("a, or b", saving) == "a, or b (saves at most 2 s)");
  CHECK(reports::with_saving("a; or b", saving, false) == "a; or b (saves at most 2 s)");
  CHECK(reports::with_saving("a; or b", "") == "a; or b");
}

TEST_CASE("patterns and qualities are words") {
  CHECK(pattern_words("late_sender") == "late sender");
  CHECK(pattern_words("wait_at_nxn") == "wait at all-to-all");
  CHECK(pattern_words("mutex_contention") == "mutex contention");
  CHECK(quality_words("exact").empty());
  for (const char* q : {"bounded", "order_suspect", "hidden_tree"}) CHECK_FALSE(quality_words(q).empty());
}

TEST_CASE("ranks are printed as ranges") {
  CHECK(ranks({0}) == "rank 0");
  CHECK(ranks({3, 1, 2}) == "ranks 1-3");
  CHECK(ranks({4, 3}) == "ranks 3 and 4");
  CHECK(ranks({0, 1, 2, 5, 7, 7}) == "ranks 0-2, 5 and 7");
  CHECK(ranks({0, 2, 4, 6, 8, 10, 12}) == "7 ranks");
  CHECK(ranks({2, -1}) == "rank 2 and others");
  CHECK(ranks({}) == "some ranks");
  CHECK(words_for({{2, 1, 1.0}}).text == "rank 2 thread 1");
  CHECK(words_for({{2, 0, 1.0}, {2, 1, 1.0}}).text == "rank 2");
}

TEST_CASE("few waits that have most of the time are named, with a bound of their number that holds") {
  const auto of = [](std::initializer_list<std::pair<std::int64_t, double>> lengths) {
    wait_entry w;
    for (const auto& [count, length] : lengths) {
      wait_entry part;
      part.count = count;
      part.seconds = static_cast<double>(count) * length;
      part.longest_seconds = part.typical_seconds = length;
      w.add_lengths(part);
    }
    return w;
  };
  const wait_entry burst = of({{10, 0.080}, {190, 0.0001}});
  CHECK(burst.count == 200);
  CHECK(burst.longest_seconds == 0.080);
  CHECK(burst.typical_seconds == doctest::Approx(0.0781).epsilon(0.001));
  CHECK(burst.few_waits() == 21);  // at most: 2 * 0.819 s / 78.1 ms
  CHECK(of({{200, 0.004}}).few_waits() == 0);  // all alike
  CHECK(of({{100, 0.008}, {100, 0.002}}).few_waits() == 0);
  CHECK(of({{1, 1.0}, {10, 0.1}, {10000, 0.001}}).few_waits() == 0);  // most of the time is in the many
  CHECK(of({{1, 1.0}, {1, 0.5}, {10000, 0.00001}}).few_waits() == 5);  // 2 * 1.6 s / 0.78 s
  CHECK(of({{10, 0.00008}, {190, 0.0000001}}).few_waits() == 0);  // too short to be known
  CHECK(wait_entry().few_waits() == 0);
  CHECK(burst.uneven(200));
  CHECK(of({{50, 0.012}, {150, 0.0001}}).uneven(200));  // one in four
  CHECK_FALSE(of({{50, 0.012}, {150, 0.0001}}).uneven(50));  // the others have nothing of the block
  CHECK_FALSE(of({{200, 0.004}}).uneven(2000));
  CHECK_FALSE(of({{100, 0.004}, {100, 0.008}}).uneven(200));
  CHECK_FALSE(wait_entry().uneven(1));
  CHECK(few_words(burst, "them") == ", most of it in at most 21 of them");
  CHECK(few_words(wait_entry(), "them").empty());
  // random lengths: the waits of at least half the typical length have at least half of the time
  std::mt19937 random(7);
  int named = 0;
  for (int round = 0; round != 2000; ++round) {
    wait_entry w;
    std::vector<double> all;
    for (int i = 0; i != 40; ++i) {
      all.push_back(
          1e-3 + (random() % 5 == 0 ? 1e-1 * static_cast<double>(random() % 100) : 1e-4 * static_cast<double>(random() % 100)));
      wait_entry part;
      part.count = 1;
      part.seconds = part.longest_seconds = part.typical_seconds = all.back();
      w.add_lengths(part);
    }
    const std::int64_t few = w.few_waits();
    if (few == 0) continue;
    ++named;
    std::sort(all.rbegin(), all.rend());
    double most = 0;
    for (std::int64_t i = 0; i != few; ++i) most += all[static_cast<std::size_t>(i)];
    CHECK(most >= 0.5 * w.seconds);
    CHECK(few * 4 <= w.count);
  }
  CHECK(named > 50);
}

TEST_CASE("waiting and causing ranks") {
  wait_entry w;
  w.waiters = {{1, 0, 1.0}, {2, 0, 1.0}, {3, 0, 1.0}};
  w.causers = {{0, 0, 3.0}};
  CHECK(who_waited(w) == "ranks 1-3 waited for rank 0");
  w.causers = {{1, 0, 1.0}, {2, 0, 1.0}, {3, 0, 1.0}};
  CHECK(who_waited(w) == "ranks 1-3 waited for one another");
  w.causers = {{0, 0, 2.8}, {2, 0, 0.1}, {3, 0, 0.1}};
  CHECK(who_waited(w) == "ranks 1-3 waited, mostly for rank 0 (93 %)");
  w.causers.clear();
  CHECK(who_waited(w) == "ranks 1-3 waited");
  w.waiters = {{0, 0, 2.99}, {1, 0, 0.01}};
  w.causers = {{1, 0, 3.0}};
  CHECK(who_waited(w) == "rank 0 waited for rank 1");
  w.waiters = {{3, 1, 2}};
  w.causers = {{3, 0, 2}};
  CHECK(who_waited(w) == "in rank 3 thread 1 waited for thread 0");
  w.waiters = w.causers = {{3, 1, 2}, {3, 0, 2}};
  CHECK(who_waited(w) == "in rank 3 threads 0 and 1 waited for one another");
  w.waiters = {{3, 1, 2}, {2, 1, 2}};
  CHECK(who_waited(w).find("in rank") == std::string::npos);
}

TEST_CASE("a block is slower, entered more often, or on one side only") {
  CHECK(remark(entry(9000, 9000, 0, 17.2)) == "same visits, each 1.9 ms slower");
  CHECK(remark(entry(9000, 9000, 0, -17.2)) == "same visits, each 1.9 ms faster");
  CHECK(remark(entry(2600, 1400, 1.5, 0)) == "1,200 more visits");
  CHECK(remark(entry(1400, 1401, -1.5, 0)) == "1 fewer visit");
  CHECK(remark(entry(15, 10, 7.5, 12.5)) == "5 more visits, each 1.0 s slower");
  CHECK(remark(entry(15, 10, 0.1, 12.5)) == "each visit 1.0 s slower");
  CHECK(remark(entry(9000, 9000, 0, 17.2), {true, true, true}) == "same visits, 1.9 ms slower on average");
  CHECK(remark(entry(15, 10, 7.5, 12.5), {true, true, true}) == "5 more visits, 1.0 s slower on average");
  CHECK(remark(entry(15, 10, 0.1, 12.5), {true, true, true}) == "visits 1.0 s slower on average");
  CHECK(remark(entry(15, 10, 7.5, 12.5), {true, true, true, true}) == "more visits, 1.0 s slower on average");
  CHECK(remark(entry(1400, 2600, -1.5, 0), {true, true, true, true}) == "fewer visits");
  // Fewer visits than waits: how many each wait stands for is not known.
  wait_entry waits;
  waits.count = 60;
  CHECK(remark(entry(1, 1, 0, 0.24), {true, true, false, false, &waits}) == "same visits, 240 ms slower in all");
  CHECK(remark(entry(2, 1, 0.01, 0.24), {true, true, false, false, &waits}) == "visits 240 ms slower in all");
  CHECK(remark(entry(40, 40, 0, 0.24), {true, true, false, false, &waits}) == "same visits, each 6.0 ms slower");
  waits.seconds = 0.24;
  waits.typical_seconds = 0.004;
  CHECK(remark(entry(40, 40, 0, 0.24), {true, true, false, false, &waits}) == "same visits, 4.0 ms slower per wait");
  CHECK(remark(entry(60, 60, 0, 0.24), {true, true, false, false, &waits}) == "same visits, each 4.0 ms slower");
  CHECK(remark(entry(5, 0, 1, 0)) == "only the late side ran it");
  CHECK(remark(entry(0, 5, -1, 0)) == "only the waiting side ran it");
  CHECK(remark(entry(0, 0, 1, 0)).empty());
  CHECK(remark(entry(4, 4, 1.0, 0)) == "visits differ from wait to wait");
  CHECK(remark(entry(10, 15, 7.5, 0.1)) == "visits differ from wait to wait");  // fewer, which take longer
  CHECK(remark(entry(15, 10, 7.5, -7.0)) == "visits differ from wait to wait");
  CHECK(remark(entry(15, 10, 7.5, -4.5)) == "5 more visits, each 360 ms faster");
}

TEST_CASE("work units replace visits where both sides counted them") {
  residual_entry r = entry(10, 10, 2.0, 0);
  r.causer_work = 3000;
  r.waiter_work = 1000;
  CHECK(remark(r) == "2,000 more units of work");
  r = entry(10, 10, 0, 2.0);
  r.causer_work = r.waiter_work = 1000;
  CHECK(remark(r) == "same work, each unit 2.0 ms slower");
  CHECK(remark(r, {true, true, true}) == "same work, units 2.0 ms slower on average");
}

TEST_CASE("calls, marked waits, untimed steps and inherited time are labelled") {
  residual_entry r = entry(5, 5, 0, 1);
  r.kind = "call";
  CHECK(remark(r) == "same calls, each 200 ms slower");
  r.kind = "waiting";
  CHECK(remark(r) == "same visits, each 200 ms slower, marked as waiting");
  r = entry(100, 40, 0, 0);
  r.kind = "step";
  r.within = "solve";
  CHECK(remark(r) == "2.5x as often: 100 visits instead of 40");
  r.waiter_visits = 0;
  CHECK(remark(r) == "only the late side ran it: 100 visits");
  r.waiter_visits = 400;
  CHECK(remark(r) == "0.25x as often: 100 visits instead of 400");
  r.causer_visits = 0;
  CHECK(remark(r) == "only the waiting side ran it: 400 visits");
  r = entry(5, 0, 2, 0);
  r.inherited_ns = 1000000000;
  CHECK(remark(r) == "only the late side ran it; 1.0 s inherited");
  r.inherited_ns = 2000000000;
  CHECK(remark(r) == "only the late side ran it; all inherited");
}

TEST_CASE("a lead is named, and its time is not that of slower visits") {
  residual_entry r = entry(10, 10, 0, 0.1);
  r.causer_ns = 100000000;
  r.waiter_ns = 50000000;
  r.lead_visits = -10;  // the waiting side made these visits in an earlier wait
  CHECK(remark(r) == "same visits, each 5.0 ms slower; the waiting side made 10 of them earlier or later");
  CHECK(remark(r, {false}) == "same visits, each 5.0 ms slower");
  r.lead_visits = 1;
  CHECK(remark(r) == "same visits, each 5.0 ms slower; the waiting side was 1 visit ahead");
  r.waiter_ns = 99000000;
  CHECK(remark(r) == "same visits; the waiting side was 1 visit ahead");
  residual_entry many = entry(999, 5205, 0.33, 0.05);
  many.lead_visits = -4125;  // so that 81 are missing, and not for less time
  CHECK(remark(many) == "visits differ from wait to wait");
  r.kind = "call";
  CHECK(remark(r, {false}) == "same calls; the waiting side was 1 call ahead");
}

TEST_CASE("why visits are slower: what was counted, from a tenth on, and the rest as not counted") {
  constexpr std::int64_t whole = 1000000000;  // ten visits, each of them 100 ms slower
  whywait::explain::slower_parts p;
  const auto words = [&p](std::int64_t speed_ns = 1000000000) {
    return slower_words(p, speed_ns, static_cast<double>(speed_ns) * 1e-10, 10);
  };
  CHECK(words().empty());
  p.preempted_ns = 930000000;
  p.not_counted_ns = 70000000;
  CHECK(words() == "93 ms without a processor");
  p.more_moves = 1;
  CHECK(words() == "93 ms without a processor; 1 more migration to other processors");
  p.preempted_ns = 0;
  p.kernel_ns = 600000000;
  p.not_counted_ns = 400000000;
  CHECK(words() == "60 ms in the kernel, 40 ms not counted");
  p.more_faults = 12000;
  CHECK(words() == "60 ms in the kernel with 1,200 more page faults, 40 ms not counted");
  p = {};
  p.instructions_ns = 250000000;
  p.cycles_ns = 500000000;
  p.memory_ns = 400000000;
  p.frequency_ns = 250000000;
  CHECK(words() ==
        "25 ms for more instructions, 50 ms for fewer instructions per cycle (80 % of it stalled on memory), 25 ms for fewer "
        "cycles per second");
  CHECK(words(0).empty());
  // Linux samples the time in the kernel: below 40 ms it is no reason.
  p = {};
  p.preempted_ns = 10000000;
  p.kernel_ns = 39000000;
  CHECK(words(49000000) == "1.0 ms without a processor, 3.9 ms not counted");
  p.kernel_ns = 40000000;
  CHECK(words(50000000) == "1.0 ms without a processor, 4.0 ms in the kernel");
  p = {};
  p.blocked_ns = whole;
  CHECK(words() == "100 ms asleep or blocked");
}

TEST_CASE("a remark ends with the reason of slower visits, where it names them") {
  residual_entry r = entry(5, 5, 0, 1);
  r.slower.preempted_ns = 1000000000;
  CHECK(remark(r) == "same visits, each 200 ms slower: 200 ms without a processor");
  r = entry(50, 5, 9, 1);
  r.slower.preempted_ns = 1000000000;
  CHECK(remark(r) == "45 more visits");
}

TEST_CASE("what a machine does not count is said where it may be the reason") {
  result r;
  name_not_counted(r.run, 0, 0);  // not known
  CHECK(r.run.not_counted.empty());
  name_not_counted(r.run, 0xf, -1);
  CHECK(r.run.not_counted_why == "perf_event_open is not called under a seccomp filter, which may end the process");
  r.run = {};
  name_not_counted(r.run, 0xf, ENOENT);
  r.waits.emplace_back();
  r.waits[0].residual.push_back(entry(5, 5, 0, 1));
  CHECK(not_counted_words(r).empty());  // all of it has a reason
  r.waits[0].residual[0].slower.not_counted_ns = 500000000;
  CHECK(not_counted_words(r) ==
        "not counted on this machine: instructions, cycles and stalled cycles (perf_event_open: No such file or directory); "
        "slower visits may be more instructions, or fewer per cycle");
}
