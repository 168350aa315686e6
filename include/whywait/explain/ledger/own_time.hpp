#ifndef WHYWAIT_EXPLAIN_LEDGER_OWN_TIME_HPP
#define WHYWAIT_EXPLAIN_LEDGER_OWN_TIME_HPP

#include <whywait/explain/blocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What one location itself did in each block between two instants, without waiting. Instants are beginnings of calls and
/// ends of waits. Memory: 16 bytes per record, 16 per record and block in it, and one profile per 64 of the latter; a
/// question costs O(blocks + 64), or what was done in between if that is less. Not thread safe.
class own_time {
 public:
  using profile = std::vector<std::int64_t>;  ///< ns by number of the block

  /// `go_ns`: when each record was no longer blocked.
  own_time(const rank_history& rank, std::uint16_t location, block_table& blocks,
                         const std::vector<std::int64_t>& go_ns)
      : rank_(&rank), here_(&rank.locations[location]), blocks_(&blocks) {
    const std::size_t records = here_->records.size();
    instants_.reserve(records);
    parts_.reserve(2 * records + here_->steps.size());
    numbers known(rank, *here_, blocks);
    location_walk walk(rank);
    std::int64_t left_ns = rank.begin_ns;  // when the record before left
    for (std::uint64_t i = 0; i != records; ++i) {
      const core::sync_record& r = here_->records[i];
      walk.step(r);
      const auto first = static_cast<std::uint32_t>(parts_.size());
      before(i, walk.begin_ns() - left_ns, known);
      instants_.push_back({walk.begin_ns(), first, static_cast<std::uint32_t>(parts_.size())});
      add(known.call(r), walk.leave_ns() - go_ns[i]);
      left_ns = walk.leave_ns();
    }
    profile sum;
    for (std::size_t p = 0; p != parts_.size(); ++p) {
      if (p % spacing == 0) kept_.push_back(sum);
      if (parts_[p].block >= sum.size()) sum.resize(parts_[p].block + 1, 0);
      sum[parts_[p].block] += parts_[p].ns;
    }
    kept_.push_back(std::move(sum));
  }

  /// From a shared time to the beginning of a record.
  void between(std::int64_t since_ns, std::size_t record, profile& sum) const {
    sum.assign(blocks_->size(), 0);
    const std::size_t from = part_at(since_ns, record), to = instants_[record].at;
    if (from <= to && to - from <= spacing) return add(from, to, 1, sum);
    add_prefix(to, 1, sum);
    add_prefix(from, -1, sum);
  }

 private:
  static constexpr std::size_t spacing = 64;

  struct part {
    std::uint32_t block;
    std::int64_t ns;
  };
  // When a record begins; the parts up to `first` were done by the end of the record before, those up to `at` by then.
  struct instant {
    std::int64_t begin_ns;
    std::uint32_t first, at;
  };

  // Numbers of blocks, looked up once each.
  class numbers {
   public:
    numbers(const rank_history& rank, const location_history& here, block_table& blocks)
        : rank_(&rank), here_(&here), blocks_(&blocks), steps_(rank.blocks.size(), key_map::none) {}

    std::uint32_t step(std::uint32_t block) {
      if (steps_[block] == key_map::none) steps_[block] = blocks_->intern(rank_->blocks[block]);
      return steps_[block];
    }
    std::uint32_t call(const core::sync_record& r) {
      std::uint32_t number = others_.find(std::uint64_t{r.site} + 1);
      if (number == key_map::none) {
        number = blocks_->call(site_of(*here_, r));
        others_.intern(std::uint64_t{r.site} + 1, number);
      }
      return number;
    }
    /// `before`: the record before, or null.
    std::uint32_t between(const core::sync_record* before, const core::sync_record& r) {
      const std::uint64_t first = before == nullptr ? 1 : std::uint64_t{before->site} + 2;
      const std::uint64_t pair = ((first << 32) | r.site) + 1;
      std::uint32_t number = others_.find(pair);
      if (number == key_map::none) {
        number = blocks_->between(before == nullptr ? 0 : site_of(*here_, *before), site_of(*here_, r));
        others_.intern(pair, number);
      }
      return number;
    }

   private:
    const rank_history* rank_;
    const location_history* here_;
    block_table* blocks_;
    std::vector<std::uint32_t> steps_;
    key_map others_;
  };

  void add(std::uint32_t block, std::int64_t ns) {
    if (ns > 0) parts_.push_back({block, ns});
  }
  // Record i's own computation up to its beginning.
  void before(std::size_t i, std::int64_t left_ns, numbers& known) {
    const core::sync_record& r = here_->records[i];
    const core::sync_record* last = i == 0 ? nullptr : &here_->records[i - 1];
    const std::uint64_t end = std::min<std::uint64_t>(r.steps, here_->steps.size());
    for (std::uint64_t s = last == nullptr ? 0 : last->steps; s < end; ++s) {
      const core::path_step& step = here_->steps[s];
      if (step.block == 0 || step.block >= rank_->blocks.size() || step.ticks == 0) continue;
      const std::int64_t ns =
          std::min(nearest(static_cast<double>(step.ticks) * rank_->clock.ns_per_tick), left_ns);
      left_ns -= ns;
      add(known.step(step.block), ns);
    }
    if (left_ns > 0) add(known.between(last, r), left_ns);
  }

  // How many parts were done by then. `near`: a record that mostly began soon afterwards, where the search begins.
  std::size_t part_at(std::int64_t time_ns, std::size_t near) const noexcept {
    std::size_t first = near, last = instants_.size();
    if (instants_[near].begin_ns >= time_ns) {
      last = near;
      for (std::size_t step = 1; first != 0 && instants_[first].begin_ns >= time_ns; step *= 2) {
        last = first;
        first -= std::min(first, step);
      }
    }
    const auto at = std::lower_bound(instants_.begin() + static_cast<std::ptrdiff_t>(first),
                                     instants_.begin() + static_cast<std::ptrdiff_t>(last), time_ns,
                                     [](const instant& i, std::int64_t t) { return i.begin_ns < t; });
    if (at != instants_.end() && at->begin_ns == time_ns) return at->at;
    if (at == instants_.begin()) return 0;
    const core::sync_record& r = here_->records[static_cast<std::size_t>(at - instants_.begin()) - 1];
    const bool left = time_ns >= std::max(rank_->clock(r.begin + r.duration), (at - 1)->begin_ns);
    if (!left) return (at - 1)->at;
    return at == instants_.end() ? parts_.size() : at->first;
  }

  void add(std::size_t from, std::size_t to, std::int64_t sign, profile& sum) const noexcept {
    for (; from != to; ++from) sum[parts_[from].block] += sign * parts_[from].ns;
  }
  void add_prefix(std::size_t to, std::int64_t sign, profile& sum) const noexcept {
    const profile& near = kept_[to / spacing];
    for (std::size_t b = 0; b != near.size(); ++b) sum[b] += sign * near[b];
    add(to / spacing * spacing, to, sign, sum);
  }

  const rank_history* rank_;
  const location_history* here_;
  block_table* blocks_;
  std::vector<instant> instants_;
  std::vector<part> parts_;
  std::vector<profile> kept_;  ///< what the first 0, 64, 128 ... parts add up to
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
