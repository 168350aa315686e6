#ifndef WHYWAIT_TESTS_BUILD_DSO_MODULE_HPP
#define WHYWAIT_TESTS_BUILD_DSO_MODULE_HPP

#include <whywait/record/location.hpp>

/// Whether the marks of this module take the fast path.
static inline bool goes_fast() {
  const whywait::record::path_head* const at = whywait::record::detail::here();
  return at != nullptr && at->enters_fast();
}

// Facts that each module of the process (executable, library, plugin) reports.
extern "C" {
struct module_facts {
  const void* registry;  // address of the registry of the process
  const void* location;  // location of the calling thread
  unsigned site;         // number of the region that all modules name alike
  bool fast;             // whether the marks of this module take the fast path
};
using module_facts_function = module_facts();
}

#endif
