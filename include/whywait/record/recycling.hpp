#ifndef WHYWAIT_RECORD_RECYCLING_HPP
#define WHYWAIT_RECORD_RECYCLING_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/ended_threads.hpp>
#include <whywait/record/location.hpp>

#include <pthread.h>
#include <stdint.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

// Locations of threads that ended serve later threads: memory is bounded by the threads that live at one time. What a thread
// without observed calls did in marked code is added to registry::ended. A thread with calls leaves its records, and a later
// thread with calls continues them under the same number, as if one thread had rested in between.
//
// A location stays as it is where something may still refer to it: a region is open, the thread has data records, an
// order of its path or a timeline, it called MPI_Init, or WHYWAIT_CRASH keeps a copy for another process.

namespace detail {

/// registry::end_location. Runs on the thread that ends.
__attribute__((visibility("hidden"))) inline void end_location(core::registry& registry, core::location_base& base) noexcept {
  location& at = static_cast<location&>(base);
  if (at.calls != nullptr) at.calls->counter.stop();
  if (registry.ended == nullptr || registry.kept.is_open() || at.more != nullptr || at.extension[1] != nullptr ||
      at.path.depth() != 0 || at.looking_up || here() != (at.decoy != nullptr ? at.decoy : &at.path.head()))
    return;
  ended_threads& all = *registry.ended;
  const bool called = at.calls != nullptr;
  if (at.extension[0] != nullptr && (all.release_calls == nullptr || !all.release_calls(at))) return;
  if (called) at.calls->open.frame = nullptr;
  set_here(head_left_out(registry));  // a signal handler must not wait for the lock
  pthread_mutex_lock(&registry.mutex);
  if (called) {
    at.path.close(at.end_ticks, [&all](const core::path_step& step) noexcept { all.add(step); });
  } else {
    const uint64_t begin = at.path.opened(), end = at.end_ticks;
    all.begin_thread(all.caller != nullptr && !all.several ? all.gap_of(*all.caller, begin, end) : ended_threads::no_gap,
                     begin);
    at.path.close(end, [&](const core::path_step& step) noexcept {
      all.add(step);
      if (step.block != 0 && registry.sites[step.block].kind != core::site_kind::waiting) all.add_work(step);
    });
    all.end_thread(begin, end);
  }
  all.add_mismatches(at.mismatched_ends, at.first_mismatch);
  at.mismatched_ends = 0;
  core::location_base*& list = called ? registry.free_callers : registry.free_locations;
  at.next_free = list;
  list = &at;
  __atomic_store_n(&at.finished, 2u, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&registry.mutex);
  set_here(static_cast<path_head*>(registry.nowhere));  // marks in later destructors of the thread begin again
}

/// Makes the recycling of locations possible. Under registry::mutex.
inline void open_recycling(core::registry& registry) noexcept {
  void* const pages = core::map_pages(sizeof(ended_threads), false);
  if (pages == nullptr) return;
  ended_threads* const made = new (pages) ended_threads;
  if (!made->open(registry.memory)) return;  // a few pages stay behind
  __atomic_store_n(&registry.ended, made, __ATOMIC_RELEASE);
  registry.end_location = &end_location;
}

/// At the first call of a thread: continues the records of one that ended. False: there is none. Under registry::mutex.
inline bool continue_calls(core::registry& registry, location& at) noexcept {
  location* const before = static_cast<location*>(registry.free_callers);
  if (before == nullptr || at.calls != nullptr || at.more != nullptr || at.extension[1] != nullptr) return false;
  registry.free_callers = before->next_free;
  const auto exchange = [](auto& a, auto& b) noexcept {
    const auto was = a;
    a = b;
    b = was;
  };
  exchange(at.index, before->index);
  exchange(at.syncs, before->syncs);
  exchange(at.steps, before->steps);
  exchange(at.needs, before->needs);
  exchange(at.cuts, before->cuts);
  exchange(at.cut_steps, before->cut_steps);
  const auto hand_over = [](auto& from, auto& to) noexcept {
    const auto was = from;
    __atomic_store_n(&from, decltype(was)(nullptr), __ATOMIC_RELEASE);
    __atomic_store_n(&to, was, __ATOMIC_RELEASE);
  };
  hand_over(before->calls, at.calls);
  hand_over(before->extension[0], at.extension[0]);
  if (registry.ended->caller == before) registry.ended->caller = &at;
  before->next_free = registry.free_locations;
  registry.free_locations = before;
  if (at.extension[0] != nullptr && registry.ended->take_over_calls != nullptr) registry.ended->take_over_calls(at);
  return true;
}

}  // namespace detail

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
