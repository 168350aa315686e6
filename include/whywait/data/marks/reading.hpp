#ifndef WHYWAIT_DATA_MARKS_READING_HPP
#define WHYWAIT_DATA_MARKS_READING_HPP

#include <whywait/core/registry.hpp>
#include <whywait/data/marks/data_state.hpp>
#include <whywait/data/marks/data_thread.hpp>
#include <whywait/record/location.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

// Access for one reader at a time to the data records of all threads, which may continue to record.

/// The data records of a location; null if there are none.
inline data_thread* thread_of(const core::location_base& at) noexcept {
  const record::location& of = static_cast<const record::location&>(at);
  return static_cast<data_thread*>(__atomic_load_n(&of.extension[detail::thread_slot], __ATOMIC_ACQUIRE));
}

/// Whether the thread of the location cannot record during this call.
inline bool is_still(const core::location_base& at) noexcept {
  return &at == record::this_location() || __atomic_load_n(&at.finished, __ATOMIC_ACQUIRE) != 0;
}

/// Calls each(location, thread) for all locations with data records.
template <class Each>
void for_each_thread(const core::registry& registry, Each&& each) {
  for (core::location_base* at = __atomic_load_n(&registry.locations, __ATOMIC_ACQUIRE); at != nullptr; at = at->next)
    if (data_thread* const thread = thread_of(*at)) each(*at, *thread);
}

/// The share of the memory budget for data that unread records take, in millionths.
inline uint64_t fullness(const core::registry& registry) noexcept {
  const data_state* const process = state_of(registry);
  if (process == nullptr || process->memory.limit() == 0) return 0;
  uint64_t records = 0;
  for_each_thread(registry,
                  [&records](const core::location_base&, const data_thread& t) { records += t.records.size() - t.taken; });
  return records * sizeof(core::data_record) * 1000000 / process->memory.limit();
}

/// Discards everything recorded until now.
inline void drop_all(const core::registry& registry) noexcept {
  for_each_thread(registry,
                  [](const core::location_base& at, data_thread& t) noexcept { t.forget(t.records.size(), is_still(at)); });
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
