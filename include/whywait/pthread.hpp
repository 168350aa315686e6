#ifndef WHYWAIT_PTHREAD_HPP
#define WHYWAIT_PTHREAD_HPP

/// \file
/// Observes the pthread functions by which threads wait for each other, and with them std::mutex, std::condition_variable, std::thread::join
/// and std::future of all code of the process and those of <threads.h>, without a change of that. It also observes the calls in which threads wait for signals,
/// input and processes (thread/interposed_outside.hpp), so that these do not count as work, and how long threads sleep:
///
///     #include <whywait/pthread.hpp>  // in one file of an executable (in more it does no harm)
///     #include <whywait/whywait.hpp>  // reports at exit; with MPI <whywait/mpi.hpp> instead
///
/// It defines weak functions with the names of the C library's, which take precedence because they are in the executable, and call those
/// of the C library. Needs glibc 2.34, linked dynamically. A lock and unlock that no thread waits for cost a few ns, and read no
/// clock. `whywait run` does the same to a program as it is. docs/how-to/threads.md has what cannot be seen.
///
/// Nothing is defined with WHYWAIT_DISABLE, with ThreadSanitizer, which interposes these functions itself, and with AddressSanitizer
/// of clang.

#include <whywait/core/version.hpp>

#include <whywait/thread/interposed_c11.hpp>
#include <whywait/thread/interposed_events.hpp>
#include <whywait/thread/interposed_libraries.hpp>
#include <whywait/thread/interposed_locks.hpp>
#include <whywait/thread/interposed_outside.hpp>
#include <whywait/thread/interposed_words.hpp>

#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef WHYWAIT_DETAIL_NOT_INTERPOSED

#ifndef __GLIBC__
#error \
    "whywait/pthread.hpp needs the C library of GNU (glibc); remove the include, and use the primitives of <whywait/thread.hpp>"
#endif

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

#define WHYWAIT_DETAIL_NEXT(name, ...) \
  __attribute__((visibility("hidden"))) inline next_function<__VA_ARGS__> next_##name(#name)
#define WHYWAIT_DETAIL_NEXT_OF(version, name, ...) \
  __attribute__((visibility("hidden"))) inline next_function<__VA_ARGS__> next_##name(#name, version)
