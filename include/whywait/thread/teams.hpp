#ifndef WHYWAIT_THREAD_TEAMS_HPP
#define WHYWAIT_THREAD_TEAMS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/thread_record.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/thread/look_at_holder.hpp>
#include <whywait/thread/record_events.hpp>
#include <whywait/thread/record_order.hpp>
#include <whywait/thread/slow_calls.hpp>
#include <whywait/thread/sync_call.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

// Teams of OpenMP threads. The runtime calls before and after a thread waits (ompt.hpp), or its functions are wrapped (gomp.hpp); here
// the same records are made of it as of the primitives.
//
// The threads of a team wait inside the runtime from the end of a parallel region to the begin of the next. The wait for the end of
// the region is recorded by the thread that goes on, for all members; the wait for the next one by each thread when it begins.
// Members of a nested team may end, or serve another team, before the thread goes on that began the region. It must not write for
// them: they are idle from their own end of the region.

/// A frame for calls whose caller is known by its address only: nothing is read from it.
__attribute__((visibility("hidden"))) inline const uintptr_t no_frame[2] = {0, 0};

inline sync_site team_site(core::mpi_call call, const void* address) noexcept { return {call, address, no_frame}; }

/// Tasks that a thread may wait for: the children of a task, those of a task group or of a loop.
struct task_set {
  uint64_t ended;  ///< name of the record of the last task that ended while a thread waited
  uint64_t iterations;  ///< of a loop: that have not ended
  task_set* outer;  ///< group around a group
  uint32_t waits;  ///< threads that wait
  uint32_t users;  ///< tasks that have not ended, and the owner; 0: unused
};

/// A parallel region while it runs.
struct team {
  static constexpr uint32_t most_members = 256;  ///< of larger teams nothing is recorded
  struct member {
    record::location* at;  ///< null: not recorded, or by the member alone
    uint64_t ended;  ///< when it came to the end of the region
    task_set children;
    uint32_t last;  ///< it was the last to come to the end
  };
  uint32_t members;
  uint32_t arrived;  ///< arrivals at barriers of the region, of all members together
  uint64_t forked;  ///< name of the record of its begin
  uint64_t causes[2];  ///< of the last member at a barrier, by phase
  const void* address;  ///< where the region begins
  team* outer;  ///< around a nested one
  uint32_t outer_number;
  task_set *outer_children, *outer_group;  ///< of the task that began the region
  uint32_t outer_lost_groups;
  uint32_t tasks;  ///< that have not ended
  uint32_t left;  ///< barriers that a member has left
  uint32_t task_waits;  ///< threads in taskwait and at the end of task groups
  uint32_t busy;  ///< of all that wait: threads that run tasks meanwhile
  member all[most_members];

  bool counts() const noexcept {
    const uint32_t n = __atomic_load_n(&members, __ATOMIC_RELAXED);
    return n > 1 && n <= most_members;
  }
};

/// What a thread does in its team.
struct team_thread {
  team* current;
  uint32_t number;  ///< of the thread in `current`
  uint32_t phase;  ///< of the barrier at which it waits
  uint64_t begun;  ///< when that wait began; 0: it does not wait
  task_set* waiting;  ///< the tasks for which it waits (ompt.hpp)
  uint64_t wanted;  ///< when the thread wanted a lock; 0: it wants none
  bool looked;  ///< at its holder
  const void* place;  ///< where it waits
  task_set *children, *group;  ///< of the task that it runs
  uint32_t lost_groups;  ///< in `group`, of which too many were open
  uint64_t created, created_at;  ///< name and time of the last record of a task that it created
};

/// Zeroed at the start of a thread.
__attribute__((visibility("hidden"))) inline team_thread& this_thread_in_team() noexcept {
  static thread_local team_thread here = {};
  return here;
}

