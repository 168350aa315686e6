#include <whywait/explain/timeline.hpp>
#include <whywait/record/append.hpp>
#include <whywait/record/kept_details.hpp>
#include <whywait/record/mark_macros.hpp>

#include <doctest/doctest.h>

#include <pthread.h>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "recorded.hpp"

using namespace whywait;
namespace flag = core::order_flag;

namespace {

/// While an object of this class exists, new threads keep details; other threads of this process do not.
class asked_for {
 public:
  asked_for(bool order, core::settings::timeline_choice timeline, bool blocks = false,
            std::uint64_t timeline_bytes = ~std::uint64_t(0))
      : registry_(*core::the_registry()), before_(registry_.config) {
    record::keep_details();
    registry_.config.path_order = order;
    registry_.config.timeline = timeline;
    registry_.config.timeline_blocks = blocks;
    registry_.order_memory.limit(~std::uint64_t(0));
    registry_.timeline_memory.limit(timeline_bytes);
  }
  ~asked_for() { registry_.config = before_; }
  asked_for(const asked_for&) = delete;
  asked_for& operator=(const asked_for&) = delete;

 private:
  core::registry& registry_;
  core::settings before_;
};
record::kept_details& kept() { return *record::kept_details::of(*record::this_location()); }

using choice = core::settings::timeline_choice;

const char* place_name(std::uint32_t number) { return core::the_registry()->sites[number].name; }

std::string text(const record::path_order& order, std::uint64_t first, std::uint64_t last) {
  std::string out;
  for (std::uint64_t at = first; at != last; at += order.nodes()[at].body + 1) {
    const core::order_node n = order.nodes()[at];
    if (!out.empty()) out += ' ';
    if (n.count != 1) out += std::to_string(n.count) + "x";
    if (n.is(flag::continued)) out += "..";
    if (!n.is_loop()) out += place_name(n.number());
    if (n.body != 0) out += "(" + text(order, at + 1, at + 1 + n.body) + ")";
    if (n.is(flag::unfinished)) out += "..";
  }
  return out;
}

// Synchronises like an MPI call.
void synchronise() {
  record::location& here = *record::this_location();
  const std::uint64_t now = core::cycle_clock::now();
  here.path.close(now, [&here](const core::path_step& step) { here.steps.push(step); });
  core::sync_record r{};
  r.begin = now;
  r.duration = core::cycle_clock::now() - now;
  r.steps = static_cast<std::uint32_t>(here.steps.size());
  here.path.resume(r.begin + r.duration);
  here.syncs.push(r);
}

std::vector<std::string> orders() {
  record::location& here = *record::this_location();
  kept().order.flush(here);
  std::vector<std::string> all;
  for (std::uint64_t i = 0; i < kept().order.segments().size(); ++i) {
    const core::order_segment s = kept().order.segments()[i];
    all.push_back(text(kept().order, s.first, s.first + s.nodes));
  }
  return all;
}

void inner(int blocks) {
  WHYWAIT_REGION("inner");
  for (int i = 0; i < blocks; ++i) WHYWAIT_BLOCK("block");
}

explain::location_timeline drained(record::kept_details& more) {
  explain::location_timeline to;
  more.line.drain([&to](const core::timeline_event* first, std::uint64_t count) {
    to.events.insert(to.events.end(), first, first + count);
  });
  return to;
}

std::vector<std::string> words(const whywait::base::vector<explain::timeline_mark>& marks) {
  std::vector<std::string> all;
  for (const explain::timeline_mark& m : marks)
    all.push_back((m.kind == core::timeline_event::enter   ? "begin "
                   : m.kind == core::timeline_event::leave ? "end "
                                                           : "visit ") +
                  std::string(place_name(m.block)));
  return all;
}

}  // namespace

TEST_CASE("without settings threads keep no details") {
  std::thread([] {
    inner(2);
    CHECK(record::this_location()->more == nullptr);
    CHECK_FALSE(record::keeps_order());
    record::append(7);  // no effect
  }).join();
}

