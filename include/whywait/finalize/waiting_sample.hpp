#ifndef WHYWAIT_FINALIZE_WAITING_SAMPLE_HPP
#define WHYWAIT_FINALIZE_WAITING_SAMPLE_HPP

#include <whywait/report/model.hpp>

#include <algorithm>
#include <cmath>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Estimates how much of a run is waiting of which parts were not recorded. Each of these is taken to wait as much as the mean of
/// the recorded parts beside it. The error comes from how much neighbours differ, as is usual for samples at regular distances:
/// a slow change over the run does not add to it (Wolter, Introduction to Variance Estimation, 1985, chapter 7, v2;
/// docs/method.md 4.11).
class waiting_sample {
 public:
  /// An epoch: `recorded` seconds, of which `waiting`, then `unseen` seconds without records; means of the ranks.
  void add(double recorded, double waiting, double unseen) noexcept {
    if (recorded > 1e-3 * unseen) {  // else it began with that part: the ranks resume microseconds apart
      recorded_ += recorded;
      waiting_ += waiting;
    }
    if (unseen <= 0) return;
    end_part();
    gap_ += unseen;
  }

  /// The part of the whole run that is waiting, at least and at most (95 %). Unknown without three parts to compare.
  reports::share_range of_all() const noexcept {
    waiting_sample s = *this;
    s.end_part();
    if (s.gaps_ < 2) return {};
    s.squares_ += s.gap_ * s.gap_ * s.steps_ / s.gaps_;  // the run ends with a gap
    // Neighbouring differences share a part, so they have the freedom of about two thirds as many.
    const double freedom = 2 * s.gaps_ * s.gaps_ / (3 * s.gaps_ - 1);
    const double student = 1.96 + 2.4 / freedom + 5.1 / (freedom * freedom);  // of Student's t, within 5 %
    const double all = s.seconds_ + s.gap_, sum = s.sum_ + s.gap_ * s.share_;
    const double error = student * std::sqrt(s.squares_ / 2);
    return {std::max(s.known_, sum - error) / all, std::min(all - s.seen_ + s.known_, sum + error) / all};
  }

 private:
  // The recorded part that ends here, and what lies between it and the one before.
  void end_part() noexcept {
    if (recorded_ <= 0) return;
    const double share = waiting_ / recorded_, step = share - share_;
    if (seconds_ > 0 && gap_ > 0) {
      ++gaps_;
      steps_ += step * step;
      squares_ += gap_ * gap_ * step * step;
      sum_ += gap_ * (share + share_) / 2;
    } else {
      sum_ += gap_ * share;
    }
    sum_ += waiting_;
    known_ += waiting_;
    seen_ += recorded_;
    seconds_ += gap_ + recorded_;
    share_ = share;
    recorded_ = waiting_ = gap_ = 0;
  }

  double recorded_ = 0, waiting_ = 0;  // of the part that goes on
  double gap_ = 0;  // seconds without records ahead of it
  double share_ = 0;  // of waiting, in the part before
  double seconds_ = 0, sum_ = 0;  // of all before: time, and estimated waiting
  double seen_ = 0, known_ = 0;  // of these what was recorded
  double gaps_ = 0, steps_ = 0, squares_ = 0;
};

/// The range of a program that is not measured, if recording takes at most `part` (0 to 1) of recorded time.
inline reports::share_range without_overhead(reports::share_range with, double part) noexcept {
  if (with.high <= 0 || part <= 0) return with;
  const double left = 1 - std::min(part, 0.999);
  return {std::max(0.0, (with.low - part) / left), std::min(1.0, with.high / left)};
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
