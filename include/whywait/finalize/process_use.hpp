#ifndef WHYWAIT_FINALIZE_PROCESS_USE_HPP
#define WHYWAIT_FINALIZE_PROCESS_USE_HPP

#include <whywait/core/registry.hpp>
#include <whywait/finalize/collect_location.hpp>
#include <whywait/record/location.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace finalize {

#ifndef WHYWAIT_DISABLE
/// How many processors the recorded threads of this process may use together, those that have ended included: each may be bound to one.
/// 0 if the kernel does not tell. One system call per thread that runs.
inline std::int32_t processors_of_process(core::registry& registry) noexcept {
  const locked guard(registry.mutex);  // threads that end or begin exchange their locations
  core::processor_set all = registry.processors;
  all.add(0);
  for (const core::location_base* l = registry.locations; l != nullptr; l = l->next)
    if (__atomic_load_n(&l->finished, __ATOMIC_ACQUIRE) == 0)
      all.add(static_cast<pid_t>(static_cast<const record::location*>(l)->tid));
  return all.size();
}
#endif

/// The pages of memory that this process had at most at a time; 0 if the kernel does not tell. One system call.
inline std::int64_t most_pages_of_process() noexcept {
  rusage used;
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return page > 0 && ::getrusage(RUSAGE_SELF, &used) == 0 ? 1024 * std::int64_t{used.ru_maxrss} / page : 0;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
