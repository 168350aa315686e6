#ifndef WHYWAIT_MPI_SPIN_LOCK_HPP
#define WHYWAIT_MPI_SPIN_LOCK_HPP

#include <sched.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

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
  void unlock() noexcept { __atomic_store_n(&held_, 0u, __ATOMIC_RELEASE); }

 private:
  static void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

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

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
