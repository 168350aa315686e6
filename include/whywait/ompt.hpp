#ifndef WHYWAIT_OMPT_HPP
#define WHYWAIT_OMPT_HPP

/// \file
/// OpenMP with LLVM's runtime (libomp), by the tools interface of OpenMP 5: include it in one file of a program that is compiled
/// with `clang++ -fopenmp`, beside <whywait/whywait.hpp> or <whywait/mpi.hpp>:
///
///     #include <whywait/ompt.hpp>
///
/// Waits at the end of parallel regions and worksharing constructs, at barriers, for `critical`, `ordered` and locks, and in
/// `taskwait` and `taskgroup` are explained like those of <whywait/thread.hpp>. Tasks that run while a thread waits are work. Not
/// seen: teams of more than 256 threads, devices. docs/how-to/threads.md.

#include <whywait/core/version.hpp>

#include <whywait/thread/next_function.hpp>
#include <whywait/thread/switched_tasks.hpp>
#include <whywait/thread/team_locks.hpp>
#include <whywait/thread/team_tasks.hpp>
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

// The data of a region is its team. That of an explicit task is its switched_task; an implicit one has none.
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
  task->ptr = nullptr;
  begin_implicit_task(number == 0);
  begin_member(team_of(parallel), number, members);
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
    case ompt_sync_region_barrier_implicit_workshare:
    case ompt_sync_region_barrier_implementation: return mpi_call::omp_for_end;  // of a reduction or copyprivate
    case ompt_sync_region_taskwait:
    case ompt_sync_region_taskgroup: return mpi_call::omp_taskwait;
    case ompt_sync_region_barrier:
    case ompt_sync_region_barrier_explicit: return mpi_call::omp_barrier;
    default: return mpi_call::code;  // not observed
  }
}

inline void wait_for_tasks(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, const void* address) noexcept {
  const team_thread& here = this_thread_in_team();
  if (endpoint != ompt_scope_begin) end_task_wait();
  else if (kind == ompt_sync_region_taskwait) begin_task_wait(address, here.children, true);
  else if (here.lost_groups == 0) begin_task_wait(address, here.group, true);
}
inline void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*, const void*) {
  if (kind != ompt_sync_region_taskgroup) return;
  if (endpoint == ompt_scope_begin) begin_group();
  else end_group();
}

inline void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*,
                             const void* address) {
  mpi_call call = call_of(kind);
  team_thread& here = this_thread_in_team();
  // libomp 16 has one kind for all implicit barriers; that at the end of a region is called from nowhere, or where it began.
  if (kind == ompt_sync_region_barrier_implicit &&
      (address == nullptr || (here.current != nullptr && address == here.current->address)))
    call = mpi_call::omp_parallel_end;
  if (call == mpi_call::code) return;
  const bool begins = endpoint == ompt_scope_begin;
  if (call == mpi_call::omp_taskwait) {
    wait_for_tasks(kind, endpoint, place(address));
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
}

inline void work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*, uint64_t, const void* address) {
  if (kind == ompt_work_single_executor && endpoint == ompt_scope_begin)
    begin_single(team_site(mpi_call::omp_single, place(address)));
}

inline switched_task* kept_of(const ompt_data_t* task) noexcept {
  return task != nullptr ? static_cast<switched_task*>(task->ptr) : nullptr;
}
inline void task_create(ompt_data_t*, const ompt_frame_t*, ompt_data_t* task, int flags, int depends, const void* address) {
  const unsigned kind = static_cast<unsigned>(flags);
  task->ptr = nullptr;
  if ((kind & ompt_task_taskwait) != 0)  // a taskwait with dependences is a task without code
    begin_task_wait(place(address), this_thread_in_team().children, false);
  else if ((kind & ompt_task_explicit) != 0)
    task->ptr = create_switched_task(place(address), depends != 0 || (kind & ompt_task_undeferred) != 0);
}
inline void task_schedule(ompt_data_t* prior, ompt_task_status_t status, ompt_data_t* next) {
  task_end how = task_end::none;
  switch (status) {
    case ompt_taskwait_complete: return end_task_wait();
    case ompt_task_early_fulfill: return;  // the task goes on
    case ompt_task_late_fulfill:
      if (switched_task* const ended = kept_of(prior)) detail::forget_task(ended);
      return;
    case ompt_task_detach: how = task_end::detached; break;
    case ompt_task_complete:
    case ompt_task_cancel: how = task_end::whole; break;
    default: break;
  }
  switched_task* to = kept_of(next);
  switch_task(kept_of(prior), how, to);
  if (next != nullptr) next->ptr = to;
}

