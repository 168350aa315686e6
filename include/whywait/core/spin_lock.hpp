#ifndef WHYWAIT_CORE_SPIN_LOCK_HPP
#define WHYWAIT_CORE_SPIN_LOCK_HPP

#include <whywait/core/counter.hpp>

#include <sched.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// A lock for a few instructions; yields soon, because its holder may have lost the processor. Zeroed memory
/// is an open lock.
class spin_lock {
 public:
  void lock() noexcept {
    for (unsigned tries = 0; __atomic_exchange_n(&held_, 1u, __ATOMIC_ACQUIRE) != 0;)
      do {  // only reads, which leave the cache line with the holder
        if (++tries >= 512) sched_yield();
        else relax();
      } while (__atomic_load_n(&held_, __ATOMIC_RELAXED) != 0);
  }
  /// For a holder that may have left by `longjmp`: after `patience_ns` the lock is taken from it.
  void lock_or_take_over(uint64_t patience_ns) noexcept {
    uint64_t until = 0;
    for (unsigned tries = 0; __atomic_exchange_n(&held_, 1u, __ATOMIC_ACQUIRE) != 0;) do {
        if (++tries < 512) relax();
        else sched_yield();
        if (tries % 1024 != 0) continue;
        const uint64_t now = core::monotonic_ns();
        if (until == 0) until = now + patience_ns;
        else if (now >= until) return;
      } while (__atomic_load_n(&held_, __ATOMIC_RELAXED) != 0);
  }
  void unlock() noexcept { __atomic_store_n(&held_, 0u, __ATOMIC_RELEASE); }

  /// A short pause between two tries.
  static void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

 private:
  uint32_t held_ = 0;
};

/// Holds a lock for a scope, or does nothing: `needed` is false while only one thread calls MPI.
class guard_if {
 public:
  guard_if(spin_lock& lock, bool needed) noexcept : lock_(needed ? &lock : nullptr) {
    if (lock_ != nullptr) lock_->lock();
  }
  ~guard_if() {
    if (lock_ != nullptr) lock_->unlock();
  }
  guard_if(const guard_if&) = delete;
  guard_if& operator=(const guard_if&) = delete;

 private:
  spin_lock* const lock_;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
