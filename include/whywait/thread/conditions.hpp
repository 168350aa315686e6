#ifndef WHYWAIT_THREAD_CONDITIONS_HPP
#define WHYWAIT_THREAD_CONDITIONS_HPP

#include <whywait/thread/mutexes.hpp>

#include <errno.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace whywait {
#ifndef WHYWAIT_DISABLE
inline namespace v0 {

/// std::condition_variable for whywait::mutex. A wait is explained by the thread that notified, and then by those that held the
/// mutex. Notifications while no thread waits cost one test and one addition more than those of std::condition_variable.
class condition_variable {
 public:
  using native_handle_type = pthread_cond_t*;

  condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;
  ~condition_variable() { pthread_cond_destroy(&native_); }

  __attribute__((always_inline)) void notify_one() noexcept {
    if (is_waited_for()) note_one();
    pthread_cond_signal(&native_);
  }
  __attribute__((always_inline)) void notify_all() noexcept {
    if (is_waited_for()) note_all();
    pthread_cond_broadcast(&native_);
  }

  __attribute__((noinline)) void wait(std::unique_lock<mutex>& lock) {
    wait_once(WHYWAIT_DETAIL_SYNC_SITE(condition_wait), *lock.mutex(), false, nullptr);
  }
  template <class Predicate>
  __attribute__((noinline)) void wait(std::unique_lock<mutex>& lock, Predicate predicate) {
    for (bool again = false; !predicate(); again = true)
      wait_once(WHYWAIT_DETAIL_SYNC_SITE(condition_wait), *lock.mutex(), again, nullptr);
  }
  template <class Clock, class Duration>
  __attribute__((noinline)) std::cv_status wait_until(std::unique_lock<mutex>& lock,
                                                      const std::chrono::time_point<Clock, Duration>& time) {
    const threads::deadline until = threads::deadline::of(time);
    const int code = wait_once(WHYWAIT_DETAIL_SYNC_SITE(condition_wait_for), *lock.mutex(), false, &until);
    return code == ETIMEDOUT && Clock::now() >= time ? std::cv_status::timeout : std::cv_status::no_timeout;
  }
  template <class Clock, class Duration, class Predicate>
  __attribute__((noinline)) bool wait_until(std::unique_lock<mutex>& lock, const std::chrono::time_point<Clock, Duration>& time,
                                            Predicate predicate) {
    for (bool again = false; !predicate(); again = true) {
      const threads::deadline until = threads::deadline::of(time);
      const int code = wait_once(WHYWAIT_DETAIL_SYNC_SITE(condition_wait_for), *lock.mutex(), again, &until);
      if (code == ETIMEDOUT && Clock::now() >= time) return timed_out(predicate());
    }
    return true;
  }
  template <class Rep, class Period>
  __attribute__((noinline)) std::cv_status wait_for(std::unique_lock<mutex>& lock,
                                                    const std::chrono::duration<Rep, Period>& time) {
    const threads::deadline until = threads::deadline::after(time);
    const int code = wait_once(WHYWAIT_DETAIL_SYNC_SITE(condition_wait_for), *lock.mutex(), false, &until);
    return code == ETIMEDOUT ? std::cv_status::timeout : std::cv_status::no_timeout;
  }
  template <class Rep, class Period, class Predicate>
  __attribute__((noinline)) bool wait_for(std::unique_lock<mutex>& lock, const std::chrono::duration<Rep, Period>& time,
                                          Predicate predicate) {
    const threads::deadline until = threads::deadline::after(time);
    for (bool again = false; !predicate(); again = true)
      if (wait_once(WHYWAIT_DETAIL_SYNC_SITE(condition_wait_for), *lock.mutex(), again, &until) == ETIMEDOUT)
        return timed_out(predicate());
    return true;
  }
  native_handle_type native_handle() noexcept { return &native_; }

 private:
  // `waiting` is incremented under the mutex, so that a thread that changes the predicate under it sees all that wait for that.
  __attribute__((always_inline)) bool is_waited_for() const noexcept {
    return __builtin_expect(__atomic_load_n(&watch_.waiting, __ATOMIC_RELAXED) != 0, 0);
  }
  __attribute__((noinline)) void note_one() noexcept { note(WHYWAIT_DETAIL_SYNC_SITE(condition_notify_one), false); }
  __attribute__((noinline)) void note_all() noexcept { note(WHYWAIT_DETAIL_SYNC_SITE(condition_notify_all), true); }
  // The predicate became true without a notification that woke this thread.
  bool timed_out(bool result) noexcept {
    const threads::slow_calls* const to = result ? threads::recorder() : nullptr;
    if (to != nullptr) to->missed_notification(&native_);
    return result;
  }
  void note(const threads::sync_site& site, bool all) noexcept {
    if (const threads::slow_calls* const to = threads::recorder()) to->notify(site, watch_, &native_, all);
  }
  int wait_once(const threads::sync_site& site, mutex& lock, bool again, const threads::deadline* until) {
    auto block = [&] {
      return until == nullptr ? pthread_cond_wait(&native_, lock.native_handle())
                              : pthread_cond_clockwait(&native_, lock.native_handle(), until->clock, &until->at);
    };
    const threads::slow_calls* const to = threads::recorder();
    if (to == nullptr) return block();
    threads::observe_release(site, lock.native_handle());
    const int code =
        to->await_notify(site, watch_, lock.watch(), &native_, lock.native_handle(), again, threads::as_part(block));
    threads::observe_acquire(site, lock.native_handle());
    return code;
  }

  pthread_cond_t native_ = PTHREAD_COND_INITIALIZER;
  threads::condition_watch watch_ = {};
};

}  // namespace v0
#else
inline namespace v0_off {
using std::condition_variable;
}  // namespace v0_off
#endif

#ifndef WHYWAIT_DISABLE
inline namespace v0 {
#else
inline namespace v0_off {
#endif
using std::cv_status;
#ifndef WHYWAIT_DISABLE
}  // namespace v0
#else
}  // namespace v0_off
#endif

}  // namespace whywait

#endif