TEST_CASE("all kinds of marks are kept in their order, and counted as without") {
  const asked_for order(true, choice::none);
  std::thread([] {
    {
      WHYWAIT_REGION("outer");
      for (int i = 0; i < 10; ++i) inner(3);
      static site phase(site_kind::region, "phase"), second(site_kind::region, "second phase");
      {
        region phases(phase);
        phases.next(second);
        visit("named block");
      }
      synchronise();
      waiting w("waiting for a file");
      begin("begun");
    }  // also ends "begun", which counts as a mismatch
    synchronise();
    site told(site_kind::step, "told");
    for (int i = 0; i < 2; ++i) record::append(record::detail::number_of(told));
    synchronise();
    CHECK(record::keeps_order());
    const std::vector<std::string> found = orders();
    REQUIRE(found.size() == 3);
    CHECK(found[0] == "outer(10xinner(3xblock) phase second phase(named block))..");
    CHECK(found[1] == "..outer(waiting for a file(begun))");
    CHECK(found[2] == "2xtold");
    const recorded profile;
    CHECK(profile.visits("inner") == 10);
    CHECK(profile.visits("block") == 30);
    CHECK(profile.visits("second phase") == 1);
    CHECK(profile.visits("told") == 0);  // the caller counts it
    CHECK(profile.here().mismatched_ends == 1);
  }).join();
}

TEST_CASE("the times of the order are those of the profile") {
  const asked_for order(true, choice::none);
  std::thread([] {
    for (int round = 0; round < 5; ++round) {
      WHYWAIT_REGION("timed outer");
      for (int i = 0; i < 50; ++i) inner(i % 4);
      synchronise();
      inner(1);
    }
    synchronise();
    record::location& here = *record::this_location();
    kept().order.flush(here);
    REQUIRE(kept().order.segments().size() == 6);
    std::uint64_t step = 0;
    for (std::uint64_t i = 0; i < 6; ++i) {
      double in_order = 0, in_profile = 0;
      const core::order_segment s = kept().order.segments()[i];
      for (std::uint32_t n = 0; n < s.nodes; ++n) in_order += static_cast<double>(kept().order.nodes()[s.first + n].ticks);
      for (; step < here.syncs[i].steps; ++step) in_profile += static_cast<double>(here.steps[step].ticks);
      CHECK(in_order == doctest::Approx(in_profile).epsilon(1e-5));  // single precision
    }
  }).join();
}

TEST_CASE("several threads each keep their own timeline, nested as they ran") {
  const asked_for timeline(false, choice::drop_newest, true);
  std::vector<std::thread> threads;
  for (int t = 1; t <= 3; ++t)
    threads.emplace_back([t] {
      std::vector<std::string> expected;
      const auto mark = [&expected](const char* what) { expected.emplace_back(what); };
      for (int i = 0; i < 1000 * t; ++i) {
        WHYWAIT_REGION("outer");
        mark("begin outer");
        if (i % t == 0) {
          inner(2);
          for (const char* what : {"begin inner", "visit block", "visit block", "end inner"}) mark(what);
        }
        mark("end outer");
      }
      record::kept_details& more = kept();
      CHECK(more.line.happened() == expected.size());
      const explain::location_timeline found = drained(more);
      const whywait::base::vector<explain::timeline_mark> marks = explain::marks_of(found, {});
      CHECK(words(marks) == expected);
      for (std::size_t i = 1; i < marks.size(); ++i) REQUIRE(marks[i].at_ns >= marks[i - 1].at_ns);
    });
  for (std::thread& each : threads) each.join();
}

TEST_CASE("blocks are in the timeline only on request; both modes can be combined") {
  const asked_for both(true, choice::overwrite_oldest);
  std::thread([] {
    for (int i = 0; i < 3; ++i) inner(2);
    synchronise();
    CHECK(orders() == std::vector<std::string>{"3xinner(2xblock)"});
    const whywait::base::vector<explain::timeline_mark> marks = explain::marks_of(drained(kept()), {});
    CHECK(words(marks) ==
          std::vector<std::string>{"begin inner", "end inner", "begin inner", "end inner", "begin inner", "end inner"});
  }).join();
}

