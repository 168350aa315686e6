// The kernels of benchmarks/coverage.cpp, compiled once for each counting method; KERNEL is its name.
#include <whywait/coverage.hpp>

#include "coverage_kernel.hpp"

namespace {

// Predictable branches; 5.25 source blocks per iteration with i % 4 as data.
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

// Binary search for random keys among 1024, with 10 iterations of 2.5 blocks, half of them mispredicted. It writes a
// trace, so that no compiler makes the search branch-free, because the measured cost would then include the branches.
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

// Calls a function n times.
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
