#ifndef WHYWAIT_THREAD_ANY_CONDITIONS_HPP
#define WHYWAIT_THREAD_ANY_CONDITIONS_HPP

#include <whywait/thread/conditions.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace whywait {
#ifndef WHYWAIT_DISABLE
inline namespace v0 {

/// std::condition_variable_any, for any lock. A wait is explained by the thread that notified; afterwards the thread may wait for the
/// lock, which that explains. Without the overloads of C++20 that take a stop token.
class condition_variable_any {
 public:
  condition_variable_any() : mutex_(std::make_shared<mutex>()) {}
  condition_variable_any(const condition_variable_any&) = delete;
  condition_variable_any& operator=(const condition_variable_any&) = delete;

  __attribute__((noinline)) void notify_one() noexcept {
    const std::lock_guard<mutex> guard(*mutex_);
    condition_.notify_one();
  }
  __attribute__((noinline)) void notify_all() noexcept {
    const std::lock_guard<mutex> guard(*mutex_);
    condition_.notify_all();
  }

  template <class Lock>
  __attribute__((noinline)) void wait(Lock& lock) {
    without(lock, [this](std::unique_lock<mutex>& own) { condition_.wait(own); });
  }
  template <class Lock, class Predicate>
  __attribute__((noinline)) void wait(Lock& lock, Predicate predicate) {
    while (!predicate()) without(lock, [this](std::unique_lock<mutex>& own) { condition_.wait(own); });
  }
  template <class Lock, class Clock, class Duration>
  __attribute__((noinline)) std::cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& time) {
    return without(lock, [&](std::unique_lock<mutex>& own) { return condition_.wait_until(own, time); });
  }
  template <class Lock, class Clock, class Duration, class Predicate>
  __attribute__((noinline)) bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& time,
                                            Predicate predicate) {
    while (!predicate())
      if (without(lock, [&](std::unique_lock<mutex>& own) { return condition_.wait_until(own, time); }) ==
          std::cv_status::timeout)
        return predicate();
    return true;
  }
  template <class Lock, class Rep, class Period>
  __attribute__((noinline)) std::cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& time) {
    return without(lock, [&](std::unique_lock<mutex>& own) { return condition_.wait_for(own, time); });
  }
  template <class Lock, class Rep, class Period, class Predicate>
  __attribute__((noinline)) bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& time, Predicate predicate) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (!predicate())
      if (without(lock, [&](std::unique_lock<mutex>& own) { return condition_.wait_until(own, until); }) ==
          std::cv_status::timeout)
        return predicate();
    return true;
  }

 private:
  template <class Lock>
  struct taken_again {
    Lock& lock;
    ~taken_again() noexcept(false) { lock.lock(); }
  };

  // Own mutex first: a thread that holds `lock` cannot notify in between. Given up before `lock` is taken again.
  template <class Lock, class Wait>
  __attribute__((always_inline)) auto without(Lock& lock, Wait wait) {
    const std::shared_ptr<mutex> kept = mutex_;  // a notified thread may outlive this object
    std::unique_lock<mutex> first(*kept);
    lock.unlock();
    const taken_again<Lock> after{lock};
    std::unique_lock<mutex> own(std::move(first));
    return wait(own);
  }

  std::shared_ptr<mutex> mutex_;
  condition_variable condition_;
};

}  // namespace v0
#else
inline namespace v0_off {
using std::condition_variable_any;
}  // namespace v0_off
#endif
}  // namespace whywait

#endif
