// timeout: 60
// stderr ~ whywait · teams_\w+ · \d threads
// stderr ~ thread barrier
// tries 3
//
// Teams of OpenMP whose threads wait for a known time because of a known block. The program measures its own waits, and compares
// whywait::report() with them. Compiled with g++ (gomp.hpp) and clang++ (ompt.hpp).
#include "../threads/slept.hpp"

#ifdef __clang__
#include <whywait/ompt.hpp>
#else
#include <whywait/gomp.hpp>
#endif
#include <whywait/whywait.hpp>

#include <omp.h>

#include <atomic>
#include <cstdlib>

namespace {

using slept::clock;
using slept::expectation;
using slept::nap;
using time_point = clock::time_point;

std::vector<expectation> all;
constexpr int members = 3, rounds = 3, late = 1;

void work(const char* block, int ms) {
  const whywait::region inside(block);
  nap(ms);
}
double seconds(time_point from, time_point to) { return std::max(0.0, std::chrono::duration<double>(to - from).count()); }

/// What members measured of one wait each: they come, and wait for the last of them.
struct meeting {
  time_point came[members];
  void come() { came[omp_get_thread_num()] = clock::now(); }
  void add_to(expectation& e) const {
    const time_point last = *std::max_element(came, came + members);
    for (const time_point& t : came) {
      if (t == last) continue;
      e.waited.seconds += seconds(t, last);
      ++e.waited.count;
    }
  }
};

// One member works longer than the others before the end of a region.
void uneven_region() {
  expectation e{"", "thread_barrier", {}, {{"late at the end", 1.0}}};
  for (int i = 0; i != rounds; ++i) {
    meeting met;
#pragma omp parallel num_threads(members)
    {
      if (omp_get_thread_num() == late) work("late at the end", 40);
      met.come();
    }
    met.add_to(e);
  }
  all.push_back(e);
}

void explicit_barrier() {
  expectation e{"at barrier", "thread_barrier", {}, {{"late at barrier", 1.0}}};
#pragma omp parallel num_threads(members)
  for (int i = 0; i != rounds; ++i) {
    static meeting met;
    if (omp_get_thread_num() == late) work("late at barrier", 40);
    {
      const whywait::region inside("at barrier");
      met.come();
#pragma omp barrier
    }
#pragma omp single
    met.add_to(e);
  }
  all.push_back(e);
}

// Iterations of one member take longer: the imbalance of a loop.
void uneven_loop() {
  expectation e{"loop", "thread_barrier", {}, {{"long iteration", 1.0}}};
#pragma omp parallel num_threads(members)
  for (int i = 0; i != rounds; ++i) {
    static meeting met;
    met.come();
    {
      const whywait::region inside("loop");
#pragma omp for schedule(dynamic, 2)
      for (int k = 0; k < 2 * members; ++k) {
        work(k / 2 == late ? "long iteration" : "iteration", k / 2 == late ? 20 : 2);
        met.come();
      }
    }
#pragma omp single
    met.add_to(e);
  }
  all.push_back(e);
}

// One member holds a critical section while the other one comes to it.
void critical_section() {
  expectation e{"wants critical", "mutex_contention", {}, {{"held", 1.0}}};
  e.waited.until = 0;
  std::atomic<int> holds{-1};
  std::atomic<time_point> released[rounds];
#pragma omp parallel num_threads(2)
  for (int i = 0; i != rounds; ++i) {
    if (omp_get_thread_num() == late) {
#pragma omp critical(ledger)
      {
        const whywait::region inside("held");
        holds = i;
        nap(30);
        released[i] = clock::now();
      }
    } else {
      while (holds != i) nap(1);
      nap(3);
      const whywait::region inside("wants critical");
      const time_point begin = clock::now();
      e.waited([] {
#pragma omp critical(ledger)
        {}
      });
      e.waited.until += seconds(begin, released[i]);
    }
#pragma omp barrier
  }
  all.push_back(e);
}

// The same with a lock, which the holder takes in turn by waiting and by trying.
void explicit_lock() {
  expectation e{"wants lock", "mutex_contention", {}, {{"locked", 1.0}}};
  e.waited.until = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
  std::atomic<int> holds{-1};
  std::atomic<time_point> released[rounds];
#pragma omp parallel num_threads(2)
  for (int i = 0; i != rounds; ++i) {
    if (omp_get_thread_num() == late) {
      if (i != 1) omp_set_lock(&lock);
      else if (!omp_test_lock(&lock)) std::abort();
      {
        const whywait::region inside("locked");
        holds = i;
        nap(30);
        released[i] = clock::now();
      }
      omp_unset_lock(&lock);
    } else {
      while (holds != i) nap(1);
      nap(3);
      const whywait::region inside("wants lock");
      const time_point begin = clock::now();
      e.waited([&] { omp_set_lock(&lock); });
      omp_unset_lock(&lock);
      e.waited.until += seconds(begin, released[i]);
    }
#pragma omp barrier
  }
  omp_destroy_lock(&lock);
  all.push_back(e);
}

// Iterations in order: each waits until the one before has left the ordered part.
void ordered_loop() {
  expectation e{"wants its turn", "mutex_contention", {}, {{"in order", 1.0}}};
  std::atomic<time_point> left;
#pragma omp parallel num_threads(2)
#pragma omp for ordered schedule(static, 1)
  for (int k = 0; k < 2; ++k) {
    const whywait::region inside("wants its turn");
    if (k == 1) nap(5);
    const time_point came = clock::now();
#pragma omp ordered
    {
      if (k == 0) {
        work("in order", 30);
        left = clock::now();
      } else {
        e.waited.seconds = seconds(came, clock::now());
        e.waited.until = seconds(came, left);
        e.waited.count = 1;
      }
    }
  }
  all.push_back(e);
}

#ifdef __clang__
// A member waits for a task that another one runs.
void task_wait() {
  expectation e{"waits for task", "latch", {}, {{"in task", 1.0}}};
  std::atomic<int> begun{0};
  std::atomic<time_point> ended;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
#pragma omp task shared(begun, ended)
    {
      begun = 1;
      work("in task", 30);
      ended = clock::now();
    }
    while (begun == 0) nap(1);
    const whywait::region inside("waits for task");
    const time_point begin = clock::now();
    e.waited([] {
#pragma omp taskwait
    });
    e.waited.until = seconds(begin, ended);
  }
  all.push_back(e);
}
#endif

}  // namespace

int main() {
  uneven_region();  // its waits are those of no region: others would be among them
  {
    const whywait::result first = whywait::report();
    for (const expectation& e : all) slept::check(first, e);
    all.clear();
  }
  explicit_barrier();
  uneven_loop();
  critical_section();
  explicit_lock();
  ordered_loop();
#ifdef __clang__
  task_wait();
#endif
  const whywait::result found = whywait::report();
  for (const expectation& e : all) slept::check(found, e);
  return slept::failures == 0 ? 0 : 1;
}
