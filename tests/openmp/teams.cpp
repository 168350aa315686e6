// timeout: 60
// stderr ~ whywait · teams_\w+ · \d threads
// stderr ~ thread barrier
// stderr !~ not observed of the program's OpenMP
// stderr ~ (?m)^ +\d{2,3} waits and releases of threads
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

#ifndef __clang__
extern "C" {  // what Fortran calls
void omp_set_lock_(omp_lock_t*);
void omp_unset_lock_(omp_lock_t*);
int omp_test_lock_(omp_lock_t*);
}
#endif

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

/// All members go on together, so that what wakes one of them late is no part of the next wait.
void gather(std::atomic<int>& came, int round) {
  ++came;
  while (came < members * (round + 1)) nap(1);
}

// One member works longer than the others before the end of a region.
void uneven_region() {
  expectation e{"", "thread_barrier", {}, {{"late at the end", 1.0}}};
  std::atomic<int> came{0};
  for (int i = 0; i != rounds; ++i) {
    meeting met;
#pragma omp parallel num_threads(members)
    {
      gather(came, i);
      if (omp_get_thread_num() == late) work("late at the end", 40);
      met.come();
    }
    met.add_to(e);
  }
  all.push_back(e);
}

void explicit_barrier() {
  expectation e{"at barrier", "thread_barrier", {}, {{"late at barrier", 1.0}}};
  std::atomic<int> came{0};
#pragma omp parallel num_threads(members)
  for (int i = 0; i != rounds; ++i) {
    static meeting met;
    gather(came, i);
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

// The same with a sum of all members. The runtime may have several barriers for it: members may wait longer than for the last iteration.
void uneven_reduction() {
  expectation e{"sum", "thread_barrier", {}, {}};
  e.waited.until = 0;
  long sum = 0;
#pragma omp parallel num_threads(members)
  for (int i = 0; i != rounds; ++i) {
    static meeting met;
    static time_point left[members];
    {
      const whywait::region inside("sum");
#pragma omp for schedule(static, 1) reduction(+ : sum)
      for (int k = 0; k < members; ++k) {
        if (k == late) work("long part", 40);
        sum += k;
        met.come();
      }
    }
    left[omp_get_thread_num()] = clock::now();
#pragma omp barrier
#pragma omp single
    {
      expectation one;
      met.add_to(one);
      e.waited.until += one.waited.seconds;
      for (int m = 0; m != members; ++m) e.waited.seconds += seconds(met.came[m], left[m]);
      e.waited.count += one.waited.count;
    }
  }
  if (sum != rounds * members * (members - 1) / 2) std::abort();
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

struct lock_calls {
  void (*set)(omp_lock_t*);
  void (*unset)(omp_lock_t*);
  int (*test)(omp_lock_t*);
};

// The same with a lock, which the holder takes in turn by waiting and by trying.
void explicit_lock(const char* name, const char* inside_name, const lock_calls& call) {
  expectation e{name, "mutex_contention", {}, {{inside_name, 1.0}}};
  e.waited.until = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
  std::atomic<int> holds{-1};
  std::atomic<time_point> released[rounds];
#pragma omp parallel num_threads(2)
  for (int i = 0; i != rounds; ++i) {
    if (omp_get_thread_num() == late) {
      if (i != 1) call.set(&lock);
      else if (!call.test(&lock)) std::abort();
      {
        const whywait::region inside(inside_name);
        holds = i;
        nap(30);
        released[i] = clock::now();
      }
      call.unset(&lock);
    } else {
      while (holds != i) nap(1);
      nap(3);
      if (call.test(&lock)) std::abort();
      const whywait::region inside(name);
      const time_point begin = clock::now();
      e.waited([&] { call.set(&lock); });
      call.unset(&lock);
      e.waited.until += seconds(begin, released[i]);
    }
#pragma omp barrier
  }
  omp_destroy_lock(&lock);
  all.push_back(e);
}

// Members that did not get a lock do not wait for it: taking it leaves no records.
void tried_locks() {
  omp_lock_t lock;
  omp_nest_lock_t nested;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nested);
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == late) {
      omp_set_lock(&lock);
      omp_set_nest_lock(&nested);
    }
#pragma omp barrier
    if (omp_get_thread_num() != late && (omp_test_lock(&lock) || omp_test_nest_lock(&nested) != 0)) std::abort();
#pragma omp barrier
    if (omp_get_thread_num() == late) {
      omp_unset_nest_lock(&nested);
      omp_unset_lock(&lock);
      for (int i = 0; i != 2000; ++i) {
        omp_set_lock(&lock);
        omp_set_nest_lock(&nested);
        omp_unset_nest_lock(&nested);
        omp_unset_lock(&lock);
      }
    }
  }
  omp_destroy_nest_lock(&nested);
  omp_destroy_lock(&lock);
}

// The same as explicit_lock with a nested one, which the holder takes twice.
void nested_lock() {
  expectation e{"wants nested lock", "mutex_contention", {}, {{"locked twice", 1.0}}};
  e.waited.until = 0;
  omp_nest_lock_t lock;
  omp_init_nest_lock(&lock);
  std::atomic<int> holds{-1};
  std::atomic<time_point> released[rounds];
#pragma omp parallel num_threads(2)
  for (int i = 0; i != rounds; ++i) {
    if (omp_get_thread_num() == late) {
      if (i != 1) omp_set_nest_lock(&lock);
      else if (omp_test_nest_lock(&lock) != 1) std::abort();
      {
        const whywait::region inside("locked twice");
        holds = i;
        nap(10);
        if (i == 0) omp_set_nest_lock(&lock);
        else if (omp_test_nest_lock(&lock) != 2) std::abort();
        nap(10);
        omp_unset_nest_lock(&lock);
        nap(10);
        released[i] = clock::now();
      }
      omp_unset_nest_lock(&lock);
    } else {
      while (holds != i) nap(1);
      nap(3);
      if (omp_test_nest_lock(&lock) != 0) std::abort();
      const whywait::region inside("wants nested lock");
      const time_point begin = clock::now();
      e.waited([&] { omp_set_nest_lock(&lock); });
      omp_unset_nest_lock(&lock);
      e.waited.until += seconds(begin, released[i]);
    }
#pragma omp barrier
  }
  omp_destroy_nest_lock(&lock);
  all.push_back(e);
}