inline bool is_lock(ompt_mutex_t kind, mpi_call& take, mpi_call& release) noexcept {
  switch (kind) {
    case ompt_mutex_critical: take = mpi_call::omp_critical, release = mpi_call::omp_critical_end; return true;
    case ompt_mutex_ordered: take = mpi_call::omp_ordered, release = mpi_call::omp_ordered_end; return true;
    case ompt_mutex_test_lock:
    case ompt_mutex_lock: take = mpi_call::omp_set_lock, release = mpi_call::omp_unset_lock; return true;
    case ompt_mutex_test_nest_lock:
    case ompt_mutex_nest_lock: take = mpi_call::omp_set_nest_lock, release = mpi_call::omp_unset_nest_lock; return true;
    default: return false;  // waits for atomic are short
  }
}

/// Locks of the runtime that the calling thread holds or tries to take. libomp calls the tool once a lock is free again, when another
/// thread may have it already, and calls it for a try as for a wait, but not if the try fails. These functions of the runtime are
/// therefore wrapped; the tool is for programs that call them from a place where the wrappers are not found.
struct own_locks {
  static constexpr uint32_t most_sections = 16;
  team_lock* sections[most_sections];  ///< critical and ordered ones, the innermost one last
  uint32_t inside;  ///< how many sections
  bool leaves;  ///< inside a wrapper of a release
  bool recorded;  ///< which has recorded it
  const void* tries;  ///< where the thread tries to take a lock
};
__attribute__((visibility("hidden"))) inline own_locks& locks_of_thread() noexcept {
  static thread_local own_locks own = {};
  return own;
}
inline bool is_section(ompt_mutex_t kind) noexcept { return kind == ompt_mutex_critical || kind == ompt_mutex_ordered; }

/// Wrappers: `real` is the runtime's function.
template <class Function>
int try_lock(const void* address, void* lock, Function* real) noexcept {
  own_locks& own = locks_of_thread();
  own.tries = address;
  const int taken = real(lock);
  own.tries = nullptr;
  return taken;
}
template <class Call>
void release(const sync_site& site, team_lock* lock, Call real) noexcept {
  own_locks& own = locks_of_thread();
  if (lock != nullptr) give_up_lock(site, lock);
  own.leaves = true;
  own.recorded = lock != nullptr;
  real();
  own.leaves = own.recorded = false;
}
template <class Call>
void leave_section(const sync_site& site, Call real) noexcept {
  own_locks& own = locks_of_thread();
  team_lock* lock = nullptr;
  if (own.inside != 0 && --own.inside < own_locks::most_sections) lock = own.sections[own.inside];
  release(site, lock, real);
}

inline void mutex_acquire(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t name, const void*) {
  mpi_call take, release;
  if (is_lock(kind, take, release) && locks_of_thread().tries == nullptr) want_lock(lock_named(name));
}
inline void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t name, const void* address) {
  mpi_call take, release;
  if (!is_lock(kind, take, release)) return;
  own_locks& own = locks_of_thread();
  team_lock* const lock = lock_named(name);
  if (own.tries != nullptr) have_free_lock(team_site(take, own.tries), lock);
  else have_lock(team_site(take, place(address)), lock);
  if (lock != nullptr) lock->depth = 1;
  if (!is_section(kind)) return;
  if (own.inside < own_locks::most_sections) own.sections[own.inside] = lock;
  ++own.inside;
}
/// The calling thread takes or gives up a nested lock that it holds before and after that.
inline void nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t name, const void*) {
  team_lock* const lock = lock_named(name);
  if (lock == nullptr) return;
  if (endpoint == ompt_scope_begin) {
    want_no_lock(lock);
    ++lock->depth;
  } else {
    --lock->depth;
  }
}
inline void mutex_released(ompt_mutex_t kind, ompt_wait_id_t name, const void* address) {
  mpi_call take, release;
  own_locks& own = locks_of_thread();
  if (own.recorded || !is_lock(kind, take, release)) return;
  if (is_section(kind) && !own.leaves && own.inside != 0) --own.inside;
  give_up_lock(team_site(release, place(address)), lock_named(name));
}

