// The kernels of benchmarks/coverage.cpp, compiled once for each way of counting; KERNEL is a name for it.
#include <whywait/coverage.hpp>

#include "coverage_kernel.hpp"

namespace {

// Branches that the processor learns; 5.25 blocks of source a round with i % 4 for data.
unsigned predictable(const unsigned char* data, unsigned n) {
  unsigned a = 0, b = 0, c = 0;
  for (unsigned i = 0; i < n; ++i) {
    const unsigned x = data[i];
    if (x & 1) a += i;
    if (x & 2) b ^= a;
    if (x == 3) c += b;
  }
  return a + b + c;
}

// Binary search for random keys among 1024: 10 rounds of 2.5 blocks, mispredicted every second time. It leaves a trace,
// so that no compiler makes it a search without branches: then counting would cost the branches, too.
unsigned trace[1024];

unsigned search(const unsigned* sorted, unsigned seed, unsigned n) {
  unsigned found = 0;
  for (unsigned i = 0; i < n; ++i) {
    unsigned low = 0, high = 1024;
    seed = seed * 1664525 + 1013904223;
    const unsigned key = seed >> 2;
    while (high - low > 1) {
      const unsigned middle = (low + high) / 2;
      if (sorted[middle] <= key) {
        low = middle;
      } else {
        high = middle;
        trace[middle] = i;
      }
    }
    found += low;
  }
  return found;
}

// A call of a function in each of n rounds.
__attribute__((noinline)) unsigned called(unsigned a) {
  __asm__ volatile("" : "+r"(a));
  return a * 3 + 1;
}
unsigned calls(unsigned n) {
  unsigned a = 1;
  for (unsigned i = 0; i < n; ++i) a = called(a);
  return a;
}

}  // namespace

extern const kernel KERNEL;
const kernel KERNEL = {&predictable, &search, &calls};
