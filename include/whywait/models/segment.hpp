#ifndef WHYWAIT_MODELS_SEGMENT_HPP
#define WHYWAIT_MODELS_SEGMENT_HPP

#include <whywait/models/detail/censored.hpp>
#include <whywait/models/error.hpp>
#include <whywait/models/machine.hpp>
#include <whywait/models/solution.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// A part of a program as a black box {N, T, p(k)} (Kapelnikov et al. 1987, 5.1), extended by its variance; one class
/// of tasks.
struct segment {
  double tasks = 0.0;               ///< N, mean number of tasks, or work in units of one task
  double mean = 0.0;                ///< T
  double variance = 0.0;            ///< V, an extension
  std::vector<double> parallelism;  ///< p(k), share of the time with k tasks active; p(0) = 0
};

/// A segment of several classes, with tasks per class and p over population vectors. Sequence, choice and loops only.
struct class_segment {
  std::vector<double> tasks;
  double mean = 0.0;
  double variance = 0.0;
  std::map<std::vector<std::uint32_t>, double> parallelism;
};

/// A single task on a machine with one class, with mean `work` / mu(1) and squared coefficient of variation `cv2` (1
/// for exponential).
inline segment task_segment(const machine& where, double work = 1.0, double cv2 = 1.0) {
  if (where.classes() != 1) throw prediction_error(fault::many_classes, "segments in parallel hold for one class");
  if (!(work > 0.0) || !(cv2 >= 0.0))
    throw prediction_error(fault::segment, "a task needs positive work and a variation of at least 0");
  const std::uint32_t one = 1;
  double rate = 0.0;
  where.per_customer(&one, &rate);
  segment s;
  s.tasks = work;
  s.mean = work / rate;
  s.variance = cv2 * s.mean * s.mean;
  s.parallelism = {0.0, 1.0};
  return s;
}

/// The segment of a solved chain with one class (P017 otherwise).
inline segment segment_of(const solution& s) {
  if (s.tasks.size() != 1) throw prediction_error(fault::many_classes, "this segment is for one class");
  return {s.tasks[0], s.mean, s.variance, s.parallelism};
}

/// The segment of a solved chain with any number of classes; needs solution::populations.
inline class_segment class_segment_of(const solution& s) {
  class_segment r{s.tasks, s.mean, s.variance, {}};
  for (const auto& p : s.populations) r.parallelism[p.first] += p.second;
  return r;
}

namespace detail {

inline void add_tasks(double& into, double from, double share) { into += share * from; }
inline void add_tasks(std::vector<double>& into, const std::vector<double>& from, double share) {
  if (into.empty()) into.resize(from.size(), 0.0);
  if (into.size() != from.size()) throw prediction_error(fault::classes, "segments with different numbers of classes");
  for (std::size_t i = 0; i != from.size(); ++i) into[i] += share * from[i];
}
inline void add_parallelism(std::vector<double>& into, const std::vector<double>& from, double share) {
  if (into.size() < from.size()) into.resize(from.size(), 0.0);
  for (std::size_t k = 0; k != from.size(); ++k) into[k] += share * from[k];
}
inline void add_parallelism(std::map<std::vector<std::uint32_t>, double>& into,
                            const std::map<std::vector<std::uint32_t>, double>& from, double share) {
  for (const auto& p : from) into[p.first] += share * p.second;
}

/// N, T and p if part i runs visits[i] times, one at a time. The caller sets the variance.
template <class Segment>
Segment mixture(const std::vector<Segment>& parts, const std::vector<double>& visits) {
  Segment r;
  for (std::size_t i = 0; i != parts.size(); ++i) {
    add_tasks(r.tasks, parts[i].tasks, visits[i]);
    r.mean += visits[i] * parts[i].mean;
  }
  if (!(r.mean > 0.0)) return r;
  for (std::size_t i = 0; i != parts.size(); ++i)
    add_parallelism(r.parallelism, parts[i].parallelism, visits[i] * parts[i].mean / r.mean);
  return r;
}

inline double checked_probability(double p) {
  if (!(p >= 0.0 && p < 1.0)) throw prediction_error(fault::segment, "the probability of repeating must lie in [0, 1)");
  return p;
}

}  // namespace detail

