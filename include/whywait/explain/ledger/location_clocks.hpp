#ifndef WHYWAIT_EXPLAIN_LEDGER_LOCATION_CLOCKS_HPP
#define WHYWAIT_EXPLAIN_LEDGER_LOCATION_CLOCKS_HPP

#include <whywait/explain/blocks.hpp>
#include <whywait/explain/ledger/clock_stamp.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What the clocks of one pass assume, the same for all ranks. Clock 0 of the first pass is compensation: without
/// measurement overhead; clock 1 the ideal network; the others are questions.
class clock_plan {
 public:
  /// `first`: the first pass, which compensates. `questions`: at most most_clocks.
  clock_plan(const what_if* questions, std::size_t count, bool first)
      : compensates_(first), clocks_(count + (first ? 1 : 0)) {
    for (std::size_t q = 0; q != count; ++q) {
      const std::size_t clock = q + (first ? 1 : 0);
      for (const change& c : questions[q].changes) {
        if (c.block == network_key() || c.block == node_network_key()) {
          std::vector<saving>& all = c.block == network_key() ? network_ : node_network_;
          if (!all.empty() && all.back().clock == clock) all.pop_back();
          all.push_back({1 - c.factor, static_cast<std::uint32_t>(clock), none});
          continue;
        }
        const auto fresh = static_cast<std::uint32_t>(asked_.size());
        const std::uint32_t number = numbers_.intern(c.block, fresh);
        asked_.push_back({1 - c.factor, static_cast<std::uint32_t>(clock), none});
        if (number == fresh) continue;
        asked_[fresh].next = asked_[number].next;
        asked_[number].next = fresh;
      }
    }
  }

  /// Whether a block is asked about, and where: for `spend`, `none` if it is not.
  std::uint32_t number_of(core::stable_key block) const noexcept { return numbers_.find(block); }
  static constexpr std::uint32_t none = key_map::none;

  std::size_t clocks() const noexcept { return clocks_; }
  bool compensates() const noexcept { return compensates_; }
  bool asks() const noexcept { return !asked_.empty(); }
  bool asks_nodes() const noexcept { return !node_network_.empty(); }

  void spend(std::uint32_t number, std::int64_t ns, clock_bank<most_clocks>& x) const noexcept {
    for (; number != none; number = asked_[number].next) x[asked_[number].clock] += share(asked_[number].part, ns);
  }
  /// `leaves`: the call does not stay in one node.
  void spend_network(std::int64_t ns, bool leaves, clock_bank<most_clocks>& x) const noexcept {
    if (ns == 0) return;
    for (const saving& s : network_) x[s.clock] += share(s.part, ns);
    if (leaves) return;
    for (const saving& s : node_network_) x[s.clock] += share(s.part, ns);
  }

 private:
  struct saving {
    double part;  ///< of the time that would not be spent; negative: it would take longer
    std::uint32_t clock;
    std::uint32_t next;  ///< what else is asked about the same block
  };

  static std::int64_t share(double part, std::int64_t ns) noexcept {
    return part == 0 ? 0 : nearest(part * static_cast<double>(ns));
  }

  bool compensates_;
  std::size_t clocks_;
  std::vector<saving> network_, node_network_, asked_;
  key_map numbers_;  ///< of blocks: the first in asked_
};

/// The delays of one location on its way through its records: the rule of delay_rule.hpp for all hypotheses. An
/// event is the moment from which a call is no longer blocked; its inputs are the beginnings of the calls that it
/// needed. What comes after (transfer, library) is the location's own again. A call begins for MPI, and so for who
/// needs it, when the wrapper is through with what it does after its time stamp.
class location_clocks {
 public:
  /// `asked`: clock_plan::number_of each block of the rank. `leaving`: node_map::leaving of each record, or null if the
  /// plan does not ask about nodes. All borrowed.
  location_clocks(const rank_history& rank, std::uint16_t location, const clock_plan& plan,
                  const std::vector<std::uint32_t>& asked, const std::vector<bool>* leaving)
      : rank_(&rank),
        here_(&rank.locations[location]),
        plan_(&plan),
        asked_(&asked),
        leaving_(leaving),
        walk_(rank),
        now_ns_(rank.begin_ns) {}

