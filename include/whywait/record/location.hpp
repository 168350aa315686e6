#ifndef WHYWAIT_RECORD_LOCATION_HPP
#define WHYWAIT_RECORD_LOCATION_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/event_buffer.hpp>
#include <whywait/core/kept_layout.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/record/details.hpp>
#include <whywait/record/mismatch.hpp>
#include <whywait/record/name_cache.hpp>
#include <whywait/record/path_head.hpp>
#include <whywait/record/path_recorder.hpp>

#include <new>
#include <pthread.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

/// All that one thread records. Only its thread writes it; it outlives the thread, so that the end of the
/// run can read it. About 9 MB of address space, of which what is used is touched.
struct location : core::location_base {
  core::event_buffer<core::path_step> steps;    ///< segments, closed at each sync record
  core::event_buffer<core::sync_record> syncs;
  core::event_buffer<int32_t> needs;            ///< rank lists of sparse collectives
  uint64_t mismatched_ends = 0;                 ///< how often begin and end did not pair
  mismatch first_mismatch{};                    ///< the first of them
  uint64_t lost_marks = 0;                      ///< in signal handlers that interrupted a first visit
  bool looking_up = false;                      ///< the number of a place is being looked up
  void* extension[2] = {};                      ///< per-thread state of other rooms: [0] MPI, [1] data
  details* more = nullptr;                      ///< what WHYWAIT_PATH and WHYWAIT_TIMELINE ask for; null: nothing
  path_head* decoy = nullptr;                   ///< what marks find if they have to go the slow way; null: `path`
  path_recorder path;
  name_cache names;
};

