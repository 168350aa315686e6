#ifndef WHYWAIT_RECORD_OPEN_CALLS_HPP
#define WHYWAIT_RECORD_OPEN_CALLS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/recycling.hpp>

#include <pthread.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

/// The recorded run of this process; null: calls are not recorded. One load.
inline run_facts* run_of(const core::registry& registry) noexcept {
  return static_cast<run_facts*>(__atomic_load_n(&registry.extension[3], __ATOMIC_ACQUIRE));
}

/// First observed call of a thread outside MPI, which brings its own state: continues the records of a thread that ended, or
/// begins some. Null without memory.
__attribute__((noinline, cold)) inline thread_facts* open_calls(core::registry& registry, run_facts& run,
                                                                location& at) noexcept {
  pthread_mutex_lock(&registry.mutex);
  detail::continue_calls(registry, at);
  pthread_mutex_unlock(&registry.mutex);
  if (at.calls != nullptr) return at.calls;
  void* const pages = core::map_pages(sizeof(thread_facts), true);
  if (pages == nullptr) return nullptr;
  registry.kept.keep(pages, sizeof(thread_facts));
  thread_facts* const made = new (pages) thread_facts();
  if (!made->sites.open(&registry.kept, &run.modules)) return nullptr;
  __atomic_store_n(&at.calls, made, __ATOMIC_RELEASE);
  return made;
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
