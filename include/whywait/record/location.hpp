#ifndef WHYWAIT_RECORD_LOCATION_HPP
#define WHYWAIT_RECORD_LOCATION_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/event_buffer.hpp>
#include <whywait/core/kept_layout.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/core/thread_record.hpp>
#include <whywait/record/details.hpp>
#include <whywait/record/ended_threads.hpp>
#include <whywait/record/marks.hpp>
#include <whywait/record/mismatch.hpp>
#include <whywait/record/name_cache.hpp>
#include <whywait/record/path_head.hpp>
#include <whywait/record/path_recorder.hpp>

#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

struct thread_facts;

/// All that one thread records. Only its thread writes it; it outlives the thread, so that the end of the
/// run can read it, or serves a later thread (recycling.hpp). About 9 MB of address space, of which what is used is touched.
struct location : core::location_base {
  thread_facts* calls = nullptr;                ///< what observed calls leave; null before the first of them
  void* extension[2] = {};                      ///< per-thread state of other rooms: [0] MPI, [1] data
  core::event_buffer<core::path_step> steps;    ///< segments, closed at each sync record
  core::event_buffer<core::sync_record> syncs;
  core::event_buffer<int32_t> needs;            ///< rank lists of sparse collectives
  core::event_buffer<core::thread_cut> cuts;    ///< where threads were that this one began to wait for; opened by the first
  core::event_buffer<core::path_step> cut_steps;
  uint32_t tid = 0;                             ///< the kernel's number of the thread
  uint32_t node = 0;                            ///< NUMA node on which the thread was last seen to run, plus 1; 0: not known
  uint64_t mismatched_ends = 0;                 ///< how often begin and end did not pair
  mismatch first_mismatch{};                    ///< the first of them
  uint8_t begun[path_recorder::max_depth + 1];  ///< 1 for each level that whywait::begin has opened; zeroed pages
  uint64_t lost_marks = 0;                      ///< in signal handlers that interrupted a first visit
  uint64_t interposed = 0;                      ///< calls of pthread functions that an interposer saw
  bool looking_up = false;                      ///< the number of a place is being looked up
  details* more = nullptr;                      ///< what WHYWAIT_PATH and WHYWAIT_TIMELINE request; null: nothing
  path_head* decoy = nullptr;                   ///< what marks find if they have to go the slow way; null: `path`
  path_recorder path;
  name_cache names;
};

