#ifndef WHYWAIT_CORE_PROCESSOR_SET_HPP
#define WHYWAIT_CORE_PROCESSOR_SET_HPP

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// The processors that some threads may use, by their numbers below 1,024. Zeroed memory is the empty set.
struct processor_set {
  uint64_t bits[16];

  /// Adds those of one thread of this process, by its number in the kernel; 0: of the caller. Any thread may call it. One system
  /// call; adds nothing if the kernel refuses.
  void add(pid_t thread) noexcept {
    uint64_t own[16] = {};
    if (sched_getaffinity(thread, sizeof own, reinterpret_cast<cpu_set_t*>(own)) != 0) return;
    for (size_t i = 0; i != 16; ++i)
      if (own[i] != 0) __atomic_fetch_or(&bits[i], own[i], __ATOMIC_RELAXED);
  }
  /// How many there are.
  int32_t size() const noexcept {
    int32_t n = 0;
    for (const uint64_t& b : bits) n += __builtin_popcountll(__atomic_load_n(&b, __ATOMIC_RELAXED));
    return n;
  }
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
