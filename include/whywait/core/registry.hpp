#ifndef WHYWAIT_CORE_REGISTRY_HPP
#define WHYWAIT_CORE_REGISTRY_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/code_source.hpp>
#include <whywait/core/kept_file.hpp>
#include <whywait/core/module.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/processor_set.hpp>
#include <whywait/core/safe_write.hpp>
#include <whywait/core/settings.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/warning.hpp>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace core {

/// The state of a recording thread that all rooms share; the recorder derives its own state from it. Lives until the
/// process ends, so that it can be read after its thread has ended.
struct location_base {
  location_base* next;  ///< the location before this one; the list only grows at its head
  uint32_t index;       ///< order of creation in the process, from 0
  uint32_t finished;    ///< 1 once its thread has ended; 2 once it waits for a new one
  uint64_t end_ticks;   ///< clock at that moment; valid once `finished` is 1
  location_base* next_free;  ///< of those that wait for a new thread
  uint64_t processor_ns;  ///< processor time of its threads that have ended
};

/// Parts of OpenMP that <whywait/gomp.hpp> does not observe.
namespace openmp_part {
enum : uint32_t { copyprivate, doacross, cancellable, locked_atomic, device, before_gcc_4_9, dependences, count_ };
}

/// What an interposer of pthread functions leaves besides records.
struct interposed_objects {
  uint32_t active;    ///< 1: there is one
  uint32_t replaced;  ///< objects that threads had waited for, forgotten because their table was full
  uint32_t lost;      ///< waits on objects for which the table had no room
  uint32_t large_teams;  ///< 1: there were OpenMP teams that are too large to be recorded
  uint32_t openmp;  ///< parts of OpenMP that were used and are not observed: bit 1 << openmp_part

  bool used(uint32_t part) const noexcept { return (__atomic_load_n(&openmp, __ATOMIC_RELAXED) >> part & 1u) != 0; }
};

/// What all modules (executable, shared libraries, plugins) of one process share.
struct registry {
  uint64_t layout;            ///< size of this struct: modules of another layout keep a registry of their own
  pid_t pid;                  ///< the process that made it; in a forked child it differs from getpid()
  settings config;
  kept_file kept;             ///< WHYWAIT_CRASH: what survives a crash; closed without it
  memory_budget memory;
  memory_budget order_memory;  ///< of WHYWAIT_PATH=order: a quarter of WHYWAIT_MEMORY, which `memory` has less then
  memory_budget timeline_memory;  ///< of WHYWAIT_TIMELINE
  site_table sites;
  pthread_mutex_t mutex;  ///< protects `locations`, `extension`; never taken on the hot path
  pthread_key_t thread_key;  ///< value: the thread's location_base
  location_base* locations;  ///< newest first
  uint32_t location_count;
  bool no_memory;  ///< there was none to begin with: recording is off
  bool stderr_closed;  ///< core::stderr_closed of all its modules
  location_base* free_locations;  ///< of threads that ended, for new ones
  location_base* free_callers;    ///< those among them that have called MPI
  void (*end_location)(registry&, location_base&) noexcept;  ///< after the end of a thread; null: its location stays
  record::ended_threads* ended;   ///< what such threads did; null: all locations stay
  void* (*make_details)(registry&) noexcept;  ///< record::details for a new thread, or null; null: there is no reader
  uint32_t listening;  ///< 1 once a recorder reads what is recorded (record::listen)
  void* extension[4];  ///< one per room that keeps state for the whole process: [0] MPI, [1] rules, [2] data, [3] the recorded
      ///< run (record::run_facts); null after fork
  const threads::slow_calls* thread_calls;  ///< the slow paths of thread primitives; null: they are not recorded
  interposed_objects interposed;
  processor_set processors;  ///< of threads that have ended
  code_source* sources;  ///< code that the compiler counts, newest first; the list only grows at its head
  uint32_t code_numbers;  ///< how many block numbers, from site_table::capacity on, they have taken
  clock_source clock;  ///< what all of its modules read
  intptr_t here;  ///< module_card::here of attached modules; 0 until record::listen
  void* nowhere;  ///< what a thread stores there before its first mark
  const record::mark_functions* functions;  ///< module_card::functions of attached modules
};

