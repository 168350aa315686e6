#ifndef WHYWAIT_EXPLAIN_EPOCH_POSTINGS_HPP
#define WHYWAIT_EXPLAIN_EPOCH_POSTINGS_HPP

#include <whywait/explain/history.hpp>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

// Epochs of windows in the records of one origin. A posting of MPI_Win_complete matches one of MPI_Win_wait, and one of
// MPI_Win_post one of MPI_Win_start (core::epoch_tag), like messages on the communicator of the window.

/// Whether a call begins or ends an epoch with a group.
inline bool is_end_of_epoch(core::mpi_call call) noexcept {
  return core::role_of(call) == core::call_role::epoch || call == core::mpi_call::Win_test;
}

/// Whether a record is a posting of such a call.
inline bool is_posting_of_epoch(const core::sync_record& r) noexcept {
  return r.has(core::sync_flag::posts_send | core::sync_flag::posts_receive) && is_end_of_epoch(r.call);
}

/// The last operation on the target of a posting of MPI_Win_complete, since MPI_Win_start; the posting itself if there is none.
/// O(records of the epoch).
inline std::uint32_t last_operation(const location_history& here, std::uint32_t posting) noexcept {
  const core::sync_record& over = here.records[posting];
  for (std::uint32_t i = posting; i-- != 0;) {
    const core::sync_record& r = here.records[i];
    if (r.comm != over.comm || r.has(core::sync_flag::failed)) continue;
    if (r.call == core::mpi_call::Win_start) return posting;
    if (r.peer == over.peer && core::role_of(r.call) == core::call_role::transfer) return i;
  }
  return posting;
}

/// The MPI_Win_complete that ends what the MPI_Win_start of record `start` began; that record itself if there is none.
inline std::uint32_t end_of_access(const location_history& here, std::uint32_t start) noexcept {
  for (std::uint32_t i = start + 1; i < here.records.size(); ++i) {
    const core::sync_record& r = here.records[i];
    if (r.comm == here.records[start].comm && r.call == core::mpi_call::Win_complete && !is_posting_of_epoch(r)) return i;
  }
  return start;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
