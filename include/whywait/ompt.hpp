#ifndef WHYWAIT_OMPT_HPP
#define WHYWAIT_OMPT_HPP

/// \file
/// OpenMP with LLVM's runtime (libomp), by the tools interface of OpenMP 5: include it in one file of a program that is compiled
/// with `clang++ -fopenmp`, beside <whywait/whywait.hpp> or <whywait/mpi.hpp>:
///
///     #include <whywait/ompt.hpp>
///
/// Waits at the end of parallel regions and worksharing constructs, at barriers, for `critical`, `ordered` and locks, and in
/// `taskwait` and `taskgroup` are explained like those of <whywait/thread.hpp>. Not seen: teams of more than 256 threads, devices.
/// docs/how-to/threads.md.

#include <whywait/core/version.hpp>

#include <whywait/thread/team_locks.hpp>
#include <whywait/thread/teams.hpp>

#if defined(__has_include)
#if !__has_include(<omp-tools.h>)
#error "whywait/ompt.hpp needs omp-tools.h of LLVM's OpenMP runtime (Debian: libomp-16-dev) and clang"
#endif
#endif
#include <omp-tools.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace ompt {

using core::mpi_call;

// A task's data is the member of the team to which it belongs.
inline team* team_of(ompt_data_t* parallel) noexcept {
  return parallel != nullptr ? static_cast<team*>(parallel->ptr) : nullptr;
}

inline void parallel_begin(ompt_data_t*, const ompt_frame_t*, ompt_data_t* parallel, unsigned, int, const void* address) {
  parallel->ptr = fork(address);
}
inline void parallel_end(ompt_data_t* parallel, ompt_data_t*, int, const void*) {
  join(team_of(parallel));
  parallel->ptr = nullptr;
}
inline void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel, ompt_data_t* task, unsigned members,
                          unsigned number, int flags) {
  if (endpoint != ompt_scope_begin || (static_cast<unsigned>(flags) & ompt_task_initial) != 0) return;
  team* const t = team_of(parallel);
  begin_member(t, number, members);
  task->ptr = t != nullptr && number < team::most_members ? &t->all[number] : nullptr;
}

inline const void* place(const void* address) noexcept {
  if (address != nullptr) return address;
  const team* const t = this_thread_in_team().current;
  return t != nullptr ? t->address : nullptr;
}

inline mpi_call call_of(ompt_sync_region_t kind) noexcept {
  switch (kind) {
    case ompt_sync_region_barrier_implicit_parallel: return mpi_call::omp_parallel_end;
    case ompt_sync_region_barrier_implicit:
    case ompt_sync_region_barrier_implicit_workshare: return mpi_call::omp_for_end;
    case ompt_sync_region_taskwait:
    case ompt_sync_region_taskgroup: return mpi_call::omp_taskwait;
    case ompt_sync_region_barrier:
    case ompt_sync_region_barrier_explicit: return mpi_call::omp_barrier;
    default: return mpi_call::code;  // not observed
  }
}

inline void wait_for_tasks(ompt_scope_endpoint_t endpoint, ompt_data_t* task, const void* address) noexcept {
  team_thread& here = this_thread_in_team();
  team::member* const m = task != nullptr ? static_cast<team::member*>(task->ptr) : nullptr;
  if (m == nullptr) return;
  if (endpoint == ompt_scope_begin) {
    __atomic_fetch_add(&m->children.waits, 1u, __ATOMIC_SEQ_CST);
    here.begun = core::cycle_clock::now();
    return;
  }
  __atomic_fetch_sub(&m->children.waits, 1u, __ATOMIC_RELAXED);
  if (here.begun == 0) return;
  const sync_site site = team_site(mpi_call::omp_taskwait, address);
  sync_call call(site);
  if (call) {
    call.begin_at(here.begun);
    detail::store_wait(call, core::cycle_clock::now(), m, -1, -1, __atomic_load_n(&m->children.ended, __ATOMIC_ACQUIRE));
  }
  here.begun = 0;
}

inline void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t* task,
                             const void* address) {
  mpi_call call = call_of(kind);
  team_thread& here = this_thread_in_team();
  // libomp 16 has one kind for all implicit barriers; that at the end of a region is called from nowhere, or where it began.
  if (kind == ompt_sync_region_barrier_implicit &&
      (address == nullptr || (here.current != nullptr && address == here.current->address)))
    call = mpi_call::omp_parallel_end;
  if (call == mpi_call::code) return;
  const bool begins = endpoint == ompt_scope_begin;
  if (begins) here.waiting = task;
  if (call == mpi_call::omp_taskwait) {
    wait_for_tasks(endpoint, task, place(address));
  } else if (call == mpi_call::omp_parallel_end) {  // for other members than the first the end comes with the next region
    if (begins && here.current != nullptr) {
      if (here.number != 0) end_member();
      else come_to_barrier(team_site(call, here.current->address));
    }
  } else {
    const sync_site site = team_site(call, place(address));
    if (begins) come_to_barrier(site);
    else leave_barrier(site);
  }
  if (!begins) here.waiting = nullptr;
}