namespace detail {

/// Whether marks and recorder of this version and of that module's understand each other.
__attribute__((visibility("hidden"))) inline bool same_version(const module_card& card) noexcept {
  return card.version / 1000 == packed_version() / 1000 && card.interface == mark_interface;
}

// One line: two versions, or two states of one version, in one process. Only reads the stable part of the other card.
__attribute__((noinline, cold, visibility("hidden"))) inline void warn_of_version(const module_card& card) noexcept {
  struct number {
    char text[40];
    explicit number(uint32_t packed) noexcept {
      snprintf(text, sizeof text, "%u.%u.%u", packed / 1000000, packed / 1000 % 1000, packed % 1000);
    }
  };
  Dl_info other{}, own{};
  dladdr(&card, &other);
  dladdr(&whywait_v0_module, &own);
  const char* const missing = "(unknown module)";
  if (first_of_the_launch())
    warn(card.version == packed_version() ? "two layouts of one version: " : "two versions: ",
         other.dli_fname != nullptr ? other.dli_fname : missing, " was compiled with whywait ", number(card.version).text, ", ",
         own.dli_fname != nullptr ? own.dli_fname : missing, " with whywait ", number(packed_version()).text,
         card.attach != nullptr ? "; both record and the report is incomplete" : "; the marks of the first are not recorded",
         card.version == packed_version() ? "; compile both with the same headers" : "; compile both with the same version");
}

// The first registry that a module of this version has made.
struct registry_search : card_search {
  registry* found = nullptr;

  __attribute__((visibility("hidden"))) registry_search() noexcept : card_search{&examine} {}

