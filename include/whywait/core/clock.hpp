#ifndef WHYWAIT_CORE_CLOCK_HPP
#define WHYWAIT_CORE_CLOCK_HPP

#include <whywait/core/counter.hpp>

#include <stdint.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/prctl.h>
#endif

namespace whywait {
inline namespace v0 {
namespace core {

/// What `cycle_clock` reads.
enum class clock_source : uint8_t {
  counter,   ///< the cycle counter, plainly
  fenced,    ///< the cycle counter, once all instructions before have ended and before any after begins
  monotonic  ///< CLOCK_MONOTONIC
};

namespace detail {
// One for each module, set before its pointer to the registry and so before the module's first reading; that
// order makes the plain load right. A hidden byte and a branch that is always predicted: its cost is not
// measurable beside the counter's.
__attribute__((visibility("hidden"))) inline uint8_t module_clock = 0;  // a clock_source
}  // namespace detail

/// The plain counter behind a fence on both sides: no instruction of a neighbour is timed with it. Costs twice as much, and
/// what the processor could have done meanwhile. WHYWAIT_CLOCK=fenced.
struct fenced_counter {
  static uint64_t now() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_lfence();
    const uint64_t ticks = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return ticks;
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
    const uint64_t ticks = plain_counter::now();
    __asm__ volatile("isb" ::: "memory");
    return ticks;
#else
    return monotonic_ns();
#endif
  }
};

namespace detail {
__attribute__((noinline, cold)) inline uint64_t ticks_otherwise() noexcept {
  return module_clock == static_cast<uint8_t>(clock_source::fenced) ? fenced_counter::now() : monotonic_ns();
}
}  // namespace detail

/// The clock of all records: the plain counter, or what `use` selected because the counter is unreliable or
/// WHYWAIT_CLOCK requests it. Ticks are converted by readers, never where they are recorded.
struct cycle_clock {
  static uint64_t now() noexcept {
    if (__builtin_expect(detail::module_clock != 0, 0)) return detail::ticks_otherwise();
    return plain_counter::now();
  }

  /// Decides for this module and its later readings.
  static void use(clock_source source) noexcept {
    if (source == used()) return;  // no write: other threads may be reading the same value
    __atomic_store_n(&detail::module_clock, static_cast<uint8_t>(source), __ATOMIC_RELAXED);
  }
  /// What this module reads.
  static clock_source used() noexcept {
    return static_cast<clock_source>(__atomic_load_n(&detail::module_clock, __ATOMIC_RELAXED));
  }

  /// Whether the counter may be read and its ticks pass at one rate on all processors, whatever `now` reads.
  /// Costs a cpuid and a system call, so callers keep the result.
  static bool invariant() noexcept {
#if defined(__x86_64__)
    unsigned a, b, c, d;
    int readable = PR_TSC_ENABLE;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0 &&
           (prctl(PR_GET_TSC, &readable) != 0 || readable == PR_TSC_ENABLE);
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
