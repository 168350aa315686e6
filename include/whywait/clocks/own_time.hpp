#ifndef WHYWAIT_CLOCKS_OWN_TIME_HPP
#define WHYWAIT_CLOCKS_OWN_TIME_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/clocks/joined_code.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/location_steps.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// What one location itself did in each block between two instants, without waiting. Instants are beginnings of calls
/// and ends of waits, in the records that are kept. Memory: 16 bytes per record that is kept, 8 per block between two of them;
/// after the first query of more than 64 parts also one profile per 64 parts. A query costs O(parts in the interval), or
/// O(blocks + 64) if that is less. Not thread safe.
class own_time {
 public:
  struct part {
    std::uint32_t block;  ///< number of the block, see `blocks`
    std::int64_t ns;
  };

  /// Numbers the blocks of one location after the other, and holds the result of `between`. Shared by all ranks of a
  /// process.
  class room {
   public:
    /// The result of `between`: ascending, distinct, without parts of 0 ns.
    const base::pod_vector<part>& found() const noexcept { return found_; }

   private:
    friend class own_time;
    struct seen {
      std::uint64_t location = 0;
      std::uint32_t number = 0;
    };
    struct name {
      core::stable_key block;
      std::uint32_t number;
      std::int64_t spent_ns;
      core::stable_key first, second;  ///< of unmarked code: the calls around it
      std::int64_t visits;             ///< of unmarked code
      std::int64_t polls_ns;           ///< between two polls, where the rank may wait
      std::uint32_t part;              ///< its last one
      core::stable_key phase;          ///< of unmarked code, at its last visit
    };
    // A recently used block: a step, a call or the code between two calls.
    struct recent {
      std::uint32_t from, to;
      std::uint64_t location;
      std::uint32_t number;
    };
    static constexpr std::uint32_t step = 0xffffffffu, call = 0xfffffffeu;

    void next_location() {
      ++location_;
      here_.clear();
    }
    template <class Key>
    std::uint32_t number(std::uint32_t from, std::uint32_t to, Key&& key) {
      recent& r = recent_[((from * 0x9e3779b1u) ^ (to * 0x85ebca6bu)) >> 24];
      if (r.location == location_ && r.from == from && r.to == to) return r.number;
      r = {from, to, location_, number_of(key())};
      return r.number;
    }
    std::uint32_t number_of(core::stable_key block) {
      const auto fresh = static_cast<std::uint32_t>(known_.size());
      const std::uint32_t at = all_.intern(block, fresh);
      if (at == fresh) known_.emplace_back();
      seen& s = known_[at];
      if (s.location != location_) {
        s = {location_, static_cast<std::uint32_t>(here_.size())};
        here_.push_back({block, s.number, 0, 0, 0, 0, 0, 0, 0});
      }
      return s.number;
    }

    base::key_map all_;
    base::pod_vector<seen> known_;
    std::uint64_t location_ = 0;
    recent recent_[256] = {};
    base::pod_vector<name> here_;
    base::pod_vector<std::uint32_t> sorted_;
    base::pod_vector<std::int64_t> sums_;  ///< by number of the block; all 0 outside `between`
    base::pod_vector<part> found_;
  };

  /// Begins a location, which uses `known` until `seal`, and allocates from `memory`. Both are borrowed.
  own_time(const explain::rank_history& rank, const explain::location_history& here, room& known, base::memory_pool& memory)
      : rank_(&rank), here_(&here), instants_(memory), parts_(memory), blocks_(memory), kept_(memory), left_ns_(rank.begin_ns) {
    known.next_location();
    instants_.reserve(here.records.size());
    parts_.reserve(2 * here.records.size() + here.steps.size());
  }

