#ifndef WHYWAIT_CLOCKS_CLOCK_LEGS_HPP
#define WHYWAIT_CLOCKS_CLOCK_LEGS_HPP

#include <whywait/base/pair_cache.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/asked_code.hpp>
#include <whywait/clocks/balanced_time.hpp>
#include <whywait/clocks/clock_plan.hpp>
#include <whywait/clocks/joined_code.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// One record for the clocks of one pass: the interval before its beginning, and the call.
struct clock_leg {
  std::int64_t begin_ns, leave_ns;
  std::uint32_t call;  ///< clock_plan::number_of the call
  bool leaves;         ///< the call leaves its node
  bool of_files;       ///< its time beyond its waits is input and output
  bool brings_data;    ///< what follows the call may depend on data that it brought
  bool sends;
  bool completes;  ///< the call only completes requests
  bool receives;  ///< it posts a receive
};

/// The records of one location, one after the other, as the clocks of one pass need them. Nothing is kept of earlier records,
/// so that a pass needs no memory per record. Not thread safe.
class clock_legs {
 public:
  /// The overhead of one record: before its beginning, from there to MPI's start, and after MPI's end. `error_ns`: the possible
  /// error of the first two, in what was estimated and not timed; `uncertain`: the relative one of the last. `ahead_ns`: wrapper
  /// time of a call with three records, whose postings have no time of their own.
  struct overhead {
    std::int64_t before_ns = 0, inside_ns = 0, back_ns = 0, ahead_ns = 0;
    double uncertain = 0, error_ns = 0;
  };

  /// `asked`: clock_plan::number_of each block of the rank. `balanced`: of the rank; used if the plan balances. `leaving`:
  /// node_map::leaving of each record, or null if the plan does not distinguish nodes. `of_files`: explain::calls_on_files of each
  /// record, or null if there are none. `joined`: of the rank. All are borrowed.
  clock_legs(const explain::rank_history& rank, std::size_t location, const clock_plan& plan,
             const base::pod_vector<std::uint32_t>& asked, const balanced_time& balanced, const base::vector<bool>* leaving,
             const base::vector<bool>* of_files, const joined_code& joined)
      : rank_(&rank),
        here_(&rank.locations[location]),
        plan_(&plan),
        balanced_(&balanced),
        leaving_(leaving),
        of_files_(of_files),
        code_(rank, *here_, plan, asked, joined),
        walk_(rank),
        records_(static_cast<std::uint32_t>(here_->records.size())),
        now_ns_(rank.begin_ns) {
    if (plan.balances()) part_ = balanced.begin_location(location);
  }

  std::uint32_t records() const noexcept { return records_; }
  /// The number of the current record; after the last one, of the end of recording.
  std::uint32_t record() const noexcept { return next_ - 1; }
  /// Whether `next` goes to the end of recording.
  bool at_last() const noexcept { return next_ == records_; }

  /// Goes to the next record, and after the last one to the end of recording. Calls spend(clock, ns) for what a clock gains
  /// before the beginning of the record; with clock_plan::moves_bit its sends move before that time.
  template <class Spend>
  void next(const Spend& spend) {
    // The rule of location_path: time that does not fit is cut. The last steps follow the last record.
    const core::sync_record* const r = next_ == records_ ? nullptr : &here_->records[next_];
    if (next_ != 0) left();
    if (r != nullptr) walk_.step(*r);
    leg_.begin_ns = r != nullptr ? walk_.begin_ns() : std::max(rank_->end_ns, now_ns_);
    leg_.leave_ns = r != nullptr ? walk_.leave_ns() : leg_.begin_ns;
    const std::uint64_t steps_end = code_.steps_until(next_);
    static constexpr call_cost free{};
    const call_cost& cost = r != nullptr ? cost_of(r->call) : free;
    overhead_.before_ns = overhead_.ahead_ns = 0;
    overhead_.error_ns = 0;
    overhead_.uncertain = cost.uncertain;
    const double beside_ns = spend_overhead(r, cost, steps_end);
    // Of the four readings of a call that timed itself one is inside it and two follow it.
    overhead_.inside_ns = cut(cost.inside_ns + beside_ns / 3, leg_.leave_ns - leg_.begin_ns);
    overhead_.error_ns += std::min(cost.inside_ns, static_cast<double>(overhead_.inside_ns)) * cost.uncertain;
    overhead_.back_ns = cost.back_ns;
    if (r != nullptr && r->posting != 0 && r->duration == 0) overhead_.ahead_ns = cost.ahead_ns;
    after_ns_ = cost.after_ns;
    timed_after_ns_ = beside_ns * 2 / 3;
    after_uncertain_ = cost.uncertain;
    leg_.call = clock_plan::none;
    if (plan_->asks()) {
      spend_code(spend);
      if (r != nullptr) leg_.call = number_of_call(r->site);
    }
    leg_.leaves = leaving_ == nullptr || (r != nullptr && (*leaving_)[next_]);
    leg_.of_files = of_files_ != nullptr && r != nullptr && (*of_files_)[next_];
    leg_.brings_data = r != nullptr && explain::may_bring_data(*r);
    leg_.sends = r != nullptr && r->has(core::sync_flag::posts_send);
    leg_.receives = r != nullptr && r->has(core::sync_flag::posts_receive);
    const core::call_role role = r != nullptr ? core::role_of(r->call) : core::call_role::local;
    leg_.completes = role >= core::call_role::complete_all && role <= core::call_role::test;
    // A further thread counts from its first to its last call.
    if (here_->whole || (r != nullptr && next_ > here_->carried)) useful_ns_ += leg_.begin_ns - now_ns_;
    ++next_;
  }

