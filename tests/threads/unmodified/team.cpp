// A program without whywait whose threads are those of GCC's OpenMP runtime. Each wait is known: the program measures it itself. Prints
// what a report must contain, which ../unmodified.py compares:
//
//     team FUNCTION CALL SECONDS ENDED_BY
#include <omp.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

using steady = std::chrono::steady_clock;

void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
double since(steady::time_point begin) { return std::chrono::duration<double>(steady::now() - begin).count(); }

std::atomic<bool> ready;
double took;

void wait_at_barrier() {
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) nap(20);
    const steady::time_point begin = steady::now();
#pragma omp barrier
    if (omp_get_thread_num() == 0) took = since(begin);
  }
}

void wait_for_critical() {
  ready = false;
#pragma omp parallel num_threads(2)
  {
    while (omp_get_thread_num() == 0 && !ready) nap(1);
    const steady::time_point begin = steady::now();
#pragma omp critical
    {
      if (omp_get_thread_num() == 0) took = since(begin);
      ready = true;
      if (omp_get_thread_num() == 1) nap(20);
    }
  }
}

// A thread of the team holds a lock that is none of OpenMP.
std::mutex m;
void wait_for_member() {
  ready = false;
#pragma omp parallel num_threads(2)
  {
    while (omp_get_thread_num() == 0 && !ready) nap(1);
    const steady::time_point begin = steady::now();
    const std::lock_guard<std::mutex> lock(m);
    if (omp_get_thread_num() == 0) took = since(begin);
    ready = true;
    if (omp_get_thread_num() == 1) nap(20);
  }
}
// And waits for it.
void wait_of_member() {
  ready = false;
#pragma omp parallel num_threads(2)
  {
    while (omp_get_thread_num() == 1 && !ready) nap(1);
    const steady::time_point begin = steady::now();
    const std::lock_guard<std::mutex> lock(m);
    if (omp_get_thread_num() == 1) took = since(begin);
    ready = true;
    if (omp_get_thread_num() == 0) nap(20);
  }
}

void wait_for_task() {
#pragma omp parallel num_threads(2)
#pragma omp single
  {
    ready = false;
#pragma omp task
    {
      ready = true;
      nap(20);
    }
    while (!ready) nap(1);
    const steady::time_point begin = steady::now();
#pragma omp taskwait
    took = since(begin);
  }
}

void wait_for_lock() {
  omp_lock_t own;
  omp_init_lock(&own);
  ready = false;
#pragma omp parallel num_threads(2)
  {
    while (omp_get_thread_num() == 0 && !ready) nap(1);
    const steady::time_point begin = steady::now();
    omp_set_lock(&own);
    if (omp_get_thread_num() == 0) took = since(begin);
    ready = true;
    if (omp_get_thread_num() == 1) nap(20);
    omp_unset_lock(&own);
  }
  omp_destroy_lock(&own);
}

void one_case(const char* function, const char* call, void (*run)()) {
  run();
  std::printf("team %s %s %.6f\n", function, call, took);
}

}  // namespace

int main() {
  one_case("wait_at_barrier", "omp barrier", wait_at_barrier);
  one_case("wait_for_critical", "omp critical", wait_for_critical);
  one_case("wait_for_member", "pthread_mutex_lock", wait_for_member);
  one_case("wait_of_member", "pthread_mutex_lock", wait_of_member);
  one_case("wait_for_task", "omp taskwait", wait_for_task);
  one_case("wait_for_lock", "omp_set_lock", wait_for_lock);
}