 private:
  __attribute__((visibility("hidden"))) static bool examine(card_search& self, module_card& card) noexcept {
    if (!same_version(card)) return false;
    registry* const made = __atomic_load_n(&card.shared, __ATOMIC_ACQUIRE);
    if (made == nullptr) return false;
    if (made->layout != sizeof(registry)) {
      warn_of_version(card);
      return false;
    }
    static_cast<registry_search&>(self).found = made;
    return true;
  }
};

__attribute__((visibility("hidden"))) inline void end_of_thread(void* location) noexcept {
  location_base* const ended = static_cast<location_base*>(location);
  ended->end_ticks = cycle_clock::now();
  timespec used;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
    ended->processor_ns += static_cast<uint64_t>(used.tv_sec) * 1000000000u + static_cast<uint64_t>(used.tv_nsec);
  registry& own = *whywait_v0_module.shared;
  own.processors.add(0);
  __atomic_store_n(&ended->finished, 1u, __ATOMIC_RELEASE);
  if (own.end_location != nullptr) own.end_location(own, *ended);
}

/// The code that a thread's end runs must stay: the module that made the registry is never unloaded.
__attribute__((visibility("hidden"))) inline void pin_this_module() noexcept {
  Dl_info info;
  link_map* module = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&end_of_thread), &info, reinterpret_cast<void**>(&module),
              RTLD_DL_LINKMAP) != 0 &&
      module != nullptr && *module->l_name != '\0')  // the executable has no name and stays anyway
    dlopen(module->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

// A forked child keeps the sites (the program's static numbers name them) and nothing else: its locations are
// its own, those of the parent stay with the parent, and no room's state survives, so it ends silently.
// Runs in the module that made the registry: its slot is set.
__attribute__((visibility("hidden"))) inline registry* at_fork = nullptr;  // pages in a file would be shared with the parent

__attribute__((visibility("hidden"))) inline void before_fork() noexcept {
  registry& own = *whywait_v0_module.shared;
  pthread_mutex_lock(&own.mutex);
  own.sites.lock();
  own.kept.lock();
  at_fork = nullptr;
  if (own.kept.is_open())
    if (void* copy = map_pages(sizeof(registry), true))
      at_fork = static_cast<registry*>(memcpy(copy, static_cast<void*>(&own), sizeof own));
}
__attribute__((visibility("hidden"))) inline void unlock_after_fork() noexcept {
  unmap_pages(at_fork, sizeof(registry));
  whywait_v0_module.shared->kept.unlock();
  whywait_v0_module.shared->sites.unlock();
  pthread_mutex_unlock(&whywait_v0_module.shared->mutex);
}
__attribute__((visibility("hidden"))) inline void after_fork_in_child() noexcept {
  registry& own = *whywait_v0_module.shared;
  if (at_fork != nullptr) {
    at_fork->kept.leave_to_parent();
    memcpy(static_cast<void*>(&own), static_cast<void*>(at_fork), sizeof own);  // the parent has gone on meanwhile
  } else {
    own.kept.leave_to_parent();
  }
  unlock_after_fork();
  own.locations = nullptr;
  own.location_count = 0;
  own.free_locations = own.free_callers = nullptr;
  own.ended = nullptr;
  for (void*& room : own.extension) room = nullptr;
  own.memory.forget();
  own.order_memory.forget();
  own.timeline_memory.forget();
  pthread_setspecific(own.thread_key, nullptr);
}

inline settings read_settings(bool warns) noexcept {
  return settings::from_environment([warns](const bad_setting& bad) {
    if (warns) bad.warn();
  });
}

__attribute__((visibility("hidden"))) inline registry* make_registry() noexcept {
  stderr_closed = is_stderr_closed();
  const bool warns = first_of_the_launch();
  const settings config = read_settings(warns);
  const clock_source clock = config.clock == settings::clock_choice::monotonic || !cycle_clock::invariant()
                                 ? clock_source::monotonic
                             : config.clock == settings::clock_choice::fenced ? clock_source::fenced
                                                                              : clock_source::counter;
  cycle_clock::use(clock);  // of this module, now: the file below notes the time
  void* pages = map_pages(sizeof(registry), false);
  if (pages == nullptr) return nullptr;
  kept_file kept;
  if (config.enable && config.crash != nullptr && kept.open(config.crash, clock != clock_source::monotonic, warns))
    kept.keep(pages, sizeof(registry));
  registry* made = new (pages) registry();
  made->layout = sizeof(registry);
  made->pid = getpid();
  made->config = config;
  made->kept = kept;
  made->clock = clock;
  made->stderr_closed = stderr_closed;
  made->config.each_text([](const char*, const char*& text) {  // the program may change its environment
    if (text == nullptr) return;
    const size_t bytes = strlen(text) + 1;
    if (void* copy = map_pages(bytes, false)) text = static_cast<char*>(memcpy(copy, text, bytes));
  });
  const uint64_t ordered = made->config.path_order ? made->config.memory_bytes / 4 : 0;
  made->memory.limit(made->config.memory_bytes - ordered);
  made->order_memory.limit(ordered);
  made->timeline_memory.limit(made->config.timeline_bytes);
  made->memory.keep_in(&made->kept);
  pthread_mutex_init(&made->mutex, nullptr);
  if (kept_header* const header = made->kept.header()) {
    header->layout[0] = layout_of<registry>();
    header->registry = reinterpret_cast<uintptr_t>(made);
  }
  if (!made->sites.open(&made->kept) || pthread_key_create(&made->thread_key, &end_of_thread) != 0) {
    made->config.enable = false;
    made->no_memory = true;
  }
  return made;
}

// Runs under the loader's lock (dl_iterate_phdr holds it, and it is recursive): two modules that start at
// the same time make one registry.
__attribute__((visibility("hidden"))) inline int find_or_make(dl_phdr_info*, size_t, void* made_here) noexcept {
  registry_search search;
  search.run();
  if (search.found == nullptr) {
    search.found = make_registry();
    *static_cast<bool*>(made_here) = search.found != nullptr;
  }
  if (search.found != nullptr) {
    cycle_clock::use(search.found->clock);
    stderr_closed = search.found->stderr_closed;
  }
  __atomic_store_n(&whywait_v0_module.shared, search.found, __ATOMIC_RELEASE);
  return 1;
}

__attribute__((noinline, cold, visibility("hidden"))) inline registry* look_up_registry() noexcept {
  bool made_here = false;
  dl_iterate_phdr(&find_or_make, &made_here);
  if (made_here) {
    pin_this_module();
    pthread_atfork(&before_fork, &unlock_after_fork, &after_fork_in_child);
  }
  return __atomic_load_n(&whywait_v0_module.shared, __ATOMIC_ACQUIRE);
}

}  // namespace detail

/// The registry of this process, made at the first call (reads the environment then). Null only if the
/// kernel gave no pages. Any thread; one load once it is known.
__attribute__((visibility("hidden"))) inline registry* the_registry() noexcept {
  registry* known = __atomic_load_n(&whywait_v0_module.shared, __ATOMIC_ACQUIRE);
  return __builtin_expect(known != nullptr, 1) ? known : detail::look_up_registry();
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
