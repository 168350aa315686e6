#ifndef WHYWAIT_THREAD_INTERPOSED_EVENTS_HPP
#define WHYWAIT_THREAD_INTERPOSED_EVENTS_HPP

#include <whywait/core/mpi_calls.hpp>
#include <whywait/thread/gomp_runtime.hpp>
#include <whywait/thread/interposed_call.hpp>
#include <whywait/thread/next_function.hpp>
#include <whywait/thread/slow_calls.hpp>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <unwind.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

// --- condition variables

/// The last wait of a thread for a notification. The mutex was not given up since if the thread has taken none: of that, all calls are
/// counted. Then the thread looked at its condition, and waits again: what it was woken for was done by another thread. A single
/// thread that is notified may also have done what it waits for while it held the mutex; that cannot be told from outside.
struct wait_before {
  const pthread_cond_t* condition;
  uint64_t calls;  ///< of interposed functions, by the thread
};
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local wait_before last_wait = {};

inline uint64_t counted_calls() noexcept {
  const record::location* const at = record::this_location();
  return at != nullptr ? at->interposed : 0;
}

/// A wait that gives a mutex up. May leave by cancellation.
template <class Block>
int wait_for_notification(const sync_site& site, pthread_cond_t* c, pthread_mutex_t* m, Block block) {
  count_call();
  interposed_call call(site);
  if (!call) return block();
  condition_watch* const watch = interposed.conditions.find_or_add(key_of(c, object_kind::condition));
  lock_watch* const lock = interposed.locks.find_or_add(key_of(m, object_kind::lock));
  if (watch == nullptr || lock == nullptr) return block();
  if (orders_data()) call->order(site, m, core::data_flag::releases, 0);
  const bool again = last_wait.condition == c && last_wait.calls + 1 == counted_calls();
  last_wait = {};
  // A thread that was notified, but is not awake yet, does not want the mutex.
  const pthread_mutex_t* const wanted = state_of(m) > 1 ? m : nullptr;
  const int code = call->await_notify(site, *watch, *lock, c, wanted, again, as_part(block));
  if (code == 0 && __atomic_load_n(&watch->woken, __ATOMIC_RELAXED) > 1) last_wait = {c, counted_calls()};
  if (orders_data()) call->order(site, m, core::data_flag::acquires, 0);
  return code;
}

/// Before a notification.
__attribute__((always_inline)) inline void note_notification(const sync_site& site, pthread_cond_t* c, bool all) noexcept {
  count_call();
  condition_watch* const watch = interposed.conditions.find(key_of(c, object_kind::condition));
  if (__builtin_expect(watch == nullptr || __atomic_load_n(&watch->waiting, __ATOMIC_RELAXED) == 0, 1)) return;
  interposed_call call(site);
  if (call) call->notify(site, *watch, c, all);
}

// --- semaphores

/// A thread waits for a semaphore.
class semaphore_waiter {
 public:
  explicit semaphore_waiter(event_watch& watch) noexcept : watch_(watch) {
    __atomic_fetch_add(&watch_.waiters, 1u, __ATOMIC_SEQ_CST);
  }
  ~semaphore_waiter() { __atomic_fetch_sub(&watch_.waiters, 1u, __ATOMIC_RELAXED); }
  semaphore_waiter(const semaphore_waiter&) = delete;
  semaphore_waiter& operator=(const semaphore_waiter&) = delete;

 private:
  event_watch& watch_;
};

/// Waits with `wait`, a call that returns -1 and errno. `attempt` does not wait. May leave by cancellation.
template <class Attempt, class Block>
__attribute__((always_inline)) inline int take_semaphore(const sync_site& site, sem_t* s, Attempt attempt, Block wait) {
  const int error = errno;
  pthread_testcancel();
  count_call();
  if (attempt() == 0) {
    note_acquired(site, s);
    return 0;
  }
  errno = error;
  interposed_call call(site);
  event_watch* const watch = call ? interposed.events.find_or_add(key_of(s, object_kind::semaphore)) : nullptr;
  if (watch == nullptr) {
    const int result = wait();
    call.fail(errno);
    return result;
  }
  uint64_t cause = 0;
  auto block = [&] {
    const semaphore_waiter waits(*watch);
    const int code = wait() == 0 ? 0 : errno;
    if (code == 0) cause = __atomic_load_n(&watch->causes[0], __ATOMIC_ACQUIRE);
    return code;
  };
  const int code = call->await(site, s, &cause, as_part(block));
  if (code == 0) {
    if (orders_data()) call->order(site, s, core::data_flag::acquires, 0);
    return 0;
  }
  call.fail(code);
  return -1;
}

