#ifndef WHYWAIT_THREAD_INTERPOSED_C11_HPP
#define WHYWAIT_THREAD_INTERPOSED_C11_HPP

#include <whywait/thread/interposed_events.hpp>
#include <whywait/thread/interposed_libraries.hpp>
#include <whywait/thread/interposed_locks.hpp>
#include <whywait/thread/next_function.hpp>

#include <errno.h>
#include <pthread.h>
#include <time.h>

#ifndef WHYWAIT_DETAIL_NOT_INTERPOSED

// A part of <whywait/pthread.hpp>: the threads of C11. The C library of GNU has them as pthreads of the same layout, and calls its
// pthread functions itself. <threads.h> is not included, because its names are those of other libraries as well.

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

using c11_routine = int(void*);
__attribute__((visibility("hidden"))) inline next_function<int(pthread_mutex_t*)> next_mtx_lock("mtx_lock");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_mutex_t*)> next_mtx_trylock("mtx_trylock");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_mutex_t*, const timespec*)> next_mtx_timedlock(
    "mtx_timedlock");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_cond_t*, pthread_mutex_t*)> next_cnd_wait("cnd_wait");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)>
    next_cnd_timedwait("cnd_timedwait");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_cond_t*)> next_cnd_signal("cnd_signal");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_cond_t*)> next_cnd_broadcast("cnd_broadcast");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_t*, c11_routine*, void*)> next_thrd_create(
    "thrd_create");
__attribute__((visibility("hidden"))) inline next_function<int(pthread_t, int*)> next_thrd_join("thrd_join");

/// Takes a mutex at once, or waits with `block`, which returns what <threads.h> defines: 0 for success.
template <class Block>
__attribute__((always_inline)) inline int take_mtx(const sync_site& site, pthread_mutex_t* m, Block block) noexcept {
  count_call();
  int code = next_mtx_trylock.get()(m);
  if (__builtin_expect(code != 0, 0)) code = wait_for_mutex(site, m, block);
  return orders_data() ? order_taken(site, m, code) : code;
}
/// The result of a function of <threads.h>.
inline int c11_result(int error) noexcept {
  constexpr int failed = 2;  // thrd_error
  return error == 0 ? 0 : failed;
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

// Other names in C++, because a program may include <threads.h>.
#define WHYWAIT_DETAIL_C11(name, parameters)                                                 \
  __attribute__((weak, visibility("default"))) int whywait_##name parameters __asm__(#name); \
  WHYWAIT_DETAIL_INTERPOSED int whywait_##name parameters

extern "C" {

WHYWAIT_DETAIL_C11(mtx_lock, (pthread_mutex_t * m)) {
  namespace own = whywait::threads::detail;
  return own::take_mtx(WHYWAIT_DETAIL_CALLED(mtx_lock), m, [m] { return own::next_mtx_lock.get()(m); });
}
WHYWAIT_DETAIL_C11(mtx_timedlock, (pthread_mutex_t * m, const timespec* until)) {
  namespace own = whywait::threads::detail;
  return own::take_mtx(WHYWAIT_DETAIL_CALLED(mtx_timedlock), m, [&] { return own::next_mtx_timedlock.get()(m, until); });
}
WHYWAIT_DETAIL_C11(mtx_trylock, (pthread_mutex_t * m)) {
  namespace own = whywait::threads::detail;
  own::count_call();
  const int code = own::next_mtx_trylock.get()(m);
  return whywait::threads::orders_data() ? own::order_taken(WHYWAIT_DETAIL_CALLED(mtx_lock), m, code) : code;
}
WHYWAIT_DETAIL_C11(mtx_unlock, (pthread_mutex_t * m)) {
  namespace own = whywait::threads::detail;
  if (whywait::threads::orders_data()) return own::c11_result(own::give_up_in_order(WHYWAIT_DETAIL_CALLED(mtx_unlock), m));
  if (__builtin_expect(own::state_of(m) <= 1, 1)) return own::c11_result(own::next_mutex_unlock.get()(m));
  return own::c11_result(own::give_up_mutex(WHYWAIT_DETAIL_CALLED(mtx_unlock), m));
}

WHYWAIT_DETAIL_C11(cnd_wait, (pthread_cond_t * c, pthread_mutex_t* m)) {
  namespace own = whywait::threads::detail;
  return own::wait_for_notification(WHYWAIT_DETAIL_CALLED(cnd_wait), c, m, [&] { return own::next_cnd_wait.get()(c, m); });
}
WHYWAIT_DETAIL_C11(cnd_timedwait, (pthread_cond_t * c, pthread_mutex_t* m, const timespec* until)) {
  namespace own = whywait::threads::detail;
  return own::wait_for_notification(WHYWAIT_DETAIL_CALLED(cnd_timedwait), c, m,
                                    [&] { return own::next_cnd_timedwait.get()(c, m, until); });
}
WHYWAIT_DETAIL_C11(cnd_signal, (pthread_cond_t * c)) {
  namespace own = whywait::threads::detail;
  own::note_notification(WHYWAIT_DETAIL_CALLED(cnd_signal), c, false);
  return own::next_cnd_signal.get()(c);
}
WHYWAIT_DETAIL_C11(cnd_broadcast, (pthread_cond_t * c)) {
  namespace own = whywait::threads::detail;
  own::note_notification(WHYWAIT_DETAIL_CALLED(cnd_broadcast), c, true);
  return own::next_cnd_broadcast.get()(c);
}

// The C library calls the routine of such a thread as a function that returns an int, and those of other threads as one that returns a
// pointer. The processors that it supports return both in one register, of which it takes the part of an int.
WHYWAIT_DETAIL_C11(thrd_create, (pthread_t * thread, int (*routine)(void*), void* argument)) {
  namespace own = whywait::threads::detail;
  using any = void (*)();
  const auto create = [&](void* (*run)(void*), void* with) {
    return own::next_thrd_create.get()(thread, reinterpret_cast<own::c11_routine*>(reinterpret_cast<any>(run)), with);
  };
  return own::create_thread(WHYWAIT_DETAIL_CALLED(thrd_create),
                            reinterpret_cast<void* (*)(void*)>(reinterpret_cast<any>(routine)), argument, create);
}
WHYWAIT_DETAIL_C11(thrd_join, (pthread_t thread, int* result)) {
  namespace own = whywait::threads::detail;
  return own::join_thread(WHYWAIT_DETAIL_CALLED(thrd_join), thread, [&] { return own::next_thrd_join.get()(thread, result); });
}

}  // extern "C"

#undef WHYWAIT_DETAIL_C11

#endif  // WHYWAIT_DETAIL_NOT_INTERPOSED

#endif
