#ifndef WHYWAIT_EXPLAIN_LEDGER_OWN_TIME_HPP
#define WHYWAIT_EXPLAIN_LEDGER_OWN_TIME_HPP

#include <whywait/explain/blocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What one location itself did in each block from the beginning up to an instant, without waiting. Instants are
/// beginnings of calls and ends of waits. Memory: 16 bytes per record and the profile at every 16th; a question
/// costs O(blocks + steps of 16 records). Not thread safe.
class own_time {
 public:
  using profile = std::vector<std::int64_t>;  ///< ns by number of the block

  /// `go_ns`: when each record was no longer blocked.
  own_time(const rank_history& rank, std::uint16_t location, block_table& blocks, std::vector<std::int64_t> go_ns)
      : rank_(&rank), here_(&rank.locations[location]), blocks_(&blocks), go_ns_(std::move(go_ns)) {
    location_walk walk(rank);
    begin_ns_.reserve(go_ns_.size());
    profile sum;
    for (std::uint64_t i = 0; i != here_->records.size(); ++i) {
      walk.step(here_->records[i]);
      begin_ns_.push_back(walk.begin_ns());
      if (i % spacing == 0) kept_.push_back(sum);
      before(i, sum);
      inside(i, sum);
    }
  }

  std::int64_t begin_ns(std::size_t record) const noexcept { return begin_ns_[record]; }

  /// Up to the beginning of a record.
  void at_record(std::size_t record, profile& sum) const {
    until(record, sum);
    before(record, sum);
  }

  /// Up to a shared time.
  void at_time(std::int64_t time_ns, profile& sum) const {
    const auto at = std::lower_bound(begin_ns_.begin(), begin_ns_.end(), time_ns);
    const auto next = static_cast<std::size_t>(at - begin_ns_.begin());
    if (next != begin_ns_.size() && begin_ns_[next] == time_ns) return at_record(next, sum);
    if (next == 0) return sum.clear();
    at_record(next - 1, sum);
    if (time_ns >= leave_ns(next - 1)) inside(next - 1, sum);
  }

 private:
  static constexpr std::size_t spacing = 16;

  std::int64_t leave_ns(std::size_t i) const noexcept {
    const core::sync_record& r = here_->records[i];
    return std::max(rank_->clock(r.begin + r.duration), begin_ns_[i]);
  }

  void add(std::uint32_t block, std::int64_t ns, profile& sum) const {
    if (ns == 0) return;
    if (block >= sum.size()) sum.resize(block + 1, 0);
    sum[block] += ns;
  }
  // Everything before the beginning of record i / i's own computation up to its beginning / after its wait.
  void until(std::size_t i, profile& sum) const {
    sum = kept_[i / spacing];
    for (std::size_t k = i / spacing * spacing; k != i; ++k) {
      before(k, sum);
      inside(k, sum);
    }
  }
  void before(std::size_t i, profile& sum) const {
    const core::sync_record& r = here_->records[i];
    std::int64_t left_ns = begin_ns_[i] - (i == 0 ? rank_->begin_ns : leave_ns(i - 1));
    const std::uint64_t end = std::min<std::uint64_t>(r.steps, here_->steps.size());
    for (std::uint64_t s = i == 0 ? 0 : here_->records[i - 1].steps; s < end; ++s) {
      const core::path_step& step = here_->steps[s];
      if (step.block == 0 || step.block >= rank_->blocks.size() || step.ticks == 0) continue;
      const std::int64_t ns =
          std::min<std::int64_t>(std::llround(static_cast<double>(step.ticks) * rank_->clock.ns_per_tick), left_ns);
      left_ns -= ns;
      add(blocks_->intern(rank_->blocks[step.block]), ns, sum);
    }
    if (left_ns <= 0) return;
    add(blocks_->between(i == 0 ? 0 : site_of(*here_, here_->records[i - 1]), site_of(*here_, r)), left_ns, sum);
  }
  void inside(std::size_t i, profile& sum) const {
    const std::int64_t ns = leave_ns(i) - go_ns_[i];
    if (ns > 0) add(blocks_->call(site_of(*here_, here_->records[i])), ns, sum);
  }

  const rank_history* rank_;
  const location_history* here_;
  block_table* blocks_;
  std::vector<std::int64_t> begin_ns_, go_ns_;
  std::vector<profile> kept_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
