#ifndef WHYWAIT_THREAD_INTERPOSED_LIBRARIES_HPP
#define WHYWAIT_THREAD_INTERPOSED_LIBRARIES_HPP

#include <whywait/thread/interposed_events.hpp>
#include <whywait/thread/interposed_outside.hpp>
#include <whywait/thread/next_function.hpp>

#include <stdint.h>

#if defined(WHYWAIT_DISABLE) || defined(__SANITIZE_THREAD__)
#define WHYWAIT_DETAIL_NOT_INTERPOSED
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define WHYWAIT_DETAIL_NOT_INTERPOSED
#endif
#endif

#ifndef WHYWAIT_DETAIL_NOT_INTERPOSED

// A part of <whywait/pthread.hpp>, which undefines that macro: fcntl, and static variables of functions.

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

__attribute__((visibility("hidden"))) inline next_function<int(int, int, ...)> next_fcntl("fcntl");
__attribute__((visibility("hidden"))) inline next_function<int(int, int, ...)> next_fcntl64("fcntl64");
__attribute__((visibility("hidden"))) inline next_function<int(void*)> next_guard_acquire("__cxa_guard_acquire");
__attribute__((visibility("hidden"))) inline next_function<void(void*)> next_guard_release("__cxa_guard_release");

// Signal handlers may call fcntl; there functions must not be looked up.
__attribute__((visibility("hidden"))) inline const bool finds_fcntl = [] {
  next_fcntl.look_up();
  next_fcntl64.look_up();
  return true;
}();

// Variables of functions that are static: one thread initialises them, and others wait for it. The compiler calls these functions only
// before that has happened. In the libraries of GNU and LLVM the first byte of a guard is set afterwards, the second one meanwhile.

/// Returns what the library does: 1 if the calling thread initialises the variable.
template <class Next>
int acquire_guard(const sync_site& site, void* guard, Next next) {
  const auto* const bytes = static_cast<const unsigned char*>(guard);
  const bool waits = __atomic_load_n(&bytes[0], __ATOMIC_ACQUIRE) == 0 && __atomic_load_n(&bytes[1], __ATOMIC_RELAXED) != 0;
  if (!waits || recorder() == nullptr || passes_on) return next(guard);
  interposed_call call(site);
  event_watch* const watch = call ? interposed.events.find_or_add(key_of(guard, object_kind::word)) : nullptr;
  if (watch == nullptr) return next(guard);
  int result = 0;
  uint64_t cause = 0;
  auto block = [&] {
    const semaphore_waiter others(*watch);
    result = next(guard);
    cause = __atomic_load_n(&watch->causes[0], __ATOMIC_ACQUIRE);
    return 0;
  };
  call->await(site, guard, &cause, as_part(block));
  return result;
}

/// The variable was initialised; the library wakes the others afterwards.
inline void note_initialised(const sync_site& site, const void* guard) noexcept {
  event_watch* const watch = interposed.events.find(key_of(guard, object_kind::word));
  if (watch == nullptr || __atomic_load_n(&watch->waiters, __ATOMIC_SEQ_CST) == 0) return;
  interposed_call call(site);
  if (call) call->event(site, guard, &watch->causes[0]);
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

// Undefined at the end of <whywait/pthread.hpp>.
#define WHYWAIT_DETAIL_CALLED(what) \
  ::whywait::threads::sync_site { ::whywait::core::mpi_call::what, __builtin_return_address(0), __builtin_frame_address(0) }
#define WHYWAIT_DETAIL_INTERPOSED __attribute__((weak, visibility("default"), noinline))

extern "C" {

// What a command takes is one word, which the C library passes on whether the caller gave it or not.
#define WHYWAIT_DETAIL_FCNTL(name)                                                                                      \
  WHYWAIT_DETAIL_INTERPOSED int whywait_outside_##name(int descriptor, int command, ...) __asm__(#name);                \
  WHYWAIT_DETAIL_INTERPOSED int whywait_outside_##name(int descriptor, int command, ...) {                              \
    namespace own = whywait::threads::detail;                                                                           \
    __builtin_va_list list;                                                                                             \
    __builtin_va_start(list, command);                                                                                  \
    void* const argument = __builtin_va_arg(list, void*);                                                               \
    __builtin_va_end(list);                                                                                             \
    return own::control_file(WHYWAIT_DETAIL_CALLED(fcntl_lock), own::next_##name.get(), descriptor, command, argument); \
  }
WHYWAIT_DETAIL_FCNTL(fcntl)
WHYWAIT_DETAIL_FCNTL(fcntl64)
#undef WHYWAIT_DETAIL_FCNTL

WHYWAIT_DETAIL_INTERPOSED int whywait_guard_acquire(void* guard) __asm__("__cxa_guard_acquire");
WHYWAIT_DETAIL_INTERPOSED int whywait_guard_acquire(void* guard) {
  namespace own = whywait::threads::detail;
  return own::acquire_guard(WHYWAIT_DETAIL_CALLED(static_initialisation), guard,
                            [](void* of) { return own::next_guard_acquire.get()(of); });
}
WHYWAIT_DETAIL_INTERPOSED void whywait_guard_release(void* guard) noexcept __asm__("__cxa_guard_release");
WHYWAIT_DETAIL_INTERPOSED void whywait_guard_release(void* guard) noexcept {
  namespace own = whywait::threads::detail;
  own::note_initialised(WHYWAIT_DETAIL_CALLED(static_initialised), guard);
  own::next_guard_release.get()(guard);
}
// With a static C++ library this brings the functions of that into the program, in place of the two above.
void whywait_guard_abort(void*) __asm__("__cxa_guard_abort");
__attribute__((weak, visibility("hidden"), used)) void (*whywait_library_of_guards)(void*) = &whywait_guard_abort;

}  // extern "C"

#endif  // WHYWAIT_DETAIL_NOT_INTERPOSED

#endif
