#ifndef WHYWAIT_THREAD_TEAM_TASKS_HPP
#define WHYWAIT_THREAD_TEAM_TASKS_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/thread_record.hpp>
#include <whywait/record/location.hpp>
#include <whywait/thread/record_events.hpp>
#include <whywait/thread/sync_call.hpp>
#include <whywait/thread/teams.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

// Tasks of OpenMP whose functions are wrapped (gomp.hpp). A wait for tasks is ended by the last task of a set. A thread that waits
// may run tasks meanwhile: its wait ends when such a task begins, because of the thread that created the task, and goes on behind it.

namespace detail {

constexpr uint32_t wait_for_all = 1, wait_for_some = 2;  ///< task_set::waits
constexpr uint32_t most_task_sets = 2048;
__attribute__((visibility("hidden"))) inline task_set task_sets[most_task_sets];

/// Null: there are too many.
inline task_set* take_task_set() noexcept {
  static thread_local uint32_t next = first_place();
  for (int tries = 0; tries != 32; ++tries) {
    task_set& set = task_sets[next++ % most_task_sets];
    uint32_t none = 0;
    if (__atomic_load_n(&set.users, __ATOMIC_RELAXED) != 0 ||
        !__atomic_compare_exchange_n(&set.users, &none, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    set.ended = set.iterations = 0;
    set.outer = nullptr;
    set.waits = 0;
    return &set;
  }
  return nullptr;
}
inline void enter(task_set* set) noexcept {
  if (set != nullptr) __atomic_fetch_add(&set->users, 1u, __ATOMIC_RELAXED);
}
/// Without its last user the set may be taken again.
inline void leave(task_set* set) noexcept {
  if (set != nullptr) __atomic_fetch_sub(&set->users, 1u, __ATOMIC_RELEASE);
}

/// How many members are in a barrier of the team.
inline uint32_t in_barrier(const team& t) noexcept {
  const uint32_t n = __atomic_load_n(&t.arrived, __ATOMIC_RELAXED), members = t.members, some = n % members;
  return some != 0 || n == 0 || __atomic_load_n(&t.left, __ATOMIC_RELAXED) == n / members ? some : members;
}

/// A wait of the calling thread since `here.begun`. `ends`: it goes on behind it.
inline void store_task_wait(team_thread& here, const void* object, uint64_t cause, bool ends) noexcept {
  const sync_site site = team_site(core::mpi_call::omp_taskwait, here.place);
  sync_call call(site);
  if (!call) return;
  call.begin_at(here.begun);
  store_wait(call, core::cycle_clock::now(), object, -1, -1, cause, ends && call.parts_code());
}
/// No task is left when the calling thread waits for some at `now`.
inline void part_code_at_tasks(const sync_site& site, const void* object, uint64_t now) noexcept {
  sync_call call(site);
  if (!call) return;
  call.begin_at(now);
  if (call.parts_code()) store_wait(call, now, object, -1, -1, 0, true);
}

}  // namespace detail

/// One task, from its creation to its end. Part of its arguments: the runtime copies it.
struct team_task {
  team* of;  ///< null: not observed
  task_set *parent, *group;  ///< to which it belongs; null: there were too many
  task_set* loop;  ///< of which it is a part
  uint64_t created;  ///< name of the record of that; 0: none
  const void* address;  ///< where
  bool at_once;  ///< its creator waits for what it depends on, and runs it
  bool uncounted;  ///< its end is not observed: it is detached, or there were too many
};

/// The calling thread creates a task. About 20 ns; with threads that wait for tasks, a record per 20 us. `depends`: it may not run yet.
inline team_task create_task(const void* address, bool depends, bool detached) noexcept {
  team_thread& here = this_thread_in_team();
  team* const t = here.current;
  if (t == nullptr || !t->counts() || recorder() == nullptr) return {};
  detail::enter(here.children);
  detail::enter(here.group);
  __atomic_fetch_add(&t->tasks, 1u, __ATOMIC_RELAXED);
  team_task task{t, here.children, here.group, nullptr, 0, address, false, detached};
  const uint32_t waiting = detail::in_barrier(*t) + __atomic_load_n(&t->task_waits, __ATOMIC_RELAXED);
  if (depends || waiting <= __atomic_load_n(&t->busy, __ATOMIC_RELAXED)) return task;
  const uint64_t now = core::cycle_clock::now();
  const core::registry* const registry = core::the_registry();
  const record::run_facts* const run = registry != nullptr ? record::run_of(*registry) : nullptr;
  if (run == nullptr) return task;
  if (here.created == 0 || now - here.created_at > 20 * __atomic_load_n(&run->least_ticks, __ATOMIC_RELAXED)) {
    here.created = 0;
    here.created_at = now;
    detail::event_at(team_site(core::mpi_call::omp_task, address), t, -1, -1, &here.created);
  }
  task.created = here.created;
  return task;
}

/// What a thread did before it ran a task.
struct before_task {
  team_thread was;
  record::location* ended;  ///< its location, if it had come to the end of the region
  bool waited;
};

/// The calling thread begins to run the task.
inline before_task begin_task(const team_task& task) noexcept {
  team_thread& here = this_thread_in_team();
  before_task before{here, nullptr, false};
  team* const t = task.of;
  if (here.current == nullptr && here.number != 0 && here.number < t->members) {  // see end_member
    record::location* const at = record::this_location();
    team::member& m = t->all[here.number];
    if (at != nullptr && at->calls != nullptr) {
      before.ended = at;
      here.begun = t->outer != nullptr ? at->calls->open.begin : m.ended;
      here.place = t->address;
      if (t->outer != nullptr) at->calls->open.frame = nullptr;
      __atomic_store_n(&m.at, static_cast<record::location*>(nullptr), __ATOMIC_RELAXED);
    }
  }
  if (here.begun != 0) {
    before.waited = true;
    __atomic_fetch_add(&t->busy, 1u, __ATOMIC_RELAXED);
    const bool own = task.at_once && task.parent != nullptr;
    detail::store_task_wait(here, own ? static_cast<const void*>(task.parent) : t, own ? task.parent->ended : task.created,
                            false);
  }
  here.current = t;
  here.begun = here.wanted = 0;
  here.children = detail::take_task_set();
  here.group = task.group;
  here.lost_groups = 0;
  return before;
}

namespace detail {

/// A task of the set has ended. Only the last one ends a wait for all. A set that a thread waits for remains until then.
inline void end_in(task_set* set, const sync_site& site) noexcept {
  if (set == nullptr) return;
  const uint32_t waits = __atomic_load_n(&set->waits, __ATOMIC_SEQ_CST);
  if (waits == wait_for_some) event_at(site, set, -1, -1, &set->ended);
  if (__atomic_sub_fetch(&set->users, 1u, __ATOMIC_ACQ_REL) == 1 && waits == wait_for_all)
    event_at(site, set, -1, -1, &set->ended);
}

}  // namespace detail

/// It has run the task. `iterations`: of the loop whose part the task is.
inline void end_task(const team_task& task, const before_task& before, uint64_t iterations) noexcept {
  team_thread& here = this_thread_in_team();
  team* const t = task.of;
  detail::leave(here.children);
  const bool whole = task.loop == nullptr || __atomic_sub_fetch(&task.loop->iterations, iterations, __ATOMIC_ACQ_REL) == 0;
  if (whole && !task.uncounted) {
    const sync_site site = team_site(core::mpi_call::omp_task_end, task.address);
    detail::end_in(task.parent, site);
    detail::end_in(task.group, site);
    if (__atomic_sub_fetch(&t->tasks, 1u, __ATOMIC_ACQ_REL) == 0 && detail::in_barrier(*t) == t->members)
      detail::event_at(site, t, -1, -1, &t->causes[(__atomic_load_n(&t->arrived, __ATOMIC_RELAXED) / t->members - 1) & 1]);
    detail::leave(task.loop);
  }
  const uint64_t created = here.created, created_at = here.created_at;
  here = before.was;
  here.created = created;
  here.created_at = created_at;
  if (before.waited) {
    __atomic_fetch_sub(&t->busy, 1u, __ATOMIC_RELAXED);
    here.begun = core::cycle_clock::now();
  }
  if (before.ended == nullptr) return;
  team::member& m = t->all[here.number];
  m.ended = core::cycle_clock::now();
  m.last = 0;
  here.begun = 0;
  if (t->outer != nullptr) return detail::set_idle(*before.ended, t->address, m.ended);
  __atomic_store_n(&m.at, before.ended, __ATOMIC_RELEASE);
}

/// The calling thread waits for tasks of the set, all or some of them. Returns whether it calls `have_tasks` behind the wait.
inline bool want_tasks(const sync_site& site, task_set* set, bool all = true) noexcept {
  team_thread& here = this_thread_in_team();
  team* const t = here.current;
  if (set == nullptr || t == nullptr || !t->counts()) return false;
  const uint64_t now = core::cycle_clock::now();
  if (__atomic_load_n(&set->users, __ATOMIC_RELAXED) < 2) {
    detail::part_code_at_tasks(team_site(core::mpi_call::omp_taskwait, site.address), set, now);
    return false;
  }
  __atomic_store_n(&set->ended, uint64_t(0), __ATOMIC_RELAXED);
  __atomic_store_n(&set->waits, all ? detail::wait_for_all : detail::wait_for_some, __ATOMIC_SEQ_CST);
  __atomic_fetch_add(&t->task_waits, 1u, __ATOMIC_RELAXED);
  here.place = site.address;
  here.begun = now;
  return true;
}
inline void have_tasks(task_set* set) noexcept {
  team_thread& here = this_thread_in_team();
  __atomic_fetch_sub(&here.current->task_waits, 1u, __ATOMIC_RELAXED);
  __atomic_store_n(&set->waits, 0u, __ATOMIC_RELAXED);
  if (here.begun != 0) detail::store_task_wait(here, set, __atomic_load_n(&set->ended, __ATOMIC_ACQUIRE), true);
  here.begun = 0;
}

/// A task group of the calling thread begins or ends.
inline void begin_group() noexcept {
  team_thread& here = this_thread_in_team();
  if (here.current == nullptr) return;
  task_set* const group = detail::take_task_set();
  if (group == nullptr) {
    ++here.lost_groups;
    return;
  }
  group->outer = here.group;
  here.group = group;
}
inline void end_group() noexcept {
  team_thread& here = this_thread_in_team();
  if (here.current == nullptr) return;
  if (here.lost_groups != 0) --here.lost_groups;
  else if (task_set* const group = here.group) {
    here.group = group->outer;
    detail::leave(group);
  }
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
