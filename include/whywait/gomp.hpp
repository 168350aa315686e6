#ifndef WHYWAIT_GOMP_HPP
#define WHYWAIT_GOMP_HPP

/// \file
/// OpenMP with GCC's runtime (libgomp): include it in one file of a program that is compiled with `g++ -fopenmp`, beside
/// <whywait/whywait.hpp> or <whywait/mpi.hpp>:
///
///     #include <whywait/gomp.hpp>
///
/// The calls by which the compiler's code enters the runtime are intercepted in the whole process. Waits at the end of parallel
/// regions, at barriers (also those of loops, `single` and `sections`), for `critical` and `ordered` and for locks (`omp_set_lock`) are explained
/// like those of <whywait/thread.hpp>, and so are those for tasks. docs/how-to/threads.md has what is not seen.

#include <whywait/core/version.hpp>

#include <whywait/core/registry.hpp>
#include <whywait/thread/gomp_locks.hpp>
#include <whywait/thread/gomp_runtime.hpp>
#include <whywait/thread/gomp_tasks.hpp>
#include <whywait/thread/next_function.hpp>
#include <whywait/thread/slow_calls.hpp>
#include <whywait/thread/team_locks.hpp>
#include <whywait/thread/team_tasks.hpp>
#include <whywait/thread/teams.hpp>

#include <stddef.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

extern "C" {
#ifdef WHYWAIT_PRELOADED  // where there is no runtime, nothing calls these functions
__attribute__((weak)) int omp_get_num_threads(void) noexcept;
__attribute__((weak)) int omp_get_thread_num(void) noexcept;
#else
int omp_get_num_threads(void) noexcept;  // not weak, so that the linker keeps the runtime
int omp_get_thread_num(void) noexcept;
#endif
}

