// timeout: 120
// stderr ~ whywait · threads_\w+ · \d+ threads
// tries 3
//
// A notification that is missing, one that wakes all threads although one can go on, a writer that waits while readers come and go, and
// the same without these faults.
#include "../sanitizers.hpp"
#include "slept.hpp"

#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {

using guard = std::unique_lock<whywait::mutex>;
std::atomic<int> limited_line{0}, crowded_line{0}, starved_line{0};  // of the calls with faults

// One thread waits for what main makes true after 10 ms; its time limit is 40 ms. Whether main notifies it.
__attribute__((noinline)) void wait_limited(guard& lock, whywait::condition_variable& changed, const bool& ready) {
  limited_line = __LINE__ + 1;
  changed.wait_for(lock, std::chrono::milliseconds(40), [&] { return ready; });
  __asm__ volatile("");  // no jump in place of the call
}
__attribute__((noinline)) void wait_notified(guard& lock, whywait::condition_variable& changed, const bool& ready) {
  changed.wait_for(lock, std::chrono::milliseconds(40), [&] { return ready; });
  __asm__ volatile("");  // no jump in place of the call
}
template <class Wait>
void limited(Wait wait, bool notify) {
  whywait::mutex m;
  whywait::condition_variable changed;
  bool ready = false;
  whywait::thread waiter([&] {
    guard lock(m);
    wait(lock, changed, ready);
  });
  slept::nap(10);
  {
    const guard lock(m);
    ready = true;
  }
  if (notify) changed.notify_one();
  waiter.join();
}

// Threads that wait for items of a queue, of which `give` adds one.
__attribute__((noinline)) void wait_crowded(guard& lock, whywait::condition_variable& changed, const int& items) {
  crowded_line = __LINE__ + 1;
  changed.wait(lock, [&] { return items != 0; });
  __asm__ volatile("");
}
__attribute__((noinline)) void wait_alone(guard& lock, whywait::condition_variable& changed, const int& items) {
  changed.wait(lock, [&] { return items != 0; });
  __asm__ volatile("");
}
template <class Wait>
void crowd(Wait wait, bool all) {
  constexpr int threads = 6, rounds = WHYWAIT_TEST_ADDRESS_SANITIZER ? 500 : 2000;  // each takes longer there
  whywait::mutex m;
  whywait::condition_variable changed, taken;
  int items = 0, left = rounds;
  const auto take = [&] {
    for (;;) {
      guard lock(m);
      wait(lock, changed, items);
      if (left == 0) return;
      --items;
      --left;
      taken.notify_one();
    }
  };
  whywait::thread takers[threads];
  for (whywait::thread& each : takers) each = whywait::thread(take);
  for (int i = 0; i != rounds; ++i) {
    guard lock(m);
    ++items;
    if (all) changed.notify_all();
    else changed.notify_one();
    taken.wait(lock, [&] { return items == 0; });
  }
  {
    const guard lock(m);
    items = threads + 1;
  }
  changed.notify_all();
  for (whywait::thread& each : takers) each.join();
}

// Three threads read a table in turn, so that one of them always does, while another wants to write into it. Whether it goes first.
__attribute__((noinline)) void write_starved(whywait::shared_mutex& table) {
  starved_line = __LINE__ + 1;
  table.lock();
  table.unlock();
}
__attribute__((noinline)) void write_first(whywait::shared_mutex& table) {
  table.lock();
  table.unlock();
}
double read_and_write(void (*write)(whywait::shared_mutex&), bool first) {
  constexpr int readers = 3, reads = 25;
  whywait::shared_mutex table;
  whywait::mutex turn;  // of the writer while it waits; readers take it before they read
  whywait::thread all[readers];
  for (int number = 0; number != readers; ++number)
    all[number] = whywait::thread([&, number] {
      slept::nap(2 * number);
      for (int i = 0; i != reads; ++i) {
        if (first) guard(turn).unlock();
        table.lock_shared();
        slept::nap(6);
        table.unlock_shared();
      }
    });
  slept::nap(15);
  const auto begin = slept::clock::now();
  {
    guard mine(turn, std::defer_lock);
    if (first) mine.lock();
    write(table);
  }
  const double waited = std::chrono::duration<double>(slept::clock::now() - begin).count();
  for (whywait::thread& each : all) each.join();
  return waited;
}

// Whether the report has the problem for waits of this line, and of no other.
bool has(const whywait::result& r, const char* problem, int line) {
  bool found = false;
  for (const auto& p : r.problems)
    if (p.problem == problem) {
      std::printf("%s\n", p.description.c_str());
      if (p.description.find("(wakeups.cpp:" + std::to_string(line) + ")") == std::string::npos) return false;
      found = true;
    }
  return found;
}

}  // namespace

int main() {
  for (int i = 0; i != 5; ++i) {
    limited(wait_limited, false);
    limited(wait_notified, true);
  }
  crowd(wait_crowded, true);
  crowd(wait_alone, false);
  const double starved = read_and_write(write_starved, false), at_once = read_and_write(write_first, true);
  std::printf("the writer waited %.4f s, and %.4f s where it goes first\n", starved, at_once);
  const whywait::result r = whywait::report();
  if (!has(r, "lost_wakeup", limited_line)) return 1;
  if (!has(r, "needless_wakeups", crowded_line)) return 2;
  if (!has(r, "starved_writers", starved_line) || starved < 3 * at_once) return 3;
  return 0;
}