namespace detail {

// What the marks of a thread find at the slot of the process (registry::here) is one of
//   the head of the thread's path recorder;
//   its decoy, a profile that stays empty, if the recorder needs more of each mark than the fast path does;
//   `nowhere`, before the first mark of the thread;
//   the second head in `nowhere`, if there was no memory to record the thread.
// In all but the first no region is entered on the fast path, because `top` and `fast_end` are null, and no block is
// listed. So every mark takes the slow path there, and the fast path needs no test for it.
struct no_profile {
  path_head head;
  path_entry blocks[near_blocks];
};
struct two_profiles : no_profile {
  char second[2048 + 64];  // the distance of the second head from the first
};

// Only of the module that listens first, for all modules. Initial-exec: at one distance from the thread pointer for all
// threads, so that marks of other modules need no thread-local storage.
__attribute__((visibility("hidden"))) inline two_profiles nowhere;
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local path_head* here_slot = &nowhere.head;

/// What the calling thread's marks find; null while the marks of this module are inert.
__attribute__((visibility("hidden"), always_inline)) inline path_head* here() noexcept {
  const intptr_t offset = here_offset();
  return __builtin_expect(offset != 0, 1) ? head_at(offset) : nullptr;
}
__attribute__((visibility("hidden"))) inline char* thread_pointer() noexcept {
#if defined(__x86_64__) && defined(__LP64__)
  char* thread;
  __asm__("movq %%fs:0, %0" : "=r"(thread));
  return thread;
#else
  return static_cast<char*>(__builtin_thread_pointer());
#endif
}
/// Only after record::listen.
__attribute__((visibility("hidden"))) inline void set_here(path_head* head) noexcept {
  *reinterpret_cast<path_head* volatile*>(thread_pointer() + core::the_registry()->here) = head;
}

// In the child of a fork only the forking thread lives on: it starts with a location of its own.
__attribute__((visibility("hidden"))) inline void forget_location() noexcept { here_slot = &nowhere.head; }

inline path_head* head_left_out(const core::registry& registry) noexcept {
  return reinterpret_cast<path_head*>(static_cast<char*>(registry.nowhere) + sizeof two_profiles::second);
}

/// Whether the fast path of marks may be used. It reads one clock and counts; modes that need more of a mark are
/// listed here and are handled in slow_path.hpp.
inline bool marks_are_fast(const core::registry& registry, const location& at) noexcept {
  return registry.clock == core::clock_source::counter && at.more == nullptr;
}

inline bool make_decoy(location& at) noexcept {
  at.decoy = static_cast<path_head*>(core::map_pages(sizeof(no_profile), false));
  if (at.decoy != nullptr) at.decoy->owner = &at;
  return at.decoy != nullptr;
}

/// What the settings request of a thread besides its profile. False: there is no memory for it.
inline bool open_details(core::registry& registry, location& at) noexcept {
  if (const auto make = __atomic_load_n(&registry.make_details, __ATOMIC_ACQUIRE))
    at.more = static_cast<details*>(make(registry));
  return marks_are_fast(registry, at) || at.decoy != nullptr || make_decoy(at);
}

/// Gives the location of a thread that ended to the calling one. Null: there is none.
inline location* reuse_location(core::registry& registry) noexcept {
  pthread_mutex_lock(&registry.mutex);
  location* const at = static_cast<location*>(registry.free_locations);
  if (at != nullptr) {
    registry.free_locations = at->next_free;
    at->path.open(core::cycle_clock::now());
    __atomic_store_n(&at->tid, static_cast<uint32_t>(syscall(SYS_gettid)), __ATOMIC_RELAXED);
    __atomic_store_n(&at->finished, 0u, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&registry.mutex);
  return at;
}

inline location* make_location(core::registry& registry) noexcept {
  if (location* const at = reuse_location(registry)) {
    open_details(registry, *at);
    pthread_setspecific(registry.thread_key, static_cast<core::location_base*>(at));
    return at;
  }
  void* pages = core::map_pages(sizeof(location), false);
  if (pages == nullptr) return nullptr;
  location* const there = static_cast<location*>(pages);
  registry.kept.keep(pages, static_cast<size_t>(there->path.arrays() - static_cast<char*>(pages)));
  there->path.keep_arrays(registry.kept);
  location* made = new (pages) location;  // without (): that would write all of it
  made->finished = 0;
  made->end_ticks = 0;
  made->next_free = nullptr;
  made->processor_ns = 0;
  made->tid = static_cast<uint32_t>(syscall(SYS_gettid));
  if (!made->steps.open(registry.memory) || !made->syncs.open(registry.memory) || !made->needs.open(registry.memory)) {
    core::warn("no address space to record a thread; it is left out");
    return nullptr;  // a few pages stay behind
  }
  made->path.open(core::cycle_clock::now());
  made->path.head().owner = made;
  if (!open_details(registry, *made)) {
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

/// First event of a thread: finds its location or makes it. Null if there is no memory for one, or not yet.
__attribute__((noinline, cold, visibility("hidden"))) inline location* find_location() noexcept {
  core::registry* const registry = core::the_registry();
  if (registry == nullptr || registry->here == 0 || here() == head_left_out(*registry)) return nullptr;
  auto* const known = static_cast<core::location_base*>(pthread_getspecific(registry->thread_key));
  location* found = static_cast<location*>(known);
  if (found == nullptr) found = make_location(*registry);
  set_here(found == nullptr ? head_left_out(*registry) : found->decoy != nullptr ? found->decoy : &found->path.head());
  return found;
}

}  // namespace detail

/// This thread's location; null if it is not recorded: with WHYWAIT_ENABLE=0, and until something listens. About 1 ns.
__attribute__((visibility("hidden"))) inline location* this_location() noexcept {
  path_head* const at = detail::here();
  if (__builtin_expect(at == nullptr, 0)) return nullptr;
  return __builtin_expect(at->owner != nullptr, 1) ? at->owner : detail::find_location();
}

/// Whether nothing is recorded in this process, now and later: WHYWAIT_ENABLE=0.
inline bool is_off() noexcept {
  const core::registry* const registry = core::the_registry();
  return registry == nullptr || !registry->config.enable;
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
