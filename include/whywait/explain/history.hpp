#ifndef WHYWAIT_EXPLAIN_HISTORY_HPP
#define WHYWAIT_EXPLAIN_HISTORY_HPP

#include <whywait/core/rank_history.hpp>

namespace whywait {
inline namespace v0 {
namespace explain {

// What the explanation reads: the history of each rank, as core/ defines it.
using core::communicator;
using core::counted_code;
using core::location_history;
using core::overhead_of;
using core::rank_history;

/// Whether a record is a collective that is matched by order. What was carried over from an earlier epoch is counted already.
inline bool is_ordered_collective(const core::sync_record& r) noexcept {
  return !r.has(core::sync_flag::met) && core::is_ordered_collective(r.call);
}

/// Whether what this rank does next may depend on what this call waited for.
inline bool may_bring_data(const core::sync_record& r) noexcept {
  if (core::polled_in_vain(r)) return false;
  switch (core::role_of(r.call)) {
    case core::call_role::local:
    case core::call_role::initialise:
    case core::call_role::send:
    case core::call_role::post_send:
    case core::call_role::post_receive:
    case core::call_role::prepare:
    case core::call_role::start:
    case core::call_role::release: return false;
    case core::call_role::exchange: return !r.has(core::sync_flag::posts_send | core::sync_flag::posts_receive);
    default: return true;
  }
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
