#ifndef WHYWAIT_TESTS_BUILD_DSO_MODULE_HPP
#define WHYWAIT_TESTS_BUILD_DSO_MODULE_HPP

#include <whywait/record/location.hpp>

/// Whether the marks of this module take the fast path.
static inline bool goes_fast() {
  const whywait::record::path_head* const at = whywait::record::detail::here();
  return at != nullptr && at->enters_fast();
}

// What each module of the process (executable, library, plugin) tells about itself.
extern "C" {
struct module_facts {
  const void* registry;  // where this module believes the registry of the process is
  const void* location;  // where it believes the calling thread records
  unsigned site;         // number of the region that all modules name alike
  bool fast;             // whether the marks of this module go the fast way
};
using module_facts_function = module_facts();
}

#endif
