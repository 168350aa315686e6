#ifndef WHYWAIT_CORE_CLOCK_HPP
#define WHYWAIT_CORE_CLOCK_HPP

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace whywait {
inline namespace v0 {
namespace core {

/// CLOCK_MONOTONIC in nanoseconds; about 17 to 25 ns, no system call (vDSO).
inline uint64_t monotonic_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// The machine's cycle counter: x86-64's time stamp counter (not serialising: neighbouring regions may
/// trade 15 ns, sums are right), AArch64's virtual counter, elsewhere CLOCK_MONOTONIC. About 7 to 10 ns.
/// Ticks are converted when they are read, never where they are taken.
struct cycle_clock {
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

  /// Whether ticks pass at one rate on all processors. Costs a cpuid: ask once.
  static bool invariant() noexcept {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
#else
    return true;
#endif
  }
};

/// A pair of readings of the cycle counter and of CLOCK_MONOTONIC at one instant: the rate of the counter
/// follows from two of them, as far apart as the run allows.
struct clock_anchor {
  uint64_t ticks;
  uint64_t ns;
  uint64_t error_ticks;  ///< width of the bracket: the pair is simultaneous to half of it

  /// Takes the tightest of `tries` brackets; about 50 ns each.
  template <class Clock = cycle_clock>
  static clock_anchor take(int tries = 16) noexcept {
    clock_anchor best{0, 0, ~uint64_t(0)};
    for (int i = 0; i < tries; ++i) {
      const uint64_t before = Clock::now();
      const uint64_t ns = monotonic_ns();
      const uint64_t after = Clock::now();
      if (after - before < best.error_ticks) best = clock_anchor{before + (after - before) / 2, ns, after - before};
    }
    return best;
  }

  /// Nanoseconds per tick between two anchors; 1 if they do not lie apart.
  static double rate(const clock_anchor& first, const clock_anchor& last) noexcept {
    return last.ticks > first.ticks && last.ns > first.ns
               ? static_cast<double>(last.ns - first.ns) / static_cast<double>(last.ticks - first.ticks)
               : 1.0;
  }
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
