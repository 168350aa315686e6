#ifndef WHYWAIT_COVERAGE_COUNTERS_FUNCTIONS_HPP
#define WHYWAIT_COVERAGE_COUNTERS_FUNCTIONS_HPP

#include <whywait/core/code_source.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/coverage/counters/attributes.hpp>
#include <whywait/coverage/counters/source.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/slow_path.hpp>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace coverage {

/// Maps the functions of a module to regions. The key is the address of a function; its site is created at the first
/// call. Lookups are thread-safe and take about 2 ns; insertion takes the lock of the site table.
class function_table {
 public:
  static constexpr uint32_t capacity = 1u << 16;  ///< further functions are not recorded

  WHYWAIT_NO_COVERAGE bool open() noexcept {
    entries_ = static_cast<core::function_site*>(core::map_pages(sizeof(core::function_site) * capacity, false));
    return entries_ != nullptr;
  }
  WHYWAIT_NO_COVERAGE const core::function_site* entries() const noexcept { return entries_; }

  /// The site of a function; 0 if the tables are full.
  WHYWAIT_NO_COVERAGE uint32_t find(uintptr_t function) noexcept {
    uint32_t slot = static_cast<uint32_t>((uint64_t(function) * core::spread_factor) >> 48);
    for (uint32_t tries = 0; tries < 64; ++tries, slot = (slot + 1) & (capacity - 1)) {
      const uintptr_t known = __atomic_load_n(&entries_[slot].function, __ATOMIC_ACQUIRE);
      if (known == function) {
        const uint32_t site = __atomic_load_n(&entries_[slot].site, __ATOMIC_ACQUIRE);
        return __builtin_expect(site != 0, 1) ? site : name(function, slot);
      }
      uintptr_t none = 0;
      if (known == 0 &&
          __atomic_compare_exchange_n(&entries_[slot].function, &none, function, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return name(function, slot);
      if (none == function) return name(function, slot);
    }
    return 0;
  }

 private:
  // The provisional name consists of the module and the offset in it, which are the same on every rank. The report
  // resolves better names.
  WHYWAIT_NO_COVERAGE __attribute__((noinline, cold)) uint32_t name(uintptr_t function, uint32_t slot) noexcept {
    char text[300];
    Dl_info info{};
    link_map* module = nullptr;
    const char* file = "";
    if (dladdr1(reinterpret_cast<void*>(function), &info, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) != 0 &&
        module != nullptr && info.dli_fname != nullptr) {
      const char* const slash = strrchr(info.dli_fname, '/');
      file = slash != nullptr ? slash + 1 : info.dli_fname;
      function -= module->l_addr;
    }
    snprintf(text, sizeof text, "%s+0x%llx", file, static_cast<unsigned long long>(function));
    const uint32_t site = core::the_registry()->sites.intern(core::site_kind::region, text, "", 0);
    __atomic_store_n(&entries_[slot].site, site, __ATOMIC_RELEASE);
    return site;
  }

  core::function_site* entries_ = nullptr;
};

namespace detail {

// One table for each module.
__attribute__((visibility("hidden"))) inline function_table functions = {};
__attribute__((visibility("hidden"))) inline pthread_once_t functions_once = PTHREAD_ONCE_INIT;
// Whether the thread is inside a hook. Code that a hook calls may be instrumented and must not recurse.
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local bool inside_hook = false;

WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"))) inline void collect_nothing(core::code_source&,
                                                                                      const core::step_sink&) noexcept {}

WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"), cold)) inline void open_functions() noexcept {
  function_table opened;
  if (!opened.open()) return;
  core::code_source* const made = make_source(core::code_source::kind::functions, 1);
  if (made == nullptr) return;
  made->collect = &collect_nothing;
  made->function_sites = opened.entries();
  made->function_count = function_table::capacity;
  pin_module_of(reinterpret_cast<const void*>(&collect_nothing));
  publish(made);
  functions = opened;
}

}  // namespace detail

/// Enters a function, as a region with its name. Costs a region plus about 4 ns.
WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"))) inline void enter_function(const void* function) noexcept {
  if (detail::inside_hook) return;
  detail::inside_hook = true;
  if (record::location* const here = record::this_location()) {
    if (detail::functions.entries() == nullptr) pthread_once(&detail::functions_once, &detail::open_functions);
    if (detail::functions.entries() != nullptr)
      if (const uint32_t site = detail::functions.find(reinterpret_cast<uintptr_t>(function)))
        record::detail::enter_slowly(*here, site);
  }
  detail::inside_hook = false;
}

/// Leaves a function by return or exception. Also leaves inner functions that ended without a hook (longjmp).
WHYWAIT_NO_COVERAGE __attribute__((visibility("hidden"))) inline void leave_function(const void* function) noexcept {
  if (detail::inside_hook) return;
  detail::inside_hook = true;
  record::location* const here = detail::functions.entries() != nullptr ? record::this_location() : nullptr;
  if (here != nullptr) {
    const uint32_t site = detail::functions.find(reinterpret_cast<uintptr_t>(function));
    uint32_t level = here->path.depth();
    while (level > 0 && here->path.open_region(level - 1) != site) --level;
    while (level > 0 && here->path.depth() >= level) record::detail::leave_slowly(*here);
  }
  detail::inside_hook = false;
}

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

// Hooks of -finstrument-functions. g++ does not hide them, so those of one module may serve the whole process.
extern "C" {
WHYWAIT_NO_COVERAGE __attribute__((weak, used)) void __cyg_profile_func_enter(void* function, void*) {
  whywait::coverage::enter_function(function);
}
WHYWAIT_NO_COVERAGE __attribute__((weak, used)) void __cyg_profile_func_exit(void* function, void*) {
  whywait::coverage::leave_function(function);
}
}

#endif  // WHYWAIT_DISABLE

#endif
