#ifndef WHYWAIT_CORE_COUNTER_HPP
#define WHYWAIT_CORE_COUNTER_HPP

#include <stdint.h>
#include <time.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// CLOCK_MONOTONIC in nanoseconds; about 17 to 25 ns, no system call (vDSO).
inline uint64_t monotonic_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// The machine's cycle counter, unconditionally: x86-64's time stamp counter (not serialising: neighbouring regions
/// may trade 15 ns, sums are right), AArch64's virtual counter, elsewhere CLOCK_MONOTONIC. About 7 to 10 ns.
struct plain_counter {
  static uint64_t now() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return monotonic_ns();
#endif
  }
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
