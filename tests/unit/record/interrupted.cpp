// Marks between the steps of other marks, in signal handlers, in threads that end while others run, and with a clock
// that sends every mark down the slow path.
#include <whywait/record/location.hpp>
#include <whywait/record/mark_macros.hpp>

#include <doctest/doctest.h>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "recorded.hpp"

using namespace whywait;

namespace {

volatile std::sig_atomic_t handled = 0;
volatile std::sig_atomic_t handled_inside = 0;

void marking_handler(int) {
  WHYWAIT_REGION("in a handler");
  WHYWAIT_BLOCK("step of a handler");
  WHYWAIT_NEXT("second half of a handler");
  handled = handled + 1;
}

void first_visit_in_handler(int) {
  handled_inside = handled_inside + 1;
  static site never_seen(site_kind::region, "first seen in a handler");
  region r(never_seen);
}

// Exclusive ticks of the open segment of this thread up to `now`, including the outside.
std::uint64_t all_ticks(const record::location& here, std::uint64_t now) {
  std::uint64_t sum = 0;
  here.path.peek(now, [&](const core::path_step& step) { sum += step.ticks; });
  return sum;
}

__attribute__((noinline)) void marked_work(int i) {
  WHYWAIT_REGION("interrupted");
  WHYWAIT_BLOCK("interrupted step");
  if (i % 3 == 0) WHYWAIT_NEXT("interrupted phase");
  WHYWAIT_REGION("interrupted inner");
}

}  // namespace

TEST_CASE("marks in a signal handler are complete and keep the interrupted marks complete") {
  std::thread([] {
    WHYWAIT_REGION("around the handlers");  // from here on all time belongs to a block
    record::location& here = *record::this_location();
    const std::uint64_t begin = core::cycle_clock::now();
    here.path.close(begin, [](const core::path_step&) {});
    marking_handler(0);  // registers its places, as required for handlers
    marked_work(0);
    handled = 1;
    struct sigaction action {};
    struct sigaction old {};
    action.sa_handler = marking_handler;
    sigaction(SIGUSR1, &action, &old);
    sigevent to_this_thread{};
    to_this_thread.sigev_notify = SIGEV_THREAD_ID;
    to_this_thread.sigev_signo = SIGUSR1;
    to_this_thread._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    timer_t timer;
    REQUIRE(timer_create(CLOCK_MONOTONIC, &to_this_thread, &timer) == 0);
    const itimerspec every_20_us{{0, 20'000}, {0, 20'000}};
    timer_settime(timer, 0, &every_20_us, nullptr);
    std::uint64_t rounds = 1, phases = 1;
    const std::uint64_t deadline = core::monotonic_ns() + 300'000'000;
    while (core::monotonic_ns() < deadline)
      for (int i = 1; i < 1000; ++i) {
        marked_work(i);
        ++rounds;
        phases += i % 3 == 0;
      }
    timer_delete(timer);
    sigaction(SIGUSR1, &old, nullptr);
    const std::uint64_t until = core::cycle_clock::now();
    const std::uint64_t sum = all_ticks(here, until);
    const recorded all;
    MESSAGE(handled << " handlers in " << rounds << " rounds");
    CHECK(handled > 1);
    CHECK(all.visits("in a handler") == static_cast<std::uint64_t>(handled));
    CHECK(all.visits("step of a handler") == static_cast<std::uint64_t>(handled));
    CHECK(all.visits("second half of a handler") == static_cast<std::uint64_t>(handled));
    CHECK(all.visits("interrupted") == rounds);
    CHECK(all.visits("interrupted step") == rounds);
    CHECK(all.visits("interrupted inner") == rounds);
    CHECK(all.visits("interrupted phase") == phases);
    CHECK(here.path.depth() == 1);
    CHECK(here.mismatched_ends == 0);
    CHECK(here.lost_marks == 0);
    CHECK(sum == until - begin);  // exactly
  }).join();
}

TEST_CASE("a first visit in a handler that interrupts a first visit is lost and counted, not a deadlock") {
  std::thread([] {
    record::location& here = *record::this_location();
    struct sigaction action {};
    struct sigaction old {};
    action.sa_handler = first_visit_in_handler;
    sigaction(SIGUSR2, &action, &old);
    here.looking_up = true;  // like while this thread has locked the site table
    core::the_registry()->sites.lock();
    raise(SIGUSR2);
    core::the_registry()->sites.unlock();
    here.looking_up = false;
    sigaction(SIGUSR2, &old, nullptr);
    CHECK(handled_inside == 1);
    CHECK(here.lost_marks == 1);
    CHECK(here.path.depth() == 0);
    CHECK(here.mismatched_ends == 0);
    first_visit_in_handler(0);  // the place works
    CHECK(recorded().visits("first seen in a handler") == 1);
  }).join();
}

