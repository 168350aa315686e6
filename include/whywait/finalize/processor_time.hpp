#ifndef WHYWAIT_FINALIZE_PROCESSOR_TIME_HPP
#define WHYWAIT_FINALIZE_PROCESSOR_TIME_HPP

#include <whywait/rules/own_code.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include <sched.h>
#include <time.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// How long the main thread of this process had a processor and was ready to run without one, the time now, and the number
/// of processors that it may use. Linux counts the first two (/proc/self/schedstat); zeros where it does not.
inline rules::processor_use processor_use_of_process() noexcept {
  rules::processor_use out;
  if (std::FILE* const file = std::fopen("/proc/self/schedstat", "r")) {
    unsigned long long ran = 0, ready = 0;
    if (std::fscanf(file, "%llu %llu", &ran, &ready) == 2) {
      out.ran_ns = static_cast<std::int64_t>(ran);
      out.delay_ns = static_cast<std::int64_t>(ready);
    }
    std::fclose(file);
  }
  timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) == 0) out.passed_ns = std::int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) out.processors = CPU_COUNT(&allowed);
  return out;
}

/// Processors of this machine; at least 1.
inline std::int64_t processors_of_machine() noexcept { return std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN)); }

/// For how long another rank may have the processor of a rank that could go on; 0 if each of `ranks` on this machine has one of
/// its own.
inline std::int64_t time_slice_ns(std::int64_t ranks) noexcept {
  const std::int64_t processors = processors_of_machine();
  return ranks <= processors ? 0 : 8'000'000 * ((ranks + processors - 1) / processors);
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
