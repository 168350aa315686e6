#ifndef WHYWAIT_EXPLAIN_HISTORY_HPP
#define WHYWAIT_EXPLAIN_HISTORY_HPP

#include <whywait/core/rank_history.hpp>

#include <cstdint>

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

/// Collectives of one process with equal keys are matched by their order with those of the other members: those of a
/// communicator, and the starts of each persistent request, whose instances may be started in any order (MPI 4.0, 6.13).
inline core::stable_key order_key(const location_history& here, const communicator& comm, const core::sync_record& r) {
  if (!core::is_persistent(r.call)) return comm.id;
  const bool sparse = r.has(core::sync_flag::sparse);
  if (sparse && (r.tag < 1 || static_cast<std::uint64_t>(r.tag) > here.needs.size())) return comm.id;
  const std::int32_t instance = sparse ? here.needs[static_cast<std::uint64_t>(r.tag) - 1] : r.tag;
  return core::combine(comm.id, static_cast<std::uint64_t>(instance));
}

/// Whether unmarked code of a thread counts as its work: of the main thread of a rank, and of one whose waits for other threads are
/// recorded. Any other one may sleep there. O(1).
inline bool works_unmarked(const location_history& here) noexcept {
  return here.thread == 0 || (here.carried < here.records.size() && core::is_of_threads(here.records[here.carried].call));
}

/// The number of collectives of one process with one order_key.
struct collective_count {
  core::stable_key key;
  std::uint32_t next;
};

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
    case core::call_role::release:
    case core::call_role::initiate:
    case core::call_role::thread_event: return false;
    case core::call_role::epoch:
    case core::call_role::exchange: return !r.has(core::sync_flag::posts_send | core::sync_flag::posts_receive);
    default: return true;
  }
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