namespace whywait {
inline namespace v0 {
namespace threads {
namespace gomp {

// observe.hpp has the same for thread.hpp, which undefines them.
#define WHYWAIT_DETAIL_GOMP_SITE(what) \
  ::whywait::threads::sync_site { ::whywait::core::mpi_call::what, __builtin_return_address(0), __builtin_frame_address(0) }
#define WHYWAIT_DETAIL_GOMP_KEPT __asm__ volatile("")
// The runtime's own function of a name.
#define WHYWAIT_DETAIL_GOMP_REAL(name)                                    \
  ([]() noexcept {                                                        \
    static ::whywait::threads::next_function<decltype(name)> next(#name); \
    return next.get();                                                    \
  }())
// Where the runtime is not observed.
#define WHYWAIT_DETAIL_GOMP_PASS(name, type, arguments)              \
  if (__builtin_expect(!::whywait::threads::gomp::is_observed(), 0)) \
  return ::whywait::threads::gomp::function_of_caller<type>(#name, __builtin_return_address(0)) arguments

/// What the threads of a region run.
struct region {
  void* first;  ///< word of the region's data, where the runtime reads it
  body function;
  void* data;
  team* of;
};

/// Where the code of all regions is called, so that a call site in it is the same on all threads: in `run_member` the compiler may write the
/// call once for thread 0 and once for the others.
__attribute__((noinline, section("whywait_gomp_text"))) inline void call_body(body function, void* data) {
  function(data);
  __asm__ volatile("");  // else the call is a jump
}

// In a section of its own, whose bounds the linker provides.
__attribute__((noinline, section("whywait_gomp_text"))) inline void run_member(void* data) {
  const region& in = *static_cast<const region*>(data);
  const uint32_t number = static_cast<uint32_t>(omp_get_thread_num());
  begin_member(in.of, number, static_cast<uint32_t>(omp_get_num_threads()));
  const void* const outer = region_place;
  region_place = in.of->address;
  call_body(in.function, in.data);
  region_place = outer;
  if (number != 0) end_member();
  else come_to_barrier(team_site(core::mpi_call::omp_parallel_end, in.of->address));
}

/// Where the compiler's code called the runtime. If that was the last it did in a region, the call came back to run_member: then
/// the place is that of the region.
inline sync_site place_of(const sync_site& called) noexcept {
  return is_member_code(called.address) ? team_site(called.call, region_place) : called;
}

/// Runs a parallel region: `call(function, data)` is the runtime's.
template <class Call>
void run_region(const void* address, body function, void* data, Call call, void* first = nullptr) {
  team* const t = fork(address);
  if (t == nullptr) return call(function, data);
  region in{first, function, data, t};
  call(&run_member, static_cast<void*>(&in));
  join(t);
}

/// The program uses a part of OpenMP that is not observed. A team of one thread waits for a device at most. About 5 ns.
inline void note_unobserved(uint32_t part) noexcept {
  core::registry* const registry = core::the_registry();
  if (registry == nullptr || registry->interposed.used(part)) return;
  if (part != core::openmp_part::device && omp_get_num_threads() == 1) return;
  if (part != core::openmp_part::locked_atomic || recent_atomics.are_frequent())
    __atomic_fetch_or(&registry->interposed.openmp, 1u << part, __ATOMIC_RELAXED);
}

/// A named critical section, or the one without name.
inline team_lock* critical(const void* name) noexcept { return lock_named(reinterpret_cast<uintptr_t>(name) | 1); }
__attribute__((visibility("hidden"))) inline const uint64_t unnamed = 0;

}  // namespace gomp
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#define WHYWAIT_DETAIL_GOMP extern "C" __attribute__((weak, noinline, visibility("default")))

// --- Parallel regions
WHYWAIT_DETAIL_GOMP void GOMP_parallel(void (*function)(void*), void* data, unsigned threads, unsigned flags) {
  WHYWAIT_DETAIL_GOMP_PASS(GOMP_parallel, decltype(GOMP_parallel), (function, data, threads, flags));
  auto* const real = WHYWAIT_DETAIL_GOMP_REAL(GOMP_parallel);
  ::whywait::threads::gomp::run_region(__builtin_return_address(0), function, data,
                                       [=](::whywait::threads::gomp::body f, void* d) { real(f, d, threads, flags); });
}
WHYWAIT_DETAIL_GOMP void GOMP_parallel_sections(void (*function)(void*), void* data, unsigned threads, unsigned count,
                                                unsigned flags) {
  WHYWAIT_DETAIL_GOMP_PASS(GOMP_parallel_sections, decltype(GOMP_parallel_sections), (function, data, threads, count, flags));
  auto* const real = WHYWAIT_DETAIL_GOMP_REAL(GOMP_parallel_sections);
  ::whywait::threads::gomp::run_region(__builtin_return_address(0), function, data,
                                       [=](::whywait::threads::gomp::body f, void* d) { real(f, d, threads, count, flags); });
}
// Reductions of tasks: the runtime reads a word of the data, and returns the number of threads.
WHYWAIT_DETAIL_GOMP unsigned GOMP_parallel_reductions(void (*function)(void*), void* data, unsigned threads, unsigned flags) {
  WHYWAIT_DETAIL_GOMP_PASS(GOMP_parallel_reductions, decltype(GOMP_parallel_reductions), (function, data, threads, flags));
  auto* const real = WHYWAIT_DETAIL_GOMP_REAL(GOMP_parallel_reductions);
  unsigned used = 0;
  ::whywait::threads::gomp::run_region(
      __builtin_return_address(0), function, data,
      [&](::whywait::threads::gomp::body f, void* d) { used = real(f, d, threads, flags); }, *static_cast<void**>(data));
  return used;
}
#define WHYWAIT_DETAIL_GOMP_LOOP(name)                                                                                  \
  WHYWAIT_DETAIL_GOMP void name(void (*function)(void*), void* data, unsigned threads, long begin, long end, long step, \
                                long chunk, unsigned flags) {                                                           \
    WHYWAIT_DETAIL_GOMP_PASS(name, decltype(name), (function, data, threads, begin, end, step, chunk, flags));          \
    auto* const real = WHYWAIT_DETAIL_GOMP_REAL(name);                                                                  \
    ::whywait::threads::gomp::run_region(                                                                               \
        __builtin_return_address(0), function, data,                                                                    \
        [=](::whywait::threads::gomp::body f, void* d) { real(f, d, threads, begin, end, step, chunk, flags); });       \
  }
WHYWAIT_DETAIL_GOMP_LOOP(GOMP_parallel_loop_static)
WHYWAIT_DETAIL_GOMP_LOOP(GOMP_parallel_loop_dynamic)
WHYWAIT_DETAIL_GOMP_LOOP(GOMP_parallel_loop_guided)
WHYWAIT_DETAIL_GOMP_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
WHYWAIT_DETAIL_GOMP_LOOP(GOMP_parallel_loop_nonmonotonic_guided)
#undef WHYWAIT_DETAIL_GOMP_LOOP
#define WHYWAIT_DETAIL_GOMP_LOOP(name)                                                                                  \
  WHYWAIT_DETAIL_GOMP void name(void (*function)(void*), void* data, unsigned threads, long begin, long end, long step, \
                                unsigned flags) {                                                                       \
    WHYWAIT_DETAIL_GOMP_PASS(name, decltype(name), (function, data, threads, begin, end, step, flags));                 \
    auto* const real = WHYWAIT_DETAIL_GOMP_REAL(name);                                                                  \
    ::whywait::threads::gomp::run_region(                                                                               \
        __builtin_return_address(0), function, data,                                                                    \
        [=](::whywait::threads::gomp::body f, void* d) { real(f, d, threads, begin, end, step, flags); });              \
  }
WHYWAIT_DETAIL_GOMP_LOOP(GOMP_parallel_loop_runtime)
WHYWAIT_DETAIL_GOMP_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
WHYWAIT_DETAIL_GOMP_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
#undef WHYWAIT_DETAIL_GOMP_LOOP

// --- Barriers
#define WHYWAIT_DETAIL_GOMP_BARRIER(name, what)                                                                    \
  WHYWAIT_DETAIL_GOMP void name(void) {                                                                            \
    WHYWAIT_DETAIL_GOMP_PASS(name, decltype(name), ());                                                            \
    const ::whywait::threads::sync_site site = ::whywait::threads::gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(what)); \
    const bool waits = ::whywait::threads::come_to_barrier(site);                                                  \
    WHYWAIT_DETAIL_GOMP_REAL(name)();                                                                              \
    if (waits) ::whywait::threads::leave_barrier(site);                                                            \
    WHYWAIT_DETAIL_GOMP_KEPT;                                                                                      \
  }
WHYWAIT_DETAIL_GOMP_BARRIER(GOMP_barrier, omp_barrier)
WHYWAIT_DETAIL_GOMP_BARRIER(GOMP_loop_end, omp_for_end)
WHYWAIT_DETAIL_GOMP_BARRIER(GOMP_sections_end, omp_for_end)
#undef WHYWAIT_DETAIL_GOMP_BARRIER

WHYWAIT_DETAIL_GOMP bool GOMP_single_start(void) {
  WHYWAIT_DETAIL_GOMP_PASS(GOMP_single_start, decltype(GOMP_single_start), ());
  const ::whywait::threads::sync_site site = ::whywait::threads::gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(omp_single));
  const bool runs = WHYWAIT_DETAIL_GOMP_REAL(GOMP_single_start)();
  if (runs) ::whywait::threads::begin_single(site);
  WHYWAIT_DETAIL_GOMP_KEPT;
  return runs;
}

// --- Tasks
#define WHYWAIT_DETAIL_GOMP_TASK_WAIT(name, parameters, arguments, all)                                                    \
  WHYWAIT_DETAIL_GOMP void name parameters {                                                                               \
    WHYWAIT_DETAIL_GOMP_PASS(name, decltype(name), arguments);                                                             \
    const ::whywait::threads::sync_site site = ::whywait::threads::gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(omp_taskwait)); \
    ::whywait::threads::task_set* const tasks = ::whywait::threads::this_thread_in_team().children;                        \
    const bool waits = ::whywait::threads::want_tasks(site, tasks, all);                                                   \
    WHYWAIT_DETAIL_GOMP_REAL(name) arguments;                                                                              \
    if (waits) ::whywait::threads::have_tasks(tasks);                                                                      \
    WHYWAIT_DETAIL_GOMP_KEPT;                                                                                              \
  }
WHYWAIT_DETAIL_GOMP_TASK_WAIT(GOMP_taskwait, (void), (), true)
WHYWAIT_DETAIL_GOMP_TASK_WAIT(GOMP_taskwait_depend, (void** on), (on), false)
#undef WHYWAIT_DETAIL_GOMP_TASK_WAIT
WHYWAIT_DETAIL_GOMP void GOMP_taskgroup_start(void) {
  WHYWAIT_DETAIL_GOMP_PASS(GOMP_taskgroup_start, decltype(GOMP_taskgroup_start), ());
  ::whywait::threads::begin_group();
  WHYWAIT_DETAIL_GOMP_REAL(GOMP_taskgroup_start)();
}
WHYWAIT_DETAIL_GOMP void GOMP_taskgroup_end(void) {
  WHYWAIT_DETAIL_GOMP_PASS(GOMP_taskgroup_end, decltype(GOMP_taskgroup_end), ());
  const ::whywait::threads::sync_site site = ::whywait::threads::gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(omp_taskwait));
  ::whywait::threads::team_thread& here = ::whywait::threads::this_thread_in_team();
  ::whywait::threads::task_set* const tasks = here.lost_groups == 0 ? here.group : nullptr;
  const bool waits = ::whywait::threads::want_tasks(site, tasks);
  WHYWAIT_DETAIL_GOMP_REAL(GOMP_taskgroup_end)();
  if (waits) ::whywait::threads::have_tasks(tasks);
  ::whywait::threads::end_group();
  WHYWAIT_DETAIL_GOMP_KEPT;
}
// Code of GCC before 11 passes no `event`; the runtime reads it only if the flags say so.
WHYWAIT_DETAIL_GOMP void GOMP_task(void (*function)(void*), void* data, void (*copy)(void*, void*), long size, long alignment,
                                   bool deferred, unsigned flags, void** on, int priority, void* event) {
  WHYWAIT_DETAIL_GOMP_PASS(GOMP_task, decltype(GOMP_task),
                           (function, data, copy, size, alignment, deferred, flags, on, priority, event));
  namespace gomp = ::whywait::threads::gomp;
  auto* const real = WHYWAIT_DETAIL_GOMP_REAL(GOMP_task);
  const auto call = [=](gomp::body f, void* d, gomp::copier c, long s, long a) {
    real(f, d, c, s, a, deferred, flags, on, priority, event);
  };
  if (function == nullptr || !gomp::observes_task(size, alignment)) return call(function, data, copy, size, alignment);
  const ::whywait::threads::sync_site site = gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(omp_taskwait));
  const bool depends = (flags & gomp::depends) != 0, detached = (flags & gomp::detaches) != 0;
  if (depends && deferred) gomp::note_unobserved(::whywait::core::openmp_part::dependences);
  ::whywait::threads::task_set* const siblings = ::whywait::threads::this_thread_in_team().children;
  const bool waits = !deferred && depends && ::whywait::threads::want_tasks(site, siblings, false);
  ::whywait::threads::team_task task = ::whywait::threads::create_task(site.address, depends || !deferred, detached);
  task.at_once = waits;
  gomp::with_task(task, detached ? 1 : 0, 0, function, data, copy, size, alignment, call);
  if (waits) ::whywait::threads::have_tasks(siblings);
  WHYWAIT_DETAIL_GOMP_KEPT;
}
#define WHYWAIT_DETAIL_GOMP_TASK_LOOP(name, type, upwards)                                                                    \
  WHYWAIT_DETAIL_GOMP void name(void (*function)(void*), void* data, void (*copy)(void*, void*), long size, long alignment,   \
                                unsigned flags, unsigned long tasks, int priority, type begin, type end, type step) {         \
    WHYWAIT_DETAIL_GOMP_PASS(name, decltype(name),                                                                            \
                             (function, data, copy, size, alignment, flags, tasks, priority, begin, end, step));              \
    namespace gomp = ::whywait::threads::gomp;                                                                                \
    auto* const real = WHYWAIT_DETAIL_GOMP_REAL(name);                                                                        \
    gomp::run_task_loop(gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(omp_taskwait)), flags, function, data, copy, size, alignment, \
                        static_cast<uint64_t>(begin), static_cast<uint64_t>(end), static_cast<uint64_t>(step), upwards,       \
                        (upwards) ? begin >= end : begin <= end, [=](gomp::body f, void* d, gomp::copier c, long s, long a) { \
                          real(f, d, c, s, a, flags, tasks, priority, begin, end, step);                                      \
                        });                                                                                                   \
    WHYWAIT_DETAIL_GOMP_KEPT;                                                                                                 \
  }