namespace detail {

// Teams that ended, for the next regions of any thread.
constexpr uint32_t most_free_teams = 64;
__attribute__((visibility("hidden"))) inline team* free_teams[most_free_teams];

inline uint32_t first_place() noexcept {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&this_thread_in_team()) >> 12);  // differs by thread
}
inline team* take_team() noexcept {
  for (uint32_t i = 0, first = first_place(); i != most_free_teams; ++i) {
    team*& place = free_teams[(first + i) % most_free_teams];
    if (__atomic_load_n(&place, __ATOMIC_RELAXED) == nullptr) continue;
    if (team* const t = __atomic_exchange_n(&place, static_cast<team*>(nullptr), __ATOMIC_ACQUIRE)) return t;
  }
  return static_cast<team*>(core::map_pages(sizeof(team), true));
}
inline void give_team(team* t) noexcept {
  for (uint32_t i = 0, first = first_place(); i != most_free_teams; ++i) {
    team* none = nullptr;
    if (__atomic_compare_exchange_n(&free_teams[(first + i) % most_free_teams], &none, t, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED))
      return;
  }
  core::unmap_pages(t, sizeof(team));
}

}  // namespace detail

/// The calling thread begins a parallel region. Null: nothing is recorded.
inline team* fork(const void* address) noexcept {
  if (recorder() == nullptr) return nullptr;
  team_thread& here = this_thread_in_team();
  team* const t = detail::take_team();
  if (t == nullptr) return nullptr;
  const uint32_t used = t->members < team::most_members ? t->members : team::most_members;
  for (uint32_t i = 0; i < used; ++i) t->all[i] = {};
  t->members = t->arrived = 0;
  t->forked = t->causes[0] = t->causes[1] = 0;
  t->address = address;
  t->outer = here.current;
  t->outer_number = here.number;
  t->outer_children = here.children;
  t->outer_group = here.group;
  t->outer_lost_groups = here.lost_groups;
  t->tasks = t->left = t->task_waits = t->busy = 0;
  if (orders_data()) detail::order(team_site(core::mpi_call::omp_parallel, address), &t->forked, core::data_flag::releases, 0);
  detail::event_at(team_site(core::mpi_call::omp_parallel, address), t, -1, -1, &t->forked);
  return t;
}

namespace detail {

inline void set_idle(record::location& at, const void* address, uint64_t since) noexcept {
  record::open_call& open = at.calls->open;
  open.address = address;
  open.begin = since;
  open.call = core::mpi_call::omp_idle;
  open.peer = open.tag = -1;
  open.comm = 0;
  __atomic_store_n(&open.frame, static_cast<const void*>(no_frame), __ATOMIC_RELEASE);
}

/// Stores the wait that `call` has begun, up to `now`; `always`: also a short one. Returns whether it left a record.
inline bool store_wait(sync_call& call, uint64_t now, const void* object, int32_t phase, int32_t members, uint64_t cause,
                       bool always = false) noexcept {
  if (!call.end_at(now, always)) return false;
  core::sync_record* const r = call.store_wait(0);
  if (r == nullptr) return false;
  r->bytes = reinterpret_cast<uintptr_t>(object);
  r->tag = phase;
  r->peer = members;
  if (core::record_name::unpack(cause).location != call.where().index) call.set_cause(r, cause);
  call.finish(r);
  return true;
}

}  // namespace detail