namespace detail {

// What the marks of a thread find at `here`, per module and thread. Marks of regions go the fast way if its frames say
// so, marks of steps if the step is in the list of the segment: where neither is so every mark goes the slow
// way, and the fast one asks for nothing else. It is one of
//   the head of the thread's path recorder;
//   its decoy, a profile that stays empty, if somebody wants more of each mark than the fast way does;
//   `nowhere`, of which the same is true: before the first mark. Marks count in it, so if it is for longer each thread
//   takes a part of its own, as good as: the processors would else take its lines from each other;
//   `off_here`, if nothing is recorded in this process: its first block is in the list. As no place has a number
//   then, no mark reaches further.
// Hidden, as every function that knows of it: one for each module. A function of another module would make
// that module's fast. Initial-exec: one load in an executable and in a library, no wrapper, no guard.
struct no_profile {
  path_head head;
  path_entry blocks[core::site_table::capacity];
  char parts[32 * (2048 + 64)];
};
struct off_profile {
  path_head head;
  uint64_t visits;
};
__attribute__((visibility("hidden"))) inline no_profile nowhere;
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local path_head* here = &nowhere.head;
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local off_profile off_here = {};

// One for each module: whether its child handler of fork(2) is in place.
__attribute__((visibility("hidden"))) inline bool fork_watched = false;

// In the child of a fork only the forking thread lives on: it starts with a location of its own.
__attribute__((visibility("hidden"))) inline void forget_location() noexcept { here = &nowhere.head; }

// 0: before a location is looked for; 1: there is no memory for one; 2 to 31: nobody listens yet.
__attribute__((visibility("hidden"))) inline path_head* part_of_nowhere(uint32_t part) noexcept {
  return reinterpret_cast<path_head*>(reinterpret_cast<char*>(&nowhere) + part * (2048 + 64));
}
__attribute__((visibility("hidden"))) inline path_head* unheard() noexcept {
  return part_of_nowhere(2 + static_cast<uint32_t>((reinterpret_cast<uintptr_t>(&here) >> 12) * 0x9e3779b97f4a7c15u >> 32) % 30);
}

/// Nothing is recorded, and no place has a number: marks are as cheap as they can be.
__attribute__((visibility("hidden"))) inline void go_off() noexcept {
  off_here.head.top = reinterpret_cast<path_frame*>(uintptr_t(2));
  off_here.visits = path_entry::visited;
  here = &off_here.head;
}
inline bool is_off(const path_head* at) noexcept { return at->top == reinterpret_cast<path_frame*>(uintptr_t(2)); }
/// Whether that is a frame of a thread that goes the fast way.
inline bool is_frame(const path_frame* top) noexcept { return reinterpret_cast<uintptr_t>(top) > 2; }

/// Whether marks may go the fast way. It knows one clock and folds; whoever wants more of a mark says so here and
/// does it in slow_path.hpp.
inline bool marks_are_fast(const core::registry& registry, const location& at) noexcept {
  return registry.clock == core::clock_source::counter && at.more == nullptr;
}

inline bool make_decoy(location& at) noexcept {
  at.decoy = static_cast<path_head*>(core::map_pages(sizeof(no_profile), false));
  if (at.decoy != nullptr) at.decoy->owner = &at;
  return at.decoy != nullptr;
}

inline location* make_location(core::registry& registry) noexcept {
  void* pages = core::map_pages(sizeof(location), false);
  if (pages == nullptr) return nullptr;
  location* const there = static_cast<location*>(pages);
  registry.kept.keep(pages, static_cast<size_t>(there->path.arrays() - static_cast<char*>(pages)));
  there->path.keep_arrays(registry.kept);
  location* made = new (pages) location;  // without (): that would write all of it
  made->finished = 0;
  made->end_ticks = 0;
  if (!made->steps.open(registry.memory) ||
      !made->syncs.open(registry.memory) || !made->needs.open(registry.memory)) {
    core::warn("no address space to record a thread; it is left out");
    return nullptr;  // a few pages stay behind
  }
  made->path.open(core::cycle_clock::now());
  made->path.head().owner = made;
  if (const auto make = __atomic_load_n(&registry.make_details, __ATOMIC_ACQUIRE))
    made->more = static_cast<details*>(make(registry));
  if (!marks_are_fast(registry, *made) && !make_decoy(*made)) {
    core::warn("no address space to record a thread; it is left out");
    return nullptr;
  }
  pthread_mutex_lock(&registry.mutex);
  made->index = registry.location_count++;
  made->next = registry.locations;
  if (core::kept_header* const header = registry.kept.header()) header->layout[1] = core::layout_of<location>();
  __atomic_store_n(&registry.locations, static_cast<core::location_base*>(made), __ATOMIC_RELEASE);
  pthread_mutex_unlock(&registry.mutex);
  pthread_setspecific(registry.thread_key, static_cast<core::location_base*>(made));
  return made;
}

/// First event of a thread in this module: finds its location or makes it. Null if recording is off, or as long as
/// nobody listens: then every mark comes here, about 3 ns.
__attribute__((noinline, cold, visibility("hidden"))) inline location* find_location() noexcept {
  if (is_off(here) || here == part_of_nowhere(1)) return nullptr;
  core::registry* registry = core::the_registry();
  if (registry == nullptr || !registry->config.enable) {
    go_off();
    return nullptr;
  }
  if (__atomic_load_n(&registry->listening, __ATOMIC_ACQUIRE) == 0) {
    here = unheard();
    return nullptr;
  }
  if (!__atomic_exchange_n(&fork_watched, true, __ATOMIC_ACQ_REL)) pthread_atfork(nullptr, nullptr, &forget_location);
  auto* const known = static_cast<core::location_base*>(pthread_getspecific(registry->thread_key));
  location* found = static_cast<location*>(known);
  if (found == nullptr) found = make_location(*registry);
  here = found == nullptr ? part_of_nowhere(1) : found->decoy != nullptr ? found->decoy : &found->path.head();
  return found;
}

}  // namespace detail

/// Turns the marks of the whole process on: somebody will read what they record. Until then the marks of libraries
/// are inert. <whywait/mpi.hpp> does it when the program starts. Any thread; cannot be undone.
inline void listen() noexcept {
  if (core::registry* registry = core::the_registry()) __atomic_store_n(&registry->listening, 1u, __ATOMIC_RELEASE);
}

/// This thread's location; null if recording is switched off (WHYWAIT_ENABLE=0). About 1 ns.
__attribute__((visibility("hidden"))) inline location* this_location() noexcept {
  location* const known = detail::here->owner;
  return __builtin_expect(known != nullptr, 1) ? known : detail::find_location();
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
