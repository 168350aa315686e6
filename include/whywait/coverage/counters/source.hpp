#ifndef WHYWAIT_COVERAGE_COUNTERS_SOURCE_HPP
#define WHYWAIT_COVERAGE_COUNTERS_SOURCE_HPP

#include <whywait/core/code_source.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/coverage/counters/attributes.hpp>

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace coverage {

/// Creates a source of `count` blocks, which every synchronisation will read. Returns null if recording is off or
/// memory is exhausted. The caller sets the members that its kind requires, then calls `publish`. Thread-safe.
WHYWAIT_NO_COVERAGE __attribute__((cold)) inline core::code_source* make_source(core::code_source::kind what,
                                                                                uint32_t count) noexcept {
  core::registry* const registry = core::the_registry();
  if (registry == nullptr || !registry->config.enable || count == 0) return nullptr;
  void* const pages = core::map_pages(sizeof(core::code_source), false);
  if (pages == nullptr) return nullptr;
  const uint32_t before = __atomic_fetch_add(&registry->code_numbers, count, __ATOMIC_RELAXED);
  if (before + count < before || before + count > ~uint32_t(0) - core::site_table::capacity) {
    __atomic_fetch_sub(&registry->code_numbers, count, __ATOMIC_RELAXED);
    core::warn("more than 2^32 blocks of code; further files are not counted");
    return nullptr;
  }
  core::code_source* const made = static_cast<core::code_source*>(pages);
  made->what = what;
  made->first = core::site_table::capacity + before;
  made->count = count;
  return made;
}

WHYWAIT_NO_COVERAGE __attribute__((cold)) inline void publish(core::code_source* source) noexcept {
  core::registry* const registry = core::the_registry();
  core::code_source* head = __atomic_load_n(&registry->sources, __ATOMIC_RELAXED);
  do source->next = head;
  while (!__atomic_compare_exchange_n(&registry->sources, &head, source, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/// Prevents the module of `address` from being unloaded, because its counters are read until the process ends.
WHYWAIT_NO_COVERAGE __attribute__((cold)) inline void pin_module_of(const void* address) noexcept {
  Dl_info info;
  link_map* module = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) != 0 && module != nullptr &&
      *module->l_name != '\0')
    dlopen(module->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
