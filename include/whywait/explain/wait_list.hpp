#ifndef WHYWAIT_EXPLAIN_WAIT_LIST_HPP
#define WHYWAIT_EXPLAIN_WAIT_LIST_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// An observer that stores how long each record of one rank waited, explained or not. Set `options::watch` to it while
/// that rank is explained; waits of other ranks in the same process are ignored. A wait is stored at the record whose
/// call was blocked: the wait of an Irecv at its Waitall. 8 bytes per record, O(1) per wait. Not thread safe; only the
/// constructor throws (std::bad_alloc).
class wait_list final : public observer {
 public:
  explicit wait_list(const rank_history& rank) : rank_(rank.rank), waits_(rank.locations.size()) {
    for (std::size_t l = 0; l != waits_.size(); ++l) waits_[l].resize(rank.locations[l].records.size(), 0);
  }

  void wait(const wait_instance& w) override {
    if (w.rank != rank_) return;
    waits_[w.location][w.record] += w.wait_ns;
    if (w.counted) counted_ns_ += w.wait_ns;
  }

  /// Waiting time of one location in nanoseconds, by index of its record; 0 for records that did not wait.
  const base::vector<std::int64_t>& of(std::size_t location) const { return waits_.at(location); }
  /// Sum of all waits but those of paused ranks.
  std::int64_t counted_ns() const noexcept { return counted_ns_; }

 private:
  std::int32_t rank_;
  base::vector<base::vector<std::int64_t>> waits_;
  std::int64_t counted_ns_ = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