WHYWAIT_DETAIL_NEXT(pthread_mutex_timedlock, int(pthread_mutex_t*, const timespec*));
WHYWAIT_DETAIL_NEXT(pthread_mutex_clocklock, int(pthread_mutex_t*, clockid_t, const timespec*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_rdlock, int(pthread_rwlock_t*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_wrlock, int(pthread_rwlock_t*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_tryrdlock, int(pthread_rwlock_t*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_trywrlock, int(pthread_rwlock_t*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_timedrdlock, int(pthread_rwlock_t*, const timespec*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_timedwrlock, int(pthread_rwlock_t*, const timespec*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_clockrdlock, int(pthread_rwlock_t*, clockid_t, const timespec*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_clockwrlock, int(pthread_rwlock_t*, clockid_t, const timespec*));
WHYWAIT_DETAIL_NEXT(pthread_rwlock_unlock, int(pthread_rwlock_t*));
// The C library has an older type of condition variables as well.
WHYWAIT_DETAIL_NEXT_OF("GLIBC_2.3.2", pthread_cond_wait, int(pthread_cond_t*, pthread_mutex_t*));
WHYWAIT_DETAIL_NEXT_OF("GLIBC_2.3.2", pthread_cond_timedwait, int(pthread_cond_t*, pthread_mutex_t*, const timespec*));
WHYWAIT_DETAIL_NEXT(pthread_cond_clockwait, int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*));
WHYWAIT_DETAIL_NEXT_OF("GLIBC_2.3.2", pthread_cond_signal, int(pthread_cond_t*));
WHYWAIT_DETAIL_NEXT_OF("GLIBC_2.3.2", pthread_cond_broadcast, int(pthread_cond_t*));
WHYWAIT_DETAIL_NEXT(pthread_barrier_init, int(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned));
WHYWAIT_DETAIL_NEXT(pthread_barrier_wait, int(pthread_barrier_t*));
WHYWAIT_DETAIL_NEXT(pthread_barrier_destroy, int(pthread_barrier_t*));
WHYWAIT_DETAIL_NEXT(pthread_join, int(pthread_t, void**));
WHYWAIT_DETAIL_NEXT(pthread_create, int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*));
WHYWAIT_DETAIL_NEXT(pthread_once, int(pthread_once_t*, void (*)()));
WHYWAIT_DETAIL_NEXT(sem_wait, int(sem_t*));
WHYWAIT_DETAIL_NEXT(sem_trywait, int(sem_t*));
WHYWAIT_DETAIL_NEXT(sem_timedwait, int(sem_t*, const timespec*));
WHYWAIT_DETAIL_NEXT(sem_clockwait, int(sem_t*, clockid_t, const timespec*));
WHYWAIT_DETAIL_NEXT(sem_post, int(sem_t*));
WHYWAIT_DETAIL_NEXT(syscall, long(long, ...));
#define WHYWAIT_DETAIL_OUTSIDE(call, result, name, parameters, arguments, descriptor) \
  WHYWAIT_DETAIL_NEXT(name, result parameters);
WHYWAIT_OUTSIDE_CALLS(WHYWAIT_DETAIL_OUTSIDE)
WHYWAIT_SLEEP_CALLS(WHYWAIT_DETAIL_OUTSIDE)
WHYWAIT_SIGNAL_CALLS(WHYWAIT_DETAIL_OUTSIDE)
WHYWAIT_DETAIL_NEXT(pthread_kill, int(pthread_t, int));
#undef WHYWAIT_DETAIL_OUTSIDE
#undef WHYWAIT_DETAIL_NEXT
#undef WHYWAIT_DETAIL_NEXT_OF

// Members of std::__atomic_futex_unsigned_base: seconds and nanoseconds are classes of one integer.
using value_wait = bool(void* self, unsigned* word, unsigned value, bool limited, long long seconds, long long nanoseconds);
#define WHYWAIT_DETAIL_VALUE_WAIT(name) \
  "_ZNSt28__atomic_futex_unsigned_base" name "EPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE"
#define WHYWAIT_DETAIL_VALUE_WAKE "_ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj"
__attribute__((visibility("hidden"))) inline next_function<value_wait> next_value_wait(
    WHYWAIT_DETAIL_VALUE_WAIT("19_M_futex_wait_until"));
__attribute__((visibility("hidden"))) inline next_function<value_wait> next_value_wait_steady(
    WHYWAIT_DETAIL_VALUE_WAIT("26_M_futex_wait_until_steady"));
__attribute__((visibility("hidden"))) inline next_function<void(unsigned*)> next_value_wake(WHYWAIT_DETAIL_VALUE_WAKE);

// Signal handlers may call sem_post and many of those that wait for something outside; there functions must not be looked up.
__attribute__((visibility("hidden"))) inline const bool interposing = [] {
  next_mutex_lock.look_up();
  next_mutex_trylock.look_up();
  next_mutex_unlock.look_up();
  next_sem_post.look_up();
#define WHYWAIT_DETAIL_OUTSIDE(call, result, name, parameters, arguments, descriptor) next_##name.look_up();
  WHYWAIT_OUTSIDE_CALLS(WHYWAIT_DETAIL_OUTSIDE)
  WHYWAIT_SLEEP_CALLS(WHYWAIT_DETAIL_OUTSIDE)
  WHYWAIT_SIGNAL_CALLS(WHYWAIT_DETAIL_OUTSIDE)
  next_pthread_kill.look_up();
#undef WHYWAIT_DETAIL_OUTSIDE
  if (core::registry* const registry = core::the_registry()) registry->interposed.active = 1;
  return true;
}();

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

extern "C" {

WHYWAIT_DETAIL_INTERPOSED int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
  namespace own = whywait::threads::detail;
  own::count_call();
  int code = own::next_mutex_trylock.get()(m);
  if (__builtin_expect(code == EBUSY, 0))
    code = own::wait_for_mutex(WHYWAIT_DETAIL_CALLED(pthread_mutex_lock), m, [m] { return own::next_mutex_lock.get()(m); });
  return whywait::threads::orders_data() ? own::order_taken(WHYWAIT_DETAIL_CALLED(pthread_mutex_lock), m, code) : code;
}
WHYWAIT_DETAIL_INTERPOSED int pthread_mutex_trylock(pthread_mutex_t* m) noexcept {
  namespace own = whywait::threads::detail;
  own::count_call();
  const int code = own::next_mutex_trylock.get()(m);
  return whywait::threads::orders_data() ? own::order_taken(WHYWAIT_DETAIL_CALLED(pthread_mutex_lock), m, code) : code;
}
WHYWAIT_DETAIL_INTERPOSED int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* until) noexcept {
  namespace own = whywait::threads::detail;
  own::count_call();
  int code = own::next_mutex_trylock.get()(m);
  if (code == EBUSY)
    code = own::wait_for_mutex(WHYWAIT_DETAIL_CALLED(pthread_mutex_timedlock), m,
                               [&] { return own::next_pthread_mutex_timedlock.get()(m, until); });
  return whywait::threads::orders_data() ? own::order_taken(WHYWAIT_DETAIL_CALLED(pthread_mutex_timedlock), m, code) : code;
}
WHYWAIT_DETAIL_INTERPOSED int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* until) noexcept {
  namespace own = whywait::threads::detail;
  own::count_call();
  int code = own::next_mutex_trylock.get()(m);
  if (code == EBUSY)
    code = own::wait_for_mutex(WHYWAIT_DETAIL_CALLED(pthread_mutex_timedlock), m,
                               [&] { return own::next_pthread_mutex_clocklock.get()(m, clock, until); });
  return whywait::threads::orders_data() ? own::order_taken(WHYWAIT_DETAIL_CALLED(pthread_mutex_timedlock), m, code) : code;
}
WHYWAIT_DETAIL_INTERPOSED int pthread_mutex_unlock(pthread_mutex_t* m) noexcept {
  namespace own = whywait::threads::detail;
  if (whywait::threads::orders_data()) return own::give_up_in_order(WHYWAIT_DETAIL_CALLED(pthread_mutex_unlock), m);
  if (__builtin_expect(own::state_of(m) <= 1, 1)) return own::next_mutex_unlock.get()(m);
  return own::give_up_mutex(WHYWAIT_DETAIL_CALLED(pthread_mutex_unlock), m);
}

#define WHYWAIT_DETAIL_TAKE(call, attempt, name, parameters, arguments)               \
  WHYWAIT_DETAIL_INTERPOSED int name parameters noexcept {                            \
    namespace own = whywait::threads::detail;                                         \
    return own::take_rwlock(                                                          \
        WHYWAIT_DETAIL_CALLED(call), l, [l] { return own::next_##attempt.get()(l); }, \
        [&] { return own::next_##name.get() arguments; });                            \
  }
WHYWAIT_DETAIL_TAKE(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))
WHYWAIT_DETAIL_TAKE(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
WHYWAIT_DETAIL_TAKE(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_timedwrlock,
                    (pthread_rwlock_t * l, const timespec* until), (l, until))
WHYWAIT_DETAIL_TAKE(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_timedrdlock,
                    (pthread_rwlock_t * l, const timespec* until), (l, until))
WHYWAIT_DETAIL_TAKE(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, pthread_rwlock_clockwrlock,
                    (pthread_rwlock_t * l, clockid_t clock, const timespec* until), (l, clock, until))
WHYWAIT_DETAIL_TAKE(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, pthread_rwlock_clockrdlock,
                    (pthread_rwlock_t * l, clockid_t clock, const timespec* until), (l, clock, until))
#undef WHYWAIT_DETAIL_TAKE
WHYWAIT_DETAIL_INTERPOSED int pthread_rwlock_trywrlock(pthread_rwlock_t* l) noexcept {
  namespace own = whywait::threads::detail;
  return own::try_rwlock(WHYWAIT_DETAIL_CALLED(pthread_rwlock_wrlock),
                         own::interposed.locks.find_or_add(own::key_of(l, own::object_kind::lock)), l,
                         [l] { return own::next_pthread_rwlock_trywrlock.get()(l); });
}
WHYWAIT_DETAIL_INTERPOSED int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) noexcept {
  namespace own = whywait::threads::detail;
  return own::try_rwlock(WHYWAIT_DETAIL_CALLED(pthread_rwlock_rdlock),
                         own::interposed.locks.find_or_add(own::key_of(l, own::object_kind::lock)), l,
                         [l] { return own::next_pthread_rwlock_tryrdlock.get()(l); });
}
WHYWAIT_DETAIL_INTERPOSED int pthread_rwlock_unlock(pthread_rwlock_t* l) noexcept {
  namespace own = whywait::threads::detail;
  return own::give_up_rwlock(__builtin_return_address(0), __builtin_frame_address(0), l,
                             [l] { return own::next_pthread_rwlock_unlock.get()(l); });
}

WHYWAIT_DETAIL_INTERPOSED int pthread_spin_lock(pthread_spinlock_t* l) noexcept {
  namespace own = whywait::threads::detail;
  const whywait::threads::sync_site site = WHYWAIT_DETAIL_CALLED(pthread_spin_lock);
  const int code = own::try_spin_lock(site, l, [l] { return own::next_pthread_spin_trylock.get()(l); });
  return code != EBUSY ? code : own::wait_for_spin_lock(site, l, [l] { return own::next_pthread_spin_lock.get()(l); });
}
WHYWAIT_DETAIL_INTERPOSED int pthread_spin_trylock(pthread_spinlock_t* l) noexcept {
  namespace own = whywait::threads::detail;
  return own::try_spin_lock(WHYWAIT_DETAIL_CALLED(pthread_spin_lock), l,
                            [l] { return own::next_pthread_spin_trylock.get()(l); });
}
WHYWAIT_DETAIL_INTERPOSED int pthread_spin_unlock(pthread_spinlock_t* l) noexcept {
  namespace own = whywait::threads::detail;
  return own::give_up_spin_lock(WHYWAIT_DETAIL_CALLED(pthread_spin_unlock), l,
                                [l] { return own::next_pthread_spin_unlock.get()(l); });
}

WHYWAIT_DETAIL_INTERPOSED int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
  namespace own = whywait::threads::detail;
  return own::wait_for_notification(WHYWAIT_DETAIL_CALLED(pthread_cond_wait), c, m,
                                    [&] { return own::next_pthread_cond_wait.get()(c, m); });
}
WHYWAIT_DETAIL_INTERPOSED int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
  namespace own = whywait::threads::detail;
  return own::wait_for_notification(WHYWAIT_DETAIL_CALLED(pthread_cond_timedwait), c, m,
                                    [&] { return own::next_pthread_cond_timedwait.get()(c, m, until); });
}
WHYWAIT_DETAIL_INTERPOSED int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                                                     const timespec* until) {
  namespace own = whywait::threads::detail;
  return own::wait_for_notification(WHYWAIT_DETAIL_CALLED(pthread_cond_timedwait), c, m,
                                    [&] { return own::next_pthread_cond_clockwait.get()(c, m, clock, until); });
}
WHYWAIT_DETAIL_INTERPOSED int pthread_cond_signal(pthread_cond_t* c) noexcept {
  namespace own = whywait::threads::detail;
  own::note_notification(WHYWAIT_DETAIL_CALLED(pthread_cond_signal), c, false);
  return own::next_pthread_cond_signal.get()(c);
}
WHYWAIT_DETAIL_INTERPOSED int pthread_cond_broadcast(pthread_cond_t* c) noexcept {
  namespace own = whywait::threads::detail;
  own::note_notification(WHYWAIT_DETAIL_CALLED(pthread_cond_broadcast), c, true);
  return own::next_pthread_cond_broadcast.get()(c);
}

WHYWAIT_DETAIL_INTERPOSED int pthread_barrier_init(pthread_barrier_t* b, const pthread_barrierattr_t* attributes,
                                                   unsigned members) noexcept {
  namespace own = whywait::threads::detail;
  const int code = own::next_pthread_barrier_init.get()(b, attributes, members);
  if (code == 0) own::note_barrier(b, members);
  return code;
}
WHYWAIT_DETAIL_INTERPOSED int pthread_barrier_destroy(pthread_barrier_t* b) noexcept {
  namespace own = whywait::threads::detail;
  own::forget_barrier(b);
  return own::next_pthread_barrier_destroy.get()(b);
}
WHYWAIT_DETAIL_INTERPOSED int pthread_barrier_wait(pthread_barrier_t* b) noexcept {
  namespace own = whywait::threads::detail;
  return own::meet(WHYWAIT_DETAIL_CALLED(pthread_barrier_wait), b, [b] { return own::next_pthread_barrier_wait.get()(b); });
}

WHYWAIT_DETAIL_INTERPOSED int sem_wait(sem_t* s) {
  namespace own = whywait::threads::detail;
  return own::take_semaphore(
      WHYWAIT_DETAIL_CALLED(sem_wait), s, [s] { return own::next_sem_trywait.get()(s); },
      [s] { return own::next_sem_wait.get()(s); });
}
WHYWAIT_DETAIL_INTERPOSED int sem_timedwait(sem_t* s, const timespec* until) {
  namespace own = whywait::threads::detail;
  return own::take_semaphore(
      WHYWAIT_DETAIL_CALLED(sem_timedwait), s, [s] { return own::next_sem_trywait.get()(s); },
      [&] { return own::next_sem_timedwait.get()(s, until); });
}
WHYWAIT_DETAIL_INTERPOSED int sem_clockwait(sem_t* s, clockid_t clock, const timespec* until) {
  namespace own = whywait::threads::detail;
  return own::take_semaphore(
      WHYWAIT_DETAIL_CALLED(sem_timedwait), s, [s] { return own::next_sem_trywait.get()(s); },
      [&] { return own::next_sem_clockwait.get()(s, clock, until); });
}
WHYWAIT_DETAIL_INTERPOSED int sem_post(sem_t* s) noexcept {
  namespace own = whywait::threads::detail;
  own::note_post(WHYWAIT_DETAIL_CALLED(sem_post), s);
  return own::next_sem_post.get()(s);
}

WHYWAIT_DETAIL_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*routine)(void*),
                                             void* argument) noexcept {
  namespace own = whywait::threads::detail;
  return own::create_thread(WHYWAIT_DETAIL_CALLED(pthread_create), routine, argument, [&](void* (*run)(void*), void* with) {
    return own::next_pthread_create.get()(thread, attributes, run, with);
  });
}
WHYWAIT_DETAIL_INTERPOSED int pthread_join(pthread_t thread, void** result) {
  namespace own = whywait::threads::detail;
  return own::join_thread(WHYWAIT_DETAIL_CALLED(pthread_join), thread,
                          [&] { return own::next_pthread_join.get()(thread, result); });
}

WHYWAIT_DETAIL_INTERPOSED int pthread_once(pthread_once_t* once, void (*routine)()) {
  namespace own = whywait::threads::detail;
  return own::run_once(WHYWAIT_DETAIL_CALLED(pthread_once), once, routine,
                       [](pthread_once_t* o, void (*r)()) { return own::next_pthread_once.get()(o, r); });
}

WHYWAIT_DETAIL_INTERPOSED bool whywait_value_wait(
    void* self, unsigned* word, unsigned value, bool limited, long long seconds,
    long long nanoseconds) __asm__(WHYWAIT_DETAIL_VALUE_WAIT("19_M_futex_wait_until"));
WHYWAIT_DETAIL_INTERPOSED bool whywait_value_wait(void* self, unsigned* word, unsigned value, bool limited, long long seconds,
                                                  long long nanoseconds) {
  namespace own = whywait::threads::detail;
  return own::wait_for_value(WHYWAIT_DETAIL_CALLED(future_wait), word,
                             [&] { return own::next_value_wait.get()(self, word, value, limited, seconds, nanoseconds); });
}
WHYWAIT_DETAIL_INTERPOSED bool whywait_value_wait_steady(
    void* self, unsigned* word, unsigned value, bool limited, long long seconds,
    long long nanoseconds) __asm__(WHYWAIT_DETAIL_VALUE_WAIT("26_M_futex_wait_until_steady"));
WHYWAIT_DETAIL_INTERPOSED bool whywait_value_wait_steady(void* self, unsigned* word, unsigned value, bool limited,
                                                         long long seconds, long long nanoseconds) {
  namespace own = whywait::threads::detail;
  return own::wait_for_value(WHYWAIT_DETAIL_CALLED(future_wait), word, [&] {
    return own::next_value_wait_steady.get()(self, word, value, limited, seconds, nanoseconds);
  });
}
WHYWAIT_DETAIL_INTERPOSED void whywait_value_wake(unsigned* word) __asm__(WHYWAIT_DETAIL_VALUE_WAKE);
WHYWAIT_DETAIL_INTERPOSED void whywait_value_wake(unsigned* word) {
  namespace own = whywait::threads::detail;
  own::note_value(WHYWAIT_DETAIL_CALLED(promise_set), word);
  own::next_value_wake.get()(word);
}

// Other names in C++: the headers have inline functions of these names with _FORTIFY_SOURCE.
#define WHYWAIT_DETAIL_OUTSIDE_BY(wait, call, result, name, parameters, arguments, descriptor)                   \
  WHYWAIT_DETAIL_INTERPOSED result whywait_outside_##name parameters __asm__(#name);                             \
  WHYWAIT_DETAIL_INTERPOSED result whywait_outside_##name parameters {                                           \
    namespace own = whywait::threads::detail;                                                                    \
    return own::wait(WHYWAIT_DETAIL_CALLED(call), descriptor, [&] { return own::next_##name.get() arguments; }); \
  }
#define WHYWAIT_DETAIL_OUTSIDE(...) WHYWAIT_DETAIL_OUTSIDE_BY(wait_outside, __VA_ARGS__)
WHYWAIT_OUTSIDE_CALLS(WHYWAIT_DETAIL_OUTSIDE)
#undef WHYWAIT_DETAIL_OUTSIDE
#define WHYWAIT_DETAIL_OUTSIDE(...) WHYWAIT_DETAIL_OUTSIDE_BY(count_sleep, __VA_ARGS__)
WHYWAIT_SLEEP_CALLS(WHYWAIT_DETAIL_OUTSIDE)
#undef WHYWAIT_DETAIL_OUTSIDE
#define WHYWAIT_DETAIL_OUTSIDE(...) WHYWAIT_DETAIL_OUTSIDE_BY(wait_for_signal, __VA_ARGS__)
WHYWAIT_SIGNAL_CALLS(WHYWAIT_DETAIL_OUTSIDE)
#undef WHYWAIT_DETAIL_OUTSIDE
#undef WHYWAIT_DETAIL_OUTSIDE_BY

WHYWAIT_DETAIL_INTERPOSED int pthread_kill(pthread_t thread, int signal) noexcept {
  namespace own = whywait::threads::detail;
  own::note_signal(WHYWAIT_DETAIL_CALLED(pthread_kill), thread);
  return own::next_pthread_kill.get()(thread, signal);
}

// A call of a system call takes at most six arguments, which the C library passes on whether the caller gave them or not.
WHYWAIT_DETAIL_INTERPOSED long syscall(long number, ...) noexcept {
  namespace own = whywait::threads::detail;
  __builtin_va_list list;
  __builtin_va_start(list, number);
  long given[6];
  for (long& each : given) each = __builtin_va_arg(list, long);
  __builtin_va_end(list);
  const auto call = [&] { return own::next_syscall.get()(number, given[0], given[1], given[2], given[3], given[4], given[5]); };
  if (number != SYS_futex || whywait::threads::recorder() == nullptr || own::passes_on) return call();
  const auto* const word = reinterpret_cast<const void*>(given[0]);
  const own::futex_use use = own::use_of_futex(given[1]);
  if (use == own::futex_use::waits) return own::wait_on_futex(WHYWAIT_DETAIL_CALLED(futex_wait), word, call);
  if (use == own::futex_use::wakes) own::note_futex_wake(WHYWAIT_DETAIL_CALLED(futex_wake), word);
  return call();
}

}  // extern "C"

#undef WHYWAIT_DETAIL_INTERPOSED
#undef WHYWAIT_DETAIL_CALLED
#undef WHYWAIT_DETAIL_VALUE_WAIT
#undef WHYWAIT_DETAIL_VALUE_WAKE

#endif

#undef WHYWAIT_OUTSIDE_CALLS
#undef WHYWAIT_SLEEP_CALLS
#undef WHYWAIT_SIGNAL_CALLS
#undef WHYWAIT_DETAIL_NOT_INTERPOSED

#endif
