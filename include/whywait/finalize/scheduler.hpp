#ifndef WHYWAIT_FINALIZE_SCHEDULER_HPP
#define WHYWAIT_FINALIZE_SCHEDULER_HPP

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Time that the main thread was ready to run while other threads had its processor, since its start (Linux: schedstat); 0 if
/// the kernel does not tell.
inline std::int64_t scheduler_delay_ns() noexcept {
  long long ran = 0, delayed = 0;
  if (std::FILE* const file = std::fopen("/proc/self/schedstat", "re")) {
    if (std::fscanf(file, "%lld %lld", &ran, &delayed) != 2) delayed = 0;
    std::fclose(file);
  }
  return delayed;
}

/// For how long another rank may have the processor of a rank that could go on; 0 if each of `ranks` on this machine has one of
/// its own.
inline std::int64_t time_slice_ns(std::int64_t ranks) noexcept {
  const std::int64_t processors = std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
  return ranks <= processors ? 0 : 8'000'000 * ((ranks + processors - 1) / processors);
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
