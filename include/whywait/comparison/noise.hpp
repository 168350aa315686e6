#ifndef WHYWAIT_COMPARISON_NOISE_HPP
#define WHYWAIT_COMPARISON_NOISE_HPP

#include <whywait/models/special_functions.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {

/// What is known about the noise of runs without repeating them, and when a difference counts. docs/measurements.md has the
/// runs that the figures come from.
struct noise_options {
  double run_share = 0.03;  ///< standard deviation of the wall time, and of what its critical path consists of, relative to it
  double level_share = 0.04;  ///< of any other time, relative to itself ...
  double floor_share = 0.01;  ///< ... and of waits relative to the wall time; both add up as squares
  double efficiency = 0.025;  ///< of an efficiency
  double prior_runs = 10;  ///< degrees of freedom of this knowledge: repeated runs outweigh it beyond that number
  double chance = 0.02;  ///< probability that a comparison of equal programs names any change
};

/// P(|T| > t) for Student's distribution: the incomplete beta function I_x(df/2, 1/2) at x = df / (df + t^2).
inline double student_two_sided(double t, double df) noexcept { return models::beta_function(df / 2, 0.5, df / (df + t * t)); }

/// One quantity on both sides, per run.
struct samples {
  std::vector<double> before, after;
  double prior_deviation = 0;  ///< standard deviation of one run that is assumed without repeated runs
  double known = 0;  ///< size of a difference in either direction that is known to have another reason
};

/// A difference of means and how likely it is by chance.
struct difference {
  double before = 0, after = 0;  ///< means
  double deviation = 0;  ///< standard deviation of one run, moderated
  double probability = 1;  ///< of a difference of this size between equal programs
  double change() const noexcept { return after - before; }
};

inline double mean_of(const std::vector<double>& all) noexcept {
  return all.empty() ? 0 : std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
}

/// Compares the means by a moderated t-test (Smyth, Stat. Appl. Genet. Mol. Biol. 3, 2004): the variance of one run is that of
/// the repeated runs of both sides, combined with the prior one in proportion to their degrees of freedom. So one run a side is
/// judged by the prior alone, and many runs by their own noise. Only what exceeds `known` counts. O(runs).
inline difference compare_means(const samples& s, double prior_runs) noexcept {
  difference d;
  d.before = mean_of(s.before);
  d.after = mean_of(s.after);
  if (s.before.empty() || s.after.empty()) return d;
  double squares = 0;
  for (const double x : s.before) squares += (x - d.before) * (x - d.before);
  for (const double x : s.after) squares += (x - d.after) * (x - d.after);
  const double n = static_cast<double>(s.before.size()), m = static_cast<double>(s.after.size());
  const double df = prior_runs + n + m - 2;
  d.deviation = std::sqrt((prior_runs * s.prior_deviation * s.prior_deviation + squares) / df);
  const double error = d.deviation * std::sqrt(1 / n + 1 / m);
  const double size = std::max(std::fabs(d.change()) - s.known, 0.0);
  if (error > 0) d.probability = student_two_sided(size / error, df);
  else d.probability = size == 0 ? 1 : 0;
  return d;
}

/// The smallest difference of means that counts among `tests` differences; more than compare_means() because not only the
/// largest is to be found. Bisection, 60 steps.
inline double least_difference(const samples& s, const difference& d, double prior_runs, double chance,
                               std::size_t tests) noexcept {
  const double n = static_cast<double>(s.before.size()), m = static_cast<double>(s.after.size());
  const double df = prior_runs + n + m - 2, wanted = chance / static_cast<double>(tests);
  double low = 0, high = 1e6;
  for (int i = 0; i != 60; ++i) {
    const double t = (low + high) / 2;
    (student_two_sided(t, df) > wanted ? low : high) = t;
  }
  return s.known + high * d.deviation * std::sqrt(1 / n + 1 / m);
}

/// Which of several differences are real if any false one is to be named with at most `chance`: Holm's step-down procedure
/// (Scand. J. Statist. 6, 1979), which holds whatever the dependence between them. O(n log n).
inline std::vector<bool> significant(const std::vector<double>& probabilities, double chance) {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return probabilities[a] < probabilities[b]; });
  std::vector<bool> real(probabilities.size(), false);
  for (std::size_t i = 0; i != order.size(); ++i) {
    if (!(probabilities[order[i]] <= chance / static_cast<double>(order.size() - i))) break;
    real[order[i]] = true;
  }
  return real;
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
