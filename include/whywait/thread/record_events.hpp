#ifndef WHYWAIT_THREAD_RECORD_EVENTS_HPP
#define WHYWAIT_THREAD_RECORD_EVENTS_HPP

#include <whywait/core/thread_record.hpp>
#include <whywait/thread/record_locks.hpp>
#include <whywait/thread/slow_calls.hpp>
#include <whywait/thread/sync_call.hpp>
#include <whywait/thread/watches.hpp>

#include <stdint.h>
#include <sys/stat.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

/// A wait for one event whose record `cause` names afterwards.
inline int await_at(const sync_site& site, const void* object, int32_t phase, int32_t members, const uint64_t* cause,
                    blocking_part block) {
  sync_call call(site);
  if (!call) return block.run(block.self);
  call.begin();
  call.show_wait();
  const int result = block.run(block.self);
  if (!call.end()) return result;
  core::sync_record* const r = call.store_wait(result == 0 ? 0u : unsigned{core::thread_flag::timed_out});
  if (r == nullptr) return result;
  r->bytes = reinterpret_cast<uintptr_t>(object);
  r->tag = phase;
  r->peer = members;
  if (result == 0 && cause != nullptr) call.set_cause(r, __atomic_load_n(cause, __ATOMIC_ACQUIRE));
  call.finish(r);
  return result;
}
inline int await(const sync_site& site, const void* object, const uint64_t* cause, blocking_part block) {
  return await_at(site, object, -1, -1, cause, block);
}
/// Code that reads a file does so while others use the processor, or copies pages that are in memory: no thread can hasten it.
__attribute__((noinline, cold)) inline bool is_file(int descriptor) noexcept {
  struct stat about;
  return fstat(descriptor, &about) == 0 && (S_ISREG(about.st_mode) || S_ISBLK(about.st_mode) || S_ISDIR(about.st_mode));
}
/// A call of less than eight times the least wait (8 us) did not wait: a thread that sleeps in the kernel takes about that long to
/// come back, and copying data or a look at what is ready is work of the code around it.
inline int await_outside(const sync_site& site, int descriptor, blocking_part block) {
  sync_call call(site);
  if (!call) return block.run(block.self);
  call.begin();
  if (descriptor != only_counted) call.show_wait();
  const int result = block.run(block.self);
  const uint64_t now = core::cycle_clock::now();
  if (descriptor == only_counted) {
    call.count(now);
    return result;
  }
  if (now < call.begun() + 8 * call.least_ticks() || (descriptor >= 0 && is_file(descriptor))) {
    call.withdraw();
    return result;
  }
  if (!call.end_at(now)) return result;
  if (core::sync_record* const r = call.store_wait(0)) call.finish(r);
  return result;
}
inline int await_members(const sync_site& site, const void* object, uint32_t phase, uint32_t members, const uint64_t* cause,
                         blocking_part block) {
  return await_at(site, object, static_cast<int32_t>(phase & 0x7fffffffu), static_cast<int32_t>(members & 0x7fffffffu), cause,
                  block);
}

/// `last`: the name of the last event, which this one replaces; null: no thread waits for it.
inline void event_at(const sync_site& site, const void* object, int32_t phase, int32_t members, uint64_t* last) noexcept {
  sync_call call(site);
  uint64_t name = 0;
  core::sync_record* r = nullptr;
  if (call) {
    call.begin();
    name = call.next_name();
    r = call.store_event(0);
  }
  const uint64_t before = last != nullptr ? __atomic_exchange_n(last, r != nullptr ? name : 0, __ATOMIC_ACQ_REL) : 0;
  if (r == nullptr) return;
  r->bytes = reinterpret_cast<uintptr_t>(object);
  r->tag = phase;
  r->peer = members;
  call.set_cause(r, before);
  call.finish(r);
}
inline void event(const sync_site& site, const void* object, uint64_t* last) noexcept { event_at(site, object, -1, -1, last); }
inline void last_member(const sync_site& site, const void* object, uint32_t phase, uint32_t members, uint64_t* last) noexcept {
  event_at(site, object, static_cast<int32_t>(phase & 0x7fffffffu), static_cast<int32_t>(members & 0x7fffffffu), last);
}