namespace detail {

__attribute__((noinline, cold)) inline void warn_of_large_team() noexcept {
  static bool warned = false;
  if (core::registry* const registry = core::the_registry())
    __atomic_store_n(&registry->interposed.large_teams, 1u, __ATOMIC_RELAXED);
  if (!__atomic_exchange_n(&warned, true, __ATOMIC_RELAXED))
    core::warn("OpenMP teams of more than 256 threads are not observed; waits in their regions count as work");
}

/// Records the begin of a member other than the first, or the end of its wait for the region.
inline void begin_part(team* t) noexcept {
  record::location* const at = record::this_location();
  if (at == nullptr) return;
  record::thread_facts* const facts = at->calls;
  if (facts == nullptr || facts->open.frame != no_frame) {
    detail::begin_thread(team_site(core::mpi_call::thread_begin, t->address), t->forked);
    return;
  }
  const uint64_t since = facts->open.begin;
  facts->open.frame = nullptr;
  const sync_site site = team_site(core::mpi_call::omp_idle, facts->open.address);
  sync_call call(site);
  if (!call) return;
  call.begin_after_wait(since);
  const uint64_t now = core::cycle_clock::now();
  if (detail::store_wait(call, now, t, -1, -1, t->forked, call.parts_code()) || !facts->counter.is_due(now)) return;
  if (const record::run_facts* const run = record::run_of(*core::the_registry()))
    record::end_counted_call(*at, *facts, *run, now);
}

/// The first member, which began the region, comes to its part. What the runtime took to create threads is not its code's; a runtime that
/// has its threads takes microseconds, which leave no record.
inline void end_fork(team* t) noexcept {
  record::location* const at = record::this_location();
  const uint64_t records = at != nullptr ? at->syncs.size() : 0;
  if (records == 0 || at->syncs[records - 1].call != core::mpi_call::omp_parallel) return;
  const uint64_t forked = at->syncs[records - 1].begin, now = core::cycle_clock::now();
  const record::run_facts* const run = record::run_of(*core::the_registry());
  if (run == nullptr || now - forked < 1024 * __atomic_load_n(&run->least_ticks, __ATOMIC_RELAXED)) return;
  const sync_site site = team_site(core::mpi_call::omp_parallel, t->address);
  sync_call call(site);
  if (!call) return;
  call.begin_at(forked);
  if (!call.end_at(now)) return;
  if (core::sync_record* const r = call.store_wait(0)) call.finish(r);
}

/// Reads the counters of the calling thread at `now`, while it surely runs: another thread may store the record of its wait.
inline void read_own_counter(uint64_t now) noexcept {
  const core::registry* const registry = core::the_registry();
  record::run_facts* const run = registry != nullptr ? record::run_of(*registry) : nullptr;
  record::location* const at = run != nullptr ? record::this_location() : nullptr;
  if (at == nullptr || at->calls == nullptr) return;
  if (at->calls->counter.is_due(now)) sync_call::read_counter(*at, *at->calls, *run, now);
}

}  // namespace detail

/// The calling thread begins its part of a region, as one of `members`.
inline void begin_member(team* t, uint32_t number, uint32_t members) noexcept {
  team_thread& here = this_thread_in_team();
  here.current = t;
  here.number = number;
  here.begun = 0;
  here.children = here.group = nullptr;
  here.lost_groups = 0;
  if (t == nullptr) return;
  if (number < team::most_members) {
    here.children = &t->all[number].children;
    here.children->users = 1;
  }
  __atomic_store_n(&t->members, members, __ATOMIC_RELAXED);
  if (members > team::most_members && number == 0) detail::warn_of_large_team();
  if (!t->counts() || recorder() == nullptr) return;
  if (number == 0) return detail::end_fork(t);
  detail::begin_part(t);
  if (orders_data())
    detail::order(team_site(core::mpi_call::omp_parallel, t->address), &t->forked, core::data_flag::acquires, 0);
}

/// The calling thread is the one of its team that runs the code of `single`. About 50 ns.
inline void begin_single(const sync_site& site) noexcept {
  const team* const t = this_thread_in_team().current;
  if (t != nullptr && t->counts()) detail::event_at(site, t, -1, -1, nullptr);
}

