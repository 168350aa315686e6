#ifndef WHYWAIT_EXPLAIN_ACTIVE_TIME_HPP
#define WHYWAIT_EXPLAIN_ACTIVE_TIME_HPP

#include <whywait/core/nearest.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The interval in which a location counts, in shared time. The thread that started MPI counts for the whole run. A further
/// thread counts from its first to its last call, and not at all if it made none: it may sleep in a pool, or exist only
/// for a moment. Where its begin and its end are known (thread_book.hpp), it counts while it exists.
struct active_time {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t absent_ns = 0;  ///< the part of it in which there was no thread
  bool takes_part = false;

  std::int64_t ns() const noexcept { return end_ns - begin_ns - absent_ns; }
};

/// O(1). `last_leave_ns`: location_walk::leave_ns after the last record.
inline active_time active_time_of(const rank_history& rank, const location_history& here, std::int64_t last_leave_ns) noexcept {
  const std::int64_t absent_ns = core::nearest(static_cast<double>(here.absent) * rank.clock.ns_per_tick);
  if (here.whole) return {rank.begin_ns, std::max(rank.end_ns, last_leave_ns), absent_ns, true};
  const std::uint64_t first = here.carried;
  if (first >= here.records.size()) return {};
  location_walk walk(rank);
  walk.step(here.records[first]);
  return {walk.begin_ns(), std::max(walk.begin_ns(), last_leave_ns), absent_ns, true};
}

/// Whether several threads had this number, one after the other. O(n) at most.
inline bool is_reused(const location_history& here) noexcept {
  std::uint64_t begun = 0;
  for (std::uint64_t i = 0; i != here.records.size() && begun < 2; ++i)
    if (here.records[i].call == core::mpi_call::thread_begin) ++begun;
  return begun == 2;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
