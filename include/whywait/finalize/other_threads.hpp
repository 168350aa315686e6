#ifndef WHYWAIT_FINALIZE_OTHER_THREADS_HPP
#define WHYWAIT_FINALIZE_OTHER_THREADS_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/record/location.hpp>

#include <pthread.h>
#include <cstdint>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Threads of this process that made no observed call, and their time in marked work. Waiting and time outside of marks do not
/// count: such a thread may sleep in a pool, and after its end it does nothing.
struct other_threads {
  std::int64_t count = 0;
  std::uint64_t ticks = 0;

  static other_threads of(core::registry& registry) noexcept {
    other_threads all;
    const core::site_table& sites = registry.sites;
    const std::uint64_t now = core::cycle_clock::now();
    const auto add = [&](const core::path_step& step) noexcept {
      if (step.block != 0 && step.block < sites.size() && sites[step.block].kind != core::site_kind::waiting)
        all.ticks += step.ticks;
    };
    pthread_mutex_lock(&registry.mutex);  // of the threads that end or begin meanwhile
    for (const core::location_base* l = __atomic_load_n(&registry.locations, __ATOMIC_ACQUIRE); l != nullptr; l = l->next) {
      const record::location& here = static_cast<const record::location&>(*l);
      const std::uint32_t finished = __atomic_load_n(&here.finished, __ATOMIC_ACQUIRE);
      if (__atomic_load_n(&here.calls, __ATOMIC_ACQUIRE) != nullptr || finished == 2) continue;
      ++all.count;
      here.path.peek(finished != 0 ? here.end_ticks : now, add);
    }
    if (registry.ended != nullptr) {
      all.count += static_cast<std::int64_t>(registry.ended->count());
      all.ticks += registry.ended->ticks();
    }
    pthread_mutex_unlock(&registry.mutex);
    return all;
  }
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