TEST_CASE("a handler that interrupts the block list defers its counts to the next visit") {
  // from the inside: close calls its sink while the list is modified
  std::thread([] {
    record::location& here = *record::this_location();
    static site seldom(site_kind::step, "seldom"), often(site_kind::step, "often");
    visit(seldom);
    here.path.close(core::cycle_clock::now(), [](const core::path_step&) {});
    visit(often);
    std::uint64_t seen = 0;
    here.path.close(core::cycle_clock::now(), [&](const core::path_step& step) {
      seen += step.visits;
      visit(seldom);  // not in the list of this segment
      visit(often);   // just reported
    });
    CHECK(seen == 1);
    visit(seldom);
    visit(often);
    std::uint64_t of_seldom = 0, of_often = 0;
    here.path.close(core::cycle_clock::now(), [&](const core::path_step& step) {
      (step.block == record::detail::number_of(seldom) ? of_seldom : of_often) += step.visits;
    });
    CHECK(of_seldom == 2);
    CHECK(of_often == 2);
  }).join();
}

TEST_CASE("threads start, record and end while others record, and nothing is lost") {
  constexpr int lasting = 2, rounds = 20, each = 2000;
  std::vector<std::thread> threads;
  bool go_on = true;
  std::uint64_t counted[lasting] = {};
  for (int t = 0; t < lasting; ++t)
    threads.emplace_back([&go_on, mine = &counted[t]] {
      do {
        WHYWAIT_REGION("of a lasting thread");
        ++*mine;
      } while (__atomic_load_n(&go_on, __ATOMIC_ACQUIRE));
    });
  for (int i = 0; i < rounds; ++i)
    std::thread([] {
      for (int k = 0; k < each; ++k) {
        WHYWAIT_REGION("of a short thread");
        WHYWAIT_BLOCK("step of a short thread");
      }
    }).join();
  __atomic_store_n(&go_on, false, __ATOMIC_RELEASE);
  for (std::thread& thread : threads) thread.join();
  record::totals totals;
  REQUIRE(totals.open());
  totals.add_all(*core::the_registry(), core::cycle_clock::now());
  const core::site_table& sites = core::the_registry()->sites;
  std::uint64_t of_lasting = 0, of_short = 0, steps = 0;
  for (std::uint32_t i = 0; i < sites.size(); ++i) {
    if (std::strcmp(sites[i].name, "of a lasting thread") == 0) of_lasting += totals[i].visits;
    if (std::strcmp(sites[i].name, "of a short thread") == 0) of_short += totals[i].visits;
    if (std::strcmp(sites[i].name, "step of a short thread") == 0) steps += totals[i].visits;
  }
  totals.release();
  CHECK(of_lasting == counted[0] + counted[1]);
  CHECK(of_short == rounds * each);
  CHECK(steps == rounds * each);
}

TEST_CASE("with another clock every mark takes the slow path and records the same") {
  // in a child, because the clock is per process
  for (const char* choice : {"monotonic", "fenced"}) {
    CAPTURE(choice);
    const pid_t child = fork();
    if (child == 0) {
      core::registry& registry = *core::the_registry();
      registry.clock = std::strcmp(choice, "fenced") == 0 ? core::clock_source::fenced : core::clock_source::monotonic;
      core::cycle_clock::use(registry.clock);
      bool right = true;
      std::thread([&right] {
        const std::uint64_t begin = core::cycle_clock::now();
        {
          WHYWAIT_REGION("slow outer");
          for (int i = 0; i < 10; ++i) {
            WHYWAIT_BLOCK("slow step");
            WHYWAIT_NEXT("slow next");
            WHYWAIT_WORK(2);
            { WHYWAIT_REGION("slow inner"); }
          }
          static site phase(site_kind::region, "slow phase");
          region r("slow by name");
          r.next(phase);
        }
        whywait::begin("slow begin");
        whywait::end("slow begin");
        const recorded all;
        const std::uint64_t took = core::cycle_clock::now() - begin;
        right = record::detail::here() == all.here().decoy && all.visits("slow outer") == 1 && all.visits("slow step") == 10 &&
                all.visits("slow next") == 10 && all.work("slow next") == 20 && all.visits("slow inner") == 10 &&
                all.visits("slow phase") == 1 && all.visits("slow begin") == 1 &&
                all.ticks("slow outer") + all.ticks("slow next") + all.ticks("slow inner") > 0 &&
                all.ticks("slow outer") + all.ticks("slow next") + all.ticks("slow inner") <= took &&
                all.here().mismatched_ends == 0 && all.here().path.depth() == 0;
      }).join();
      _exit(right ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}