/// A thread inside wait of a condition variable. It counts as a waiter of the lock once it was notified.
class counted_condition {
 public:
  counted_condition(condition_watch& watch, lock_watch& lock) noexcept : watch_(watch), lock_(lock) {
    __atomic_store_n(&watch_.lock, &lock, __ATOMIC_RELAXED);
    __atomic_fetch_add(&watch_.waiting, 1u, __ATOMIC_SEQ_CST);
  }
  ~counted_condition() {
    __atomic_fetch_sub(&watch_.waiting, 1u, __ATOMIC_RELAXED);
    uint32_t credits = get(watch_.credits);
    while (credits != 0)
      if (__atomic_compare_exchange_n(&watch_.credits, &credits, credits - 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_fetch_sub(&lock_.waiters, 1u, __ATOMIC_RELAXED);
        return;
      }
  }
  counted_condition(const counted_condition&) = delete;
  counted_condition& operator=(const counted_condition&) = delete;

 private:
  condition_watch& watch_;
  lock_watch& lock_;
};

/// `mutex`: is given up; null: no thread waits for it.
inline int await_notify(const sync_site& site, condition_watch& watch, lock_watch& lock, const void* object, const void* mutex,
                        bool again, blocking_part block) {
  sync_call call(site);
  if (!call) {
    const counted_condition waits(watch, lock);
    return block.run(block.self);
  }
  call.begin();
  if (mutex != nullptr && get(lock.waiters) != 0) {
    examined_release examined(call, lock, false);
    examined.finish(mutex, core::mpi_call::mutex_unlock);
  }
  call.show_wait();
  int result = 0;
  {
    const counted_condition waits(watch, lock);
    result = block.run(block.self);
  }
  const bool recorded = call.end();
  is_held_here(lock);
  if (!recorded) return result;
  const uint64_t cause = get(lock.last);
  set(lock.taken, call.next_index() + 1);
  core::sync_record* const r = call.store_wait((result == 0 ? 0u : unsigned{core::thread_flag::timed_out}) |
                                               (again ? unsigned{core::thread_flag::in_vain} : 0u));
  if (r == nullptr) return result;
  r->bytes = reinterpret_cast<uintptr_t>(object);
  call.set_cause(r, cause);
  call.finish(r);
  return result;
}

inline void notify(const sync_site& site, condition_watch& watch, const void* object, bool all) noexcept {
  sync_call call(site);
  if (!call) return;
  const uint64_t now = call.begin();
  const uint32_t waiting = get(watch.waiting);
  set(watch.woken, all ? waiting : 1u);
  uint32_t credits = get(watch.credits), more = 0;
  do {
    const uint32_t open = waiting > credits ? waiting - credits : 0;
    more = all || open == 0 ? open : 1;
  } while (more != 0 &&
           !__atomic_compare_exchange_n(&watch.credits, &credits, credits + more, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  lock_watch* const lock = get(watch.lock);
  if (more != 0 && lock != nullptr) examine_next(*lock, now, __atomic_fetch_add(&lock->waiters, more, __ATOMIC_RELAXED) == 0);
  core::sync_record* const r = call.store_event(0);
  if (r == nullptr) return;
  r->bytes = reinterpret_cast<uintptr_t>(object);
  r->peer = static_cast<int32_t>(waiting & 0x7fffffffu);
  call.finish(r);
}

inline void missed_notification(const void* object) noexcept {
  record::location* const at = record::this_location();
  if (at == nullptr || at->syncs.size() == 0) return;
  core::sync_record& last = at->syncs[at->syncs.size() - 1];
  if (last.bytes != reinterpret_cast<uintptr_t>(object) || core::role_of(last.call) != core::call_role::thread_wait) return;
  __atomic_store_n(&last.flags, static_cast<uint16_t>(last.flags | core::thread_flag::missed), __ATOMIC_RELAXED);
}

inline void begin_thread(const sync_site& site, uint64_t creator) noexcept {
  sync_call call(site);
  if (!call) return;
  call.begin_counting();
  call.begin();
  core::sync_record* const r = call.store_event(0);
  if (r == nullptr) return;
  call.set_cause(r, creator);
  call.finish(r);
}
inline void end_thread(const sync_site& site, uint64_t* ended) noexcept { event(site, nullptr, ended); }

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