  /// Enters what was computed before the next record, at which `walk` stands. `keep`: instants of the record will be asked for.
  /// Returns its number among the records that are kept.
  std::uint32_t begin(const core::sync_record& r, const explain::location_walk& walk, bool keep, room& known) {
    compute(r.steps, walk.begin_ns(), explain::code_end_site(*here_, record_, code_end_), known);
    ++record_;
    kept_now_ = keep;
    call_ = r.site + 1;
    ended_ = r.call == core::mpi_call::thread_end;
    if (core::is_ordered_collective(r.call) && explain::location_steps::of_all(*rank_, r))
      phase_ = explain::joined_key(key_of(call_), explain::joined_by::phase);
    if (!core::divides_no_code(r)) site_ = call_;
    left_ns_ = walk.leave_ns();
    const std::uint32_t kept = static_cast<std::uint32_t>(instants_.size());
    if (!keep) return kept;
    const std::uint32_t at = first_ = static_cast<std::uint32_t>(parts_.size());
    const std::int64_t lasted_ns = walk.leave_ns() - walk.begin_ns();
    const bool is_long = lasted_ns >= std::int64_t{instant::too_long};
    if (is_long) long_calls_.push_back({kept, at, walk.leave_ns()});
    instants_.push_back({walk.begin_ns(), is_long ? instant::too_long : static_cast<std::uint32_t>(lasted_ns), at});
    return kept;
  }
  /// Enters the rest of the record. `go_ns`: the end of blocking. `unexplained_ns`: the part of blocking that no path
  /// explains, which counts as spent.
  void end(std::int64_t go_ns, std::int64_t unexplained_ns, room& known) {
    if (left_ns_ <= go_ns && unexplained_ns == 0) return;
    const std::uint32_t call = known.number(room::call, call_, [this] { return explain::call_key(key_of(call_)); });
    known.here_[call].spent_ns += unexplained_ns;
    if (left_ns_ <= go_ns) return;
    add(call, left_ns_ - go_ns, known);
    if (!kept_now_) return;
    const std::uint32_t done = first_ = static_cast<std::uint32_t>(parts_.size());
    instant& here = instants_.back();
    if (here.lasted == instant::too_long) long_calls_.back().done = done;
    else here.lasted |= instant::has_part;
  }
  /// Enters the last steps and numbers the blocks in the order of their keys. Writes the time of each block to `spent`,
  /// in that order, including `startup_ns` before recording began, and adds the unmarked code to `pieces`, if it counts as work.
  void seal(std::int64_t startup_ns, room& known, base::pod_vector<explain::block_time>& spent,
            base::pod_vector<unmarked_piece>& pieces) {
    compute(here_->steps.size(), std::max(rank_->end_ns, left_ns_), explain::end_of_recording, known);
    if (startup_ns != 0) known.here_[known.number_of(explain::startup_key())].spent_ns += startup_ns;
    small_stable_sort(known.here_, [](const auto& a, const auto& b) { return a.block < b.block; });
    known.sorted_.resize(known.here_.size());
    blocks_.reserve(known.here_.size());
    spent.reserve(known.here_.size());
    const bool works = explain::works_unmarked(*here_);
    const auto location = static_cast<std::uint32_t>(here_ - rank_->locations.data());
    for (const auto& n : known.here_) {
      known.sorted_[n.number] = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back(n.block);
      if (n.spent_ns != 0) spent.push_back({n.block, n.spent_ns, 0});
      if ((n.first | n.second) != 0 && works)
        pieces.push_back(
            {n.block, n.first, n.second, n.spent_ns - n.polls_ns, n.visits, location, here_->thread == 0, n.phase});
    }
    for (piece& p : parts_) p.block = known.sorted_[p.block];
  }

  /// The keys of the block numbers, ascending.
  const base::pod_vector<core::stable_key>& blocks() const noexcept { return blocks_; }

