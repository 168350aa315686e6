#ifndef WHYWAIT_BENCHMARKS_COVERAGE_KERNEL_HPP
#define WHYWAIT_BENCHMARKS_COVERAGE_KERNEL_HPP

struct kernel {
  unsigned (*predictable)(const unsigned char* data, unsigned n);
  unsigned (*search)(const unsigned* sorted, unsigned seed, unsigned n);
  unsigned (*calls)(unsigned n);
};

#endif
