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
  path_recorder path;
  name_cache names;
};

namespace detail {

// Per module and thread: this thread's location if its marks may go the fast way; null before its first event, `off`
// if nothing is recorded, `elsewhere` if every mark goes the slow way: then `slow_here` has it.
// Hidden and initial-exec: one load in an executable and in a library, no wrapper, no guard.
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local location* here = nullptr;
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local location* slow_here = nullptr;

// One for each module: whether its child handler of fork(2) is in place.
__attribute__((visibility("hidden"))) inline bool fork_watched = false;

// In the child of a fork only the forking thread lives on: it starts with a location of its own.
inline void forget_location() noexcept { here = nullptr; }

inline location* off() noexcept { return reinterpret_cast<location*>(uintptr_t(1)); }
inline location* elsewhere() noexcept { return reinterpret_cast<location*>(uintptr_t(2)); }
inline bool is_fast(const location* at) noexcept {
  return __builtin_expect(reinterpret_cast<uintptr_t>(at) > 2, 1);
}

/// Whether marks may go the fast way. It knows one clock and folds; whoever wants more of a mark says so here and
/// does it in slow_path.hpp.
inline bool marks_are_fast(const core::registry& registry, const location& at) noexcept {
  return registry.clock == core::clock_source::counter && at.more == nullptr;
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
    core::complain("no address space to record a thread; it is left out");
    return nullptr;  // a few pages stay behind
  }
  made->path.open(core::cycle_clock::now());
  if (const auto make = __atomic_load_n(&registry.make_details, __ATOMIC_ACQUIRE))
    made->more = static_cast<details*>(make(registry));
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
__attribute__((noinline, cold)) inline location* find_location() noexcept {
  if (here == off()) return nullptr;
  if (here == elsewhere()) return slow_here;
  core::registry* registry = core::the_registry();
  if (registry == nullptr || !registry->config.enable) {
    here = off();
    return nullptr;
  }
  if (__atomic_load_n(&registry->listening, __ATOMIC_ACQUIRE) == 0) return nullptr;
  if (!__atomic_exchange_n(&fork_watched, true, __ATOMIC_ACQ_REL)) pthread_atfork(nullptr, nullptr, &forget_location);
  auto* const known = static_cast<core::location_base*>(pthread_getspecific(registry->thread_key));
  location* found = static_cast<location*>(known);
  if (found == nullptr) found = make_location(*registry);
  slow_here = found;
  here = found == nullptr ? off() : marks_are_fast(*registry, *found) ? found : elsewhere();
  return found;
}

}  // namespace detail

/// Turns the marks of the whole process on: somebody will read what they record. Until then the marks of libraries
/// are inert. <whywait/mpi.hpp> does it when the program starts. Any thread; cannot be undone.
inline void listen() noexcept {
  if (core::registry* registry = core::the_registry()) __atomic_store_n(&registry->listening, 1u, __ATOMIC_RELEASE);
}

/// This thread's location; null if recording is switched off (WHYWAIT_ENABLE=0). About 1 ns.
inline location* this_location() noexcept {
  location* const known = detail::here;
  return detail::is_fast(known) ? known : detail::find_location();
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
