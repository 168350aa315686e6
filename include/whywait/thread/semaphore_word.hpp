#ifndef WHYWAIT_THREAD_SEMAPHORE_WORD_HPP
#define WHYWAIT_THREAD_SEMAPHORE_WORD_HPP

#include <whywait/thread/futex.hpp>
#include <whywait/thread/observe.hpp>

#include <errno.h>
#include <stdint.h>
#include <time.h>

namespace whywait {
inline namespace WHYWAIT_DETAIL_THREADS_NAMESPACE {
namespace threads {

/// The atomic operations of a semaphore: those of the machine. Tests put a scheduler in their place to try every interleaving.
struct semaphore_machine {
  static uint64_t load(const uint64_t* from) noexcept { return __atomic_load_n(from, __ATOMIC_ACQUIRE); }
  static uint64_t add(uint64_t* to, uint64_t more) noexcept { return __atomic_fetch_add(to, more, __ATOMIC_ACQ_REL); }
  static bool exchange_if(uint64_t* at, uint64_t& expected, uint64_t value) noexcept {
    return __atomic_compare_exchange_n(at, &expected, value, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  /// Sleeps while the count is 0.
  static int sleep(const uint64_t* word, const timespec* until, bool real_time) noexcept {
    return futex_wait(count_of(word), 0, until, real_time);
  }
  static void wake(const uint64_t* word, int threads) noexcept { futex_wake(count_of(word), threads); }

 private:
  static const uint32_t* count_of(const uint64_t* word) noexcept {
    return reinterpret_cast<const uint32_t*>(word) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1 : 0);
  }
};

/// Count and waiters of a semaphore in one word, so that a release reads both and touches nothing afterwards: the thread that it
/// lets go on may destroy the semaphore.
template <class Machine = semaphore_machine>
class semaphore_word {
 public:
  constexpr explicit semaphore_word(uint32_t count) noexcept : word_(count) {}

  bool is_waited_for() const noexcept { return (Machine::load(&word_) >> 32) != 0; }
  /// Threads wait, and the next release lets one of them go on.
  bool is_wanted() const noexcept {
    const uint64_t word = Machine::load(&word_);
    return __builtin_expect((word >> 32) != 0, 0) && static_cast<uint32_t>(word) == 0;
  }
  bool try_acquire() noexcept {
    uint64_t word = Machine::load(&word_);
    while (static_cast<uint32_t>(word) != 0)
      if (Machine::exchange_if(&word_, word, word - 1)) return true;
    return false;
  }
  /// 0, or ETIMEDOUT. `on_count()` is called after each look that found a count, before the attempt to take it.
  template <class OnCount>
  int acquire(const timespec* until, bool real_time, OnCount on_count) noexcept {
    uint64_t word = Machine::add(&word_, waiter) + waiter;
    for (;;) {
      while (static_cast<uint32_t>(word) != 0) {
        on_count();
        if (Machine::exchange_if(&word_, word, word - waiter - 1)) return 0;
      }
      if (Machine::sleep(&word_, until, real_time) == ETIMEDOUT) break;
      word = Machine::load(&word_);
    }
    // Time is up. What was released meanwhile is taken all the same.
    word = Machine::load(&word_);
    for (;;) {
      const bool there = static_cast<uint32_t>(word) != 0;
      if (there) on_count();
      if (Machine::exchange_if(&word_, word, word - waiter - (there ? 1 : 0))) return there ? 0 : ETIMEDOUT;
    }
  }
  void release(uint32_t count) noexcept {
    const uint64_t word = Machine::add(&word_, count);
    if ((word >> 32) != 0) Machine::wake(&word_, count < 0x7fffffffu ? static_cast<int>(count) : 0x7fffffff);
  }

 private:
  static constexpr uint64_t waiter = uint64_t(1) << 32;
  alignas(8) uint64_t word_;
};

}  // namespace threads
}  // namespace WHYWAIT_DETAIL_THREADS_NAMESPACE
}  // namespace whywait

#endif
