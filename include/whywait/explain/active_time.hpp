#ifndef WHYWAIT_EXPLAIN_ACTIVE_TIME_HPP
#define WHYWAIT_EXPLAIN_ACTIVE_TIME_HPP

#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The interval in which a location counts, in shared time. The thread that started MPI counts for the whole run. A further
/// thread counts from its first to its last MPI call, and not at all if it made none: it may sleep in a pool, or exist only
/// for a moment.
struct active_time {
  std::int64_t begin_ns = 0, end_ns = 0;
  bool takes_part = false;

  std::int64_t ns() const noexcept { return end_ns - begin_ns; }
};

/// O(1). `last_leave_ns`: location_walk::leave_ns after the last record.
inline active_time active_time_of(const rank_history& rank, const location_history& here, std::int64_t last_leave_ns) noexcept {
  if (here.whole) return {rank.begin_ns, std::max(rank.end_ns, last_leave_ns), true};
  const std::uint64_t first = here.carried;
  if (first >= here.records.size()) return {};
  location_walk walk(rank);
  walk.step(here.records[first]);
  return {walk.begin_ns(), std::max(walk.begin_ns(), last_leave_ns), true};
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
