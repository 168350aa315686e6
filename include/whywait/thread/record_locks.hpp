#ifndef WHYWAIT_THREAD_RECORD_LOCKS_HPP
#define WHYWAIT_THREAD_RECORD_LOCKS_HPP

#include <whywait/core/thread_record.hpp>
#include <whywait/thread/look_at_holder.hpp>
#include <whywait/thread/slow_calls.hpp>
#include <whywait/thread/sync_call.hpp>
#include <whywait/thread/watches.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

// A lock leaves records only while a thread waits for it. The waiting thread records the wait, and where the holder was when it
// began (look_at_holder.hpp). A thread that gives the lock up records that instant; one that takes it at once although others wait
// records that.
// Records name each other through lock_watch::last, so that nothing is matched afterwards.
//
// Holds that are much shorter than a wait must cost nothing: a thread may take and give up a lock thousand times while another
// one wakes up. While holds are short, only as many releases are examined as fit into the shortest wait that is recorded, and
// the record of such a release stands for all since the last (thread_flag::merged).

template <class T>
T get(const T& of) noexcept {
  return __atomic_load_n(&of, __ATOMIC_RELAXED);
}
template <class T, class U>
void set(T& of, U value) noexcept {
  __atomic_store_n(&of, static_cast<T>(value), __ATOMIC_RELAXED);
}

/// This thread took the lock. Threads that wait for it look at what it has recorded.
inline void is_held_here(lock_watch& watch) noexcept {
  __atomic_store_n(&watch.holder, static_cast<const record::path_head*>(record::detail::here()), __ATOMIC_RELEASE);
}

constexpr uint32_t most_turns = 256;

// Readers hold a lock together, so that the lock cannot tell which record took it.
inline bool is_shared(core::mpi_call call) noexcept {
  const core::thread_op op = core::action_of(call).op;
  return op == core::thread_op::take_shared || op == core::thread_op::release_shared;
}

inline uint64_t ticks_since(uint64_t now, uint64_t then) noexcept { return now > then ? now - then : 0; }

/// The waiters of a lock, while one more waits.
class counted_waiter {
 public:
  explicit counted_waiter(lock_watch& watch) noexcept : watch_(watch) {
    __atomic_fetch_add(&watch_.waiters, 1u, __ATOMIC_SEQ_CST);
  }
  ~counted_waiter() {
    if (counts_) leave();
  }
  counted_waiter(const counted_waiter&) = delete;
  counted_waiter& operator=(const counted_waiter&) = delete;
  void leave() noexcept {
    counts_ = false;
    __atomic_fetch_sub(&watch_.waiters, 1u, __ATOMIC_RELAXED);
  }

 private:
  lock_watch& watch_;
  bool counts_ = true;
};

/// The next release is examined: a thread has begun to wait.
inline void examine_next(lock_watch& watch, uint64_t now, bool first) noexcept {
  if (first) set(watch.since, now);
  set(watch.turns_left, 1u);
}

/// What the recorder does where a lock is given up at `call.begun()`: nothing, or a record that `finish` stores afterwards.
class examined_release {
 public:
  examined_release(sync_call& call, lock_watch& watch, bool shared) noexcept : call_(call) {
    const uint64_t now = call.begun(), since = get(watch.since), event = get(watch.event), least = call.least_ticks();
    const uint32_t turns = get(watch.turns);
    const uint64_t elapsed = ticks_since(now, event > since ? event : since);
    if (elapsed < least) {
      const uint64_t passed = elapsed * 256 < least ? least / 256 + 1 : elapsed;
      uint64_t more = (least - elapsed) * (turns + 1) / passed;
      more = more < 1 ? 1 : more > most_turns ? most_turns : more;
      set(watch.turns, turns + more);
      set(watch.turns_left, more);
      return;
    }
    stores_ = true;
    merged_ = turns > 1;
    if (!shared) {
      const uint32_t taken = get(watch.taken);
      const uint64_t index = call.next_index();
      if (taken != 0 && taken - 1 < index && index - (taken - 1) < 0x7fffffff)
        back_ = static_cast<int32_t>(index - (taken - 1));
      set(watch.taken, 0u);
    }
    set(watch.event, now);
    set(watch.turns, 1u);
    set(watch.turns_left, 1u);
    before_ = __atomic_exchange_n(&watch.last, call.next_name(), __ATOMIC_RELAXED);
  }
  /// Stores the record. The lock may be gone.
  void finish(const void* object, core::mpi_call what) noexcept {
    if (!stores_) return;
    core::sync_record* const r = call_.store_event(merged_ ? unsigned{core::thread_flag::merged} : 0u);
    if (r == nullptr) return;
    r->call = what;
    r->bytes = reinterpret_cast<uintptr_t>(object);
    r->peer = back_;
    call_.set_cause(r, before_);
    call_.finish(r);
  }

 private:
  sync_call& call_;
  bool stores_ = false, merged_ = false;
  int32_t back_ = -1;
  uint64_t before_ = 0;
};

inline int take(const sync_site& site, lock_watch& watch, const void* object, blocking_part block) {
  const bool first = get(watch.waiters) == 0;
  counted_waiter waits(watch);
  sync_call call(site);
  if (!call) return block.run(block.self);
  const uint64_t begun = call.begin();
  holder_view holder;
  holder.look(watch, begun);
  examine_next(watch, begun, first);
  call.show_wait();
  const int result = block.run(block.self);
  const bool recorded = call.end();
  waits.leave();
  if (result == 0) is_held_here(watch);
  if (!recorded) return result;
  const uint64_t cause = get(watch.last);
  if (result == 0 && !is_shared(site.call)) set(watch.taken, call.next_index() + 1);
  holder.keep(call);
  core::sync_record* const r = call.store_wait(result == 0 ? 0u : unsigned{core::thread_flag::timed_out});
  if (r == nullptr) return result;
  r->bytes = reinterpret_cast<uintptr_t>(object);
  call.set_cause(r, cause);
  call.finish(r);
  return result;
}

inline void took(const sync_site& site, lock_watch& watch, const void* object) noexcept {
  if (get(watch.turns) > 1) return;  // holds are short
  sync_call call(site);
  if (!call) return;
  call.begin();
  if (!is_shared(site.call)) set(watch.taken, call.next_index() + 1);
  core::sync_record* const r = call.store_event(0);
  if (r == nullptr) return;
  r->bytes = reinterpret_cast<uintptr_t>(object);
  call.finish(r);
}

inline int release(const sync_site& site, lock_watch& watch, const void* object, blocking_part give_up) {
  sync_call call(site);
  if (!call) return give_up.run(give_up.self);
  call.begin();
  examined_release examined(call, watch, is_shared(site.call));
  const int result = give_up.run(give_up.self);
  examined.finish(object, site.call);
  return result;
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
