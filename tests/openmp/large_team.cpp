// timeout: 60
// stderr ~ whywait: OpenMP teams of more than 256 threads are not observed
// stderr !~ (?s)not observed.*not observed
//
// What is too large to be observed is named, once. Compiled with g++ (gomp.hpp) and clang++ (ompt.hpp).
#ifdef __clang__
#include <whywait/ompt.hpp>
#else
#include <whywait/gomp.hpp>
#endif
#include <whywait/whywait.hpp>

#include <omp.h>

int main() {
  int threads = 0;
  for (int i = 0; i != 2; ++i) {
#pragma omp parallel num_threads(300) reduction(+ : threads)
    ++threads;
  }
  int few = 0;
#pragma omp parallel num_threads(2) reduction(+ : few)
  ++few;
  return threads >= 2 * 257 && few == 2 ? 0 : 1;
}
