// timeout: 60
// stderr ~ whywait · threads_\w+ · \d+ threads
// stderr ~ mutex contention
// stderr ~ divide\s+[\w ]+\s+among\s+the\s+threads
// tries 3
// beside: nothing
//
// Every primitive makes a thread wait for a known time because of a known block. The program measures its own waits, and
// compares whywait::report() with them.
#include "slept.hpp"

#include <whywait/thread.hpp>
#include <whywait/whywait.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>

namespace {

using slept::expectation;
using slept::nap;
using time_point = slept::clock::time_point;

std::vector<expectation> all;
constexpr int rounds = 3;

double seconds_between(time_point a, time_point b) { return std::max(0.0, std::chrono::duration<double>(b - a).count()); }

// What makes the other thread wait, from `first` on, which may take a while if it wakes a thread. Returns its end, which is just
// before the wait may end.
std::atomic<time_point> last_end;
template <class First>
time_point work_from(First first, const char* block, int ms) {
  const whywait::region inside(block);
  first();
  nap(ms);
  const time_point now = slept::clock::now();
  last_end = now;
  return now;
}
time_point work(const char* block, int ms, std::atomic<bool>* begun = nullptr) {
  const auto begin = [begun] {
    if (begun != nullptr) *begun = true;  // so that a wait that begins afterwards has no other cause
  };
  return work_from(begin, block, ms);
}

// Another thread runs `make_late` and sets `ready` when it has what the calling thread will wait for; 3 ms later that waits.
template <class Late, class Wait>
void later(const char* name, const char* pattern, const char* block, Late make_late, Wait wait) {
  expectation e{name, pattern, {}, {{block, 1.0}}};
  e.waited.until = 0;
  for (int i = 0; i != rounds; ++i) {
    std::atomic<bool> ready{false};
    whywait::thread other([&] { make_late(ready); });
    while (!ready) nap(1);
    nap(3);
    time_point begin, end;
    {
      const whywait::region inside(name);
      begin = slept::clock::now();
      e.waited(wait);
      end = slept::clock::now();
    }
    other.join();
    e.waited.until += seconds_between(begin, std::min(end, last_end.load()));
  }
  all.push_back(e);
}

// A lock that another thread holds for 20 ms.
template <class Held, class Taken, class Mutex>
void lock_case(const char* name, const char* block, Mutex& m) {
  later(
      name, "mutex_contention", block,
      [&](std::atomic<bool>& ready) {
        const Held guard(m);
        work(block, 20, &ready);
      },
      [&] { const Taken guard(m); });
}

void locks() {
  static whywait::mutex plain;
  lock_case<std::lock_guard<whywait::mutex>, std::unique_lock<whywait::mutex>>("wait for mutex", "held", plain);
  static whywait::mutex scoped;
  lock_case<std::scoped_lock<whywait::mutex>, std::scoped_lock<whywait::mutex>>("wait for scoped", "held scoped", scoped);
  static whywait::recursive_mutex recursive;
  lock_case<std::lock_guard<whywait::recursive_mutex>, std::lock_guard<whywait::recursive_mutex>>(
      "wait for recursive", "held recursively", recursive);
  static whywait::shared_mutex readers;
  lock_case<std::shared_lock<whywait::shared_mutex>, std::lock_guard<whywait::shared_mutex>>("wait of writer", "read", readers);
  static whywait::shared_mutex writers;
  lock_case<std::lock_guard<whywait::shared_mutex>, std::shared_lock<whywait::shared_mutex>>("wait of reader", "written",
                                                                                             writers);
  static whywait::timed_mutex timed;
  later(
      "wait with limit", "mutex_contention", "held beyond",
      [](std::atomic<bool>& ready) {
        const std::lock_guard<whywait::timed_mutex> guard(timed);
        work("held beyond", 20, &ready);
      },
      [] {
        if (timed.try_lock_for(std::chrono::seconds(5))) timed.unlock();
      });
  later(
      "wait in vain", "mutex_contention", "held too long",
      [](std::atomic<bool>& ready) {
        const std::lock_guard<whywait::timed_mutex> guard(timed);
        work("held too long", 40, &ready);
      },
      [] {
        if (timed.try_lock_for(std::chrono::milliseconds(15))) timed.unlock();
      });
}

// Two threads hold the lock, one after the other, while a third waits: each has its part of the wait.
void successive_holders() {
  whywait::mutex m;
  struct hold {
    time_point from, to;
  };
  hold held[2];
  std::atomic<int> came{0};
  const auto hold_it = [&](int number, const char* block, int ms) {
    const std::lock_guard<whywait::mutex> guard(m);
    held[number].from = slept::clock::now();
    ++came;
    work(block, ms);
    held[number].to = slept::clock::now();
  };  // the lock is free a little later
  whywait::thread first([&] { hold_it(0, "first holder", 40); });
  while (came == 0) nap(1);
  whywait::thread second([&] { hold_it(1, "second holder", 30); });
  nap(5);
  expectation e{"wait for two", "mutex_contention", {}};
  const time_point begin = slept::clock::now();
  time_point end;
  {
    const whywait::region inside("wait for two");
    e.waited([&] {
      m.lock();
      end = slept::clock::now();
    });
  }
  m.unlock();
  first.join();
  second.join();
  // In between the second holder was woken, which is the time of no holder.
  const auto time_of = [&](const hold& h) { return seconds_between(std::max(begin, h.from), std::min(end, h.to)); };
  const double first_part = time_of(held[0]), second_part = time_of(held[1]);
  e.waited.until = first_part + second_part;
  e.guilty = {{"first holder", first_part / e.waited.until}, {"second holder", second_part / e.waited.until}};
  all.push_back(e);
}

void conditions() {
  static whywait::mutex m;
  static whywait::condition_variable changed;
  static bool full = false;
  later(
      "wait for item", "condition_variable", "produce",
      [](std::atomic<bool>& ready) {
        work("produce", 25, &ready);
        {
          const std::lock_guard<whywait::mutex> guard(m);
          full = true;
        }
        changed.notify_one();
      },
      [] {
        std::unique_lock<whywait::mutex> guard(m);
        changed.wait(guard, [] { return full; });
        full = false;
      });
  static whywait::recursive_mutex any_lock;
  static whywait::condition_variable_any any_changed;
  static bool any_full = false;
  later(
      "wait with any lock", "condition_variable", "produce for any",
      [](std::atomic<bool>& ready) {
        work("produce for any", 25, &ready);
        {
          const std::lock_guard<whywait::recursive_mutex> guard(any_lock);
          any_full = true;
        }
        any_changed.notify_one();
      },
      [] {
        std::unique_lock<whywait::recursive_mutex> guard(any_lock);
        any_changed.wait(guard, [] { return any_full; });
        any_full = false;
      });
  // The notifier keeps the mutex, which is a second wait.
  expectation notified{"wait until let in", "condition_variable", {}, {{"prepare", 1.0}}};
  expectation let_in{"wait until let in", "mutex_contention", {}, {{"tidy up", 1.0}}};
  for (int i = 0; i != rounds; ++i) {
    time_point called;
    std::atomic<bool> runs{false};
    whywait::thread other([&] {
      work("prepare", 20, &runs);
      const std::lock_guard<whywait::mutex> guard(m);
      full = true;
      work_from(
          [&called] {
            called = slept::clock::now();
            changed.notify_one();
          },
          "tidy up", 15);
    });
    while (!runs) nap(1);
    nap(3);
    time_point begin;
    {
      std::unique_lock<whywait::mutex> guard(m);
      const whywait::region inside("wait until let in");
      begin = slept::clock::now();
      changed.wait(guard, [] { return full; });
      full = false;
    }
    const time_point end = slept::clock::now();
    other.join();
    notified.waited.seconds += seconds_between(begin, called);  // ends with the call, not when the thread goes on
    let_in.waited.seconds += seconds_between(called, end);
    ++notified.waited.count;
    ++let_in.waited.count;
  }
  all.push_back(notified);
  all.push_back(let_in);
  // A notification without a reason: the first part of the wait is that of the thread that made it.
  expectation teased{"wait again", "condition_variable", {}};
  double teasing = 0, delivering = 0, waiting = 0;
  for (int i = 0; i != rounds; ++i) {
    time_point start, first, second;
    std::atomic<bool> runs{false};
    whywait::thread other([&] {
      start = slept::clock::now();
      first = work("tease", 12, &runs);
      second = work_from([] { changed.notify_all(); }, "deliver", 18);
      const std::lock_guard<whywait::mutex> guard(m);
      full = true;
      changed.notify_all();
    });
    while (!runs) nap(1);
    nap(2);
    time_point begin, again;
    {
      std::unique_lock<whywait::mutex> guard(m);
      const whywait::region inside("wait again");
      begin = slept::clock::now();
      int looks = 0;
      teased.waited([&] {
        changed.wait(guard, [&] {
          if (++looks == 2) again = slept::clock::now();
          return full;
        });
      });
      ++teased.waited.count;  // two waits
      full = false;
    }
    other.join();
    teasing += seconds_between(start, first);  // whole: what the waiting thread did meanwhile is a line of its own
    delivering += seconds_between(first, second);
    waiting += seconds_between(begin, first) + seconds_between(again, second);
  }
  teased.waited.until = waiting;
  teased.guilty = {{"tease", teasing / waiting}, {"deliver", delivering / waiting}};
  all.push_back(teased);
}

void events() {
  static whywait::counting_semaphore<8> slots(0);
  later(
      "wait for slot", "semaphore", "refill",
      [](std::atomic<bool>& ready) {
        work("refill", 20, &ready);
        slots.release();
      },
      [] { slots.acquire(); });
  {
    whywait::latch done(2);
    std::atomic<bool> begun{false};
    whywait::thread quick([&] {
      work("quick leg", 5);
      done.count_down();
    });
    whywait::thread slow([&] {
      work("last leg", 25, &begun);
      done.count_down();
    });
    while (!begun) nap(1);
    expectation e{"wait for latch", "latch", {}, {{"last leg", 1.0}}};
    {
      const whywait::region inside("wait for latch");
      const time_point begin = slept::clock::now();
      e.waited([&] { done.wait(); });
      e.waited.until = seconds_between(begin, last_end);
    }
    quick.join();
    slow.join();
    all.push_back(e);
  }
  {
    whywait::barrier<> meeting(3);
    expectation e{"meet", "thread_barrier", {}, {{"slow leg", 1.0}}};
    e.waited.until = 0;
    time_point came[3][rounds], left[3][rounds];
    std::atomic<bool> begun{false};
    const auto member = [&](int number, const char* block, int ms) {
      for (int i = 0; i != rounds; ++i) {
        work(block, ms, number == 0 ? &begun : nullptr);
        const whywait::region inside("meet");
        came[number][i] = slept::clock::now();
        meeting.arrive_and_wait();
        left[number][i] = slept::clock::now();
      }
    };
    whywait::thread slow([&] { member(0, "slow leg", 25); });
    while (!begun) nap(1);
    whywait::thread middle([&] { member(1, "short leg", 5); });
    member(2, "shorter leg", 3);
    slow.join();
    middle.join();
    for (int number = 1; number != 3; ++number) {
      for (int i = 0; i != rounds; ++i) {
        e.waited.seconds += seconds_between(came[number][i], left[number][i]);
        e.waited.until += seconds_between(came[number][i], came[0][i]);
        ++e.waited.count;
      }
    }
    all.push_back(e);
  }
  static std::atomic<whywait::promise<int>*> given{nullptr};
  later(
      "wait for value", "future", "answer",
      [](std::atomic<bool>& ready) {
        whywait::promise<int> answer;
        given = &answer;
        work("answer", 20, &ready);
        answer.set_value(42);
        nap(2);  // the other thread still has the future
      },
      [] {
        if (given.load()->get_future().get() != 42) ++slept::failures;
      });
  static whywait::packaged_task<int()> task;
  later(
      "wait for task", "future", "task",
      [](std::atomic<bool>& ready) {
        task = whywait::packaged_task<int()>([&ready] {
          work("task", 20, &ready);
          return 7;
        });
        task();
      },
      [] {
        if (task.get_future().get() != 7) ++slept::failures;
      });
}

void ends_of_threads() {
  expectation joined{"wait for end", "join", {}, {{"work of thread", 1.0}}};
  expectation destroyed{"wait in destructor", "join", {}, {{"work of jthread", 1.0}}};
  joined.waited.until = destroyed.waited.until = 0;
  const auto wait_for = [](expectation& e, const std::atomic<bool>& runs, auto&& wait) {
    while (!runs) nap(1);
    nap(3);
    const whywait::region inside(e.region);
    const time_point begin = slept::clock::now();
    e.waited(wait);
    e.waited.until += seconds_between(begin, last_end);
  };
  for (int i = 0; i != rounds; ++i) {
    std::atomic<bool> runs{false};
    whywait::thread other([&runs] { work("work of thread", 20, &runs); });
    wait_for(joined, runs, [&] { other.join(); });
    runs = false;
    std::optional<whywait::jthread> second(std::in_place, [&runs] { work("work of jthread", 20, &runs); });
    wait_for(destroyed, runs, [&] { second.reset(); });
  }
  all.push_back(joined);
  all.push_back(destroyed);
}

// Main waits for a lock whose holder waits for a semaphore, for which a thread waits for a value that another one computes.
void chain_of_four() {
  whywait::mutex m;
  whywait::binary_semaphore go(0);
  whywait::promise<int> value;
  std::atomic<bool> has{false}, computing{false};
  expectation first{"end of chain", "mutex_contention", {}, {{"root", 1.0}}};
  expectation second{"middle of chain", "semaphore", {}, {{"root", 1.0}}};
  expectation third{"begin of chain", "future", {}, {{"root", 1.0}}};
  time_point begins[3];
  whywait::thread computes([&] {
    work("root", 100, &computing);
    value.set_value(1);
  });
  while (!computing) nap(1);
  nap(3);
  whywait::thread passes([&] {
    {
      const whywait::region inside("begin of chain");
      begins[2] = slept::clock::now();
      third.waited([&] { value.get_future().wait(); });
    }
    go.release();
  });
  whywait::thread holds([&] {
    const std::lock_guard<whywait::mutex> guard(m);
    has = true;
    const whywait::region inside("middle of chain");
    begins[1] = slept::clock::now();
    second.waited([&] { go.acquire(); });
  });
  while (!has) nap(1);
  nap(2);
  {
    const whywait::region inside("end of chain");
    begins[0] = slept::clock::now();
    first.waited([&] { const std::lock_guard<whywait::mutex> guard(m); });
  }
  computes.join();
  passes.join();
  holds.join();
  const time_point* begin = begins;
  for (expectation* e : {&first, &second, &third}) {
    e->waited.until = seconds_between(*begin++, last_end);
    all.push_back(*e);
  }
}

}  // namespace

int main() {
  locks();
  successive_holders();
  conditions();
  events();
  ends_of_threads();
  chain_of_four();
  const whywait::result found = whywait::report();
  if (!found) {
    std::fprintf(stderr, "no result: %s\n", found.reason.c_str());
    return 1;
  }
  for (const expectation& e : all) slept::check(found, e);
  return slept::failures == 0 ? 0 : 1;
}
