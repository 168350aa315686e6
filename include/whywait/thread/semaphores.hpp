#ifndef WHYWAIT_THREAD_SEMAPHORES_HPP
#define WHYWAIT_THREAD_SEMAPHORES_HPP

#include <whywait/thread/deadlines.hpp>
#include <whywait/thread/observe.hpp>
#include <whywait/thread/semaphore_word.hpp>

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include <chrono>

namespace whywait {
inline namespace WHYWAIT_DETAIL_THREADS_NAMESPACE {

/// C++20's std::counting_semaphore, for C++17 as well. A wait is explained by the thread whose release ended it.
template <ptrdiff_t LeastMax = INT_MAX>
class counting_semaphore {
  static_assert(LeastMax >= 0 && LeastMax <= INT_MAX, "the count has 31 bits");

 public:
  constexpr explicit counting_semaphore(ptrdiff_t desired) noexcept : word_(static_cast<uint32_t>(desired)) {}
  counting_semaphore(const counting_semaphore&) = delete;
  counting_semaphore& operator=(const counting_semaphore&) = delete;
  static constexpr ptrdiff_t max() noexcept { return LeastMax; }

  __attribute__((always_inline)) void acquire() noexcept(false) {
    if (__builtin_expect(!word_.try_acquire(), 0)) wait();
    if (threads::orders_data()) order_acquired();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  __attribute__((always_inline)) bool try_acquire() noexcept {
    if (!word_.try_acquire()) return false;
    if (threads::orders_data()) order_acquired();
    return true;
  }
  template <class Rep, class Period>
  bool try_acquire_for(const std::chrono::duration<Rep, Period>& time) {
    return try_acquire() || wait_until(threads::deadline::after(time));
  }
  template <class Clock, class Duration>
  bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& time) {
    return try_acquire() || wait_until(threads::deadline::of(time));
  }
  __attribute__((always_inline)) void release(ptrdiff_t update = 1) {
    if (threads::orders_data()) order_released();
    if (word_.is_wanted()) note_release();
    word_.release(static_cast<uint32_t>(update));
  }

 private:
  __attribute__((noinline)) void wait() {
    static_cast<void>(wait(WHYWAIT_DETAIL_SYNC_SITE(semaphore_acquire), nullptr, false));
  }
  __attribute__((noinline)) bool wait_until(const threads::deadline& until) {
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(semaphore_acquire);
    if (wait(site, &until.at, until.clock == CLOCK_REALTIME) != 0) return false;
    threads::observe_acquire(site, this);
    return true;
  }
  __attribute__((noinline)) void order_acquired() noexcept {
    threads::observe_acquire(WHYWAIT_DETAIL_SYNC_SITE(semaphore_acquire), this);
  }
  __attribute__((noinline)) void order_released() noexcept {
    threads::observe_release(WHYWAIT_DETAIL_SYNC_SITE(semaphore_release), this);
  }
  // The cause is read while there is a count: later releases do not replace it until that is taken.
  int wait(const threads::sync_site& site, const timespec* until, bool real_time) {
    uint64_t cause = 0;
    return threads::observe_wait(site, this, &cause, [&] {
      return word_.acquire(until, real_time, [&] { cause = __atomic_load_n(&cause_, __ATOMIC_ACQUIRE); });
    });
  }
  __attribute__((noinline)) void note_release() noexcept {
    threads::observe_event(WHYWAIT_DETAIL_SYNC_SITE(semaphore_release), this, cause_);
  }

  threads::semaphore_word<> word_;
  uint64_t cause_ = 0;
};

using binary_semaphore = counting_semaphore<1>;

}  // namespace WHYWAIT_DETAIL_THREADS_NAMESPACE
}  // namespace whywait

#endif
