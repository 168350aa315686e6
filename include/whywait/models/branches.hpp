#ifndef WHYWAIT_MODELS_BRANCHES_HPP
#define WHYWAIT_MODELS_BRANCHES_HPP

#include <whywait/models/parallel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

namespace detail {

/// Combines many branches on a machine whose customers slow each other down. With one class every active task runs at
/// the speed mu(k)/k. In units of the work of one task ("virtual time") the branches do not depend on the machine and
/// are independent. At virtual time v, branch i is alive with probability 1 - F_i(v) and then has k tasks with
/// probability p_i(k). Real time is the virtual time with k tasks in total, divided by their speed.
class branch_mixer {
 public:
  branch_mixer(const std::vector<segment>& parts, const machine& where) : parts_(parts) {
    std::size_t width = 1;
    for (const segment& s : parts) width += s.parallelism.size();
    speed_.assign(width, 1.0);
    for (std::uint32_t k = 1; k != width; ++k) where.per_customer(&k, &speed_[k]);
    for (const segment& s : parts) {
      branch b;
      double mean_speed = 0.0;
      for (std::size_t k = 1; k < s.parallelism.size(); ++k) mean_speed += s.parallelism[k] * speed_[k];
      b.mean = s.mean * mean_speed;
      b.cv2 = s.variance / (s.mean * s.mean);
      b.share.assign(s.parallelism.size(), 0.0);
      for (std::size_t k = 1; k < s.parallelism.size(); ++k) b.share[k] = s.parallelism[k] * speed_[k] / mean_speed;
      branches_.push_back(std::move(b));
    }
  }

  segment mix() {
    std::vector<double> at_width(speed_.size(), 0.0), now, next;
    double longest = 0.0, square = 0.0;
    each_point([&](double v, double weight) {
      now.assign(1, 1.0);
      for (const branch& b : branches_) {
        const double alive = survival(b, v);
        next.assign(now.size() + b.share.size() - 1, 0.0);
        for (std::size_t i = 0; i != now.size(); ++i) {
          if (!(now[i] > 1e-16)) continue;
          next[i] += now[i] * (1.0 - alive);
          for (std::size_t k = 1; k != b.share.size(); ++k) next[i + k] += now[i] * alive * b.share[k];
        }
        now.swap(next);
      }
      for (std::size_t k = 1; k != now.size(); ++k) at_width[k] += weight * now[k];
      longest += weight * (1.0 - now[0]);
      square += weight * 2.0 * v * (1.0 - now[0]);
    });
    segment r;
    r.parallelism.assign(at_width.size(), 0.0);
    for (std::size_t k = 1; k != at_width.size(); ++k) r.mean += r.parallelism[k] = at_width[k] / speed_[k];
    for (double& p : r.parallelism) p /= r.mean;
    while (r.parallelism.size() > 2 && !(r.parallelism.back() > 0.0)) r.parallelism.pop_back();
    for (const segment& s : parts_) r.tasks += s.tasks;
    const double scale = r.mean / longest;
    r.variance = std::max(0.0, square - longest * longest) * scale * scale;
    return r;
  }

 private:
  struct branch {
    double mean = 0.0, cv2 = 0.0;  ///< in virtual time
    std::vector<double> share;     ///< p(k) in virtual time
  };

  static double survival(const branch& b, double v) noexcept {
    if (std::fabs(b.cv2 - 1.0) < 1e-12) return std::exp(-v / b.mean);
    if (b.cv2 < 1e-8) return v < b.mean ? 1.0 : 0.0;
    if (b.cv2 < 1e-4) return 0.5 * std::erfc((v / b.mean - 1.0) / std::sqrt(2.0 * b.cv2));
    return 1.0 - gamma_function(1.0 / b.cv2, v / (b.mean * b.cv2));
  }