  /// The number of parts that were done when the record number `kept` of those that are kept began.
  std::uint32_t part_of(std::size_t kept) const noexcept { return instants_[kept].at; }
  /// The number of parts that were done at an instant. `near`: the number of a kept record near it, usually soon after, where the
  /// search begins.
  std::uint32_t part_at(std::int64_t time_ns, std::size_t near) const noexcept {
    std::size_t first = near, last = instants_.size();
    if (instants_[near].begin_ns > time_ns) {
      last = near;
      for (std::size_t step = 1; first != 0 && instants_[first].begin_ns > time_ns; step *= 2) {
        last = first;
        first -= std::min(first, step);
      }
    }
    const auto after = std::upper_bound(instants_.begin() + first, instants_.begin() + last, time_ns,
                                        [](std::int64_t t, const instant& i) { return t < i.begin_ns; });
    if (after == instants_.begin()) return 0;
    const instant& i = *(after - 1);
    if (time_ns == i.begin_ns) return i.at;
    const std::uint32_t lasted = i.lasted & ~instant::has_part;
    if (lasted == instant::too_long) {
      const long_call& c = *std::lower_bound(long_calls_.begin(), long_calls_.end(), &i - instants_.begin(),
                                             [](const long_call& x, std::ptrdiff_t kept) { return x.kept < kept; });
      return time_ns >= c.leave_ns ? c.done : i.at;
    }
    return i.at + (time_ns - i.begin_ns >= std::int64_t{lasted} ? i.lasted >> 31 : 0);
  }

  /// Sums the parts from number `from` up to, excluding, `to` into `into.found()`.
  void between(std::uint32_t from, std::uint32_t to, room& into) {
    base::pod_vector<std::int64_t>& sums = into.sums_;
    base::pod_vector<part>& found = into.found_;
    found.clear();
    if (sums.size() < blocks_.size()) sums.resize(blocks_.size(), 0);
    if (from <= to && to - from <= spacing) {
      for (; from != to; ++from) {
        const piece& p = parts_[from];
        std::int64_t& sum = sums[p.block];
        if (sum == 0) {  // insertion sort; usually there are few
          std::size_t at = found.size();
          found.push_back({p.block, 0});
          for (; at != 0 && found[at - 1].block > p.block; --at) found[at] = found[at - 1];
          found[at].block = p.block;
        }
        sum += p.ns;
      }
      for (part& f : found) {
        f.ns = sums[f.block];
        sums[f.block] = 0;
      }
      return;
    }
    if (kept_.empty()) keep();
    add_prefix(to, 1, sums);
    add_prefix(from, -1, sums);
    for (std::uint32_t b = 0; b != blocks_.size(); ++b) {
      if (sums[b] != 0) found.push_back({b, sums[b]});
      sums[b] = 0;
    }
  }

 private:
  static constexpr std::uint32_t spacing = 64;

  struct piece {
    std::uint32_t block, ns;
  };
  // A record that is kept. `at`: the number of parts that were done when it began. Short calls have at most one part.
  struct instant {
    static constexpr std::uint32_t has_part = 0x80000000u, too_long = ~has_part;
    std::int64_t begin_ns;
    std::uint32_t lasted;  ///< ns, and has_part; or too_long: see long_calls_
    std::uint32_t at;
  };
  // A kept call of more than two seconds. `done`: the number of parts that were done when it left.
  struct long_call {
    std::uint32_t kept, done;
    std::int64_t leave_ns;
  };

