#ifndef WHYWAIT_WHATIF_SUPERSTEPS_HPP
#define WHYWAIT_WHATIF_SUPERSTEPS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/models/special_functions.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace whatif {

/// A log as a sequence of steps. Each step is independent work of all lines that ends with a collective of all lines.
struct superstep_model {
  /// Steps that end with the same collective after the same code.
  struct group {
    std::size_t steps = 0;
    double sync_seconds = 0.0;  ///< mean cost of the collective
  };
  bool valid = false;
  std::string why_not;
  std::size_t lines = 0;
  base::pod_vector<group> groups;
  base::pod_vector<double> mean, variance;  ///< work of each line in such a step, by group
};

/// Finds the steps. The model is invalid if lines synchronise in any other way, such as by messages, by collectives of
/// some lines or by one-sided operations.
inline superstep_model find_supersteps(const models::run_log& log) {
  superstep_model m;
  const std::size_t lines = m.lines = log.lines.size();
  if (lines == 0) m.why_not = "the log is empty";
  if (!log.messages.empty()) m.why_not = "messages between lines make the program more than forks and joins";
  if (!m.why_not.empty()) return m;
  // All lines must reach the collectives in the same order, each later than the one before it.
  constexpr std::uint32_t nowhere = 0xffffffff;
  base::pod_vector<std::uint32_t> meets;  // by step and line
  for (const models::sync_edge& x : log.syncs) {
    const std::size_t now = meets.size();
    meets.resize(now + lines, nowhere);
    bool fits = x.in.size() == lines && x.out.size() == lines && !x.prefix;
    for (std::size_t i = 0; fits && i != lines; ++i) {
      const models::place &in = x.in[i], &out = x.out[i];
      std::uint32_t& here = meets[now + in.line];
      fits = in.line == out.line && in.index == out.index && here == nowhere &&
             (now == 0 || meets[now - lines + in.line] < in.index);
      here = in.index;
    }
    if (!fits) {
      m.why_not = "a collective does not synchronise all lines with all, at one call of each";
      return m;
    }
  }
  base::key_map number;
  const std::size_t steps = log.syncs.size();
  // time after the last call, which belongs to the next step
  base::pod_vector<double> carried(lines, 0.0), work(lines, 0.0);
  base::pod_vector<std::size_t> at(lines, 0);
  for (std::size_t step = 0; step <= steps; ++step) {
    const bool last = step == steps;
    std::uint64_t key = last ? 1 : log.syncs[step].label + 2u;
    double sum = 0.0;
    for (std::size_t l = 0; l != lines; ++l) {
      const std::size_t end = last ? log.lines[l].size() : meets[step * lines + l] + 1u;
      work[l] = carried[l];
      carried[l] = 0.0;
      for (; at[l] < end; ++at[l]) {
        const models::activity& a = log.lines[l][at[l]];
        if (l == 0) key = core::combine(key, a.label);
        work[l] += a.work_seconds;
        (last || at[l] + 1 != end ? work[l] : carried[l]) += a.call_seconds + a.wake_seconds;
      }
      sum += work[l];
    }
    if (last && !(sum > 0.0)) break;
    const std::uint32_t g = number.intern(key, static_cast<std::uint32_t>(m.groups.size()));
    if (g == m.groups.size()) {
      m.groups.push_back({});
      m.mean.resize(m.mean.size() + lines, 0.0);
      m.variance.resize(m.variance.size() + lines, 0.0);
    }
    superstep_model::group& x = m.groups[g];
    const double n = static_cast<double>(++x.steps), cost = last ? 0.0 : log.syncs[step].seconds;
    x.sync_seconds += (cost - x.sync_seconds) / n;
    for (std::size_t l = 0; l != lines; ++l) {  // Welford 1962; until the end `variance` holds sums of squares
      double& mean = m.mean[g * lines + l];
      const double off = work[l] - mean;
      mean += off / n;
      m.variance[g * lines + l] += off * (work[l] - mean);
    }
  }
  for (std::size_t i = 0; i != m.variance.size(); ++i) {
    const std::size_t n = m.groups[i / lines].steps;
    m.variance[i] = n > 1 ? m.variance[i] / static_cast<double>(n - 1) : 0.0;
  }
  m.valid = true;
  return m;
}

namespace detail {

/// P(T <= t) for a gamma-distributed time of mean m and squared coefficient of variation cv2.
inline double below(double t, double m, double cv2) noexcept {
  if (!(m > 0.0)) return 1.0;
  if (cv2 < 1e-4) return 0.5 * std::erfc((m - t) / (m * std::sqrt(2.0 * std::max(cv2, 1e-9))));
  return models::gamma_function(1.0 / cv2, t / (m * cv2));
}

/// Mean of the longest of independent gamma distributed times: the variance-aware parallel rule
/// (docs/internals/models.md) where every task has a processor of its own. Integral of 1 - product of the distribution
/// functions by Simpson's rule.
inline double mean_of_longest(const base::pod_vector<double>& mean, const base::pod_vector<double>& cv2) noexcept {
  double low = 0.0, high = 0.0;
  for (std::size_t i = 0; i != mean.size(); ++i) {
    const double deviation = mean[i] * std::sqrt(cv2[i]);
    low = std::max(low, mean[i] - 7.0 * deviation);
    high = std::max(high, mean[i] + (8.0 + 12.0 * std::sqrt(cv2[i])) * deviation);
  }
  if (!(high > low * (1.0 + 1e-12))) return high;
  constexpr int pieces = 400;
  double sum = 0.0;
  for (int k = 0; k <= pieces; ++k) {
    const double t = low + (high - low) * k / pieces;
    double all = 1.0;
    for (std::size_t i = 0; i != mean.size() && all > 0.0; ++i) all *= below(t, mean[i], cv2[i]);
    sum += (k == 0 || k == pieces ? 1.0 : k % 2 == 1 ? 4.0 : 2.0) * (1.0 - all);
  }
  return low + sum * (high - low) / (3.0 * pieces);
}

/// Sum over the steps of E[max over lines]. With `exponential`, tasks are exponential instead of having the observed
/// variance, which is the result of the exact chain. Returns false and a reason if this would be misleading.
inline bool by_steps(const superstep_model& m, bool exponential, double& seconds, std::string& why_not) {
  seconds = 0.0;
  for (std::size_t i = 0; i != m.groups.size(); ++i) {
    const superstep_model::group& g = m.groups[i];
    const double *const means = m.mean.data() + i * m.lines, *const variances = m.variance.data() + i * m.lines;
    base::pod_vector<double> mean, cv2;
    double variation = 0.0, sum = 0.0;
    for (std::size_t l = 0; l != m.lines; ++l) {
      if (!(means[l] > 0.0)) continue;
      mean.push_back(means[l]);
      cv2.push_back(exponential ? 1.0 : variances[l] / (means[l] * means[l]));
      variation += variances[l] / means[l];
      sum += means[l];
    }
    // below a coefficient of variation of 0.7, exponential tasks overestimate the wait considerably
    if (exponential && mean.size() > 1 && variation / sum < 0.49) {
      why_not = "the work varies less than the chain's exponential tasks (coefficient of variation below 0.7)";
      return false;
    }
    seconds += static_cast<double>(g.steps) * (mean_of_longest(mean, cv2) + g.sync_seconds);
  }
  return true;
}

}  // namespace detail

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
