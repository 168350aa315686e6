// A shared library with marks, which is linked and also loaded at run time.
#include <whywait/record.hpp>

#include <cstdint>

extern "C" __attribute__((visibility("default"))) void WHYWAIT_BENCHMARK_REGIONS(std::uint64_t times);
extern "C" void WHYWAIT_BENCHMARK_REGIONS(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    WHYWAIT_REGION("region of a library");
  }
}
