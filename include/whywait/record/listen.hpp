#ifndef WHYWAIT_RECORD_LISTEN_HPP
#define WHYWAIT_RECORD_LISTEN_HPP

#include <whywait/core/module.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/marks.hpp>
#include <whywait/record/recycling.hpp>
#include <whywait/record/slow_path.hpp>

#include <pthread.h>
#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {
namespace detail {

__attribute__((visibility("hidden"))) inline constexpr mark_functions functions = {
    &begin_mark, &end_mark,    &list_outer, &next_of_mark, &next_mark,   &visit_mark,
    &work_mark,  &begin_named, &end_named,  &visit_named,  &mark_plainly};

/// Connects a module to the recorder: from now on its marks are recorded. Does nothing until something listens.
__attribute__((cold, visibility("hidden"))) inline void attach_module(core::module_card& card) noexcept {
  const core::registry* const registry = core::the_registry();
  if (registry == nullptr || __atomic_load_n(&registry->listening, __ATOMIC_ACQUIRE) == 0) return;
  if (!core::detail::same_version(card)) return core::detail::warn_of_version(card);
  if (__atomic_load_n(&card.here, __ATOMIC_RELAXED) != 0) return;
  card.functions = registry->functions;
  __atomic_store_n(&card.here, registry->here, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&registry->extension[2], __ATOMIC_SEQ_CST) != nullptr)  // arrays are registered
    __atomic_fetch_or(&card.loaded, core::module_state::orders_data, __ATOMIC_RELAXED);
}
__attribute__((visibility("hidden"))) inline bool attach_found(core::card_search&, core::module_card& card) noexcept {
  attach_module(card);
  return false;
}

// In the child of a fork.
__attribute__((visibility("hidden"))) inline void leave_parent() noexcept {
  forget_location();
  const core::registry* const registry = core::the_registry();
  if (registry == nullptr) return;
  for (const core::location_base* l = registry->locations; l != nullptr; l = l->next)
    if (const thread_facts* const calls = static_cast<const location*>(l)->calls) calls->counter.close_files();
}

}  // namespace detail

/// Turns the marks of the whole process on: what they record will be read. Until then all marks are inert; with
/// WHYWAIT_ENABLE=0 they stay so. <whywait/mpi.hpp> calls it when the program starts. Any thread; cannot be undone.
__attribute__((visibility("hidden"))) inline void listen() noexcept {
  core::registry* const registry = core::the_registry();
  if (registry == nullptr || !registry->config.enable) return;
  pthread_mutex_lock(&registry->mutex);
  if (registry->here == 0) {
    core::detail::pin_this_module();  // its code and its slot serve all modules
    pthread_atfork(nullptr, nullptr, &detail::leave_parent);
    registry->nowhere = &detail::nowhere;
    registry->functions = &detail::functions;
    detail::open_recycling(*registry);
    registry->here = reinterpret_cast<char*>(&detail::here_slot) - detail::thread_pointer();
    __atomic_store_n(&registry->listening, 1u, __ATOMIC_RELEASE);
    __atomic_store_n(&whywait_v0_module.attach, &detail::attach_module, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&registry->mutex);
  core::card_search all{&detail::attach_found};
  all.run();
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
