#ifndef WHYWAIT_THREAD_GOMP_LOCKS_HPP
#define WHYWAIT_THREAD_GOMP_LOCKS_HPP

#include <whywait/thread/sync_call.hpp>
#include <whywait/thread/team_locks.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace gomp {

// What the lock functions of GCC's OpenMP runtime do, for C and for Fortran, which has functions of its own. `of`: the address of the
// lock, which names it. `next`: the runtime's function. All return what the runtime does, or 0.

inline team_lock* own_lock(void* of) noexcept { return lock_named(reinterpret_cast<uintptr_t>(of)); }

inline int set_lock(const sync_site& site, void* of, void (*next)(void*)) noexcept {
  team_lock* const lock = own_lock(of);
  want_lock(lock);
  next(of);
  have_lock(site, lock);
  return 0;
}
inline int test_lock(const sync_site& site, void* of, int (*next)(void*)) noexcept {
  const int taken = next(of);
  if (taken != 0) have_free_lock(site, own_lock(of));
  return taken;
}
inline int unset_lock(const sync_site& site, void* of, void (*next)(void*)) noexcept {
  give_up_lock(site, own_lock(of));
  next(of);
  return 0;
}
// The runtime decides whether the calling thread holds a nested lock already: a try returns how often it holds the lock then.
inline int test_nest_lock(const sync_site& site, void* of, int (*next)(void*)) noexcept {
  const int depth = next(of);
  if (depth != 0) have_nested(site, of, depth);
  return depth;
}
/// `test`: the runtime's function that tries.
inline void set_nest_lock(const sync_site& site, void* of, void (*next)(void*), int (*test)(void*)) noexcept {
  if (const int depth = test(of)) return have_nested(site, of, depth);
  team_lock* const lock = own_lock(of);
  set_lock(site, of, next);
  if (lock != nullptr) lock->depth = 1;
}
inline int unset_nest_lock(const sync_site& site, void* of, void (*next)(void*)) noexcept {
  team_lock* const lock = own_lock(of);
  if (lock != nullptr && (lock->depth < 2 || --lock->depth == 0)) {
    lock->depth = 0;
    give_up_lock(site, lock);
  }
  next(of);
  return 0;
}

}  // namespace gomp
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
