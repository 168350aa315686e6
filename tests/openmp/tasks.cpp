// timeout: 60
// stderr ~ whywait · tasks_\w+ · \d threads
// file report.json ~ "not observed of the program's OpenMP, so that waits there count as work: copyprivate, doacross loops, barriers of regions that can be cancelled, atomic operations that need a lock, target devices, parallel regions compiled by GCC before 4.9"
// file report.json ~ "OpenMP tasks with depend: which task another one waits for is not known
//
// Tasks of OpenMP do what they do without whywait: arguments, their copies and alignment, dependences, reductions, groups, loops in all
// directions, nested regions, exceptions. The report names what is not observed. Compiled with g++ only: <whywait/ompt.hpp> changes no task.
#include <whywait/gomp.hpp>
#include <whywait/whywait.hpp>

#include <omp.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace {

std::atomic<int> failures{0};
void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "NOT SO: %s\n", what);
}

std::atomic<int> alive{0};
struct counted {
  explicit counted(int v) : value(v) { ++alive; }
  counted(const counted& other) : value(other.value) { ++alive; }
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
  int value;
};
struct alignas(128) wide {
  int value[32];
};
struct large {
  unsigned char bytes[20000];
};

long fibonacci(int n) {
  if (n < 2) return n;
  long a = 0, b = 0;
#pragma omp task shared(a) final(n < 6)
  a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 4)
  b = fibonacci(n - 2);
#pragma omp taskwait
  return a + b;
}

void arguments() {
  for (const bool deferred : {true, false}) {
    const counted c(7);
    wide w{};
    w.value[31] = 5;
    large l{};
    l.bytes[19999] = 3;
    std::atomic<int> sum{0};
#pragma omp task firstprivate(c, w, l) shared(sum) if (deferred) untied
    {
      sum += c.value + w.value[31] + l.bytes[19999];
      expect(reinterpret_cast<std::uintptr_t>(&w) % 128 == 0, "arguments keep their alignment");
    }
#pragma omp task firstprivate(c) shared(sum) if (deferred) priority(2) mergeable
    sum += c.value;
#pragma omp task firstprivate(w) shared(sum) if (deferred)
    sum += w.value[31];
#pragma omp taskwait
    expect(sum == 27, "arguments arrive");
  }
}

void dependences() {
  int order[4] = {}, next = 0;
  for (int round = 0; round != 50; ++round) {
    next = 0;
#pragma omp task depend(out : next) shared(order, next)
    order[next++] = 1;
#pragma omp task depend(inout : next) shared(order, next)
    order[next++] = 2;
#pragma omp task depend(inout : next) shared(order, next) if (0)
    order[next++] = 3;
#pragma omp task depend(inout : next) shared(order, next)
    order[next++] = 4;
#pragma omp taskwait
    expect(order[0] == 1 && order[1] == 2 && order[2] == 3 && order[3] == 4, "dependences order tasks");
  }
}

void loops() {
  for (const int threads : {1, 3}) {
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
      std::atomic<long> sum{0};
#pragma omp taskloop grainsize(7) shared(sum)
      for (int k = 3; k < 1000; k += 4) sum += k;
      long serial = 0;
      for (int k = 3; k < 1000; k += 4) serial += k;
      expect(sum == serial, "a loop upwards");
      sum = serial = 0;
#pragma omp taskloop num_tasks(5) nogroup shared(sum)
      for (long k = 1000; k > 1; k -= 7) sum += k;
#pragma omp taskwait
      for (long k = 1000; k > 1; k -= 7) serial += k;
      expect(sum == serial, "a loop downwards, without a group");
      sum = serial = 0;
      const counted c(3);
#pragma omp taskloop firstprivate(c) shared(sum)
      for (unsigned long long k = 18446744073709551615ull; k > 18446744073709551000ull; k -= 3) sum += c.value;
      for (unsigned long long k = 18446744073709551615ull; k > 18446744073709551000ull; k -= 3) serial += 3;
      expect(sum == serial, "a loop of unsigned numbers");
      long reduced = 0;
#pragma omp taskloop reduction(+ : reduced) if (threads != 1)
      for (int k = 0; k < 1000; ++k) reduced += k;
      expect(reduced == 499500, "a loop with a reduction");
      reduced = 0;
#pragma omp taskgroup task_reduction(+ : reduced)
      for (int k = 0; k != 20; ++k) {
#pragma omp task in_reduction(+ : reduced)
        reduced += k;
      }
      expect(reduced == 190, "a group with a reduction");
#pragma omp taskloop
      for (int k = 0; k < 0; ++k) expect(false, "an empty loop runs nothing");
    }
  }
}

