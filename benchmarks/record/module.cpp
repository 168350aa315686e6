// A shared library with marks, which is linked and also loaded at run time.
#include <whywait/record.hpp>

#include <cstdint>

extern "C" __attribute__((visibility("default"))) void WHYWAIT_BENCHMARK_REGIONS(std::uint64_t times);
extern "C" void WHYWAIT_BENCHMARK_REGIONS(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    WHYWAIT_REGION("region of a library");
  }
}

// Defined in both libraries; the program calls that of the linked one.
extern "C" __attribute__((visibility("default"))) void whywait_named_regions(std::uint64_t times);
extern "C" void whywait_named_regions(std::uint64_t times) {
  const char* name = "dynamic region of a library";
  for (std::uint64_t i = 0; i < times; ++i) {
    __asm__ volatile("" : "+m"(name) : : "memory");
    whywait::begin(name, "benchmarks/record/module.cpp");
    whywait::end(name, "benchmarks/record/module.cpp");
  }
}
