#ifndef WHYWAIT_THREAD_SHARED_MUTEXES_HPP
#define WHYWAIT_THREAD_SHARED_MUTEXES_HPP

#include <whywait/thread/observe.hpp>
#include <whywait/thread/observed_lock.hpp>

#include <errno.h>
#include <pthread.h>

#include <shared_mutex>

namespace whywait {
#ifndef WHYWAIT_DISABLE
inline namespace v0 {

/// std::shared_mutex that records which threads made others wait: a writer waits for the reader or writer that gives it up last, a reader for
/// the writer before it. Usable with std::unique_lock and std::shared_lock.
class shared_mutex {
 public:
  using native_handle_type = pthread_rwlock_t*;

  shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  /// Throws std::system_error where std::shared_mutex does.
  __attribute__((always_inline)) void lock() {
    if (__builtin_expect(pthread_rwlock_trywrlock(&native_) != 0, 0)) wait();
    else if (threads::took_before_others(watch_)) note_taken();
    if (threads::orders_data()) order_taken();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  __attribute__((always_inline)) bool try_lock() noexcept {
    if (pthread_rwlock_trywrlock(&native_) != 0) return false;
    if (threads::took_before_others(watch_)) note_taken();
    if (threads::orders_data()) order_taken();
    return true;
  }
  __attribute__((always_inline)) void unlock() {
    if (threads::orders_data()) order_released();
    if (!threads::release_is_examined(watch_)) return static_cast<void>(pthread_rwlock_unlock(&native_));
    release();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  __attribute__((always_inline)) void lock_shared() {
    if (__builtin_expect(pthread_rwlock_tryrdlock(&native_) != 0, 0)) wait_shared();
    else if (threads::took_before_others(watch_)) note_read();
    if (threads::orders_data()) order_read();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  __attribute__((always_inline)) bool try_lock_shared() noexcept {
    if (pthread_rwlock_tryrdlock(&native_) != 0) return false;
    if (threads::took_before_others(watch_)) note_read();
    if (threads::orders_data()) order_read();
    return true;
  }
  __attribute__((always_inline)) void unlock_shared() {
    if (threads::orders_data()) order_left();
    if (!threads::release_is_examined(watch_)) return static_cast<void>(pthread_rwlock_unlock(&native_));
    release_shared();
    WHYWAIT_DETAIL_NO_TAIL_CALL;
  }
  native_handle_type native_handle() noexcept { return &native_; }

 private:
  __attribute__((noinline)) void wait() {
    auto block = [this] { return pthread_rwlock_wrlock(&native_); };
    const int code = wait(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_lock), threads::as_part(block));
    if (code != 0) threads::throw_error(code, "shared_mutex::lock");
  }
  __attribute__((noinline)) void wait_shared() {
    auto block = [this] {
      int code = EAGAIN;  // too many readers
      while (code == EAGAIN) code = pthread_rwlock_rdlock(&native_);
      return code;
    };
    const int code = wait(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_lock_shared), threads::as_part(block));
    if (code != 0) threads::throw_error(code, "shared_mutex::lock_shared");
  }
  __attribute__((noinline, cold)) void note_taken() noexcept { note_taken(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_lock)); }
  __attribute__((noinline, cold)) void note_read() noexcept { note_taken(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_lock_shared)); }
  __attribute__((noinline)) void release() { release(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_unlock)); }
  __attribute__((noinline)) void release_shared() { release(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_unlock_shared)); }

  // Readers follow writers. A writer follows both: what readers release has a name of its own.
  const void* left_by_readers() const noexcept { return reinterpret_cast<const char*>(&native_) + 1; }
  __attribute__((noinline, cold)) void order_taken() noexcept {
    const threads::sync_site site = WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_lock);
    threads::order_data(site, &native_, core::data_flag::acquires);
    threads::order_data(site, left_by_readers(), core::data_flag::acquires);
  }
  __attribute__((noinline, cold)) void order_read() noexcept {
    threads::order_data(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_lock_shared), &native_, core::data_flag::acquires);
  }
  __attribute__((noinline, cold)) void order_released() noexcept {
    threads::order_data(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_unlock), &native_, core::data_flag::releases);
  }
  __attribute__((noinline, cold)) void order_left() noexcept {
    threads::order_data(WHYWAIT_DETAIL_SYNC_SITE(shared_mutex_unlock_shared), left_by_readers(), core::data_flag::releases);
  }

  int wait(const threads::sync_site& site, threads::blocking_part block) {
    const threads::slow_calls* const to = threads::recorder();
    return to != nullptr ? to->take(site, watch_, &native_, block) : block.run(block.self);
  }
  void note_taken(const threads::sync_site& site) noexcept {
    if (const threads::slow_calls* const to = threads::recorder()) to->took(site, watch_, &native_);
  }
  void release(const threads::sync_site& site) {
    auto give_up = [this] { return pthread_rwlock_unlock(&native_); };
    const threads::slow_calls* const to = threads::recorder();
    if (to != nullptr) to->release(site, watch_, &native_, threads::as_part(give_up));
    else give_up();
  }

  pthread_rwlock_t native_ = PTHREAD_RWLOCK_INITIALIZER;
  threads::lock_watch watch_ = {};
};

}  // namespace v0
#else
inline namespace v0_off {
using std::shared_mutex;
}  // namespace v0_off
#endif
}  // namespace whywait

#endif