/// The calling thread comes to a barrier of its team. Returns whether it waits; then it calls `leave_barrier`.
inline bool come_to_barrier(const sync_site& site) noexcept {
  team_thread& here = this_thread_in_team();
  team* const t = here.current;
  here.begun = 0;
  if (t == nullptr || !t->counts()) return false;
  const uint64_t now = core::cycle_clock::now();  // what the thread loses its processor for behind that is not its code's
  detail::read_own_counter(now);
  const uint32_t n = __atomic_fetch_add(&t->arrived, 1u, __ATOMIC_ACQ_REL), members = t->members;
  here.phase = n / members;
  here.place = site.address;
  if (orders_data()) {
    // The next access of a member that is not the first comes behind the begin of another region.
    const bool stays = here.number == 0 || site.call != core::mpi_call::omp_parallel_end;
    detail::order(site, t,
                  core::data_flag::everyone | core::data_flag::releases | (stays ? unsigned{core::data_flag::acquires} : 0u),
                  here.phase);
  }
  if (n % members == members - 1) {
    detail::last_member(site, t, here.phase, members, &t->causes[here.phase & 1]);
    if (__atomic_load_n(&t->tasks, __ATOMIC_RELAXED) == 0) {
      __atomic_store_n(&t->left, here.phase + 1, __ATOMIC_RELAXED);
      return false;
    }
  }
  here.begun = now;
  return true;
}
inline void leave_barrier(const sync_site& site) noexcept {
  team_thread& here = this_thread_in_team();
  team* const t = here.current;
  if (here.begun == 0 || t == nullptr) return;
  __atomic_store_n(&t->left, here.phase + 1, __ATOMIC_RELAXED);
  sync_call call(site);
  if (call) {
    call.begin_at(here.begun);
    detail::store_wait(call, core::cycle_clock::now(), t, static_cast<int32_t>(here.phase & 0x7fffffffu),
                       static_cast<int32_t>(t->members), __atomic_load_n(&t->causes[here.phase & 1], __ATOMIC_ACQUIRE));
  }
  here.begun = 0;
}

/// A member other than the first comes to the end of the region. It runs no code of the program until the next one.
inline void end_member() noexcept {
  team_thread& here = this_thread_in_team();
  team* const t = here.current;
  here.current = nullptr;
  if (t == nullptr || !t->counts() || here.number >= t->members || recorder() == nullptr) return;
  record::location* const at = record::this_location();
  if (at == nullptr || at->calls == nullptr) return;
  here.current = t;
  const uint64_t came = core::cycle_clock::now();
  const bool waits = come_to_barrier(team_site(core::mpi_call::omp_parallel_end, t->address));
  here.current = nullptr;
  const uint64_t ended = waits ? here.begun : came;
  here.begun = 0;
  if (t->outer != nullptr) return detail::set_idle(*at, t->address, ended);
  team::member& m = t->all[here.number];
  m.last = waits ? 0 : 1;
  m.ended = ended;
  __atomic_store_n(&m.at, at, __ATOMIC_RELEASE);
}

/// The first member, which began the region, goes on after it: all members have arrived. It has called come_to_barrier at the end.
inline void join(team* t) noexcept {
  if (t == nullptr) return;
  team_thread& here = this_thread_in_team();
  const sync_site site = team_site(core::mpi_call::omp_parallel_end, t->address);
  if (t->counts()) {
    here.current = t;
    leave_barrier(site);
    const uint64_t now = core::cycle_clock::now();
    const uint32_t phase = t->arrived != 0 ? (t->arrived - 1) / t->members : 0;
    for (uint32_t i = 1; i < t->members; ++i) {
      team::member& m = t->all[i];
      record::location* const at = __atomic_load_n(&m.at, __ATOMIC_ACQUIRE);
      if (at == nullptr || at->calls == nullptr) continue;
      bool stored = false;
      if (m.last == 0) {
        sync_call call(site, at);
        if (call) {
          call.begin_at(m.ended);
          stored = detail::store_wait(call, now, t, static_cast<int32_t>(phase & 0x7fffffffu), static_cast<int32_t>(t->members),
                                      t->causes[phase & 1]);
        }
      }
      detail::set_idle(*at, t->address, stored ? now : m.ended);
    }
  }
  here.current = t->outer;
  here.number = t->outer_number;
  here.children = t->outer_children;
  here.group = t->outer_group;
  here.lost_groups = t->outer_lost_groups;
  here.begun = 0;
  detail::give_team(t);
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