  /// Goes to the beginning of the next record; at the end takes the last steps and returns false.
  bool begin_next() {
    if (next_ >= here_->records.size()) {
      cost_ = {};
      before_ns_ = 0;
      compute(here_->steps.size(), std::max(rank_->end_ns, now_ns_), none);
      return false;
    }
    const core::sync_record& r = here_->records[next_];
    walk_.step(r);
    cost_ = overhead_of(*here_, r.call);
    const double sum_ns = cost_.before_ns + cost_.inside_ns + cost_.back_ns + cost_.after_ns;
    uncertain_ = sum_ns > 0 ? cost_.error_ns / sum_ns : 0;
    before_ns_ = static_cast<double>(r.overhead) * rank_->clock.ns_per_tick;
    compute(r.steps, walk_.begin_ns(), r.site);
    inside_ns_ = spend(cost_.inside_ns, walk_.leave_ns() - now_ns_, uncertain_);
    now_ns_ += inside_ns_;
    // The postings of a call that has three records have no time of their own, but the same wrapper lies before MPI.
    ahead_ns_ = r.posting != 0 && r.duration == 0 ? nearest(cost_.inside_ns) : 0;
    return true;
  }

  /// How long after the beginning of the current call MPI had it.
  std::int64_t inside_ns() const noexcept { return inside_ns_; }
  std::uint32_t record() const noexcept { return static_cast<std::uint32_t>(next_); }

  clock_stamp stamp() const noexcept {
    clock_stamp s;
    s.ready_ns = now_ns_ + ahead_ns_;
    s.bound_ns = bound_ns_ + ahead_ns_;
    s.error_ns = error_ns();
    for (std::size_t h = 0; h != plan_->clocks(); ++h) s.at[h] = without(now_ns_, delay_[h]);
    return s;
  }

  /// How long a call was blocked, and how long it would have been under clock 0.
  struct blocked {
    std::int64_t measured_ns, without_ns;
  };

  /// The rest of the current call. `needed`: what it needed, all joined, or null. `measured_ns`: how long it is
  /// said to have waited in MPI.
  blocked finish_record(const clock_stamp* needed, std::int64_t measured_ns) {
    const core::sync_record& r = here_->records[next_];
    blocked waited{measured_ns, measured_ns};  // nobody is known who could be blamed: it stays
    if (needed != nullptr) {
      const std::int64_t go_ns = std::max(now_ns_, std::min(needed->ready_ns, walk_.leave_ns()));
      for (std::size_t h = plan_->clocks(); h-- != 0;) {
        delay_rule<> rule(delay_[h], go_ns - now_ns_);
        rule.input(without(go_ns, needed->at[h]), 0);
        delay_[h] = rule.delay();
        if (h == 0) waited = {go_ns - now_ns_, rule.wait()};
      }
      if (go_ns > now_ns_) {
        bound_ns_ = needed->bound_ns;
      } else if (needed->ready_ns == go_ns) {
        bound_ns_ = std::min(bound_ns_, needed->bound_ns);
      }
      error_ns_ = std::max(error_ns_, static_cast<double>(needed->error_ns));
      now_ns_ = go_ns;
    }
    const std::int64_t tail_ns = walk_.leave_ns() - now_ns_;
    plan_->spend_network(tail_ns, leaving_ == nullptr || (*leaving_)[next_], delay_);
    if (plan_->asks() && tail_ns != 0) {
      plan_->spend(plan_->number_of(call_key(site_of(*here_, r))), tail_ns, delay_);
    }
    spend(cost_.back_ns, tail_ns, uncertain_);
    after_ns_ = cost_.after_ns;
    after_uncertain_ = uncertain_;
    now_ns_ = walk_.leave_ns();
    previous_site_ = site_of(*here_, r);
    previous_steps_ = r.steps;
    ++next_;
    return waited;
  }

  std::int64_t now_ns() const noexcept { return now_ns_; }
  const clock_bank<most_clocks>& delay() const noexcept { return delay_; }
  /// Overhead on the measured critical path to here.
  std::int64_t bound_ns() const noexcept { return bound_ns_; }
  /// By how much delay()[0] may be wrong because the constants are: the largest sum along a path (overhead, C4).
  std::int64_t error_ns() const noexcept { return nearest(error_ns_); }
  /// Overhead executed by this location.
  std::int64_t executed_ns() const noexcept { return executed_ns_; }
  /// Time outside MPI calls.
  std::int64_t useful_ns() const noexcept { return useful_ns_; }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;

