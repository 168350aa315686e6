#ifndef WHYWAIT_THREAD_RECORD_THREADS_HPP
#define WHYWAIT_THREAD_RECORD_THREADS_HPP

#include <whywait/core/registry.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/thread/record_events.hpp>
#include <whywait/thread/record_locks.hpp>
#include <whywait/thread/record_order.hpp>
#include <whywait/thread/slow_calls.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {
namespace detail {

__attribute__((visibility("hidden"))) inline constexpr slow_calls recorded_calls = {
    &take,        &took,          &release,      &await,  &await_outside,       &event,
    &last_member, &await_members, &await_notify, &notify, &missed_notification, &begin_thread,
    &end_thread,  &order};

}  // namespace detail

/// Turns the recording of thread primitives on, in all modules, after record::listen. The run decides whether they leave records
/// (record::run_facts::running).
inline void listen() noexcept {
  if (core::registry* const registry = core::the_registry())
    __atomic_store_n(&registry->thread_calls, &detail::recorded_calls, __ATOMIC_RELEASE);
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