  // The rule of location_path: time that does not fit is cut. `site` beyond the table: the end of recording.
  void compute(std::uint64_t steps_end, std::int64_t until_ns, std::uint32_t site, room& known) {
    const std::int64_t whole_ns = until_ns - left_ns_;
    std::int64_t room_ns = whole_ns;
    for (const std::uint64_t end = std::min<std::uint64_t>(steps_end, here_->steps.size()); steps_ < end; ++steps_) {
      const core::path_step& step = here_->steps[steps_];
      if (step.block == 0 || step.block >= rank_->blocks.size() || step.ticks == 0) continue;
      const std::int64_t ns = std::min(core::nearest(static_cast<double>(step.ticks) * rank_->clock.ns_per_tick), room_ns);
      room_ns -= ns;
      if (ns > 0) add(known.number(room::step, step.block, [&] { return rank_->blocks[step.block]; }), ns, known);
    }
    steps_ = steps_end;
    if (room_ns <= 0 || ended_) return;
    const core::stable_key first = code_after(*here_, site_ - 1), second = key_of(site + 1);
    const std::uint32_t block = known.number(site_, site, [&] { return explain::between_key(first, second); });
    add(block, room_ns, known);
    room::name& name = known.here_[block];
    name.first = first;
    name.second = second;
    name.phase = phase_;
    if (room_ns == whole_ns && explain::is_between_polls(*here_, record_)) name.polls_ns += room_ns;
    ++name.visits;
  }

  void add(std::uint32_t block, std::int64_t ns, room& known) {
    room::name& name = known.here_[block];
    name.spent_ns += ns;
    const bool goes_on = name.part >= first_ && name.part < parts_.size() && parts_[name.part].block == block;
    if (goes_on && ns + parts_[name.part].ns <= 0xffffffff) {
      parts_[name.part].ns += static_cast<std::uint32_t>(ns);
      return;
    }
    for (; ns > 0xffffffff; ns -= 0xffffffff) parts_.push_back({block, 0xffffffffu});  // parts above 4.3 s are rare
    name.part = static_cast<std::uint32_t>(parts_.size());
    parts_.push_back({block, static_cast<std::uint32_t>(ns)});
  }

  core::stable_key key_of(std::uint32_t site_and_one) const noexcept {
    return site_and_one - 1 < here_->call_sites.size() ? here_->call_sites[site_and_one - 1] : 0;
  }

  void add(std::uint32_t from, std::uint32_t to, std::int64_t sign, base::pod_vector<std::int64_t>& sum) const noexcept {
    for (; from != to; ++from) sum[parts_[from].block] += sign * std::int64_t{parts_[from].ns};
  }
  void add_prefix(std::uint32_t to, std::int64_t sign, base::pod_vector<std::int64_t>& sum) const noexcept {
    const std::int64_t* const near = kept_.data() + to / spacing * blocks_.size();
    for (std::size_t b = 0; b != blocks_.size(); ++b) sum[b] += sign * near[b];
    add(to / spacing * spacing, to, sign, sum);
  }
  void keep() {
    base::pod_vector<std::int64_t> sum(blocks_.size(), 0);
    kept_.reserve((parts_.size() / spacing + 1) * sum.size());
    for (std::uint32_t from = 0;; from += spacing) {
      kept_.append(sum.data(), sum.size());
      if (parts_.size() - from < spacing) return;
      add(from, from + spacing, 1, sum);
    }
  }

  const explain::rank_history* rank_;
  const explain::location_history* here_;
  base::pod_vector<instant> instants_;
  base::pod_vector<long_call> long_calls_;  ///< ascending
  base::pod_vector<piece> parts_;
  base::pod_vector<core::stable_key> blocks_;
  base::pod_vector<std::int64_t> kept_;  ///< sums of the first 0, 64, 128 ... parts
  std::uint64_t record_ = 0, steps_ = 0;  ///< while records are added: number of records and steps entered
  std::uint32_t first_ = 0;  ///< the first part since the last instant that is kept
  bool kept_now_ = false;  ///< the current record is kept
  core::stable_key phase_ = 0;  ///< see unmarked_piece; 0 before the first operation of all ranks
  bool ended_ = false;  ///< the thread ended with the previous record, and runs no code up to the next
  std::uint32_t site_ = 0;  ///< 1 + the site after which the code at hand began; 0: none
  std::uint32_t call_ = 0;  ///< 1 + the site of the current record
  std::uint64_t code_end_ = 0;  ///< see explain::code_end_site
  std::int64_t left_ns_;  ///< the end of the previous record
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
