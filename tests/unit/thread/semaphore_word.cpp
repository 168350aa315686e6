// Explores the interleavings of small programs with a semaphore: nothing that is released is lost or taken twice, and no thread
// sleeps for ever.
#include <whywait/thread/semaphore_word.hpp>

#include "../../sanitizers.hpp"
#if !WHYWAIT_TEST_THREAD_SANITIZER && !defined(__SANITIZE_THREAD__)  // swapcontext
#include "interleaving.hpp"

#include <doctest/doctest.h>

#include <errno.h>

#include <functional>
#include <vector>

namespace {

using interleaving::scheduler;

struct stepping_machine {
  static void step() {
    if (scheduler::current != nullptr) scheduler::current->point();
  }
  static uint64_t load(const uint64_t* from) noexcept {
    step();
    return *from;
  }
  static uint64_t add(uint64_t* to, uint64_t more) noexcept {
    step();
    const uint64_t before = *to;
    *to += more;
    return before;
  }
  static bool exchange_if(uint64_t* at, uint64_t& expected, uint64_t value) noexcept {
    step();
    if (*at != expected) {
      expected = *at;
      return false;
    }
    *at = value;
    return true;
  }
  static int sleep(const uint64_t* word, const timespec* until, bool) noexcept {
    step();
    if (static_cast<uint32_t>(*word) != 0) return EAGAIN;
    return scheduler::current->sleep(word, until != nullptr) ? 0 : ETIMEDOUT;
  }
  static void wake(const uint64_t* word, int threads) noexcept {
    step();
    scheduler::current->wake(word, threads);
  }
};
using semaphore = whywait::threads::semaphore_word<stepping_machine>;

struct program {
  uint32_t begin;  // the count
  std::vector<std::function<int(semaphore&)>> bodies;  // each returns how many it took, or minus how many it released
};

void explore(const program& p, int preemptions, std::uint64_t least) {
  bool ended = true, exact = true;
  const std::uint64_t schedules = interleaving::try_all(preemptions, [&](scheduler& s, const std::vector<int>& prefix) {
    semaphore word(p.begin);
    int taken = 0;
    std::vector<std::function<void()>> bodies;
    for (const auto& body : p.bodies) bodies.push_back([&] { taken += body(word); });
    ended = s.run(prefix, bodies);
    if (!ended) return false;
    int left = 0;
    while (word.try_acquire()) ++left;
    exact = taken + left == static_cast<int>(p.begin) && !word.is_waited_for();
    return exact;
  });
  CHECK(ended);
  CHECK(exact);
  CHECK(schedules > least);
}

int acquire_until(semaphore& s, const timespec* until) {
  return s.acquire(until, false, [] {}) == 0 ? 1 : 0;
}
int acquire(semaphore& s) { return acquire_until(s, nullptr); }
int acquire_in_time(semaphore& s) {
  const timespec never{};
  return acquire_until(s, &never);
}
int try_acquire(semaphore& s) { return s.try_acquire() ? 1 : 0; }
int release_one(semaphore& s) {
  s.release(1);
  return -1;
}
int release_two(semaphore& s) {
  s.release(2);
  return -2;
}

}  // namespace

TEST_CASE("no interleaving of two threads that acquire and two that release leaves one asleep") {
  explore({0, {acquire, acquire, release_one, release_one}}, 2, 1000);
}
TEST_CASE("a release of two lets two threads go on") { explore({0, {acquire, acquire, release_two}}, 3, 200); }
TEST_CASE("a thread whose time passes neither keeps nor loses what was released") {
  explore({0, {acquire_in_time, acquire, release_one, release_one}}, 2, 1000);
  explore({0, {acquire_in_time, acquire, release_one, release_two}}, 1, 100);
}
TEST_CASE("who tries to acquire takes from no thread what it must have") {
  explore({1, {acquire, try_acquire, release_one}}, 3, 200);
}
TEST_CASE("the exploration finds a lost release") {
  // This semaphore forgets a release if a thread goes to sleep between its two steps.
  int asleep = 0;
  interleaving::try_all(3, [&](scheduler& s, const std::vector<int>& prefix) {
    uint64_t word = 0;
    const bool ended = s.run(prefix, {[&] {
                                        if (stepping_machine::load(&word) == 0) {
                                          stepping_machine::step();
                                          s.sleep(&word, false);  // without another look
                                        }
                                      },
                                      [&] {
                                        stepping_machine::add(&word, 1);
                                        stepping_machine::wake(&word, 1);
                                      }});
    asleep += ended ? 0 : 1;
    return true;
  });
  CHECK(asleep > 0);
}

#endif
