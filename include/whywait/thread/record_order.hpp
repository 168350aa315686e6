#ifndef WHYWAIT_THREAD_RECORD_ORDER_HPP
#define WHYWAIT_THREAD_RECORD_ORDER_HPP

#include <whywait/core/registry.hpp>
#include <whywait/data/marks/data_state.hpp>
#include <whywait/data/marks/data_thread.hpp>
#include <whywait/thread/slow_calls.hpp>
#include <whywait/thread/sync_call.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

// The sharing graph of registered data needs all synchronisations, also those for which no thread waits. While arrays are
// registered, each primitive therefore leaves a data record, as WHYWAIT_SYNC does: 64 bytes, about 80 ns.

/// Whether `object` is a lock of the recorder itself, which an interposer of pthread functions sees as well.
inline bool is_own(const void* object, const void* begin, uint64_t bytes) noexcept {
  return reinterpret_cast<uintptr_t>(object) - reinterpret_cast<uintptr_t>(begin) < bytes;
}

/// slow_calls::order.
inline void order(const sync_site& site, const void* object, unsigned how, uint32_t phase) noexcept {
  const core::registry* const registry = core::the_registry();
  const data::data_state* const arrays = registry != nullptr ? data::state_of(*registry) : nullptr;
  if (arrays == nullptr || is_own(object, registry, sizeof *registry) || is_own(object, arrays, sizeof *arrays)) return;
  sync_call call(site);
  if (!call) return;
  if (data::data_thread* const here = data::this_thread()) here->synchronise(object, call.site_number(), how, phase);
}

}  // namespace detail
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
