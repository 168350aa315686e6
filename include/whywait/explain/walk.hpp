#ifndef WHYWAIT_EXPLAIN_WALK_HPP
#define WHYWAIT_EXPLAIN_WALK_HPP

#include <whywait/explain/history.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Walks the records of one location in shared time. Begin and leave never run backwards, whatever the records contain:
/// the forward pass is free of deadlock because time does not decrease along a location and a wait never depends on an
/// instant after its own end (forward.hpp). The walk compares ticks, which order instants like nanoseconds, and
/// converts on demand.
class location_walk {
 public:
  explicit location_walk(const rank_history& rank) noexcept
      : clock_(rank.clock), from_ns_(rank.begin_ns), until_ns_(rank.continues ? rank.end_ns : INT64_MAX) {}

  void step(const core::sync_record& record) noexcept {
    begin_ = std::max(clock_.since_origin(record.begin), leave_);
    leave_ = std::max(clock_.since_origin(record.begin + record.duration), begin_);
  }

  double ns_per_tick() const noexcept { return clock_.ns_per_tick; }
  std::int64_t begin_ns() const noexcept { return at(begin_); }
  std::int64_t leave_ns() const noexcept { return leave_ == never ? from_ns_ : at(leave_); }

 private:
  static constexpr std::int64_t never = INT64_MIN;

  std::int64_t at(std::int64_t ticks) const noexcept { return std::max(std::min(clock_.at(ticks), until_ns_), from_ns_); }

  core::shared_clock clock_;
  std::int64_t from_ns_, until_ns_;
  std::int64_t begin_ = never, leave_ = never;  ///< ticks since the clock's origin
};

/// Stable key of a record's call site; 0 if it has none.
inline core::stable_key site_of(const location_history& location, const core::sync_record& record) noexcept {
  return record.site < location.call_sites.size() ? location.call_sites[record.site] : 0;
}

/// In place of a call site: the end of recording.
constexpr std::uint32_t end_of_recording = 0xffffffffu;

/// The call site that names the end of the unmarked code before a record (core::divides_no_code), for code is compared between
/// ranks by the calls around it. `known`: the result
/// for an earlier record of the same walk, at first 0. O(1), amortised.
inline std::uint32_t code_end_site(const location_history& here, std::uint64_t record, std::uint64_t& known) noexcept {
  known = std::max(known, record);
  while (known < here.records.size() && core::divides_no_code(here.records[known])) ++known;
  return known < here.records.size() ? here.records[known].site : end_of_recording;
}

/// Whether the code before a record lies between two polls of one call of which the first found nothing. Without marks it may
/// be work, or a loop that waits.
inline bool is_between_polls(const location_history& here, std::uint64_t record) noexcept {
  if (record <= here.carried || record >= here.records.size()) return false;
  return core::polls_on(here.records[record - 1], here.records[record]);
}

/// World rank of peer `peer` of a communicator; -1 if there is no such peer.
inline std::int32_t world_rank(const communicator& comm, std::int32_t peer) noexcept {
  if (peer < 0) return -1;
  if (comm.world.empty()) return peer;
  return static_cast<std::size_t>(peer) < comm.world.size() ? comm.world[static_cast<std::size_t>(peer)] : -1;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
