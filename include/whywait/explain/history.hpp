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

/// Whether all members of a communicator make the call in the same order. MPI_Comm_free may return at once, and MPI_Init
/// synchronises before recording begins.
inline bool has_order(const core::sync_record& r) noexcept {
  using core::call_role;
  switch (core::role_of(r.call)) {
    case call_role::barrier:
    case call_role::one_to_all:
    case call_role::all_to_one:
    case call_role::all_to_all:
    case call_role::scan:
    case call_role::create:
    case call_role::finalise: return true;
    default: return r.call == core::mpi_call::Comm_disconnect;
  }
}
/// Whether a record is a collective that is matched by order. What was carried over from an earlier epoch is counted already.
inline bool is_ordered_collective(const core::sync_record& r) noexcept { return !r.has(core::sync_flag::met) && has_order(r); }

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
