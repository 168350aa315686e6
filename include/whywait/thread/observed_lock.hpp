#ifndef WHYWAIT_THREAD_OBSERVED_LOCK_HPP
#define WHYWAIT_THREAD_OBSERVED_LOCK_HPP

#include <whywait/record/marks.hpp>
#include <whywait/thread/deadlines.hpp>
#include <whywait/thread/slow_calls.hpp>
#include <whywait/thread/watches.hpp>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

#include <system_error>

#ifndef WHYWAIT_DISABLE

#if defined(__SANITIZE_THREAD__)
#define WHYWAIT_DETAIL_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WHYWAIT_DETAIL_THREAD_SANITIZER
#endif
#endif

namespace whywait {
inline namespace v0 {
namespace threads {

/// What the marks of the calling thread find; null while nothing is recorded. Less than 1 ns.
__attribute__((visibility("hidden"), always_inline)) inline const record::path_head* own_marks() noexcept {
  const intptr_t offset = record::detail::here_offset();
  return __builtin_expect(offset != 0, 1) ? record::detail::head_at(offset) : nullptr;
}

/// The lock was taken at once. Returns true if others wait for it and this may have to be recorded.
__attribute__((always_inline)) inline bool took_before_others(lock_watch& watch) noexcept {
  __atomic_store_n(&watch.holder, own_marks(), __ATOMIC_RELEASE);
  return __builtin_expect(__atomic_load_n(&watch.waiters, __ATOMIC_RELAXED) != 0, 0) &&
         __atomic_load_n(&watch.turns_left, __ATOMIC_RELAXED) <= 1;
}
/// Whether giving the lock up may have to be recorded: threads wait for it, and holds are not too short to be examined each.
__attribute__((always_inline)) inline bool release_is_examined(lock_watch& watch) noexcept {
  if (__builtin_expect(__atomic_load_n(&watch.waiters, __ATOMIC_RELAXED) == 0, 1)) return false;
  const uint32_t turns = __atomic_load_n(&watch.turns_left, __ATOMIC_RELAXED);
  if (turns <= 1) return true;
  __atomic_store_n(&watch.turns_left, turns - 1, __ATOMIC_RELAXED);
  return false;
}

[[noreturn]] inline void throw_error(int code, const char* what) {
#if defined(__cpp_exceptions)
  throw std::system_error(code, std::generic_category(), what);
#else
  static_cast<void>(code), static_cast<void>(what);
  __builtin_abort();
#endif
}

/// A pthread mutex with a watch beside it, in two cache lines of which the fast paths touch one.
class observed_mutex {
 public:
  constexpr observed_mutex() noexcept = default;
  constexpr explicit observed_mutex(const pthread_mutex_t& initial) noexcept : native_(initial) {}
  observed_mutex(const observed_mutex&) = delete;
  observed_mutex& operator=(const observed_mutex&) = delete;

  pthread_mutex_t* native() noexcept { return &native_; }
  lock_watch& watch() noexcept { return watch_; }

  __attribute__((always_inline)) bool take_at_once() noexcept { return pthread_mutex_trylock(&native_) == 0; }
  __attribute__((always_inline)) bool took_before_others() noexcept { return threads::took_before_others(watch_); }
  __attribute__((always_inline)) bool release_is_examined() noexcept { return threads::release_is_examined(watch_); }
  __attribute__((always_inline)) void release() noexcept { pthread_mutex_unlock(&native_); }

  // Out of line: `site` is where the primitive was called.
  int wait(const sync_site& site) {
    auto block = [this] { return pthread_mutex_lock(&native_); };
    const slow_calls* const to = recorder();
    return to != nullptr ? to->take(site, watch_, &native_, as_part(block)) : block();
  }
  int wait_until(const sync_site& site, const deadline& until) {
    auto block = [this, &until] { return lock_until(until); };
    const slow_calls* const to = recorder();
    return to != nullptr ? to->take(site, watch_, &native_, as_part(block)) : block();
  }
  void note_taken(const sync_site& site) noexcept {
    if (const slow_calls* const to = recorder()) to->took(site, watch_, &native_);
  }
  void release(const sync_site& site) {
    auto give_up = [this] { return pthread_mutex_unlock(&native_); };
    const slow_calls* const to = recorder();
    if (to != nullptr) to->release(site, watch_, &native_, as_part(give_up));
    else give_up();
  }

 private:
#ifdef WHYWAIT_DETAIL_THREAD_SANITIZER  // it does not intercept pthread_mutex_clocklock
  int lock_until(const deadline& until) {
    for (int code = pthread_mutex_trylock(&native_);; code = pthread_mutex_trylock(&native_)) {
      if (code != EBUSY) return code;
      timespec now;
      clock_gettime(until.clock, &now);
      if (now.tv_sec > until.at.tv_sec || (now.tv_sec == until.at.tv_sec && now.tv_nsec >= until.at.tv_nsec)) return ETIMEDOUT;
      sched_yield();
    }
  }
#else
  int lock_until(const deadline& until) { return pthread_mutex_clocklock(&native_, until.clock, &until.at); }
#endif

  pthread_mutex_t native_ = PTHREAD_MUTEX_INITIALIZER;
  lock_watch watch_ = {};
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#undef WHYWAIT_DETAIL_THREAD_SANITIZER

#endif  // WHYWAIT_DISABLE

#endif