  const clock_leg& leg() const noexcept { return leg_; }
  const overhead& own() const noexcept { return overhead_; }
  /// The end of the last call before the current record, or before the end; the end of recording without one.
  std::int64_t last_leave_ns() const noexcept { return next_ > 1 ? now_ns_ : leg_.leave_ns; }
  /// Time outside MPI calls.
  std::int64_t useful_ns() const noexcept { return useful_ns_; }

  /// Overhead within a time of `room_ns`; what does not fit is cut.
  static std::int64_t cut(double ns, std::int64_t room_ns) noexcept {
    return std::max<std::int64_t>(0, std::min(core::nearest(ns), room_ns));
  }

 private:
  // What recording a call costs, in the form that each record needs.
  struct call_cost {
    core::mpi_call call = core::mpi_call::count_;  // none yet
    double before_ns = 0, inside_ns = 0, after_ns = 0, uncertain = 0;
    std::int64_t back_ns = 0, ahead_ns = 0;
  };
  const call_cost& cost_of(core::mpi_call call) noexcept {
    call_cost& known = costs_[static_cast<std::size_t>(call) % most_costs];
    if (__builtin_expect(known.call != call, 0)) {
      const core::call_overhead cost = overhead_of(*here_, call);
      const double sum_ns = cost.before_ns + cost.inside_ns + cost.back_ns + cost.after_ns;
      known = {call,
               cost.before_ns,
               cost.inside_ns,
               cost.after_ns,
               sum_ns > 0 ? cost.error_ns / sum_ns : 0,
               std::max<std::int64_t>(0, core::nearest(cost.back_ns)),
               core::nearest(cost.inside_ns)};
    }
    return known;
  }

  std::uint32_t number_of_call(std::uint32_t site) {
    return calls_(site, 0, [this](std::uint32_t s, std::uint32_t) {
      return plan_->number_of(explain::call_key(s < here_->call_sites.size() ? here_->call_sites[s] : 0));
    });
  }

  // What follows the current record begins at its end.
  void left() noexcept {
    now_ns_ = leg_.leave_ns;
    step_ = here_->records[next_ - 1].steps;
  }

  // The overhead before a record. Returns its timed overhead beyond that.
  double spend_overhead(const core::sync_record* r, const call_cost& cost, std::uint64_t steps_end) noexcept {
    std::int64_t room_ns = leg_.begin_ns - now_ns_;
    const auto put = [this, &room_ns](double ns, double uncertain) {
      const std::int64_t spent_ns = cut(ns, room_ns);
      room_ns -= spent_ns;
      overhead_.before_ns += spent_ns;
      overhead_.error_ns += static_cast<double>(spent_ns) * uncertain;
    };
    put(after_ns_, after_uncertain_);
    put(timed_after_ns_, 0);
    put(cost.before_ns, cost.uncertain);
    if (step_ < steps_end && (here_->mark_overheads.step_ns != 0 || here_->mark_overheads.region_ns != 0)) {
      put(marks_ns(step_, steps_end), here_->mark_overheads.error);
    }
    if (r == nullptr || r->overhead == 0) return 0;
    const double own_ns = static_cast<double>(r->overhead) * rank_->clock.ns_per_tick;  // timed, not estimated
    const std::int64_t usual_ns = overhead_.before_ns;
    put(own_ns, 0);
    return next_ >= here_->carried ? own_ns - static_cast<double>(overhead_.before_ns - usual_ns) : 0;
  }

  // What the clocks save before a record.
  template <class Spend>
  void spend_code(const Spend& spend) {
    const auto put = [&spend](std::uint32_t clock, std::int64_t ns) {
      if (ns != 0) spend(clock, ns);
    };
    code_.before(next_, now_ns_, leg_.begin_ns, [&](std::uint32_t number, const piece_of_code& piece) {
      plan_->spend(number, piece.ns, put, [&](std::size_t q) { return balanced_->saved_ns(part_, q, piece); });
    });
  }

  // The overhead of the marks of some steps. Repeated visits of one place (whywait::next) are counted without reading
  // the clock, so the number of timed visits is limited by the time that the readings take.
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
      const double readings =
          each.reading_ns > 0 ? static_cast<double>(step.ticks) * rank_->clock.ns_per_tick / each.reading_ns : visits;
      sum_ns += std::min(visits, std::max(readings, 1.0)) * each.region_ns;
    }
    return sum_ns;
  }

  static constexpr std::size_t most_costs = 4;

  const explain::rank_history* rank_;
  const explain::location_history* here_;
  const clock_plan* plan_;
  const balanced_time* balanced_;
  const base::vector<bool>*leaving_, *of_files_;
  asked_code code_;
  balanced_time::part_position part_;  ///< if the plan balances
  explain::location_walk walk_;
  std::uint32_t records_, next_ = 0;
  std::uint64_t step_ = 0;  ///< steps entered
  std::int64_t now_ns_, useful_ns_ = 0;  ///< now_ns_: the end of the record before
  double after_ns_ = 0, timed_after_ns_ = 0, after_uncertain_ = 0;
  clock_leg leg_{};
  overhead overhead_;
  // Most records are of few calls and call sites; the last ones of each are kept.
  call_cost costs_[most_costs];
  base::pair_cache<std::uint32_t, 3> calls_;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