/// A sequence (Kapelnikov et al. 1987, 5.3). Exact for independent parts, any number of classes.
template <class Segment>
Segment sequential(const std::vector<Segment>& parts) {
  Segment r = detail::mixture(parts, std::vector<double>(parts.size(), 1.0));
  for (const Segment& s : parts) r.variance += s.variance;
  return r;
}

/// Exactly one of the parts (Kapelnikov et al. 1987, 5.4 to 5.6). Exact. Weights that do not sum to 1 are P003.
template <class Segment>
Segment exclusive_or(const std::vector<Segment>& parts, const std::vector<double>& weights) {
  double sum = 0.0;
  for (const double w : weights) sum += w;
  if (parts.size() != weights.size() || !(std::fabs(sum - 1.0) <= 1e-9))
    throw prediction_error(fault::weights_sum, "the weights of an exclusive-or sum to " + std::to_string(sum) + ", not to 1");
  Segment r = detail::mixture(parts, weights);
  for (std::size_t i = 0; i != parts.size(); ++i) {
    const double apart = parts[i].mean - r.mean;
    r.variance += weights[i] * (parts[i].variance + apart * apart);
  }
  return r;
}

/// A body that is repeated with probability `again` after each run (do-while), or entered with it before each run
/// (`test_first`). `leave` is 1 - again where the difference would cancel. Exact by Wald's equation for independent
/// iterations.
template <class Segment>
Segment repeated(const Segment& body, double again, bool test_first = false, double leave = 0.0) {
  detail::checked_probability(again);
  const double out = leave > 0.0 ? leave : 1.0 - again;
  const double trips = test_first ? again / out : 1.0 / out;
  Segment r = detail::mixture(std::vector<Segment>{body}, {trips});
  r.variance = trips * body.variance + again / (out * out) * body.mean * body.mean;
  return r;
}

/// One token that moves between segments, from i to j with probability routes[i][j]. It leaves with routes[i][parts] if
/// that column is given, otherwise with the remainder to 1. Covers sequence, choice, nested loops and jumps. Exact for
/// independent visits. Throws P016 if the token cannot leave.
template <class Segment>
Segment flowchart(const std::vector<Segment>& parts, const std::vector<std::vector<double>>& routes, std::size_t entry = 0) {
  const std::size_t n = parts.size();
  if (routes.size() != n || entry >= n)
    throw prediction_error(fault::segment, "a flowchart needs one row of routes per segment");
  detail::censored_chain chain(n);
  for (std::size_t i = 0; i != n; ++i) {
    if (routes[i].size() != n && routes[i].size() != n + 1)
      throw prediction_error(fault::segment, "a row of routes has the wrong length");
    double sum = 0.0;
    for (const double p : routes[i]) {
      if (!(p >= 0.0 && p <= 1.0)) throw prediction_error(fault::weight, "a route must have a probability from 0 to 1");
      sum += p;
    }
    if (sum > 1.0 + 1e-9 || (routes[i].size() == n + 1 && sum < 1.0 - 1e-9))
      throw prediction_error(fault::weights_sum, "the routes out of a segment sum to " + std::to_string(sum));
    double others = 0.0;
    for (std::size_t j = 0; j != n; ++j) {
      chain.jump(i, j) = routes[i][j];
      others += routes[i][j];
    }
    chain.leave(i) = routes[i].size() == n + 1 ? routes[i][n] : std::max(0.0, 1.0 - others);
  }
  if (!chain.factor()) throw prediction_error(fault::never_ends, "a part of the flowchart is never left");
  std::vector<double> visits(n, 0.0), time(n), square(n);
  visits[entry] = 1.0;
  chain.visits(visits);
  for (std::size_t i = 0; i != n; ++i) time[i] = parts[i].mean;
  chain.gathered(time);
  for (std::size_t i = 0; i != n; ++i) {
    const double rest = time[i] - parts[i].mean;  // sum of route times remaining time
    square[i] = parts[i].variance + parts[i].mean * parts[i].mean + 2.0 * parts[i].mean * rest;
  }
  chain.gathered(square);
  Segment r = detail::mixture(parts, visits);
  r.variance = square[entry] - time[entry] * time[entry];
  return r;
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