inline int initialize(ompt_function_lookup_t lookup, int, ompt_data_t*) {
  const auto set = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  make_room_for_tasks();
  const struct {
    ompt_callbacks_t event;
    ompt_callback_t call;
  } all[] = {{ompt_callback_parallel_begin, reinterpret_cast<ompt_callback_t>(&parallel_begin)},
             {ompt_callback_parallel_end, reinterpret_cast<ompt_callback_t>(&parallel_end)},
             {ompt_callback_implicit_task, reinterpret_cast<ompt_callback_t>(&implicit_task)},
             {ompt_callback_sync_region, reinterpret_cast<ompt_callback_t>(&sync_region)},
             {ompt_callback_sync_region_wait, reinterpret_cast<ompt_callback_t>(&sync_region_wait)},
             {ompt_callback_work, reinterpret_cast<ompt_callback_t>(&work)},
             {ompt_callback_task_create, reinterpret_cast<ompt_callback_t>(&task_create)},
             {ompt_callback_task_schedule, reinterpret_cast<ompt_callback_t>(&task_schedule)},
             {ompt_callback_mutex_acquire, reinterpret_cast<ompt_callback_t>(&mutex_acquire)},
             {ompt_callback_mutex_acquired, reinterpret_cast<ompt_callback_t>(&mutex_acquired)},
             {ompt_callback_nest_lock, reinterpret_cast<ompt_callback_t>(&nest_lock)},
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

// Other names in C++: omp.h declares these functions for its own types.
#define WHYWAIT_DETAIL_OMPT(result, name, parameters)                                                                     \
  extern "C" __attribute__((weak, noinline, visibility("default"))) result whywait_ompt_##name parameters __asm__(#name); \
  extern "C" __attribute__((weak, noinline, visibility("default"))) result whywait_ompt_##name parameters
#define WHYWAIT_DETAIL_OMPT_REAL(name) static ::whywait::threads::next_function<decltype(whywait_ompt_##name)> next(#name)
#define WHYWAIT_DETAIL_OMPT_SITE(what) \
  ::whywait::threads::team_site(::whywait::core::mpi_call::what, __builtin_return_address(0))

WHYWAIT_DETAIL_OMPT(int, omp_test_lock, (void* lock)) {
  WHYWAIT_DETAIL_OMPT_REAL(omp_test_lock);
  return ::whywait::threads::ompt::try_lock(__builtin_return_address(0), lock, next.get());
}
WHYWAIT_DETAIL_OMPT(int, omp_test_nest_lock, (void* lock)) {
  WHYWAIT_DETAIL_OMPT_REAL(omp_test_nest_lock);
  return ::whywait::threads::ompt::try_lock(__builtin_return_address(0), lock, next.get());
}
WHYWAIT_DETAIL_OMPT(void, omp_unset_lock, (void* lock)) {
  WHYWAIT_DETAIL_OMPT_REAL(omp_unset_lock);
  ::whywait::threads::ompt::release(WHYWAIT_DETAIL_OMPT_SITE(omp_unset_lock),
                                    ::whywait::threads::lock_named(reinterpret_cast<uintptr_t>(lock)),
                                    [&] { next.get()(lock); });
}
WHYWAIT_DETAIL_OMPT(void, omp_unset_nest_lock, (void* lock)) {
  WHYWAIT_DETAIL_OMPT_REAL(omp_unset_nest_lock);
  ::whywait::threads::team_lock* const known = ::whywait::threads::lock_named(reinterpret_cast<uintptr_t>(lock));
  ::whywait::threads::ompt::release(WHYWAIT_DETAIL_OMPT_SITE(omp_unset_nest_lock),
                                    known != nullptr && known->depth == 1 ? known : nullptr, [&] { next.get()(lock); });
}
WHYWAIT_DETAIL_OMPT(void, __kmpc_end_critical, (void* at, int thread, void* name)) {
  WHYWAIT_DETAIL_OMPT_REAL(__kmpc_end_critical);
  ::whywait::threads::ompt::leave_section(WHYWAIT_DETAIL_OMPT_SITE(omp_critical_end), [&] { next.get()(at, thread, name); });
}
WHYWAIT_DETAIL_OMPT(void, __kmpc_end_ordered, (void* at, int thread)) {
  WHYWAIT_DETAIL_OMPT_REAL(__kmpc_end_ordered);
  ::whywait::threads::ompt::leave_section(WHYWAIT_DETAIL_OMPT_SITE(omp_ordered_end), [&] { next.get()(at, thread); });
}
#undef WHYWAIT_DETAIL_OMPT_SITE
#undef WHYWAIT_DETAIL_OMPT_REAL
#undef WHYWAIT_DETAIL_OMPT

#endif  // WHYWAIT_DISABLE

#endif
