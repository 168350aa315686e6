#ifndef WHYWAIT_DATA_MARKS_DATA_STATE_HPP
#define WHYWAIT_DATA_MARKS_DATA_STATE_HPP

#include <whywait/core/registry.hpp>
#include <whywait/data/marks/objects.hpp>

#include <pthread.h>
#include <stdint.h>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace data {

/// The registered data of a process, in core::registry::extension[2]. It is created by the first registration; without
/// one no memory of it is touched.
struct data_state {
  uint64_t layout;
  data_objects objects;
  core::memory_budget memory;   ///< for records; takes a quarter of WHYWAIT_MEMORY from the general budget
  uint64_t unknown_ranges = 0;  ///< recorded ranges that are in no registered array
};

namespace detail {
inline constexpr unsigned state_slot = 2;   // index in core::registry::extension
inline constexpr unsigned thread_slot = 1;  // index in record::location::extension

inline bool order_in_module(core::card_search&, core::module_card& card) noexcept {
  if (core::detail::same_version(card) && __atomic_load_n(&card.here, __ATOMIC_SEQ_CST) != 0)
    __atomic_fetch_or(&card.loaded, core::module_state::orders_data, __ATOMIC_RELAXED);
  return false;
}

__attribute__((noinline, cold)) inline data_state* make_state(core::registry& registry) noexcept {
  pthread_mutex_lock(&registry.mutex);
  data_state* known = static_cast<data_state*>(registry.extension[state_slot]);
  if (known == nullptr) {
    void* const pages = core::map_pages(sizeof(data_state), false);
    data_state* const made = pages != nullptr ? new (pages) data_state() : nullptr;
    if (made != nullptr && made->objects.open()) {
      made->layout = sizeof(data_state);
      const uint64_t quarter = registry.config.memory_bytes / 4;
      made->memory.limit(quarter);
      registry.memory.limit(registry.memory.limit() > quarter ? registry.memory.limit() - quarter : 0);
      known = made;
      __atomic_store_n(&registry.extension[state_slot], static_cast<void*>(made), __ATOMIC_SEQ_CST);
    } else {
      core::warn(
          "cannot reserve address space for registered data; it is not recorded; raise the limit of virtual memory "
          "(ulimit -v)");
    }
  }
  pthread_mutex_unlock(&registry.mutex);
  if (known != nullptr) {  // modules that come later read the slot (record/listen.hpp)
    core::card_search all{&order_in_module};
    all.run();
  }
  return known;
}
}  // namespace detail

/// The state of this process; null if no array was ever registered. One load once the registry exists.
inline data_state* state_of(const core::registry& registry) noexcept {
  data_state* const known =
      static_cast<data_state*>(__atomic_load_n(&registry.extension[detail::state_slot], __ATOMIC_ACQUIRE));
  return known != nullptr && known->layout == sizeof(data_state) ? known : nullptr;
}
inline data_state* known_state() noexcept {
  const core::registry* const registry = core::the_registry();
  return registry != nullptr ? state_of(*registry) : nullptr;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
