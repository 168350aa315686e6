#ifndef WHYWAIT_THREAD_LATCHES_HPP
#define WHYWAIT_THREAD_LATCHES_HPP

#include <whywait/thread/futex.hpp>
#include <whywait/thread/observe.hpp>

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace WHYWAIT_DETAIL_THREADS_NAMESPACE {

/// C++20's std::latch, for C++17 as well. A wait is explained by the thread that counts down to zero.
class latch {
 public:
  constexpr explicit latch(ptrdiff_t expected) noexcept : count_(static_cast<uint32_t>(expected)) {}
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;
  static constexpr ptrdiff_t max() noexcept { return INT_MAX; }

  __attribute__((noinline)) void count_down(ptrdiff_t update = 1) {
    const uint32_t less = static_cast<uint32_t>(update);
    threads::observe_release(WHYWAIT_DETAIL_SYNC_SITE(latch_count_down), this);
    uint32_t count = __atomic_load_n(&count_, __ATOMIC_RELAXED);
    bool noted = false;
    do {
      // The last one is recorded before others can go on, because these may destroy the latch. No thread counts down after it.
      if (count == less && !noted && less != 0)
        noted = true, threads::observe_event(WHYWAIT_DETAIL_SYNC_SITE(latch_count_down), this, cause_);
    } while (!__atomic_compare_exchange_n(&count_, &count, count - less, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    if (count == less) threads::futex_wake(&count_);
  }
  __attribute__((always_inline)) bool try_wait() const noexcept {
    if (!is_over()) return false;
    if (threads::orders_data()) order_waited();
    return true;
  }
  __attribute__((always_inline)) void wait() const {
    if (__builtin_expect(!is_over(), 0)) block();
    if (threads::orders_data()) order_waited();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  __attribute__((always_inline)) void arrive_and_wait(ptrdiff_t update = 1) {
    count_down(update);
    wait();
  }

 private:
  bool is_over() const noexcept { return __atomic_load_n(&count_, __ATOMIC_ACQUIRE) == 0; }
  __attribute__((noinline)) void order_waited() const noexcept {
    threads::observe_acquire(WHYWAIT_DETAIL_SYNC_SITE(latch_wait), this);
  }
  __attribute__((noinline)) void block() const {
    threads::observe_wait(WHYWAIT_DETAIL_SYNC_SITE(latch_wait), this, &cause_, [this] {
      for (uint32_t count = __atomic_load_n(&count_, __ATOMIC_ACQUIRE); count != 0;
           count = __atomic_load_n(&count_, __ATOMIC_ACQUIRE))
        threads::futex_wait(&count_, count);
      return 0;
    });
  }

  uint32_t count_;
  uint64_t cause_ = 0;
};

}  // namespace WHYWAIT_DETAIL_THREADS_NAMESPACE
}  // namespace whywait

#endif
