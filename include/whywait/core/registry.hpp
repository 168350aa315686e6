#ifndef WHYWAIT_CORE_REGISTRY_HPP
#define WHYWAIT_CORE_REGISTRY_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/code_source.hpp>
#include <whywait/core/kept_file.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/settings.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/warning.hpp>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <new>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace core {

/// What the process knows of a thread that records; the recorder derives its state from it. Lives until the
/// process ends, so that it can be read after its thread is gone.
struct location_base {
  location_base* next;  ///< the location before this one; the list only grows at its head
  uint32_t index;       ///< order of creation in the process, from 0
  uint32_t finished;    ///< 1 once its thread has ended
  uint64_t end_ticks;   ///< clock at that moment; valid once `finished` is 1
};

/// What all modules (executable, shared libraries, plugins) of one process share.
struct registry {
  uint64_t layout;            ///< size of this struct: modules of another layout keep a registry of their own
  pid_t pid;                  ///< the process that made it; in a forked child it differs from getpid()
  settings config;
  kept_file kept;             ///< WHYWAIT_CRASH: what survives a crash; closed without it
  memory_budget memory;
  memory_budget order_memory;     ///< of WHYWAIT_PATH=order: a quarter of WHYWAIT_MEMORY, which `memory` has less then
  memory_budget timeline_memory;  ///< of WHYWAIT_TIMELINE
  site_table sites;
  pthread_mutex_t mutex;      ///< protects `locations`, `extension`; never taken on the hot path
  pthread_key_t thread_key;   ///< value: the thread's location_base
  location_base* locations;   ///< newest first
  uint32_t location_count;
  void* (*make_details)(registry&) noexcept;  ///< record::details for a new thread, or null; null: nobody reads them
  uint32_t listening;         ///< 1 once somebody in the process will read what is recorded (record::listen)
  void* extension[4];         ///< one per room that keeps state for the whole process: [0] MPI, [1] rules, [2] data; null after fork
  code_source* sources;       ///< code that the compiler counts, newest first; the list only grows at its head
  uint32_t code_numbers;      ///< how many block numbers, from site_table::capacity on, they have taken
  clock_source clock;         ///< what all of its modules read
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

// The slot that holds this module's pointer to the registry. Weak and hidden: one for each module, however
// many files of it include whywait. An ELF note (a loaded program header, so it needs no symbol table) says
// where it is: modules find each other although plugins are loaded with RTLD_LOCAL, symbols are hidden and
// the executable exports nothing.
extern "C" {
__attribute__((weak, visibility("hidden"), used)) whywait::core::registry* whywait_v0_registry_slot = nullptr;
}
__asm__(
    ".pushsection .note.whywait,\"a\",%note\n"  // no group: linkers drop grouped notes with --gc-sections
    ".balign 4\n"
    ".long 8, 4, 1\n"  // sizes of name and content, type
    ".asciz \"whywait\"\n"
    ".long whywait_v0_registry_slot - .\n"
    ".popsection\n");

namespace whywait {
inline namespace v0 {
namespace core {
namespace detail {

/// One step of the search through the modules' notes: the first registry that somebody has made.
struct registry_search {
  registry* found = nullptr;

  static int visit(dl_phdr_info* module, size_t, void* self) noexcept {
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = module->dlpi_phdr[i];
      if (header.p_type != PT_NOTE) continue;
      const char* note = reinterpret_cast<const char*>(module->dlpi_addr + header.p_vaddr);
      const size_t align = header.p_align == 8 ? 8 : 4;
      if (static_cast<registry_search*>(self)->read(note, note + header.p_memsz, align)) return 1;
    }
    return 0;
  }

 private:
  bool read(const char* note, const char* end, size_t align) noexcept {
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) header;
      memcpy(&header, note, sizeof header);
      const char* const name = note + sizeof header;
      const char* const content = name + ((header.n_namesz + align - 1) & ~(align - 1));
      note = content + ((header.n_descsz + align - 1) & ~(align - 1));
      if (header.n_namesz != 8 || header.n_descsz != 4 || header.n_type != 1) continue;
      if (memcmp(name, "whywait", 8) != 0) continue;
      int32_t distance;
      memcpy(&distance, content, sizeof distance);
      registry* const* slot = reinterpret_cast<registry* const*>(content + distance);
      found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
      if (found != nullptr && found->layout == sizeof(registry)) return true;
      found = nullptr;
    }
    return false;
  }
};

inline void end_of_thread(void* location) noexcept {
  location_base* const ended = static_cast<location_base*>(location);
  ended->end_ticks = cycle_clock::now();
  __atomic_store_n(&ended->finished, 1u, __ATOMIC_RELEASE);
}

/// The code that a thread's end runs must stay: the module that made the registry is never unloaded.
inline void pin_this_module() noexcept {
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
__attribute__((visibility("hidden"))) inline registry* at_fork = nullptr;  // pages in a file would be the parent's, too

inline void before_fork() noexcept {
  registry& own = *whywait_v0_registry_slot;
  pthread_mutex_lock(&own.mutex);
  own.sites.lock();
  own.kept.lock();
  at_fork = nullptr;
  if (own.kept.is_open())
    if (void* copy = map_pages(sizeof(registry), true))
      at_fork = static_cast<registry*>(memcpy(copy, static_cast<void*>(&own), sizeof own));
}
inline void unlock_after_fork() noexcept {
  unmap_pages(at_fork, sizeof(registry));
  whywait_v0_registry_slot->kept.unlock();
  whywait_v0_registry_slot->sites.unlock();
  pthread_mutex_unlock(&whywait_v0_registry_slot->mutex);
}
inline void after_fork_in_child() noexcept {
  registry& own = *whywait_v0_registry_slot;
  if (at_fork != nullptr) {
    at_fork->kept.leave_to_parent();
    memcpy(static_cast<void*>(&own), static_cast<void*>(at_fork), sizeof own);  // the parent has gone on meanwhile
  } else {
    own.kept.leave_to_parent();
  }
  unlock_after_fork();
  own.locations = nullptr;
  own.location_count = 0;
  for (void*& room : own.extension) room = nullptr;
  own.memory.forget();
  own.order_memory.forget();
  own.timeline_memory.forget();
  pthread_setspecific(own.thread_key, nullptr);
}

inline registry* make_registry() noexcept {
  const bool speaks = first_of_the_launch();
  const settings config = settings::from_environment([speaks](const bad_setting& bad) {
    if (speaks) bad.warn();
  });
  const clock_source clock =
      config.clock == settings::clock_choice::monotonic || !cycle_clock::invariant() ? clock_source::monotonic
      : config.clock == settings::clock_choice::fenced                            ? clock_source::fenced
                                                                                  : clock_source::counter;
  cycle_clock::use(clock);  // of this module, now: the file below notes the time
  void* pages = map_pages(sizeof(registry), false);
  if (pages == nullptr) return nullptr;
  kept_file kept;
  if (config.enable && config.crash != nullptr && kept.open(config.crash, clock != clock_source::monotonic, speaks))
    kept.keep(pages, sizeof(registry));
  registry* made = new (pages) registry();
  made->layout = sizeof(registry);
  made->pid = getpid();
  made->config = config;
  made->kept = kept;
  made->clock = clock;
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
  if (!made->sites.open(&made->kept) || pthread_key_create(&made->thread_key, &end_of_thread) != 0)
    made->config.enable = false;
  return made;
}

// Runs under the loader's lock (dl_iterate_phdr holds it, and it is recursive): two modules that start at
// the same time make one registry.
inline int find_or_make(dl_phdr_info*, size_t, void* made_here) noexcept {
  registry_search search;
  dl_iterate_phdr(&registry_search::visit, &search);
  if (search.found == nullptr) {
    search.found = make_registry();
    *static_cast<bool*>(made_here) = search.found != nullptr;
  }
  if (search.found != nullptr) cycle_clock::use(search.found->clock);
  __atomic_store_n(&whywait_v0_registry_slot, search.found, __ATOMIC_RELEASE);
  return 1;
}

__attribute__((noinline, cold)) inline registry* look_up_registry() noexcept {
  bool made_here = false;
  dl_iterate_phdr(&find_or_make, &made_here);
  if (made_here) {
    pin_this_module();
    pthread_atfork(&before_fork, &unlock_after_fork, &after_fork_in_child);
  }
  return __atomic_load_n(&whywait_v0_registry_slot, __ATOMIC_ACQUIRE);
}

}  // namespace detail

/// The registry of this process, made at the first call (reads the environment then). Null only if the
/// kernel gave no pages. Any thread; one load once it is known.
inline registry* the_registry() noexcept {
  registry* known = __atomic_load_n(&whywait_v0_registry_slot, __ATOMIC_ACQUIRE);
  return __builtin_expect(known != nullptr, 1) ? known : detail::look_up_registry();
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
