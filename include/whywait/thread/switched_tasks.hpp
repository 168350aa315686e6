#ifndef WHYWAIT_THREAD_SWITCHED_TASKS_HPP
#define WHYWAIT_THREAD_SWITCHED_TASKS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/thread/sync_call.hpp>
#include <whywait/thread/team_tasks.hpp>
#include <whywait/thread/teams.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

// Tasks of a runtime that keeps a pointer beside each task, and calls when a thread switches between them (ompt.hpp). A thread goes
// back to the task that it ran before when one ends, or when one gives up its thread and goes on later, maybe on another one.

/// What is kept beside a task from its creation to its end.
struct switched_task {
  team_task task;
  before_task before;  ///< of the thread that runs it
  switched_task* outer;  ///< what that thread ran before; null: an implicit task
  task_set* children;  ///< while no thread runs it
  uint32_t used, runs;
};

namespace detail {

constexpr uint32_t most_switched_tasks = 4096;
__attribute__((visibility("hidden"))) inline switched_task* switched_tasks = nullptr;
/// Stands for all tasks for which there is no room.
__attribute__((visibility("hidden"))) inline switched_task unobserved_task;

/// The task that the calling thread runs; null: an implicit one.
__attribute__((visibility("hidden"))) inline switched_task*& running_task() noexcept {
  static thread_local switched_task* running = nullptr;
  return running;
}

inline switched_task* keep_task(const team_task& task) noexcept {
  static thread_local uint32_t next = first_place();
  for (int tries = 0; task.of != nullptr && switched_tasks != nullptr && tries != 32; ++tries) {
    switched_task& kept = switched_tasks[next++ % most_switched_tasks];
    uint32_t none = 0;
    if (__atomic_load_n(&kept.used, __ATOMIC_RELAXED) != 0 ||
        !__atomic_compare_exchange_n(&kept.used, &none, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    kept.task = task;
    kept.outer = nullptr;
    kept.children = nullptr;
    kept.runs = 0;
    return &kept;
  }
  return &unobserved_task;
}
inline void forget_task(switched_task* kept) noexcept {
  if (kept != &unobserved_task) __atomic_store_n(&kept->used, 0u, __ATOMIC_RELEASE);
}

}  // namespace detail

/// Before the first task.
inline void make_room_for_tasks() noexcept {
  if (detail::switched_tasks == nullptr)
    detail::switched_tasks =
        static_cast<switched_task*>(core::map_pages(sizeof(switched_task) * detail::most_switched_tasks, false));
}

/// The calling thread creates a task: see create_task. About 20 ns more. Never null.
inline switched_task* create_switched_task(const void* address, bool depends) noexcept {
  const team_task task = create_task(address, depends, false);
  switched_task* const kept = detail::keep_task(task);
  if (kept == &detail::unobserved_task && task.of != nullptr) {  // no wait ends with it
    detail::leave(task.parent);
    detail::leave(task.group);
    __atomic_fetch_sub(&task.of->tasks, 1u, __ATOMIC_RELAXED);
  }
  return kept;
}

/// The calling thread begins an implicit task: it runs no other one.
inline void begin_implicit_task(bool is_first) noexcept {
  this_thread_in_team().waiting = nullptr;
  if (!is_first) detail::running_task() = nullptr;
}

/// How a thread leaves a task.
enum class task_end : uint32_t {
  none,  ///< it goes on later
  whole,
  detached  ///< an event ends it, or has to
};

/// The calling thread leaves a task and runs another one; null: an implicit task.
inline void switch_task(switched_task* prior, task_end how, switched_task*& next) noexcept {
  team_thread& here = this_thread_in_team();
  switched_task*& running = detail::running_task();
  if (prior != nullptr && prior == running && (how != task_end::none || next == nullptr || next == prior->outer)) {
    running = prior->outer;
    team_task part = prior->task;
    if (how != task_end::whole) part.uncounted = true;
    if (how == task_end::none) detail::enter(prior->children = here.children);
    end_task(part, prior->before, 0);
    prior->runs = 0;
    if (how == task_end::whole) detail::forget_task(prior);
  }
  if (next == nullptr || next == running) return;
  if (next == &detail::unobserved_task && here.current != nullptr && here.current->counts()) {  // observed from here on
    team_task task{};
    task.of = here.current;
    task.uncounted = true;
    next = detail::keep_task(task);
  }
  if (next == &detail::unobserved_task || next->runs != 0) return;
  next->runs = 1;
  next->outer = running;
  next->before = begin_task(next->task);
  running = next;
  here.waiting = nullptr;
  if (next->children == nullptr) return;
  detail::leave(here.children);
  here.children = next->children;
  next->children = nullptr;
}

/// The calling thread waits for tasks of the set.
inline void begin_task_wait(const void* address, task_set* set, bool all) noexcept {
  if (want_tasks(team_site(core::mpi_call::omp_taskwait, address), set, all)) this_thread_in_team().waiting = set;
}
inline void end_task_wait() noexcept {
  team_thread& here = this_thread_in_team();
  if (here.waiting == nullptr || here.current == nullptr) return;
  have_tasks(here.waiting);
  here.waiting = nullptr;
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