// Iterations in order: each waits until the one before has left the ordered part.
void ordered_loop() {
  expectation e{"wants its turn", "latch", {}, {{"in order", 1.0}}};
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

// The same at the end of a group.
void task_group() {
  expectation e{"waits for group", "latch", {}, {{"in group", 1.0}}};
  std::atomic<int> begun{0};
  std::atomic<time_point> ended;
  time_point begin;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    const whywait::region inside("waits for group");
    e.waited.count = 1;
#pragma omp taskgroup
    {
#pragma omp task shared(begun, ended)
      {
        begun = 1;
        work("in group", 30);
        ended = clock::now();
      }
      while (begun == 0) nap(1);
      begin = clock::now();
    }
    e.waited.seconds = seconds(begin, clock::now());
    e.waited.until = seconds(begin, ended);
  }
  all.push_back(e);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"  // of clang, in the code that it makes of a taskloop
// The tasks of a loop: the member that began it has done its part.
void task_loop() {
  expectation e{"waits for loop", "latch", {}, {{"long part", 1.0}}};
  std::atomic<int> begun{0};
  std::atomic<time_point> ended;
  time_point begin;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) {
    const whywait::region inside("waits for loop");
    e.waited.count = 1;
#pragma omp taskloop num_tasks(2) shared(begun, begin, ended)
    for (long k = 7; k > 1; k -= 3) {
      ++begun;
      while (begun != 2) nap(1);
      if (omp_get_thread_num() == 0) {
        work("short part", 10);
        begin = clock::now();
      } else {
        work("long part", 40);
        ended = clock::now();
      }
    }
    e.waited.seconds = seconds(begin, clock::now());
    e.waited.until = seconds(begin, ended);
  }
  all.push_back(e);
}
#pragma GCC diagnostic pop

// A member that waits at a barrier runs a task: its wait is that for the task. Then the other one waits for the task.
void task_in_barrier() {
  expectation first{"wants work", "latch", {}, {{"before task", 1.0}}};
  expectation second{"has created", "thread_barrier", {}, {{"in barrier", 1.0}}};
  std::atomic<int> begun{0};
  std::atomic<time_point> came, created, ended;
#pragma omp parallel num_threads(2)
  {
#pragma omp barrier  // the members begin together
    if (omp_get_thread_num() == 0) {
      work("before task", 60);
      created = clock::now();
#pragma omp task shared(begun, came, created, ended)
      {
        begun = 1;
        first.waited.seconds = seconds(came, clock::now());
        first.waited.until = seconds(came, created);
        first.waited.count = 1;
        work("in barrier", 40);
        ended = clock::now();
      }
      while (begun == 0) nap(1);
      const whywait::region inside("has created");
      const time_point begin = clock::now();
      second.waited([] {
#pragma omp barrier
      });
      second.waited.until = seconds(begin, ended);
    } else {
      const whywait::region inside("wants work");
      came = clock::now();
#pragma omp barrier
    }
  }
  all.push_back(first);
  all.push_back(second);
}

// Tasks that members run at the end of a region are work. What is left is the wait for the last of them.
void tasks_at_end() {
  expectation e{"at end", "thread_barrier", {}, {{"task at end", 1.0}}};
  time_point came[2], ended[2];
  double worked[2] = {};
  std::atomic<int> begun{0};
#pragma omp parallel num_threads(2)
  {
    const int here = omp_get_thread_num();
    if (here == 0) {
      for (const int ms : {30, 120, 30}) {
#pragma omp task firstprivate(ms) shared(ended, worked, begun)
        {
          const time_point begin = clock::now();
          for (++begun; begun < 2;) nap(1);  // both members run tasks
          work("task at end", ms);
          const int by = omp_get_thread_num();
          ended[by] = clock::now();
          worked[by] += seconds(begin, ended[by]);
        }
      }
    }
    whywait::begin("at end");
    came[here] = clock::now();
  }
#pragma omp parallel num_threads(2)
  whywait::end("at end");
  const time_point end = std::max(ended[0], ended[1]);
  e.waited.until = 0;
  for (int i = 0; i != 2; ++i) {
    e.waited.seconds += seconds(came[i], end) - worked[i];
    e.waited.until += seconds(std::max(came[i], ended[i]), end);
  }
  e.waited.count = 2;
  all.push_back(e);
}

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
  uneven_reduction();
  critical_section();
  explicit_lock("wants lock", "locked",
                {[](omp_lock_t* l) { omp_set_lock(l); }, [](omp_lock_t* l) { omp_unset_lock(l); },
                 [](omp_lock_t* l) { return omp_test_lock(l); }});
#ifndef __clang__
  explicit_lock("wants lock of Fortran", "locked by Fortran", {omp_set_lock_, omp_unset_lock_, omp_test_lock_});
#endif
  tried_locks();
  ordered_loop();
  task_wait();
  task_group();
  nested_lock();
  task_loop();
  task_in_barrier();
  tasks_at_end();
  const whywait::result found = whywait::report();
  for (const expectation& e : all) slept::check(found, e);
  return slept::failures == 0 ? 0 : 1;
}
