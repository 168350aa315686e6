#ifndef WHYWAIT_COMPARISON_PREDICTED_HPP
#define WHYWAIT_COMPARISON_PREDICTED_HPP

#include <whywait/comparison/changes.hpp>
#include <whywait/comparison/matching.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {
namespace detail {

/// The predictions of several runs by what they are about, as means over the runs that make them.
inline std::map<std::string, predicted_saving> predictions_of(const std::vector<compared_run>& all,
                                                              std::vector<predicted_saving> compared_run::*which,
                                                              const place_matcher* renamed = nullptr) {
  std::map<std::string, std::pair<predicted_saving, double>> sums;
  for (const compared_run& r : all)
    for (const predicted_saving& p : r.*which) {
      auto& [sum, n] = sums[renamed != nullptr ? renamed->with_old_names(p.identity) : p.identity];
      const double seconds = sum.seconds, low = sum.low, high = sum.high;
      sum = p;
      sum.seconds += seconds;
      sum.low += low;
      sum.high += high;
      n += 1;
    }
  std::map<std::string, predicted_saving> means;
  for (auto& [identity, sum] : sums) {
    auto& [p, n] = sum;
    if (2 * n < static_cast<double>(all.size())) continue;  // most runs do not say so
    p.seconds /= n;
    p.low /= n;
    p.high /= n;
    means[identity] = p;
  }
  return means;
}

}  // namespace detail

/// What the reports before predicted, with what came true. A saving counts as followed if its reason is gone or saves at most
/// half as much. Of questions only those whose change makes the run as fast as the side after can be meant; all are listed.
inline std::vector<saving_check> check_savings(const std::vector<compared_run>& before, const std::vector<compared_run>& after,
                                               const changes& found, const place_matcher& places) {
  std::vector<saving_check> all;
  const difference& run = found.run().values;
  const auto then = detail::predictions_of(before, &compared_run::verdict);
  const auto now = detail::predictions_of(after, &compared_run::verdict, &places);
  for (const auto& [identity, p] : then) {
    saving_check c;
    c.predicted = p;
    const auto same = now.find(identity);
    if (same != now.end()) c.left_seconds = same->second.seconds;
    c.followed = c.left_seconds <= 0.5 * p.seconds;
    c.real_seconds = -run.change();
    all.push_back(std::move(c));
  }
  for (const auto& [identity, p] : detail::predictions_of(before, &compared_run::answers)) {
    saving_check c;
    c.predicted = p;
    c.question = true;
    c.real_seconds = run.after;
    c.within = run.after >= p.low - 2 * run.deviation && run.after <= p.high + 2 * run.deviation;
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
