#ifndef WHYWAIT_EXPLAIN_LEDGER_OWN_TIME_HPP
#define WHYWAIT_EXPLAIN_LEDGER_OWN_TIME_HPP

#include <whywait/explain/blocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/sorting.hpp>
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
/// ends of waits. Memory: 24 bytes per record, 8 per record and block in it; once an interval of more than 64 of the
/// latter is asked for, one profile per 64. A question costs O(blocks + 64), or what was done in between if that is less.
/// Not thread safe.
class own_time {
 public:
  using profile = std::vector<std::int64_t>;  ///< ns by number of the block

  /// Numbers the blocks of one location after the other. Shared by all of a process, so that it stays in the cache.
  class numbers {
   public:
    void next_location() {
      ++location_;
      here_.clear();
    }
    std::uint32_t operator()(core::stable_key block) {
      const auto fresh = static_cast<std::uint32_t>(known_.size());
      const std::uint32_t at = all_.intern(block, fresh);
      if (at == fresh) known_.emplace_back();
      seen& s = known_[at];
      if (s.location != location_) {
        s = {location_, static_cast<std::uint32_t>(here_.size())};
        here_.emplace_back(block, s.number);
      }
      return s.number;
    }

   private:
    friend class own_time;
    struct seen {
      std::uint64_t location = 0;
      std::uint32_t number = 0;
    };
    key_map all_;
    std::vector<seen> known_;
    std::uint64_t location_ = 0;
    std::vector<std::pair<core::stable_key, std::uint32_t>> here_;
    std::vector<std::uint32_t> sorted_;
  };

  /// Begins a location; `known` serves it until `seal`.
  own_time(const rank_history& rank, const location_history& here, numbers& known)
      : rank_(&rank), here_(&here), left_ns_(rank.begin_ns) {
    known.next_location();
    instants_.reserve(here.records.size());
    parts_.reserve(2 * here.records.size() + here.steps.size());
  }

  /// The next record, which `walk` has come to: what was computed before it.
  void begin(const core::sync_record& r, const location_walk& walk, numbers& known) {
    std::int64_t room_ns = walk.begin_ns() - left_ns_;
    const std::uint64_t end = std::min<std::uint64_t>(r.steps, here_->steps.size());
    for (; steps_ < end; ++steps_) {
      const core::path_step& step = here_->steps[steps_];
      if (step.block == 0 || step.block >= rank_->blocks.size() || step.ticks == 0) continue;
      const std::int64_t ns = std::min(nearest(static_cast<double>(step.ticks) * rank_->clock.ns_per_tick), room_ns);
      room_ns -= ns;
      if (ns > 0) add(known(rank_->blocks[step.block]), ns);
    }
    steps_ = r.steps;
    const core::stable_key site = site_of(*here_, r);
    if (room_ns > 0) add(known(between_key(site_, site)), room_ns);
    site_ = site;
    left_ns_ = walk.leave_ns();
    const auto at = static_cast<std::uint32_t>(parts_.size());
    instants_.push_back({walk.begin_ns(), walk.leave_ns(), at, at});
  }
  /// The rest of it. `go_ns`: when it was no longer blocked.
  void end(std::int64_t go_ns, numbers& known) {
    if (left_ns_ <= go_ns) return;
    add(known(call_key(site_)), left_ns_ - go_ns);
    instants_.back().done = static_cast<std::uint32_t>(parts_.size());
  }
  /// After the last one: numbers the blocks in the order of their keys.
  void seal(numbers& known) {
    sort_rarely(known.here_, [](const auto& a, const auto& b) { return a.first < b.first; });
    known.sorted_.resize(known.here_.size());
    blocks_.reserve(known.here_.size());
    for (std::uint32_t i = 0; i != known.here_.size(); ++i) {
      known.sorted_[known.here_[i].second] = i;
      blocks_.push_back(known.here_[i].first);
    }
    for (part& p : parts_) p.block = known.sorted_[p.block];
  }

  /// The meaning of the numbers; ascending.
  const std::vector<core::stable_key>& blocks() const noexcept { return blocks_; }

  /// How many parts were done when this record began.
  std::uint32_t part_of(std::size_t record) const noexcept { return instants_[record].at; }
  /// How many were done by then. `near`: a record that mostly began soon afterwards, where the search begins.
  std::uint32_t part_at(std::int64_t time_ns, std::size_t near) const noexcept {
    std::size_t first = near, last = instants_.size();
    if (instants_[near].begin_ns > time_ns) {
      last = near;
      for (std::size_t step = 1; first != 0 && instants_[first].begin_ns > time_ns; step *= 2) {
        last = first;
        first -= std::min(first, step);
      }
    }
    const auto after = std::upper_bound(instants_.begin() + static_cast<std::ptrdiff_t>(first),
                                        instants_.begin() + static_cast<std::ptrdiff_t>(last), time_ns,
                                        [](std::int64_t t, const instant& i) { return t < i.begin_ns; });
    if (after == instants_.begin()) return 0;
    const instant& i = *(after - 1);
    return time_ns != i.begin_ns && time_ns >= i.leave_ns ? i.done : i.at;
  }

  /// All parts from the first number up to, not with, the second.
  void between(std::uint32_t from, std::uint32_t to, profile& sum) {
    sum.assign(blocks_.size(), 0);
    if (from <= to && to - from <= spacing) return add(from, to, 1, sum);
    if (kept_.empty()) keep();
    add_prefix(to, 1, sum);
    add_prefix(from, -1, sum);
  }

 private:
  static constexpr std::uint32_t spacing = 64;

  struct part {
    std::uint32_t block, ns;
  };
  // A record: how many parts were done when it began, and when it left.
  struct instant {
    std::int64_t begin_ns, leave_ns;
    std::uint32_t at, done;
  };

  void add(std::uint32_t block, std::int64_t ns) {
    for (; ns > 0xffffffff; ns -= 0xffffffff) parts_.push_back({block, 0xffffffffu});  // hardly ever more than 4.3 s
    parts_.push_back({block, static_cast<std::uint32_t>(ns)});
  }

  void add(std::uint32_t from, std::uint32_t to, std::int64_t sign, profile& sum) const noexcept {
    for (; from != to; ++from) sum[parts_[from].block] += sign * std::int64_t{parts_[from].ns};
  }
  void add_prefix(std::uint32_t to, std::int64_t sign, profile& sum) const noexcept {
    const std::int64_t* const near = kept_.data() + to / spacing * sum.size();
    for (std::size_t b = 0; b != sum.size(); ++b) sum[b] += sign * near[b];
    add(to / spacing * spacing, to, sign, sum);
  }
  void keep() {
    profile sum(blocks_.size(), 0);
    kept_.reserve((parts_.size() / spacing + 1) * sum.size());
    for (std::uint32_t from = 0;; from += spacing) {
      kept_.insert(kept_.end(), sum.begin(), sum.end());
      if (parts_.size() - from < spacing) return;
      add(from, from + spacing, 1, sum);
    }
  }

  const rank_history* rank_;
  const location_history* here_;
  std::vector<instant> instants_;
  std::vector<part> parts_;
  std::vector<core::stable_key> blocks_;
  std::vector<std::int64_t> kept_;  ///< what the first 0, 64, 128 ... parts add up to
  std::uint64_t steps_ = 0;         ///< while records come: how many steps were seen,
  core::stable_key site_ = 0;       ///< site of the record before,
  std::int64_t left_ns_;            ///< when it left
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
