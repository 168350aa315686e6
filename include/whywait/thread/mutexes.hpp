#ifndef WHYWAIT_THREAD_MUTEXES_HPP
#define WHYWAIT_THREAD_MUTEXES_HPP

#include <whywait/thread/observe.hpp>
#include <whywait/thread/observed_lock.hpp>

#include <errno.h>
#include <stdint.h>

#include <chrono>
#include <mutex>

namespace whywait {
#ifndef WHYWAIT_DISABLE
inline namespace v0 {

/// std::mutex that records which threads made others wait.
/// Lock and unlock while no thread waits cost one store and one test more than those of std::mutex, and leave no record.
/// Usable with std::lock_guard, unique_lock, scoped_lock, std::lock and std::condition_variable_any.
class mutex {
 public:
  using native_handle_type = pthread_mutex_t*;

  constexpr mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  /// Throws std::system_error where std::mutex does.
  __attribute__((always_inline)) void lock() {
    if (__builtin_expect(!lock_.take_at_once(), 0)) wait();
    else if (lock_.took_before_others()) note_taken();
    if (threads::orders_data()) order_taken();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  __attribute__((always_inline)) bool try_lock() noexcept {
    if (!lock_.take_at_once()) return false;
    if (lock_.took_before_others()) note_taken();
    if (threads::orders_data()) order_taken();
    return true;
  }
  __attribute__((always_inline)) void unlock() {
    if (threads::orders_data()) order_released();
    if (!lock_.release_is_examined()) return lock_.release();
    release();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  native_handle_type native_handle() noexcept { return lock_.native(); }

  /// For condition_variable.
  threads::lock_watch& watch() noexcept { return lock_.watch(); }

 protected:
  __attribute__((noinline)) bool wait_until(const threads::deadline& until) {
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(mutex_try_lock_for);
    if (lock_.wait_until(site, until) != 0) return false;
    threads::observe_acquire(site, lock_.native());
    return true;
  }

 private:
  __attribute__((noinline)) void wait() {
    const int code = lock_.wait(WHYWAIT_DETAIL_SYNC_SITE(mutex_lock));
    if (code != 0) threads::throw_error(code, "mutex::lock");
  }
  __attribute__((noinline, cold)) void note_taken() noexcept { lock_.note_taken(WHYWAIT_DETAIL_SYNC_SITE(mutex_lock)); }
  __attribute__((noinline)) void release() { lock_.release(WHYWAIT_DETAIL_SYNC_SITE(mutex_unlock)); }
  __attribute__((noinline, cold)) void order_taken() noexcept {
    threads::order_data(WHYWAIT_DETAIL_SYNC_SITE(mutex_lock), lock_.native(), core::data_flag::acquires);
  }
  __attribute__((noinline, cold)) void order_released() noexcept {
    threads::order_data(WHYWAIT_DETAIL_SYNC_SITE(mutex_unlock), lock_.native(), core::data_flag::releases);
  }

  threads::observed_mutex lock_;
};

/// std::timed_mutex, observed like mutex.
class timed_mutex : public mutex {
 public:
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return try_lock() || wait_until(threads::deadline::after(time));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
    return try_lock() || wait_until(threads::deadline::of(time));
  }
};

/// std::recursive_mutex. A thread that holds it may take it again; others wait until it has given it up as often.
class recursive_mutex {
 public:
  using native_handle_type = pthread_mutex_t*;

  recursive_mutex() noexcept : lock_(pthread_mutex_t PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP) {}
  recursive_mutex(const recursive_mutex&) = delete;
  recursive_mutex& operator=(const recursive_mutex&) = delete;
  ~recursive_mutex() { pthread_mutex_destroy(lock_.native()); }

  /// Throws std::system_error if the thread holds it too often.
  __attribute__((always_inline)) void lock() {
    if (__builtin_expect(!lock_.take_at_once(), 0)) wait();
    else if (depth_++ == 0 && lock_.took_before_others()) note_taken();
    if (threads::orders_data() && depth_ == 1) order_taken();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  __attribute__((always_inline)) bool try_lock() noexcept {
    if (!lock_.take_at_once()) return false;
    if (depth_++ == 0 && lock_.took_before_others()) note_taken();
    if (threads::orders_data() && depth_ == 1) order_taken();
    return true;
  }
  __attribute__((always_inline)) void unlock() {
    --depth_;
    if (threads::orders_data() && depth_ == 0) order_released();
    if (depth_ != 0 || !lock_.release_is_examined()) return lock_.release();
    release();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  native_handle_type native_handle() noexcept { return lock_.native(); }

 protected:
  __attribute__((noinline)) bool wait_until(const threads::deadline& until) {
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(mutex_try_lock_for);
    if (lock_.wait_until(site, until) != 0) return false;
    ++depth_;
    threads::observe_acquire(site, lock_.native());
    return true;
  }

 private:
  __attribute__((noinline)) void wait() {
    const int code = lock_.wait(WHYWAIT_DETAIL_SYNC_SITE(recursive_mutex_lock));
    if (code != 0) threads::throw_error(code, "recursive_mutex::lock");
    ++depth_;
  }
  __attribute__((noinline, cold)) void note_taken() noexcept {
    lock_.note_taken(WHYWAIT_DETAIL_SYNC_SITE(recursive_mutex_lock));
  }
  __attribute__((noinline)) void release() { lock_.release(WHYWAIT_DETAIL_SYNC_SITE(recursive_mutex_unlock)); }
  __attribute__((noinline, cold)) void order_taken() noexcept {
    threads::order_data(WHYWAIT_DETAIL_SYNC_SITE(recursive_mutex_lock), lock_.native(), core::data_flag::acquires);
  }
  __attribute__((noinline, cold)) void order_released() noexcept {
    threads::order_data(WHYWAIT_DETAIL_SYNC_SITE(recursive_mutex_unlock), lock_.native(), core::data_flag::releases);
  }

  threads::observed_mutex lock_;
  uint32_t depth_ = 0;
};

/// std::recursive_timed_mutex.
class recursive_timed_mutex : public recursive_mutex {
 public:
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& time) {
    return try_lock() || wait_until(threads::deadline::after(time));
  }
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& time) {
    return try_lock() || wait_until(threads::deadline::of(time));
  }
};

}  // namespace v0
#else
inline namespace v0_off {
using std::mutex;
using std::recursive_mutex;
using std::recursive_timed_mutex;
using std::timed_mutex;
}  // namespace v0_off
#endif
}  // namespace whywait

#endif