/// Before a semaphore is incremented: whether a thread waits for that.
__attribute__((always_inline)) inline void note_post(const sync_site& site, sem_t* s) noexcept {
  count_call();
  note_released(site, s);
  event_watch* const watch = interposed.events.find(key_of(s, object_kind::semaphore));
  if (__builtin_expect(watch == nullptr || __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED) == 0, 1)) return;
  int value = 0;
  if (sem_getvalue(s, &value) != 0 || value > 0) return;
  interposed_call call(site);
  if (call) call->event(site, s, &watch->causes[0]);
}

// --- barriers

inline void note_barrier(pthread_barrier_t* b, unsigned members) noexcept {
  event_watch* const watch = interposed.events.find_or_add(key_of(b, object_kind::barrier));
  if (watch == nullptr) return;
  __atomic_store_n(&watch->waiters, 1u, __ATOMIC_RELAXED);
  __atomic_store_n(&watch->members, members, __ATOMIC_RELAXED);
  __atomic_store_n(&watch->arrived, uint64_t(0), __ATOMIC_RELEASE);
}
inline void forget_barrier(pthread_barrier_t* b) noexcept {
  if (event_watch* const watch = interposed.events.find(key_of(b, object_kind::barrier)))
    __atomic_store_n(&watch->waiters, 0u, __ATOMIC_RELAXED);
}
/// `block` meets the other threads.
template <class Block>
int meet(const sync_site& site, pthread_barrier_t* b, Block block) noexcept {
  count_call();
  event_watch* const watch = interposed.events.find(key_of(b, object_kind::barrier));
  const uint32_t members = watch != nullptr ? __atomic_load_n(&watch->members, __ATOMIC_RELAXED) : 0;
  if (members == 0) return block();
  const uint64_t number = __atomic_fetch_add(&watch->arrived, uint64_t(1), __ATOMIC_ACQ_REL);
  const auto phase = static_cast<uint32_t>(number / members);
  uint64_t& cause = watch->causes[phase & 1];
  interposed_call call(site);
  if (!call) return block();
  if (orders_data())
    call->order(site, b, core::data_flag::everyone | core::data_flag::releases | core::data_flag::acquires, phase);
  if (number % members == members - 1) {
    call->last_member(site, b, phase, members, &cause);
    return block();
  }
  int result = 0;
  auto part = [&] {
    result = block();
    return result == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : result;
  };
  call->await_members(site, b, phase, members, &cause, as_part(part));
  return result;
}

// --- threads

/// What the function of a thread needs, on the heap until that begins.
struct thread_start {
  void* (*routine)(void*);
  void* argument;
  uint64_t created;
  sync_site place;  ///< place_of_thread
  bool foreign;
};

inline const void* name_of_thread(pthread_t thread) noexcept {
  return reinterpret_cast<const void*>(static_cast<uintptr_t>(thread));
}
inline uint64_t key_of_thread(pthread_t thread) noexcept { return key_of(static_cast<uint64_t>(thread), object_kind::thread); }

/// Records the end of the calling thread, also if it is cancelled or calls pthread_exit.
class thread_end {
 public:
  explicit thread_end(const sync_site& place) noexcept
      : place_(place), watch_(interposed.events.find_or_add(key_of_thread(pthread_self()))) {
    if (watch_ == nullptr) return;
    __atomic_store_n(&watch_->causes[0], uint64_t(0), __ATOMIC_RELAXED);
    __atomic_store_n(&watch_->waiters, 1u, __ATOMIC_RELAXED);
  }
  ~thread_end() {
    const sync_site site{core::mpi_call::thread_end, place_.address, __builtin_frame_address(0), place_.outer};
    passes_on = false;  // a cancelled thread may have left the recorder at any place
    interposed_call call(site);
    if (call && orders_data()) call->order(site, name_of_thread(pthread_self()), core::data_flag::releases, 0);
    if (call && watch_ != nullptr) call->end_thread(site, &watch_->causes[0]);
  }
  thread_end(const thread_end&) = delete;
  thread_end& operator=(const thread_end&) = delete;

