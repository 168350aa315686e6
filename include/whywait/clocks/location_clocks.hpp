#ifndef WHYWAIT_CLOCKS_LOCATION_CLOCKS_HPP
#define WHYWAIT_CLOCKS_LOCATION_CLOCKS_HPP

#include <whywait/clocks/clock_legs.hpp>
#include <whywait/clocks/clock_pairs.hpp>
#include <whywait/clocks/clock_plan.hpp>
#include <whywait/clocks/clock_stamp.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The delays of one location on its way through its records: the rule of delay_rule.hpp for all hypotheses. An event
/// is the instant from which a call is no longer blocked; its inputs are the beginnings of the calls that it needed.
/// What follows (transfer, library) is the location's own time. For MPI, and for the waiters, a call begins when the
/// wrapper has finished what it does after its time stamp.
class location_clocks {
 public:
  /// Begins one pass; `plan` is borrowed.
  location_clocks(const clock_plan& plan, std::int64_t begin_ns, const clock_legs& legs)
      : legs_(legs), now_ns_(begin_ns), plan_(&plan), clocks_(plan.clocks()) {}

  /// Goes to the beginning of the next record. At the end it enters the last steps and returns false.
  bool begin_next() {
    const bool last = prepared_ ? ends_ : legs_.at_last();
    if (last) last_delay_ = delay_;
    if (prepared_) {
      add(delay_, more_, clocks_);
      for (const std::uint32_t h : plan_->moving()) ahead_[h] += more_ahead_[h];
    } else {
      enter(delay_, ahead_);
    }
    prepared_ = false;
    leg_ = legs_.leg();
    own_ = legs_.own();
    record_ = legs_.record();
    now_ns_ = leg_.begin_ns;
    spend(own_.before_ns, 0);
    error_ns_ += own_.error_ns;
    spend(own_.inside_ns, 0);  // its error is in `error_ns`
    now_ns_ += own_.inside_ns;
    return !last;
  }
  /// Reads the record that follows while the current one waits for stamps.
  void prepare() {
    if (prepared_) return;
    prepared_ = true;
    ends_ = legs_.at_last();
    more_ = {};
    for (const std::uint32_t h : plan_->moving()) more_ahead_[h] = 0;
    enter(more_, more_ahead_);
  }

  /// Time from the beginning of the current call to MPI's start.
  std::int64_t inside_ns() const noexcept { return own_.inside_ns; }
  std::uint32_t record() const noexcept { return record_; }

  void stamp(clock_stamp& s) const noexcept {
    const std::int64_t ahead_ns = own_.ahead_ns;
    s.ready_ns = now_ns_ + ahead_ns;
    s.bound_ns = bound_ns_ + ahead_ns;
    s.error_ns = error_ns();
    set_without(s.at, now_ns_, delay_, clocks_);
    if (!leg_.sends && !leg_.completes && !leg_.receives) return;
    for (const std::uint32_t h : leg_.sends ? plan_->moving() : leg_.completes ? plan_->polling() : plan_->posting())
      s.at[h] -= ahead_[h];
  }

  /// How long a call was blocked, and how long it would have been under clock 0.
  struct blocked {
    std::int64_t measured_ns, without_ns;
  };

