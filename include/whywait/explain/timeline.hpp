#ifndef WHYWAIT_EXPLAIN_TIMELINE_HPP
#define WHYWAIT_EXPLAIN_TIMELINE_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/timeline_event.hpp>
#include <whywait/explain/history.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The raw events of one location, recorded with WHYWAIT_TIMELINE. MPI calls are not included; they have records.
struct location_timeline {
  std::int32_t thread = 0;
  base::vector<core::timeline_event> events;
  std::uint64_t lost = 0;   ///< number of events that were not kept
  bool lost_first = false;  ///< the lost events are the oldest; otherwise the newest
};

/// One event, in the time that all ranks share.
struct timeline_mark {
  std::int64_t at_ns = 0;
  std::uint32_t block = 0;  ///< index in rank_history::blocks
  core::timeline_event::kind_t kind = core::timeline_event::enter;
};

/// The events of one location in the order they happened, properly nested. A region whose begin was lost begins at the
/// first kept event; one whose end was lost or had not come ends at the last. `end_ns`: end of recording, or INT64_MIN
/// for the last event. Steps have the time of the event before them. O(events).
/// `clock`: from ticks to nanoseconds, a shared_clock or what combines those of several epochs.
template <class Clock = core::shared_clock>
base::vector<timeline_mark> marks_of(const location_timeline& from, const Clock& clock, std::int64_t end_ns = INT64_MIN) {
  base::vector<timeline_mark> marks, open;
  base::vector<std::uint32_t> begun_before;
  marks.reserve(from.events.size());
  std::uint64_t high = 0;
  for (const core::timeline_event& e : from.events) {
    if (e.kind() == core::timeline_event::clock) {
      high = static_cast<std::uint64_t>(e.low) << 32;
      continue;
    }
    const timeline_mark mark{clock(high | e.low), e.number(), e.kind()};
    if (e.kind() == core::timeline_event::enter) {
      open.push_back(mark);
    } else if (e.kind() == core::timeline_event::leave) {
      if (open.empty()) begun_before.push_back(mark.block);
      else open.pop_back();
    }
    marks.push_back(mark);
  }
  if (marks.empty()) return marks;
  const std::int64_t first_ns = marks.front().at_ns;
  base::vector<timeline_mark> begins;
  for (std::size_t i = begun_before.size(); i-- != 0;)  // innermost region first
    begins.push_back({first_ns, begun_before[i], core::timeline_event::enter});
  marks.insert(marks.begin(), begins.begin(), begins.end());
  const bool goes_on = from.lost == 0 || from.lost_first;
  const std::int64_t last_ns = goes_on && end_ns > marks.back().at_ns ? end_ns : marks.back().at_ns;
  for (std::size_t i = open.size(); i-- != 0;) marks.push_back({last_ns, open[i].block, core::timeline_event::leave});
  return marks;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
