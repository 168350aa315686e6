#ifndef WHYWAIT_DATA_ANALYSIS_RANK_DATA_HPP
#define WHYWAIT_DATA_ANALYSIS_RANK_DATA_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/chunked_view.hpp>
#include <whywait/core/data_record.hpp>
#include <whywait/explain/history.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace data {

/// What a call cost that completed transfers; a call that completed several is shared out among them.
struct call_time {
  std::int64_t duration_ns = 0;
  std::int64_t wait_ns = 0;
};

/// What one location of a rank recorded about data. Views: the recorder owns it.
struct location_data {
  core::chunked_view<const core::data_record> records;
  base::vector<call_time> calls;  ///< by index of the location's sync record; empty: no times are known
  std::uint64_t first = 0;       ///< of `records` that counts: those before it are over
};

/// What one rank brings to the analysis of its communication: of a whole run, or of one part of it after the other. Then
/// lists only grow from part to part, numbers keep their meaning, and `locations` has the records of the part at hand.
struct rank_data {
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  base::vector<core::data_object> objects;  ///< meaning of data_record::object; [0] is unused
  base::vector<core::stable_key> sites;  ///< meaning of data_record::site
  std::vector<explain::communicator> groups;  ///< meaning of data_record::group
  base::vector<location_data> locations;
};

/// All records of a rank in the order of their time; those of one location stay in theirs, a `copy_from` stays before its
/// `copy_to`. `next` gives the record and its location; O(locations) a record, no memory.
class record_cursor {
 public:
  explicit record_cursor(const rank_data& rank) : rank_(&rank) {
    for (const location_data& l : rank.locations) at_.push_back(l.first);
    choose();
  }

  bool done() const noexcept { return location_ == at_.size(); }
  std::size_t location() const noexcept { return location_; }
  std::uint64_t index() const noexcept { return at_[location_]; }
  const core::data_record& record() const noexcept { return rank_->locations[location_].records[at_[location_]]; }

  void step() {
    const bool held = record().op == core::data_op::copy_from;
    ++at_[location_];
    if (held && at_[location_] < rank_->locations[location_].records.size()) return;
    choose();
  }

 private:
  void choose() {
    const std::size_t none = at_.size();
    location_ = none;
    std::uint64_t best = 0;
    for (std::size_t l = 0; l != none; ++l) {
      const auto& records = rank_->locations[l].records;
      if (at_[l] == records.size()) continue;
      const std::uint64_t time = records[at_[l]].time;
      if (location_ == none || time < best) {
        location_ = l;
        best = time;
      }
    }
  }

  const rank_data* rank_;
  base::pod_vector<std::uint64_t> at_;
  std::size_t location_ = 0;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
