#ifndef WHYWAIT_MODELS_PARALLEL_HPP
#define WHYWAIT_MODELS_PARALLEL_HPP

#include <whywait/models/segment.hpp>
#include <whywait/models/special_functions.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// Rules for the combination of two parallel segments.
enum class parallel_rule {
  variance_aware,  ///< gamma-distributed times (docs/method.md 5.7); the default
  /// Fluid rule (Kapelnikov et al. 1987, 5.4). Both segments progress evenly; the one with the shorter mean always ends
  /// first.
  fluid
};

/// Two segments while both run (Kapelnikov et al. 1987, 5.13, 5.14, 5.17).
struct joint_flow {
  double rate_a = 0.0, rate_b = 0.0;  ///< tasks per time of each segment
  std::vector<double> parallelism;  ///< s(k)
};

/// Computes mu'_A, mu'_B and s(k). One class only (P017). Time is the product of the widths.
inline joint_flow flow_together(const segment& a, const segment& b, const machine& where) {
  if (where.classes() != 1) throw prediction_error(fault::many_classes, "segments in parallel hold for one class");
  joint_flow r;
  if (a.parallelism.empty() || b.parallelism.empty()) throw prediction_error(fault::segment, "a segment without parallelism");
  std::vector<double> each(a.parallelism.size() + b.parallelism.size() - 1, 0.0);  // mu(k) / k
  for (std::size_t k = 1; k != each.size(); ++k) {
    const std::uint32_t n = static_cast<std::uint32_t>(k);
    if (k > 1 && where.uncontended()) each[k] = each[1];
    else where.per_customer(&n, &each[k]);
  }
  r.parallelism.assign(each.size(), 0.0);
  for (std::size_t i = 0; i != a.parallelism.size(); ++i) {
    if (!(a.parallelism[i] > 0.0)) continue;
    for (std::size_t j = 0; j != b.parallelism.size(); ++j) {
      if (!(b.parallelism[j] > 0.0)) continue;
      const double both = a.parallelism[i] * b.parallelism[j];
      r.parallelism[i + j] += both;
      r.rate_a += each[i + j] * static_cast<double>(i) * both;
      r.rate_b += each[i + j] * static_cast<double>(j) * both;
    }
  }
  return r;
}

namespace detail {

inline bool nothing(const segment& s) noexcept { return !(s.mean > 0.0) || !(s.tasks > 0.0); }

inline segment parallel_fluid(const segment& a, const segment& b, const machine& where) {
  const joint_flow f = flow_together(a, b, where);
  const double alone_a = a.tasks / f.rate_a, alone_b = b.tasks / f.rate_b;
  const bool a_first = alone_a < alone_b;
  const segment& last = a_first ? b : a;
  const double together = a_first ? alone_a : alone_b;
  const double done = (a_first ? f.rate_b : f.rate_a) * together;  // tasks of the longer segment until then
  const double rest = std::max(0.0, last.mean * (1.0 - done / last.tasks));  // Kapelnikov et al. 1987, 5.7, 5.15
  segment r;
  r.tasks = a.tasks + b.tasks;
  r.mean = together + rest;
  r.variance = last.variance;
  detail::add_parallelism(r.parallelism, f.parallelism, together / r.mean);
  detail::add_parallelism(r.parallelism, last.parallelism, rest / r.mean);
  return r;
}

inline segment parallel_gamma(const segment& a, const segment& b, const machine& where) {
  const joint_flow f = flow_together(a, b, where);
  const double t_a = a.tasks / f.rate_a, t_b = b.tasks / f.rate_b;  // durations at the reduced speed of joint execution
  const double slow_a = t_a / a.mean, slow_b = t_b / b.mean;
  const double cv2_a = a.variance / (a.mean * a.mean), cv2_b = b.variance / (b.mean * b.mean);
  const minimum m = minimum_of(t_a, cv2_a, t_b, cv2_b);
  const double alone_a = std::max(0.0, t_a - m.mean) / slow_a, alone_b = std::max(0.0, t_b - m.mean) / slow_b;
  const double longest = t_a + t_b - m.mean;
  const double square = t_a * t_a * (1.0 + cv2_a) + t_b * t_b * (1.0 + cv2_b) - m.square;
  segment r;
  r.tasks = a.tasks + b.tasks;
  r.mean = m.mean + alone_a + alone_b;
  const double scale = r.mean / longest;
  r.variance = std::max(0.0, square - longest * longest) * scale * scale;
  detail::add_parallelism(r.parallelism, f.parallelism, m.mean / r.mean);
  detail::add_parallelism(r.parallelism, a.parallelism, alone_a / r.mean);
  detail::add_parallelism(r.parallelism, b.parallelism, alone_b / r.mean);
  return r;
}

}  // namespace detail

/// Two segments that start together; the result ends when both have ended. One class only (P017). The variance-aware
/// rule is exact for two exponential tasks under any mu(k) and becomes the fluid rule as the variances vanish.
inline segment parallel(const segment& a, const segment& b, const machine& where,
                        parallel_rule rule = parallel_rule::variance_aware) {
  if (detail::nothing(a)) return b;
  if (detail::nothing(b)) return a;
  return rule == parallel_rule::fluid ? detail::parallel_fluid(a, b, where) : detail::parallel_gamma(a, b, where);
}

/// Combines two parallel sequences piece by piece with the fluid rule (Kapelnikov et al. 1987, 5.5) and returns the
/// resulting sequence.
inline std::vector<segment> parallel_sequences(const std::vector<segment>& a, const std::vector<segment>& b,
                                               const machine& where) {
  std::deque<segment> left(a.begin(), a.end()), right(b.begin(), b.end());
  std::vector<segment> result;
  while (!left.empty() && !right.empty()) {
    if (detail::nothing(left.front())) {
      left.pop_front();
      continue;
    }
    if (detail::nothing(right.front())) {
      right.pop_front();
      continue;
    }
    const joint_flow f = flow_together(left.front(), right.front(), where);
    const double t_a = left.front().tasks / f.rate_a, t_b = right.front().tasks / f.rate_b;
    const double together = std::min(t_a, t_b);
    auto shrink = [](std::deque<segment>& of, double share) {
      segment& s = of.front();
      // the rest keeps its parallelism and shrinks in proportion
      if (!(share < 1.0 - 1e-12)) {
        of.pop_front();
        return;
      }
      s.tasks *= 1.0 - share;
      s.mean *= 1.0 - share;
      s.variance *= 1.0 - share;
    };
    segment piece;
    piece.tasks = (f.rate_a + f.rate_b) * together;
    piece.mean = together;
    piece.variance = t_a < t_b ? left.front().variance : right.front().variance;
    piece.parallelism = f.parallelism;
    result.push_back(std::move(piece));
    shrink(left, together / t_a);
    shrink(right, together / t_b);
  }
  result.insert(result.end(), left.begin(), left.end());
  result.insert(result.end(), right.begin(), right.end());
  return result;
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
