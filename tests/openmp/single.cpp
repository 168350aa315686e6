// One thread of a team of two runs the code of `single`, now this and now that one: it has a name of its own, and is said to be run
// by one thread for all.
//
// stderr ~ one thread at a time runs the code between omp single .* while the others wait: dividing it
// stderr ~ between omp single in
// tries 3
#ifdef __clang__
#include <whywait/ompt.hpp>
#else
#include <whywait/gomp.hpp>
#endif

#include <omp.h>

#include <chrono>
#include <thread>

int main() {
  const auto nap = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
#pragma omp parallel num_threads(2)
  for (int step = 0; step != 60; ++step) {
    nap((omp_get_thread_num() + step) % 2 == 0 ? 2 : 1);
#pragma omp single
    nap(4);
  }
}
