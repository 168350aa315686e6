// Tasks that create tasks and wait for them: what the thread that began them runs behind its last taskwait, while the other one has no task,
// has one name, whichever thread ran which task.
//
// stderr ~ one thread at a time runs the code between omp taskwait .* and omp task .* while the others wait: dividing it
// stderr ~ (9\d|1[0-4]\d) ms of
// tries 3
#ifdef __clang__
#include <whywait/ompt.hpp>
#else
#include <whywait/gomp.hpp>
#endif

#include <omp.h>

#include <chrono>
#include <thread>

namespace {

void nap(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

void sort(int level) {
  if (level < 3) {
#pragma omp task
    sort(level + 1);
#pragma omp task
    sort(level + 1);
#pragma omp taskwait
  }
  nap(16 >> level);
}

}  // namespace

int main() {
#pragma omp parallel num_threads(2)
#pragma omp single
  for (int step = 0; step != 15; ++step) sort(0);
}
