// Time of an OpenMP task, of sched_yield, and of a thread that begins and ends, in a program without whywait. Run it as it is and observed, in turn:
//
//   g++ -O2 -fopenmp benchmarks/unmodified/tasks.cpp -o tasks
//   ./tasks; LD_PRELOAD=build/openmpi/libwhywait_threads.so ./tasks
//
// With LLVM's runtime the observed program contains <whywait/ompt.hpp>:
//
//   clang++-16 -O2 -fopenmp benchmarks/unmodified/tasks.cpp -o tasks
//   clang++-16 -std=c++17 -O2 -fopenmp -DWHYWAIT_OBSERVED -I include -include whywait/ompt.hpp benchmarks/unmodified/tasks.cpp
//     build/openmpi/CMakeFiles/whywait_observer_threads_object.dir/cmake/observe_threads.cpp.o -o tasks_observed -ldl
//
// Prints the least and the median of 21 rounds, in microseconds.
#include <omp.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

using steady = std::chrono::steady_clock;
constexpr int rounds = 21, tasks = 5000, threads = 300;
double us_since(steady::time_point begin) { return std::chrono::duration<double, std::micro>(steady::now() - begin).count(); }

void work(double us) {
  for (const steady::time_point begin = steady::now(); us_since(begin) < us;) {
  }
}

template <class Round>
void measure(const char* what, int count, Round round) {
  double each[rounds];
  round();
  for (double& us : each) {
    const steady::time_point begin = steady::now();
    round();
    us = us_since(begin) / count;
  }
  std::sort(each, each + rounds);
  std::printf("%-40s %8.3f %8.3f\n", what, each[0], each[rounds / 2]);
}

// One thread of `team` makes tasks, all of them run them.
void run_tasks(int team, double us) {
#pragma omp parallel num_threads(team)
#pragma omp single
  {
    for (int i = 0; i != tasks; ++i) {
#pragma omp task firstprivate(us)
      if (us > 0) work(us);
    }
#pragma omp taskwait
  }
}

}  // namespace

int main() {
  measure("empty task, team of 2", tasks, [] { run_tasks(2, 0); });
  measure("task of 10 us, team of 2", tasks, [] { run_tasks(2, 10); });
  measure("sched_yield", tasks, [] {
    for (int i = 0; i != tasks; ++i) sched_yield();
  });
  measure("thread that begins and ends, joined", threads, [] {
    for (int i = 0; i != threads; ++i) {
      pthread_t t;
      if (pthread_create(
              &t, nullptr, [](void* p) { return p; }, nullptr) != 0)
        std::abort();
      pthread_join(t, nullptr);
    }
  });
}