void regions() {
  std::atomic<int> sum{0};
  long reduced = 0;
#pragma omp parallel num_threads(3) reduction(task, + : reduced)
  {
#pragma omp task in_reduction(+ : reduced)
    reduced += 2;
  }
  expect(reduced == 6, "a region with a reduction of tasks");
#pragma omp parallel num_threads(2)
  for (int k = 0; k != 4; ++k) {
#pragma omp task shared(sum)
    {
#pragma omp parallel num_threads(2)
      {
#pragma omp task shared(sum)
        ++sum;
      }
      try {
        throw std::runtime_error("in a task");
      } catch (const std::runtime_error&) {
        ++sum;
      }
    }
  }
  expect(sum == 24, "regions and exceptions inside tasks");
}

void events() {
  std::atomic<int> done{0};
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    omp_event_handle_t event;
#pragma omp task detach(event) shared(done)
    {
      ++done;
#pragma omp task shared(done) firstprivate(event)
      {
        ++done;
        omp_fulfill_event(event);
      }
    }
#pragma omp taskwait
    expect(done == 2, "taskwait waits for the event of a detached task");
  }
}

extern "C" {
void GOMP_parallel_start(void (*)(void*), void*, unsigned);  // as GCC before 4.9 called it
void GOMP_parallel_end(void);
void GOMP_target_ext(int, void (*)(void*), std::size_t, void**, std::size_t*, unsigned short*, unsigned, void**, void**);
}
std::atomic<int> runs{0};
void count_run(void*) { ++runs; }

void not_observed() {
  std::atomic<int> sum{0};
  long double exact = 0;
  int turn = 0;
#pragma omp parallel num_threads(2)
  {
    int value = 0;
#pragma omp single copyprivate(value)
    value = 3;
    sum += value;
#pragma omp for ordered(1) schedule(static, 1)
    for (int k = 0; k < 10; ++k) {
#pragma omp ordered depend(sink : k - 1)
      expect(turn == k, "iterations of a doacross loop are in order");
      ++turn;
#pragma omp ordered depend(source)
    }
    for (int k = 0; k < 4096; ++k) {  // some more are not worth mentioning
#pragma omp atomic
      exact += 1;
    }
  }
  expect(sum == 6 && turn == 10 && exact == 8192, "copyprivate, doacross loops and atomic operations");
#pragma omp parallel num_threads(2)
  {
    ++sum;
#pragma omp barrier
    expect(sum == 8, "a barrier that can be cancelled");
#pragma omp cancel parallel if (sum == 0)
  }
  GOMP_parallel_start(count_run, nullptr, 2);
  count_run(nullptr);
  GOMP_parallel_end();
  expect(runs == 2, "a region in two calls");
  GOMP_target_ext(omp_get_initial_device(), count_run, 0, nullptr, nullptr, nullptr, 0, nullptr, nullptr);
  expect(runs == 3, "a device");
}

}  // namespace

int main() {
  not_observed();
  omp_set_max_active_levels(2);
  for (int round = 0; round != 20; ++round) {
    long result = 0;
#pragma omp parallel num_threads(3)
#pragma omp single nowait
    {
      arguments();
      dependences();
      std::atomic<int> sum{0};
#pragma omp taskgroup
      for (int k = 0; k != 500; ++k) {
#pragma omp task shared(sum)
        {
#pragma omp task shared(sum)
          ++sum;
          ++sum;
        }
      }
      expect(sum == 1000, "a group waits for descendants");
      result = fibonacci(12);
    }
    expect(result == 144, "tasks of tasks");
    loops();
    regions();
    events();
  }
  expect(alive == 0, "copies of arguments are destroyed");
  return failures != 0 ? 1 : 0;
}
