#ifndef WHYWAIT_CORE_MODULE_HPP
#define WHYWAIT_CORE_MODULE_HPP

#include <whywait/core/version.hpp>

#include <stddef.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

#include <link.h>

namespace whywait {
inline namespace v0 {

namespace record {
struct mark_functions;
class ended_threads;
}  // namespace record
namespace threads {
struct slow_calls;
}  // namespace threads

namespace core {

struct registry;

/// Connects one module (executable, shared library, plugin) with the recorder of the process. Each module
/// has exactly one card. A module that only contains marks has no recorder of its own: its card stays empty, and its
/// marks do nothing, until the recorder attaches it.
struct module_card {
  // The layout of these three members never changes: other versions of whywait read them.
  uint32_t version;                        ///< of the headers this module was compiled with, 1,000,000 for a major
  uint32_t interface;  ///< layout of what marks and recorder share; equal versions may differ here
  void (*attach)(module_card&) noexcept;  ///< connects another module to the recorder; null if this is not the recorder

  registry* shared;  ///< the registry of the process; null until this module has looked for it
  intptr_t here;  ///< where a thread stores its path_head*, from the thread pointer; 0: inert
  const record::mark_functions* functions;  ///< the slow paths of marks; valid once `here` is not 0
  uint32_t loaded;  ///< module_state bits
};

/// Bits of module_card::loaded.
namespace module_state {
enum : uint32_t {
  looked = 1,      ///< the module has looked for a recorder
  orders_data = 2  ///< arrays are registered, so that thread primitives record how they order threads
};
}

constexpr uint32_t packed_version() noexcept {
  return (WHYWAIT_VERSION_MAJOR * 1000u + WHYWAIT_VERSION_MINOR) * 1000u + WHYWAIT_VERSION_PATCH;
}

/// Number of the interface between marks and recorder. Increment it when path_head, path_entry, path_frame, site or
/// mark_functions change. whywait.h and whywait.f90 contain it.
inline constexpr uint32_t mark_interface = 3;

}  // namespace core
}  // namespace v0
}  // namespace whywait

// The card of this module. Weak and hidden: one for each module, however many files of it include whywait. An ELF note
// (a loaded program header, so it needs no symbol table) has its address. Modules find each other although plugins
// are loaded with RTLD_LOCAL, symbols are hidden and the executable exports nothing.
extern "C" {
__attribute__((weak, visibility("hidden"), used)) whywait::core::module_card whywait_v0_module = {
    whywait::core::packed_version(), whywait::core::mark_interface, nullptr, nullptr, 0, nullptr, 0};
}
__asm__(
    ".pushsection .note.whywait,\"a\",%note\n"  // no group: linkers drop grouped notes with --gc-sections
    ".balign 4\n"
    ".long 8, 4, 2\n"  // sizes of name and content, type
    ".asciz \"whywait\"\n"
    ".long whywait_v0_module - .\n"
    ".popsection\n");

namespace whywait {
inline namespace v0 {
namespace core {

/// Calls `visit` for the card of each loaded module until it returns true.
struct card_search {
  bool (*visit)(card_search& self, module_card& card) noexcept;

  __attribute__((visibility("hidden"))) void run() noexcept { dl_iterate_phdr(&read_module, this); }

 private:
  __attribute__((visibility("hidden"))) static int read_module(dl_phdr_info* module, size_t, void* search) noexcept {
    card_search& self = *static_cast<card_search*>(search);
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = module->dlpi_phdr[i];
      if (header.p_type != PT_NOTE) continue;
      const char* note = reinterpret_cast<const char*>(module->dlpi_addr + header.p_vaddr);
      const char* const end = note + header.p_memsz;
      const size_t align = header.p_align == 8 ? 7 : 3;
      while (note + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) found;
        __builtin_memcpy(&found, note, sizeof found);
        const char* const name = note + sizeof found;
        const char* const content = name + ((found.n_namesz + align) & ~align);
        note = content + ((found.n_descsz + align) & ~align);
        if (found.n_namesz != 8 || found.n_descsz != 4 || found.n_type != 2) continue;
        if (__builtin_memcmp(name, "whywait", 8) != 0) continue;
        int32_t distance;
        __builtin_memcpy(&distance, content, sizeof distance);
        auto* const card =
            reinterpret_cast<module_card*>(reinterpret_cast<uintptr_t>(content) + static_cast<uintptr_t>(intptr_t{distance}));
        if (self.visit(self, *card)) return 1;
      }
    }
    return 0;
  }
};

namespace detail {

__attribute__((visibility("hidden"))) inline bool attach_through(card_search&, module_card& card) noexcept {
  if (card.attach != nullptr) card.attach(whywait_v0_module);
  return whywait_v0_module.here != 0;  // a recorder of another version does not attach this module
}

// Runs when the module is loaded, once for each of its files. If the recorder came before this module it is attached
// here. If this module came first, the recorder attaches it when it starts.
__attribute__((constructor(101), visibility("hidden"))) inline void attach_this_module() noexcept {
  if ((whywait_v0_module.loaded & module_state::looked) != 0) return;
  __atomic_fetch_or(&whywait_v0_module.loaded, module_state::looked, __ATOMIC_RELAXED);
  card_search recorder{&attach_through};
  recorder.run();
}

}  // namespace detail
}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
