#ifndef WHYWAIT_THREAD_INTERPOSED_LOCKS_HPP
#define WHYWAIT_THREAD_INTERPOSED_LOCKS_HPP

#include <whywait/core/mpi_calls.hpp>
#include <whywait/thread/interposed_call.hpp>
#include <whywait/thread/next_function.hpp>
#include <whywait/thread/observed_lock.hpp>
#include <whywait/thread/slow_calls.hpp>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

// Mutexes and read-write locks of the C library. A free mutex costs nothing beyond the call: what is known of its holder is in the
// mutex itself, and whether threads wait for it as well. Both are read as the C library of GNU stores them, which is part of its binary
// interface: static initialisers fill these fields.

__attribute__((visibility("hidden"))) inline next_function<int(pthread_mutex_t*)> next_mutex_lock("pthread_mutex_lock");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_mutex_t*)> next_mutex_trylock("pthread_mutex_trylock");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_mutex_t*)> next_mutex_unlock("pthread_mutex_unlock");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_spinlock_t*)> next_pthread_spin_lock(
    "pthread_spin_lock");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_spinlock_t*)> next_pthread_spin_trylock(
    "pthread_spin_trylock");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_spinlock_t*)> next_pthread_spin_unlock(
    "pthread_spin_unlock");

/// The calling thread holds it more than once.
inline bool is_held_again(const pthread_mutex_t* m) noexcept {
  return (m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE_NP && m->__data.__count > 1;
}

/// Runs `block`, which waits for a mutex that another thread holds.
template <class Block>
int wait_for_mutex(const sync_site& site, pthread_mutex_t* m, Block block) noexcept {
  interposed_call call(site);
  lock_watch* const watch = call ? interposed.locks.find_or_add(key_of(m, object_kind::lock)) : nullptr;
  if (watch == nullptr) return block();
  __atomic_store_n(&watch->holder, marks_of(__atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED)), __ATOMIC_RELEASE);
  return call->take(site, *watch, m, as_part(block));
}

/// The mutex was taken, if `code` is 0. For registered data.
__attribute__((noinline, cold)) inline int order_taken(const sync_site& site, pthread_mutex_t* m, int code) noexcept {
  if (code == 0 && !is_held_again(m)) note_order(site, m, core::data_flag::acquires);
  return code;
}

/// Threads wait for the mutex.
__attribute__((noinline)) inline int give_up_mutex(const sync_site& site, pthread_mutex_t* m) noexcept {
  auto give_up = [m] { return next_mutex_unlock.get()(m); };
  lock_watch* const watch = is_held_again(m) ? nullptr : interposed.locks.find(key_of(m, object_kind::lock));
  if (watch == nullptr || !release_is_examined(*watch)) return give_up();
  interposed_call call(site);
  if (!call) return give_up();
  return call->release(site, *watch, m, as_part(give_up));
}

/// The mutex is given up while arrays are registered.
__attribute__((noinline, cold)) inline int give_up_in_order(const sync_site& site, pthread_mutex_t* m) noexcept {
  if (!is_held_again(m)) note_order(site, m, core::data_flag::releases);
  return state_of(m) <= 1 ? next_mutex_unlock.get()(m) : give_up_mutex(site, m);
}

// Readers follow writers. A writer follows both: what readers release has a name of its own.
inline const void* left_by_readers(const pthread_rwlock_t* l) noexcept { return reinterpret_cast<const char*>(l) + 1; }
__attribute__((always_inline)) inline int rwlock_taken(const sync_site& site, const pthread_rwlock_t* l, int code) noexcept {
  if (orders_data() && code == 0) {
    note_order(site, l, core::data_flag::acquires);
    if (core::action_of(site.call).op == core::thread_op::take) note_order(site, left_by_readers(l), core::data_flag::acquires);
  }
  return code;
}

