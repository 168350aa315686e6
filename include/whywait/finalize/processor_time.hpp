#ifndef WHYWAIT_FINALIZE_PROCESSOR_TIME_HPP
#define WHYWAIT_FINALIZE_PROCESSOR_TIME_HPP

#include <whywait/rules/own_code.hpp>

#include <cstdint>
#include <cstdio>

#include <sched.h>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// How long the main thread of this process was ready to run and had no processor, and the number of processors that it
/// may use. Linux counts the first (/proc/self/schedstat); zeros where it does not.
inline rules::processor_use processor_use_of_process() noexcept {
  rules::processor_use out;
  if (std::FILE* const file = std::fopen("/proc/self/schedstat", "r")) {
    unsigned long long ran = 0, ready = 0;
    if (std::fscanf(file, "%llu %llu", &ran, &ready) == 2) out.delay_ns = static_cast<std::int64_t>(ready);
    std::fclose(file);
  }
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) out.processors = CPU_COUNT(&allowed);
  return out;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