  /// Enters the rest of the current call. `needed`: the join of all needed stamps, or null. `measured_ns`: the wait in
  /// MPI according to the explanation. `late_ns(time after the wait)`: the part of it by which the call noticed late that it could
  /// go on.
  template <class Late>
  blocked finish_record(const clock_stamp* needed, std::int64_t measured_ns, Late&& late_ns) {
    const clock_leg& leg = leg_;
    blocked waited{measured_ns, measured_ns};  // without a known cause the wait stays as measured
    if (needed != nullptr) {
      const std::int64_t go_ns = std::max(now_ns_, std::min(needed->ready_ns, leg.leave_ns)), wait_ns = go_ns - now_ns_;
      const std::int64_t late = wait_ns > 0 && plan_->asks() ? late_ns(leg.leave_ns - go_ns) : 0;
      take_input(delay_, wait_ns, go_ns, needed->at, waits_, clocks_);
      if (plan_->removes() && leg.call != clock_plan::none)
        plan_->spend(leg.call, 0, [this](std::uint32_t clock, std::int64_t) {
          if ((clock & clock_plan::removes_bit) == 0) return;
          delay_[clock & ~clock_plan::removes_bit] += waits_[clock & ~clock_plan::removes_bit];
          waits_[clock & ~clock_plan::removes_bit] = 0;
        });
      waited = {wait_ns, waits_[0]};
      for (std::size_t h = 0; late != 0 && h != clocks_; ++h) {
        if (waits_[h] >= wait_ns || !plan_->keeps_calls(h)) continue;
        const double shorter = 1 - static_cast<double>(waits_[h]) / static_cast<double>(wait_ns);
        delay_[h] += core::nearest(shorter * static_cast<double>(late));
      }
      if (go_ns > now_ns_) {
        bound_ns_ = needed->bound_ns;
      } else if (needed->ready_ns == go_ns) {
        bound_ns_ = std::min(bound_ns_, needed->bound_ns);
      }
      error_ns_ = std::max(error_ns_, static_cast<double>(needed->error_ns));
      now_ns_ = go_ns;
    }
    const std::int64_t tail_ns = leg.leave_ns - now_ns_;
    plan_->spend_network(tail_ns, leg.leaves, leg.of_files, delay_);
    if (leg.call != clock_plan::none && tail_ns != 0) {
      plan_->spend(leg.call, tail_ns, [this](std::uint32_t clock, std::int64_t ns) {
        if ((clock & clock_plan::moves_bit) == 0) delay_[clock & ~clock_plan::removes_bit] += ns;
      });
    }
    if (leg.brings_data)
      for (const std::uint32_t h : plan_->moving()) ahead_[h] = 0;
    spend(std::min(own_.back_ns, tail_ns), own_.uncertain);
    now_ns_ = leg.leave_ns;
    return waited;
  }

  std::int64_t now_ns() const noexcept { return now_ns_; }
  const clock_bank<most_clocks>& delay() const noexcept { return delay_; }
  /// After the last record: the delay at the end of the last call.
  const clock_bank<most_clocks>& last_delay() const noexcept { return last_delay_; }
  /// Overhead on the measured critical path to this instant.
  std::int64_t bound_ns() const noexcept { return bound_ns_; }
  /// The possible error of delay()[0] because of the constants: the largest sum along a path (docs/method.md 4.2).
  std::int64_t error_ns() const noexcept { return core::nearest(error_ns_); }
  /// Overhead executed by this location.
  std::int64_t executed_ns() const noexcept { return executed_ns_; }
  /// The end of the last call.
  std::int64_t last_leave_ns() const noexcept { return legs_.last_leave_ns(); }
  /// Time outside MPI calls.
  std::int64_t useful_ns() const noexcept { return legs_.useful_ns(); }

 private:
  // Enters what the clocks save before the next record.
  void enter(clock_bank<most_clocks>& delay, clock_bank<most_clocks>& ahead) {
    legs_.next([&delay, &ahead](std::uint32_t clock, std::int64_t ns) {
      if ((clock & clock_plan::moves_bit) == 0) delay[clock] += ns;
      else ahead[clock & ~clock_plan::moves_bit] += ns;
    });
  }

  // Enters overhead with the possible relative error `uncertain`.
  void spend(std::int64_t ns, double uncertain) noexcept {
    if (ns <= 0) return;
    executed_ns_ += ns;
    bound_ns_ += ns;
    error_ns_ += static_cast<double>(ns) * uncertain;
    if (plan_->compensates()) delay_[0] += ns;
  }

  clock_legs legs_;  ///< at the current record, or at the one that is prepared
  clock_leg leg_{};  ///< the current record
  clock_legs::overhead own_;
  std::uint32_t record_ = 0;
  bool prepared_ = false, ends_ = false;  ///< ends_: what is prepared is the end of recording
  std::int64_t now_ns_, bound_ns_ = 0, executed_ns_ = 0;
  double error_ns_ = 0;
  const clock_plan* plan_;
  std::size_t clocks_;
  clock_bank<most_clocks> delay_, last_delay_;
  clock_bank<most_clocks> ahead_;  ///< since the location last received anything: work before which a clock moves sends
  clock_bank<most_clocks> more_, more_ahead_;  ///< what is prepared
  clock_bank<most_clocks> waits_;  ///< of the call at hand
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
