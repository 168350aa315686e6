#ifndef WHYWAIT_THREAD_INTERPOSED_WORDS_HPP
#define WHYWAIT_THREAD_INTERPOSED_WORDS_HPP

#include <whywait/core/registry.hpp>
#include <whywait/thread/interposed_events.hpp>

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

// Waits on a word of memory. std::future of libstdc++ waits in exported functions. std::latch, barrier, counting_semaphore and
// std::atomic::wait are inline code that makes futex calls with `syscall`, as do the locks of other languages.

/// `wait` returns false if its time ran out.
template <class Wait>
bool wait_for_value(const sync_site& site, unsigned* word, Wait wait) {
  count_call();
  interposed_call call(site);
  event_watch* const watch = call ? interposed.events.find_or_add(key_of(word, object_kind::word)) : nullptr;
  if (watch == nullptr) return wait();
  uint64_t cause = 0;
  auto block = [&] {
    const semaphore_waiter waits(*watch);
    const bool in_time = wait();
    cause = __atomic_load_n(&watch->causes[0], __ATOMIC_ACQUIRE);
    return in_time ? 0 : ETIMEDOUT;
  };
  if (call->await(site, word, &cause, as_part(block)) != 0) return false;
  if (orders_data()) call->order(site, word, core::data_flag::acquires, 0);
  return true;
}

/// Threads wait for a value that was stored; the word may be gone already.
inline void note_value(const sync_site& site, unsigned* word) noexcept {
  count_call();
  event_watch* const watch = interposed.events.find(key_of(word, object_kind::word));
  if (watch == nullptr || __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED) == 0) return;
  interposed_call call(site);
  if (!call) return;
  if (orders_data()) call->order(site, word, core::data_flag::releases, 0);
  call->event(site, word, &watch->causes[0]);
}

// pthread_once, and with it std::call_once: the end of the routine is the event that ends the waits of the other threads.

/// The routine that a thread runs in pthread_once; of nested ones the innermost.
struct routine_of_once {
  sync_site site;
  pthread_once_t* once;
  event_watch* watch;
  void (*routine)();
};
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local routine_of_once* own_routine = nullptr;

/// Runs it; may leave by an exception, and is run again then.
inline void run_routine() {
  const routine_of_once own = *own_routine;
  own.routine();
  note_released(own.site, own.once);
  if (__atomic_load_n(&own.watch->waiters, __ATOMIC_SEQ_CST) == 0) return;
  interposed_call call(own.site);
  if (call) call->event(own.site, own.once, &own.watch->causes[0]);
}

/// The word of a routine that was run: 2 in the C library of GNU; its lowest bit is set while one runs it.
template <class Once>
int run_or_wait_once(const sync_site& site, pthread_once_t* once, void (*routine)(), Once next) {
  static_assert(sizeof *once == sizeof(int), "the C library of GNU");
  const int state = __atomic_load_n(once, __ATOMIC_ACQUIRE);
  if (__builtin_expect((state & 2) != 0 || recorder() == nullptr || passes_on, 1)) return next(once, routine);
  count_call();
  event_watch* const watch = interposed.events.find_or_add(key_of(once, object_kind::word));
  if (watch == nullptr) return next(once, routine);
  if ((state & 1) != 0) {
    interposed_call call(site);
    if (!call) return next(once, routine);
    uint64_t cause = 0;
    auto block = [&] {
      const semaphore_waiter waits(*watch);
      const int result = next(once, routine);
      cause = __atomic_load_n(&watch->causes[0], __ATOMIC_ACQUIRE);
      return result;
    };
    return call->await(site, once, &cause, as_part(block));
  }
  struct running {
    explicit running(routine_of_once* now) noexcept : before(own_routine) { own_routine = now; }
    ~running() { own_routine = before; }
    routine_of_once* before;
  };
  routine_of_once own{{core::mpi_call::pthread_once_end, site.address, site.frame}, once, watch, routine};
  const running now(&own);
  return next(once, &run_routine);
}

template <class Once>
int run_once(const sync_site& site, pthread_once_t* once, void (*routine)(), Once next) {
  const int code = run_or_wait_once(site, once, routine, next);
  note_acquired(site, once);
  return code;
}

/// What of a futex call matters: whether it may wait for a thread, or wakes some.
enum class futex_use { none, waits, wakes };
inline futex_use use_of_futex(long operation) noexcept {
  switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2: return futex_use::waits;
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
    case FUTEX_UNLOCK_PI: return futex_use::wakes;
    default: return futex_use::none;
  }
}

/// Inline code that waits in `next`, a futex call which returns 0 if a thread woke it, else -1 and errno. Programs that wait again until
/// their condition is true leave one record each time.
template <class Next>
long wait_on_futex(const sync_site& site, const void* word, Next next) {
  interposed_call call(site);
  event_watch* const watch = call ? interposed.events.find_or_add(key_of(word, object_kind::futex)) : nullptr;
  if (watch == nullptr) return next();
  long result = 0;
  uint64_t cause = 0;
  auto block = [&] {
    const semaphore_waiter waits(*watch);
    result = next();
    const int error = result == 0 ? 0 : errno;
    call.fail(error);
    if (error == 0) cause = __atomic_load_n(&watch->causes[0], __ATOMIC_ACQUIRE);
    return error == ETIMEDOUT ? ETIMEDOUT : 0;
  };
  call->await(site, word, &cause, as_part(block));
  return result;
}

/// The calling thread is about to wake those that wait for the word.
inline void note_futex_wake(const sync_site& site, const void* word) noexcept {
  event_watch* const watch = interposed.events.find(key_of(word, object_kind::futex));
  if (watch == nullptr || __atomic_load_n(&watch->waiters, __ATOMIC_SEQ_CST) == 0) return;
  interposed_call call(site);
  if (call) call->event(site, word, &watch->causes[0]);
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
