#ifndef WHYWAIT_THREAD_OBSERVE_HPP
#define WHYWAIT_THREAD_OBSERVE_HPP

#include <whywait/thread/slow_calls.hpp>

#include <stdint.h>

/// The inline namespace of primitives that have an implementation of their own also with WHYWAIT_DISABLE.
#ifdef WHYWAIT_DISABLE
#define WHYWAIT_DETAIL_THREADS_NAMESPACE v0_off
#else
#define WHYWAIT_DETAIL_THREADS_NAMESPACE v0
#endif

namespace whywait {
inline namespace WHYWAIT_DETAIL_THREADS_NAMESPACE {
namespace threads {

#ifndef WHYWAIT_DISABLE

/// In a function that is not inlined, the place that called it.
#define WHYWAIT_DETAIL_SYNC_SITE(what) \
  ::whywait::threads::sync_site { ::whywait::core::mpi_call::what, __builtin_return_address(0), __builtin_frame_address(0) }

/// Keeps a call out of line from being a tail call, which would hide its caller.
#define WHYWAIT_DETAIL_NO_TAIL_CALL __asm__ volatile("")

/// Runs `block`, which may block, as a wait for one event on `object`. Afterwards `cause` holds the name of the event's record.
template <class Block>
int observe_wait(const sync_site& site, const void* object, const uint64_t* cause, Block block) {
  const slow_calls* const to = recorder();
  return to != nullptr ? to->await(site, object, cause, as_part(block)) : block();
}
/// The same for a meeting of several threads.
template <class Block>
int observe_meeting(const sync_site& site, const void* object, uint32_t phase, uint32_t members, const uint64_t* cause,
                    Block block) {
  const slow_calls* const to = recorder();
  return to != nullptr ? to->await_members(site, object, phase, members, cause, as_part(block)) : block();
}
/// Records an event on `object` that may end waits, before it happens. Its name is stored in `cause`.
inline void observe_event(const sync_site& site, const void* object, uint64_t& cause) noexcept {
  if (const slow_calls* const to = recorder()) to->event(site, object, &cause);
}
/// The last of several threads comes to a meeting; or one that does not wait (`cause` null).
inline void observe_member(const sync_site& site, const void* object, uint32_t phase, uint32_t members,
                           uint64_t* cause) noexcept {
  if (const slow_calls* const to = recorder()) to->last_member(site, object, phase, members, cause);
}
/// For registered data: see slow_calls::order. A test while no array is registered; else about 80 ns.
__attribute__((noinline, cold)) inline void order_data(const sync_site& site, const void* object, unsigned how,
                                                       uint32_t phase = 0) noexcept {
  if (const slow_calls* const to = recorder()) to->order(site, object, how, phase);
}
__attribute__((always_inline)) inline void observe_acquire(const sync_site& site, const void* object) noexcept {
  if (orders_data()) order_data(site, object, core::data_flag::acquires);
}
__attribute__((always_inline)) inline void observe_release(const sync_site& site, const void* object) noexcept {
  if (orders_data()) order_data(site, object, core::data_flag::releases);
}
/// A thread comes to a barrier; if it `stays`, its next access comes behind the end of the phase.
__attribute__((always_inline)) inline void observe_arrival(const sync_site& site, const void* object, uint32_t phase,
                                                           bool stays) noexcept {
  if (orders_data())
    order_data(site, object,
               core::data_flag::everyone | core::data_flag::releases | (stays ? unsigned{core::data_flag::acquires} : 0u),
               phase);
}
/// A thread that has come before has waited for the end of the phase.
__attribute__((always_inline)) inline void observe_phase_end(const sync_site& site, const void* object,
                                                             uint32_t phase) noexcept {
  if (orders_data()) order_data(site, object, core::data_flag::everyone | core::data_flag::acquires, phase);
}

#else

struct sync_site {};
#define WHYWAIT_DETAIL_SYNC_SITE(what) \
  ::whywait::threads::sync_site {}
#define WHYWAIT_DETAIL_NO_TAIL_CALL static_cast<void>(0)

template <class Block>
int observe_wait(const sync_site&, const void*, const uint64_t*, Block block) {
  return block();
}
template <class Block>
int observe_meeting(const sync_site&, const void*, uint32_t, uint32_t, const uint64_t*, Block block) {
  return block();
}
inline void observe_event(const sync_site&, const void*, uint64_t&) noexcept {}
inline void observe_member(const sync_site&, const void*, uint32_t, uint32_t, uint64_t*) noexcept {}
constexpr bool orders_data() noexcept { return false; }
inline void observe_acquire(const sync_site&, const void*) noexcept {}
inline void observe_release(const sync_site&, const void*) noexcept {}
inline void observe_arrival(const sync_site&, const void*, uint32_t, bool) noexcept {}
inline void observe_phase_end(const sync_site&, const void*, uint32_t) noexcept {}

#endif

}  // namespace threads
}  // namespace WHYWAIT_DETAIL_THREADS_NAMESPACE
}  // namespace whywait

#endif
