#ifndef WHYWAIT_FINALIZE_REPORT_ENTRY_HPP
#define WHYWAIT_FINALIZE_REPORT_ENTRY_HPP

#include <whywait/core/registry.hpp>
#include <whywait/record/open_calls.hpp>
#include <whywait/report/report_now.hpp>

#include <unistd.h>

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

namespace whywait {
inline namespace v0 {

// Weak, because the implementations with and without MPI both define it. The run that is recorded decides.
__attribute__((weak, noinline, visibility("default"))) result report() {
  core::registry* const registry = core::the_registry();
  record::run_facts* const run = registry != nullptr && registry->pid == ::getpid() ? record::run_of(*registry) : nullptr;
  result found;
  if (run != nullptr && run->explain != nullptr) {
    run->explain(*run, &found, __builtin_return_address(0), __builtin_frame_address(0));
    return found;
  }
  found.reason = "nothing is recorded; no result";
  found.warnings.push_back(found.reason);
  return found;
}

}  // namespace v0
}  // namespace whywait

#endif

#endif