TEST_CASE("when the timeline is full, every mark and every loss is still counted") {
  for (const choice policy : {choice::drop_newest, choice::overwrite_oldest}) {
    const asked_for timeline(false, policy, false, core::the_registry()->timeline_memory.used() + 2 * 65536);
    std::thread([policy] {
      for (int i = 0; i < 20000; ++i) inner(0);
      record::kept_details& more = kept();
      CHECK(more.line.happened() == 40000);
      CHECK(more.line.incomplete());
      const explain::location_timeline found = drained(more);
      std::uint64_t kept = 0;
      for (const core::timeline_event& e : found.events) kept += e.kind() != core::timeline_event::clock ? 1 : 0;
      CHECK(kept < 2 * 65536 / 8);
      CHECK(kept > 65536 / 8 - 10);
      CHECK(recorded().visits("inner") == 20000);
      CHECK(more.line.keeps_last() == (policy == choice::overwrite_oldest));
    }).join();
  }
}

namespace {

std::uint64_t recorded_by_handler = 0;  // by handlers on the interrupted thread

void recording_handler(int) {
  WHYWAIT_REGION("in a handler");
  WHYWAIT_BLOCK("block in a handler");
  recorded_by_handler = recorded_by_handler + 1;
}

// Visits of each block in the kept part of the order.
std::uint64_t visits_in(const record::path_order& order, std::uint64_t first, std::uint64_t last, std::uint64_t rounds) {
  std::uint64_t sum = 0;
  for (std::uint64_t at = first; at != last; at += order.nodes()[at].body + 1) {
    const core::order_node n = order.nodes()[at];
    if (!n.is_loop() && !n.is(flag::continued)) sum += rounds * n.count;
    sum += visits_in(order, at + 1, at + 1 + n.body, rounds * n.count);
  }
  return sum;
}

}  // namespace

TEST_CASE("marks of signal handlers are left out where they interrupt another, and all are accounted for") {
  const asked_for both(true, choice::drop_newest, true);
  std::atomic<bool> done{false}, started{false};
  std::thread worker([&] {
    record::location& here = *record::this_location();
    recording_handler(0);  // registers its places
    started = true;
    std::uint64_t regions = 0, blocks = 0;
    while (recorded_by_handler < 300) {
      for (int i = 0; i < 50; ++i) inner(3);
      regions += 50;
      blocks += 150;
      if (regions % 5000 == 0) {
        sigset_t set, before;  // handlers must not interrupt the writing of records
        sigfillset(&set);
        pthread_sigmask(SIG_BLOCK, &set, &before);
        synchronise();
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
      }
    }
    done = true;
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    synchronise();
    record::kept_details& more = kept();
    more.order.flush(here);
    std::uint64_t in_order = 0, lost = 0;
    for (std::uint64_t i = 0; i < more.order.segments().size(); ++i) {
      const core::order_segment s = more.order.segments()[i];
      in_order += visits_in(more.order, s.first, s.first + s.nodes, 1);
      lost += s.lost;
    }
    // the handler has a region (two marks) and a block; each of them may be left out
    CHECK(more.line.happened() + more.left_out == 2 * regions + blocks + 3 * recorded_by_handler);
    CHECK(in_order <= regions + blocks + 2 * recorded_by_handler);
    CHECK(in_order + more.left_out + lost >= regions + blocks + 2 * recorded_by_handler);
    const recorded profile;
    CHECK(profile.visits("in a handler") == recorded_by_handler);
    CHECK(profile.visits("inner") == regions);
  });
  std::signal(SIGUSR1, recording_handler);
  while (!started) std::this_thread::yield();
  while (!done) {
    pthread_kill(worker.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  worker.join();
  std::signal(SIGUSR1, SIG_DFL);
}