/// Takes a read-write lock if that is free.
template <class Attempt>
__attribute__((always_inline)) inline int try_rwlock(const sync_site& site, lock_watch* watch, pthread_rwlock_t* l,
                                                     Attempt attempt) noexcept {
  count_call();
  const int code = attempt();
  if (code == 0 && watch != nullptr && took_before_others(*watch)) {
    interposed_call call(site);
    if (call) call->took(site, *watch, l);
  }
  return rwlock_taken(site, l, code);
}
template <class Block>
int wait_for_rwlock(const sync_site& site, lock_watch* watch, pthread_rwlock_t* l, Block block) noexcept {
  interposed_call call(site);
  if (!call || watch == nullptr) return block();
  if (const int writer = __atomic_load_n(&l->__data.__cur_writer, __ATOMIC_RELAXED))
    __atomic_store_n(&watch->holder, marks_of(writer), __ATOMIC_RELEASE);
  return call->take(site, *watch, l, as_part(block));
}

/// Takes a read-write lock at once or waits. `attempt` is the call that does not wait.
template <class Attempt, class Block>
__attribute__((always_inline)) inline int take_rwlock(const sync_site& site, pthread_rwlock_t* l, Attempt attempt,
                                                      Block block) noexcept {
  lock_watch* const watch = interposed.locks.find_or_add(key_of(l, object_kind::lock));
  const int code = try_rwlock(site, watch, l, attempt);
  if (__builtin_expect(code != EBUSY, 1)) return code;
  return rwlock_taken(site, l, wait_for_rwlock(site, watch, l, block));
}

template <class Plain>
__attribute__((always_inline)) inline int give_up_rwlock(const void* address, const void* frame, pthread_rwlock_t* l,
                                                         Plain plain) noexcept {
  lock_watch* const watch = interposed.locks.find(key_of(l, object_kind::lock));
  if (__builtin_expect((watch == nullptr || !release_is_examined(*watch)) && !orders_data(), 1)) return plain();
  const bool wrote = __atomic_load_n(&l->__data.__cur_writer, __ATOMIC_RELAXED) != 0;
  const sync_site site{wrote ? core::mpi_call::pthread_rwlock_unlock : core::mpi_call::pthread_rwlock_unlock_shared, address,
                       frame};
  note_released(site, wrote ? l : left_by_readers(l));
  if (watch == nullptr || __atomic_load_n(&watch->waiters, __ATOMIC_RELAXED) == 0) return plain();
  interposed_call call(site);
  return call ? call->release(site, *watch, l, as_part(plain)) : plain();
}

// Spin locks. The lock does not name its holder, and the table has only those that threads waited for: the first thread that waits finds
// the holder when that gives the lock up. A thread that waits uses its processor.
inline int spin_lock_taken(const sync_site& site, pthread_spinlock_t* l, int code) noexcept {
  if (code == 0) note_acquired(site, const_cast<int*>(l));
  return code;
}
template <class Attempt>
__attribute__((always_inline)) inline int try_spin_lock(const sync_site& site, pthread_spinlock_t* l,
                                                        Attempt attempt) noexcept {
  lock_watch* const watch = interposed.locks.find(key_of(l, object_kind::lock));
  count_call();
  const int code = attempt();
  if (code == 0 && watch != nullptr && took_before_others(*watch)) {
    interposed_call call(site);
    if (call) call->took(site, *watch, const_cast<int*>(l));
  }
  return spin_lock_taken(site, l, code);
}
template <class Block>
__attribute__((noinline)) int wait_for_spin_lock(const sync_site& site, pthread_spinlock_t* l, Block block) noexcept {
  interposed_call call(site);
  lock_watch* const watch = call ? interposed.locks.find_or_add(key_of(l, object_kind::lock)) : nullptr;
  return spin_lock_taken(site, l, watch != nullptr ? call->take(site, *watch, const_cast<int*>(l), as_part(block)) : block());
}
template <class Plain>
__attribute__((always_inline)) inline int give_up_spin_lock(const sync_site& site, pthread_spinlock_t* l,
                                                            Plain plain) noexcept {
  lock_watch* const watch = interposed.locks.find(key_of(l, object_kind::lock));
  note_released(site, const_cast<int*>(l));
  if (__builtin_expect(watch == nullptr || !release_is_examined(*watch), 1)) return plain();
  interposed_call call(site);
  return call ? call->release(site, *watch, const_cast<int*>(l), as_part(plain)) : plain();
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
