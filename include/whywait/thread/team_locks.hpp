#ifndef WHYWAIT_THREAD_TEAM_LOCKS_HPP
#define WHYWAIT_THREAD_TEAM_LOCKS_HPP

#include <whywait/core/thread_record.hpp>
#include <whywait/thread/observed_lock.hpp>
#include <whywait/thread/record_locks.hpp>
#include <whywait/thread/record_order.hpp>
#include <whywait/thread/teams.hpp>
#include <whywait/thread/watches.hpp>

#include <stddef.h>
#include <stdint.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// A lock of the runtime: a critical section, the order of a loop. It is observed before and after it is taken, because whether
/// it is free cannot be asked.
struct team_lock {
  uint64_t name;  ///< 0: unused
  uint32_t held;
  uint32_t depth;  ///< how often its holder has taken a nested lock
  lock_watch watch;
};

namespace detail {

constexpr uint32_t most_team_locks = 1024;
constexpr uint64_t most_ticks_if_free = 2000;  ///< that taking a free lock needs: about 1 us
__attribute__((visibility("hidden"))) inline team_lock team_locks[most_team_locks];

/// What the calling thread saw of the holder when it began to wait.
__attribute__((visibility("hidden"))) inline holder_view& seen_holder() noexcept {
  static thread_local unsigned char here alignas(holder_view)[sizeof(holder_view)];  // no constructor
  return *reinterpret_cast<holder_view*>(here);
}

}  // namespace detail

/// The lock with this name. Null: there are too many.
inline team_lock* lock_named(uint64_t name) noexcept {
  uint32_t at = static_cast<uint32_t>((name * 0x9e3779b97f4a7c15u) >> 54);
  for (int tries = 0; tries != 16; ++tries, at = (at + 1) % detail::most_team_locks) {
    team_lock& lock = detail::team_locks[at];
    uint64_t known = __atomic_load_n(&lock.name, __ATOMIC_RELAXED);
    if (known == 0 && __atomic_compare_exchange_n(&lock.name, &known, name, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return &lock;
    if (known == name) return &lock;
  }
  return nullptr;
}

/// The calling thread wants the lock. About 30 ns if it is free.
inline void want_lock(team_lock* lock) noexcept {
  if (lock == nullptr || recorder() == nullptr) return;
  team_thread& here = this_thread_in_team();
  lock_watch& watch = lock->watch;
  const bool first = __atomic_fetch_add(&watch.waiters, 1u, __ATOMIC_SEQ_CST) == 0;
  here.looked = __atomic_load_n(&lock->held, __ATOMIC_ACQUIRE) != 0;
  here.wanted = core::cycle_clock::now();
  if (here.looked) new (&detail::seen_holder()) holder_view();
  if (here.looked) detail::seen_holder().look(watch, here.wanted);
  detail::examine_next(watch, here.wanted, first);
}

/// It has taken it. `site`: the call that did.
inline void have_lock(const sync_site& site, team_lock* lock) noexcept {
  team_thread& here = this_thread_in_team();
  if (lock == nullptr || here.wanted == 0) return;
  lock_watch& watch = lock->watch;
  const uint64_t begun = here.wanted;
  here.wanted = 0;
  // A runtime may report a release after the next thread has the lock.
  for (int spins = 0; __atomic_load_n(&lock->held, __ATOMIC_ACQUIRE) != 0 && spins != 10000; ++spins) __asm__ volatile("");
  __atomic_store_n(&lock->held, 1u, __ATOMIC_RELAXED);
  if (orders_data()) detail::order(site, lock, core::data_flag::acquires, 0);
  const uint32_t waiters = __atomic_fetch_sub(&watch.waiters, 1u, __ATOMIC_RELAXED);
  detail::is_held_here(watch);
  const uint64_t now = core::cycle_clock::now();
  if (!here.looked && now - begun < detail::most_ticks_if_free) {  // it was free
    if (waiters > 1) detail::took(site, watch, lock);
    return;
  }
  sync_call call(site);
  if (!call) return;
  call.begin_at(begun);
  if (!call.end_at(now)) return;
  const uint64_t cause = detail::get(watch.last);
  detail::set(watch.taken, call.next_index() + 1);
  if (here.looked) detail::seen_holder().keep(call);
  core::sync_record* const r = call.store_wait(0);
  if (r == nullptr) return;
  r->bytes = reinterpret_cast<uintptr_t>(lock);
  call.set_cause(r, cause);
  call.finish(r);
}

/// It holds the lock that it wanted already.
inline void want_no_lock(team_lock* lock) noexcept {
  team_thread& here = this_thread_in_team();
  if (lock == nullptr || here.wanted == 0) return;
  here.wanted = 0;
  __atomic_fetch_sub(&lock->watch.waiters, 1u, __ATOMIC_RELAXED);
}

/// It took the lock, which it had not waited for.
inline void have_free_lock(const sync_site& site, team_lock* lock) noexcept {
  if (lock == nullptr || recorder() == nullptr) return;
  for (int spins = 0; __atomic_load_n(&lock->held, __ATOMIC_ACQUIRE) != 0 && spins != 10000; ++spins) __asm__ volatile("");
  __atomic_store_n(&lock->held, 1u, __ATOMIC_RELAXED);
  if (orders_data()) detail::order(site, lock, core::data_flag::acquires, 0);
  detail::is_held_here(lock->watch);
  if (detail::get(lock->watch.waiters) != 0) detail::took(site, lock->watch, lock);
}

/// The calling thread took a nested lock, which it holds `depth` times now, and did not wait.
inline void have_nested(const sync_site& site, void* of, int depth) noexcept {
  team_lock* const lock = lock_named(reinterpret_cast<uintptr_t>(of));
  if (lock == nullptr) return;
  lock->depth = static_cast<uint32_t>(depth);
  if (depth == 1) have_free_lock(site, lock);
}

/// It gives the lock up, or has just done so.
inline void give_up_lock(const sync_site& site, team_lock* lock) noexcept {
  if (lock == nullptr) return;
  if (orders_data()) detail::order(site, lock, core::data_flag::releases, 0);
  if (recorder() == nullptr || !release_is_examined(lock->watch)) {
    __atomic_store_n(&lock->held, 0u, __ATOMIC_RELEASE);
    return;
  }
  sync_call call(site);
  if (!call) {
    __atomic_store_n(&lock->held, 0u, __ATOMIC_RELEASE);
    return;
  }
  call.begin();
  detail::examined_release examined(call, lock->watch, false);
  __atomic_store_n(&lock->held, 0u, __ATOMIC_RELEASE);
  examined.finish(lock, site.call);
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