  // Gauss-Legendre quadrature with three points between the typical end times of the branches.
  template <class F>
  void each_point(F&& f) const {
    std::vector<double> edges;
    double end = 0.0;
    for (const branch& b : branches_) {
      const double d = std::sqrt(b.cv2);
      for (const double z : {-2.5, -1.0, 0.0, 1.0, 2.5, 5.0})
        if (1.0 + z * d > 0.0) edges.push_back(b.mean * (1.0 + z * d));
      end = std::max(end, b.mean * (1.0 + 14.0 * d + 3.0 * b.cv2));
    }
    const double last = *std::max_element(edges.begin(), edges.end());
    for (const double share : {0.15, 0.4}) edges.push_back(last + share * (end - last));
    edges.push_back(end);
    std::sort(edges.begin(), edges.end());
    // equal branches have equal edges; for many different branches, a subset suffices
    std::vector<double> thin;
    const std::size_t most = std::max<std::size_t>(12, std::min<std::size_t>(2 * branches_.size(), 40));
    double least = 1e-6 * end;
    for (double before = 0.0; thin.empty() || thin.size() > most; before = 0.0, least *= 1.5) {
      thin.clear();
      for (const double e : edges)
        if (e - before > least) thin.push_back(before = e);
      if (thin.empty() || thin.back() < end) thin.push_back(end);
    }
    constexpr double place[3] = {-0.7745966692414834, 0.0, 0.7745966692414834}, part[3] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
    double before = 0.0;
    for (const double e : thin) {
      const double half = 0.5 * (e - before);
      for (int i = 0; i != 3; ++i) f(before + half * (1.0 + place[i]), half * part[i]);
      before = e;
    }
  }

  const std::vector<segment>& parts_;
  std::vector<double> speed_;
  std::vector<branch> branches_;
};

}  // namespace detail

/// Combines any number of parallel segments. With one server per customer, and for more than 64 segments, they are
/// combined in pairs from the shortest to the longest. The pair rule is not associative, contrary to Kapelnikov et al.
/// (1987), and this order is the most accurate. Otherwise all are mixed at once, which is exact for single exponential
/// tasks on any machine. The fluid rule always combines pairs.
inline segment parallel(std::vector<segment> parts, const machine& where, parallel_rule rule = parallel_rule::variance_aware) {
  parts.erase(std::remove_if(parts.begin(), parts.end(), detail::nothing), parts.end());
  if (parts.empty()) return {};
  std::stable_sort(parts.begin(), parts.end(), [](const segment& a, const segment& b) { return a.mean < b.mean; });
  if (where.classes() != 1) throw prediction_error(fault::many_classes, "segments in parallel hold for one class");
  if (rule == parallel_rule::variance_aware && !where.uncontended() && parts.size() > 2 && parts.size() <= 64)
    return detail::branch_mixer(parts, where).mix();
  segment r = std::move(parts.front());
  for (std::size_t i = 1; i != parts.size(); ++i) r = parallel(r, parts[i], where, rule);
  return r;
}

/// The loop L = A ; (B || [again: L]) of figure 3.5(d) (Kapelnikov et al. 1987), in which the next A starts while B
/// runs. The result is a mixture of the unrolled loops with 0, 1, 2, ... further trips, until the rest has probability
/// below 1e-10.
inline segment overlapped_loop(const segment& a, const segment& b, double again, const machine& where,
                               parallel_rule rule = parallel_rule::variance_aware) {
  detail::checked_probability(again);
  if (again > 0.99)
    throw prediction_error(fault::segment, "an overlapped loop needs a probability of repeating of at most 0.99");
  std::vector<segment> unrolled;
  std::vector<double> weights;
  double reach = 1.0, sum = 0.0;
  segment inner;
  while (true) {
    const segment tail = parallel(b, inner, where, rule);
    inner = sequential(std::vector<segment>{a, tail});
    unrolled.push_back(inner);
    weights.push_back(reach * (1.0 - again));
    sum += weights.back();
    reach *= again;
    if (reach < 1e-10) break;
  }
  for (double& w : weights) w /= sum;
  return exclusive_or(unrolled, weights);
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
