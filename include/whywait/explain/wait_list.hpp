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
/// call was blocked: the wait of an Irecv at its Waitall. 8 bytes per record of a location from its first wait on, O(1) per wait.
/// Not thread safe. Throws std::bad_alloc. Borrows the rank.
class wait_list final : public observer {
 public:
  explicit wait_list(const rank_history& rank) : history_(&rank), waits_(rank.locations.size()) {}

  void wait(const wait_instance& w) override {
    if (w.rank != history_->rank) return;
    base::vector<std::int64_t>& here = waits_[w.location];
    if (here.empty()) here.resize(static_cast<std::size_t>(history_->locations[w.location].records.size()), 0);
    here[w.record] += w.wait_ns;
    if (w.counted) counted_ns_ += w.wait_ns;
  }

  /// Waiting time of one record in nanoseconds; 0 if it did not wait.
  std::int64_t of(std::size_t location, std::size_t record) const noexcept {
    return waits_[location].empty() ? 0 : waits_[location][record];
  }
  /// Sum of all waits but those of paused ranks.
  std::int64_t counted_ns() const noexcept { return counted_ns_; }

 private:
  const rank_history* history_;
  base::vector<base::vector<std::int64_t>> waits_;
  std::int64_t counted_ns_ = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