 private:
  const sync_site place_;
  event_watch* watch_;
};

inline void* run_thread(void* given) {
  const thread_start start = *static_cast<thread_start*>(given);
  if (start.foreign) {
    free(given);
    passes_on = true;
    return start.routine(start.argument);
  }
  const thread_end end(start.place);
  {
    const sync_site site{core::mpi_call::thread_begin, start.place.address, __builtin_frame_address(0), start.place.outer};
    interposed_call call(site);
    if (call) call->begin_thread(site, start.created);
    if (call && orders_data()) call->order(site, given, core::data_flag::acquires, 0);
  }
  free(given);
  return start.routine(start.argument);
}

/// The caller of the function that contains `address`, and the first one further out that is no function of the C++ library.
struct outer_callers {
  const void* address;
  const void* found[2] = {};
  int passed = -1;  ///< how many, once the function was met

  void find() noexcept { _Unwind_Backtrace(&visit, this); }

 private:
  static _Unwind_Reason_Code visit(_Unwind_Context* context, void* data) noexcept {
    outer_callers& of = *static_cast<outer_callers*>(data);
    const void* const code = reinterpret_cast<const void*>(_Unwind_GetIP(context));
    if (of.passed < 0) {
      if (code == of.address) of.passed = 0;
      return _URC_NO_REASON;
    }
    of.found[of.passed != 0 ? 1 : 0] = code;
    const bool goes_on = of.passed == 0 || is_between(owner_of(code));
    return goes_on && ++of.passed <= record::call_site_table::most_levels ? _URC_NO_REASON : _URC_NORMAL_STOP;
  }
};

/// What names a thread in reports: its function. That of a std::thread is in the C++ library, so that the place where the program creates it
/// is better. Its constructor may be inlined or not.
inline sync_site place_of_thread(const sync_site& site, void* (*routine)(void*)) noexcept {
  const char* const code = reinterpret_cast<const char*>(routine);
  if (!is_of_library(owner_of(code))) return {site.call, code + 1, site.frame};  // places of calls are return addresses
  if (!is_of_library(owner_of(site.address))) return site;
  outer_callers callers{site.address};
  callers.find();
  return callers.found[0] != nullptr ? sync_site{site.call, callers.found[0], site.frame, callers.found[1]} : site;
}

/// `create(routine, argument)` creates a thread. One of a team of OpenMP is recorded from the region on that it runs.
template <class Create>
int create_thread(const sync_site& site, void* (*routine)(void*), void* argument, Create create) noexcept {
  if (recorder() == nullptr || gomp::creates_members(site.address)) return create(routine, argument);
  auto* const start = static_cast<thread_start*>(malloc(sizeof(thread_start)));
  if (start == nullptr) return create(routine, argument);
  *start = {routine, argument, 0, site, passes_on || is_foreign(site.address)};
  {
    interposed_call call(site);
    if (call) {
      start->place = place_of_thread(site, routine);
      if (orders_data()) call->order(site, start, core::data_flag::releases, 0);
      call->event(site, start, &start->created);
    }
  }
  const int code = create(&run_thread, start);
  if (code != 0) free(start);
  return code;
}

/// `block` waits for the end of a thread. May leave by cancellation.
template <class Block>
int join_thread(const sync_site& site, pthread_t thread, Block block) {
  count_call();
  interposed_call call(site);
  if (!call) return block();
  uint64_t cause = 0;
  auto part = [&] {
    const int code = block();
    event_watch* const watch = code == 0 ? interposed.events.find(key_of_thread(thread)) : nullptr;
    if (watch != nullptr) {
      cause = __atomic_load_n(&watch->causes[0], __ATOMIC_ACQUIRE);
      if (cause != 0) __atomic_store_n(&watch->waiters, 0u, __ATOMIC_RELAXED);  // a thread that uses its place sets it again
    }
    return code;
  };
  const int code = call->await(site, name_of_thread(thread), &cause, as_part(part));
  if (orders_data() && code == 0) call->order(site, name_of_thread(thread), core::data_flag::acquires, 0);
  return code;
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