inline void task_create(ompt_data_t* parent, const ompt_frame_t*, ompt_data_t* task, int, int, const void*) {
  task->ptr = parent != nullptr ? parent->ptr : nullptr;
}

// A thread that waits may run tasks: the wait is interrupted.
inline void task_schedule(ompt_data_t* prior, ompt_task_status_t status, ompt_data_t* next) {
  team_thread& here = this_thread_in_team();
  if (status == ompt_task_complete && prior != nullptr) {
    team::member* const m = static_cast<team::member*>(prior->ptr);
    if (m != nullptr && __atomic_load_n(&m->children.waits, __ATOMIC_SEQ_CST) != 0)
      detail::event_at(team_site(mpi_call::omp_task_end, place(nullptr)), m, -1, -1, &m->children.ended);
  }
  if (here.waiting == nullptr) return;
  if (prior == here.waiting && here.begun != 0) {
    const sync_site site = team_site(mpi_call::omp_taskwait, place(nullptr));
    sync_call call(site);
    if (call) {
      call.begin_at(here.begun);
      detail::store_wait(call, core::cycle_clock::now(), here.waiting, -1, -1, 0);
    }
    here.begun = 0;
  } else if (next == here.waiting) {
    here.begun = core::cycle_clock::now();
  }
}

inline bool is_lock(ompt_mutex_t kind, mpi_call& take, mpi_call& release) noexcept {
  switch (kind) {
    case ompt_mutex_critical: take = mpi_call::omp_critical, release = mpi_call::omp_critical_end; return true;
    case ompt_mutex_ordered: take = mpi_call::omp_ordered, release = mpi_call::omp_ordered_end; return true;
    case ompt_mutex_lock: take = mpi_call::omp_set_lock, release = mpi_call::omp_unset_lock; return true;
    default: return false;  // nested locks may be taken several times by their owner; waits for atomic are short
  }
}
inline void mutex_acquire(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t name, const void*) {
  mpi_call take, release;
  if (is_lock(kind, take, release)) want_lock(lock_named(name));
}
inline void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t name, const void* address) {
  mpi_call take, release;
  if (is_lock(kind, take, release)) have_lock(team_site(take, place(address)), lock_named(name));
}
inline void mutex_released(ompt_mutex_t kind, ompt_wait_id_t name, const void* address) {
  mpi_call take, release;
  if (is_lock(kind, take, release)) give_up_lock(team_site(release, place(address)), lock_named(name));
}

inline int initialize(ompt_function_lookup_t lookup, int, ompt_data_t*) {
  const auto set = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  const struct {
    ompt_callbacks_t event;
    ompt_callback_t call;
  } all[] = {{ompt_callback_parallel_begin, reinterpret_cast<ompt_callback_t>(&parallel_begin)},
             {ompt_callback_parallel_end, reinterpret_cast<ompt_callback_t>(&parallel_end)},
             {ompt_callback_implicit_task, reinterpret_cast<ompt_callback_t>(&implicit_task)},
             {ompt_callback_sync_region_wait, reinterpret_cast<ompt_callback_t>(&sync_region_wait)},
             {ompt_callback_task_create, reinterpret_cast<ompt_callback_t>(&task_create)},
             {ompt_callback_task_schedule, reinterpret_cast<ompt_callback_t>(&task_schedule)},
             {ompt_callback_mutex_acquire, reinterpret_cast<ompt_callback_t>(&mutex_acquire)},
             {ompt_callback_mutex_acquired, reinterpret_cast<ompt_callback_t>(&mutex_acquired)},
             {ompt_callback_mutex_released, reinterpret_cast<ompt_callback_t>(&mutex_released)}};
  for (const auto& one : all) set(one.event, one.call);
  return 1;
}
inline void finalize(ompt_data_t*) {}

}  // namespace ompt
}  // namespace threads
}  // namespace v0
}  // namespace whywait

/// The runtime calls it when it starts.
extern "C" __attribute__((weak, visibility("default"))) ompt_start_tool_result_t* ompt_start_tool(unsigned, const char*) {
  static ompt_start_tool_result_t tool = {&::whywait::threads::ompt::initialize, &::whywait::threads::ompt::finalize, {0}};
  return &tool;
}

#endif  // WHYWAIT_DISABLE

#endif