  // Overhead in a time of `room_ns`, of which the part `uncertain` may be wrong; what does not fit is cut.
  std::int64_t spend(double ns, std::int64_t room_ns, double uncertain) noexcept {
    const std::int64_t spent_ns = std::min(nearest(ns), room_ns);
    if (spent_ns <= 0) return 0;
    executed_ns_ += spent_ns;
    bound_ns_ += spent_ns;
    error_ns_ += static_cast<double>(spent_ns) * uncertain;
    if (plan_->compensates()) delay_[0] += spent_ns;
    return spent_ns;
  }

  // What the marks of some steps cost. A place that comes again at once (whywait::next) is counted without a reading, so
  // that no more visits were timed than the readings would have taken.
  double marks_ns(std::uint64_t first, std::uint64_t end) const noexcept {
    const core::mark_overhead& each = here_->mark_overheads;
    double sum_ns = 0;
    for (std::uint64_t s = first; s < end; ++s) {
      const core::path_step& step = here_->steps[s];
      if (step.block == 0 || step.block >= rank_->blocks.size()) continue;
      const auto visits = static_cast<double>(step.visits);
      if (step.ticks == 0) {
        sum_ns += visits * each.step_ns;
        continue;
      }
      const double readings = each.reading_ns > 0
                                  ? static_cast<double>(step.ticks) * rank_->clock.ns_per_tick / each.reading_ns
                                  : visits;
      sum_ns += std::min(visits, std::max(readings, 1.0)) * each.region_ns;
    }
    return sum_ns;
  }

  // As location_path does it: what does not fit is cut. `site` none: the end of recording.
  void compute(std::uint64_t steps_end, std::int64_t until_ns, std::uint32_t site) {
    useful_ns_ += until_ns - now_ns_;
    std::int64_t room_ns = until_ns - now_ns_;
    steps_end = std::min(steps_end, here_->steps.size());
    if (plan_->compensates()) {
      room_ns -= spend(before_ns_, room_ns, 0);  // timed, not estimated
      room_ns -= spend(after_ns_, room_ns, after_uncertain_);
      room_ns -= spend(cost_.before_ns, room_ns, uncertain_);
      spend(marks_ns(previous_steps_, steps_end), room_ns, here_->mark_overheads.error);
    }
    after_ns_ = 0;
    if (plan_->asks()) {
      std::int64_t left_ns = until_ns - now_ns_;
      for (std::uint64_t s = previous_steps_; s < steps_end; ++s) {
        const core::path_step& step = here_->steps[s];
        if (step.block == 0 || step.block >= rank_->blocks.size()) continue;
        const auto ns = std::min(nearest(static_cast<double>(step.ticks) * rank_->clock.ns_per_tick), left_ns);
        left_ns -= ns;
        plan_->spend((*asked_)[step.block], ns, delay_);
      }
      const core::stable_key to = site < here_->call_sites.size() ? here_->call_sites[site] : 0;
      if (left_ns > 0) plan_->spend(plan_->number_of(between_key(previous_site_, to)), left_ns, delay_);
    }
    now_ns_ = until_ns;
  }

  const rank_history* rank_;
  const location_history* here_;
  const clock_plan* plan_;
  const std::vector<std::uint32_t>* asked_;
  const std::vector<bool>* leaving_;
  location_walk walk_;
  std::int64_t now_ns_, bound_ns_ = 0, executed_ns_ = 0, useful_ns_ = 0, inside_ns_ = 0, ahead_ns_ = 0;
  double before_ns_ = 0, after_ns_ = 0, error_ns_ = 0;  // before: what the record says
  double uncertain_ = 0, after_uncertain_ = 0;
  core::call_overhead cost_{};  // of the current record's call
  std::uint64_t next_ = 0, previous_steps_ = 0;
  core::stable_key previous_site_ = 0;
  clock_bank<most_clocks> delay_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