WHYWAIT_DETAIL_GOMP_TASK_LOOP(GOMP_taskloop, long, step > 0)
WHYWAIT_DETAIL_GOMP_TASK_LOOP(GOMP_taskloop_ull, unsigned long long, (flags & gomp::up) != 0)
#undef WHYWAIT_DETAIL_GOMP_TASK_LOOP

// --- Locks. `key` names the lock.
#define WHYWAIT_DETAIL_GOMP_LOCK(start, end, parameters, arguments, key, what)                                           \
  WHYWAIT_DETAIL_GOMP void start parameters {                                                                            \
    WHYWAIT_DETAIL_GOMP_PASS(start, decltype(start), arguments);                                                         \
    const ::whywait::threads::sync_site site = ::whywait::threads::gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(what));       \
    ::whywait::threads::team_lock* const lock = ::whywait::threads::gomp::critical(key);                                 \
    ::whywait::threads::want_lock(lock);                                                                                 \
    WHYWAIT_DETAIL_GOMP_REAL(start) arguments;                                                                           \
    ::whywait::threads::have_lock(site, lock);                                                                           \
    WHYWAIT_DETAIL_GOMP_KEPT;                                                                                            \
  }                                                                                                                      \
  WHYWAIT_DETAIL_GOMP void end parameters {                                                                              \
    WHYWAIT_DETAIL_GOMP_PASS(end, decltype(end), arguments);                                                             \
    const ::whywait::threads::sync_site site = ::whywait::threads::gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(what##_end)); \
    ::whywait::threads::give_up_lock(site, ::whywait::threads::gomp::critical(key));                                     \
    WHYWAIT_DETAIL_GOMP_REAL(end) arguments;                                                                             \
    WHYWAIT_DETAIL_GOMP_KEPT;                                                                                            \
  }
WHYWAIT_DETAIL_GOMP_LOCK(GOMP_critical_start, GOMP_critical_end, (void), (), &::whywait::threads::gomp::unnamed, omp_critical)
WHYWAIT_DETAIL_GOMP_LOCK(GOMP_critical_name_start, GOMP_critical_name_end, (void** name), (name), name, omp_critical)
WHYWAIT_DETAIL_GOMP_LOCK(GOMP_ordered_start, GOMP_ordered_end, (void), (), ::whywait::threads::this_thread_in_team().current,
                         omp_ordered)
#undef WHYWAIT_DETAIL_GOMP_LOCK

// Locks of the program, named by their address. Other names in C++: omp.h declares these functions for its own type, and the runtime
// has two versions of them. Those of Fortran end with an underscore.
#define WHYWAIT_DETAIL_GOMP_OWN(result, name)                                       \
  WHYWAIT_DETAIL_GOMP result whywait_gomp_##name(void* of) noexcept __asm__(#name); \
  WHYWAIT_DETAIL_GOMP result whywait_gomp_##name(void* of) noexcept
#define WHYWAIT_DETAIL_GOMP_OWN_LOCK(result, name, act, what)                                       \
  WHYWAIT_DETAIL_GOMP_OWN(result, name) {                                                           \
    WHYWAIT_DETAIL_GOMP_PASS(name, result(void*), (of));                                            \
    namespace gomp = ::whywait::threads::gomp;                                                      \
    static ::whywait::threads::next_function<result(void*)> next(#name, "OMP_3.0");                 \
    const int returned = gomp::act(gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(what)), of, next.get()); \
    WHYWAIT_DETAIL_GOMP_KEPT;                                                                       \
    return static_cast<result>(returned);                                                           \
  }
#define WHYWAIT_DETAIL_GOMP_NEST_LOCK(name, try_name)                                                             \
  WHYWAIT_DETAIL_GOMP_OWN(void, name) {                                                                           \
    WHYWAIT_DETAIL_GOMP_PASS(name, void(void*), (of));                                                            \
    namespace gomp = ::whywait::threads::gomp;                                                                    \
    static ::whywait::threads::next_function<void(void*)> next(#name, "OMP_3.0");                                 \
    static ::whywait::threads::next_function<int(void*)> test(#try_name, "OMP_3.0");                              \
    gomp::set_nest_lock(gomp::place_of(WHYWAIT_DETAIL_GOMP_SITE(omp_set_nest_lock)), of, next.get(), test.get()); \
    WHYWAIT_DETAIL_GOMP_KEPT;                                                                                     \
  }
#define WHYWAIT_DETAIL_GOMP_OWN_LOCKS(end)                                                           \
  WHYWAIT_DETAIL_GOMP_OWN_LOCK(void, omp_set_lock##end, set_lock, omp_set_lock)                      \
  WHYWAIT_DETAIL_GOMP_OWN_LOCK(int, omp_test_lock##end, test_lock, omp_set_lock)                     \
  WHYWAIT_DETAIL_GOMP_OWN_LOCK(void, omp_unset_lock##end, unset_lock, omp_unset_lock)                \
  WHYWAIT_DETAIL_GOMP_OWN_LOCK(int, omp_test_nest_lock##end, test_nest_lock, omp_set_nest_lock)      \
  WHYWAIT_DETAIL_GOMP_OWN_LOCK(void, omp_unset_nest_lock##end, unset_nest_lock, omp_unset_nest_lock) \
  WHYWAIT_DETAIL_GOMP_NEST_LOCK(omp_set_nest_lock##end, omp_test_nest_lock##end)
WHYWAIT_DETAIL_GOMP_OWN_LOCKS()
WHYWAIT_DETAIL_GOMP_OWN_LOCKS(_)
#undef WHYWAIT_DETAIL_GOMP_OWN_LOCKS
#undef WHYWAIT_DETAIL_GOMP_NEST_LOCK
#undef WHYWAIT_DETAIL_GOMP_OWN_LOCK
#undef WHYWAIT_DETAIL_GOMP_OWN

// --- What waits and is not observed: the report names it
#define WHYWAIT_DETAIL_GOMP_UNOBSERVED(part, result, name, parameters, arguments)  \
  WHYWAIT_DETAIL_GOMP result name parameters {                                     \
    WHYWAIT_DETAIL_GOMP_PASS(name, decltype(name), arguments);                     \
    ::whywait::threads::gomp::note_unobserved(::whywait::core::openmp_part::part); \
    return WHYWAIT_DETAIL_GOMP_REAL(name) arguments;                               \
  }
WHYWAIT_DETAIL_GOMP_UNOBSERVED(copyprivate, void*, GOMP_single_copy_start, (void), ())
WHYWAIT_DETAIL_GOMP_UNOBSERVED(doacross, void, GOMP_doacross_post, (long* counts), (counts))
WHYWAIT_DETAIL_GOMP_UNOBSERVED(doacross, void, GOMP_doacross_ull_post, (unsigned long long* counts), (counts))
WHYWAIT_DETAIL_GOMP_UNOBSERVED(cancellable, bool, GOMP_barrier_cancel, (void), ())
WHYWAIT_DETAIL_GOMP_UNOBSERVED(cancellable, bool, GOMP_loop_end_cancel, (void), ())
WHYWAIT_DETAIL_GOMP_UNOBSERVED(cancellable, bool, GOMP_sections_end_cancel, (void), ())
WHYWAIT_DETAIL_GOMP_UNOBSERVED(locked_atomic, void, GOMP_atomic_start, (void), ())
WHYWAIT_DETAIL_GOMP_UNOBSERVED(device, void, GOMP_target_ext,
                               (int number, void (*function)(void*), size_t count, void** addresses, size_t* sizes,
                                unsigned short* kinds, unsigned flags, void** on, void** options),
                               (number, function, count, addresses, sizes, kinds, flags, on, options))
WHYWAIT_DETAIL_GOMP_UNOBSERVED(device, void, GOMP_target_data_ext,
                               (int number, size_t count, void** addresses, size_t* sizes, unsigned short* kinds),
                               (number, count, addresses, sizes, kinds))
#define WHYWAIT_DETAIL_GOMP_UPDATE(name)                                                                             \
  WHYWAIT_DETAIL_GOMP_UNOBSERVED(                                                                                    \
      device, void, name,                                                                                            \
      (int number, size_t count, void** addresses, size_t* sizes, unsigned short* kinds, unsigned flags, void** on), \
      (number, count, addresses, sizes, kinds, flags, on))
WHYWAIT_DETAIL_GOMP_UPDATE(GOMP_target_update_ext)
WHYWAIT_DETAIL_GOMP_UPDATE(GOMP_target_enter_exit_data)
#undef WHYWAIT_DETAIL_GOMP_UPDATE
WHYWAIT_DETAIL_GOMP_UNOBSERVED(before_gcc_4_9, void, GOMP_parallel_end, (void), ())
#undef WHYWAIT_DETAIL_GOMP_UNOBSERVED

#undef WHYWAIT_DETAIL_GOMP_SITE
#undef WHYWAIT_DETAIL_GOMP_KEPT
#undef WHYWAIT_DETAIL_GOMP
#undef WHYWAIT_DETAIL_GOMP_REAL
#undef WHYWAIT_DETAIL_GOMP_PASS

#endif  // WHYWAIT_DISABLE

#endif
