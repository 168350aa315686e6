#ifndef WHYWAIT_WHATIF_VARIATION_HPP
#define WHYWAIT_WHATIF_VARIATION_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/models/random.hpp>
#include <whywait/models/run_log.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace whatif {
namespace detail {

/// How the work of a log varies beside its course (docs/method.md 5.9). The course of a line is the running median of what it
/// does between the same two calls: imbalance, growing work and phases belong to it. The rest is what another run would not
/// repeat: varying work and what interrupts it. Of the rest, what all lines share at the same instance belongs to the program.
class variation {
 public:
  explicit variation(const models::run_log& log) : log_(log), first_(log.lines.size() + 1, 0) {
    for (std::size_t l = 0; l != log.lines.size(); ++l) first_[l + 1] = first_[l] + log.lines[l].size();
    rest_.assign(first_.back(), 0.0);
    group();
    slow_.assign(first_.back(), 0.0);
    for (std::size_t g = 0; g + 1 < groups_.size(); ++g) run_median(groups_[g].begin, groups_[g + 1].begin);
    for (std::size_t begin = 0, end; begin + 1 < groups_.size(); begin = end) {
      for (end = begin; end + 1 < groups_.size() && groups_[end].kind == groups_[begin].kind;) ++end;
      take_shared(begin, end, rest_);
      take_shared(begin, end, slow_);
      const double spread = few * carried(begin, end);
      for (std::size_t g = begin; g != end; ++g) spread_.push_back(spread);
    }
  }

  std::size_t size() const noexcept { return order_.size(); }

  /// Another run of the same program: every activity keeps its course and gets the rest, and the time in its call, of a
  /// random activity of its kind on its line. `into`: a copy of the log, or an earlier result.
  void again(models::random_source& random, models::run_log& into) const {
    for (std::size_t g = 0; g + 1 < groups_.size(); ++g) {
      const std::size_t begin = groups_[g].begin, n = groups_[g + 1].begin - begin, phase = n / phases + 1;
      std::size_t slow = 0;
      for (std::size_t i = 0; i != n; ++i) {
        if (i % phase == 0) slow = random.below(static_cast<std::uint32_t>(n));
        else slow = slow + 1 == n ? 0 : slow + 1;
        const std::size_t here = number(begin + i), from = begin + random.below(static_cast<std::uint32_t>(n));
        const models::activity& of = activity(order_[from]);
        models::activity& a = into.lines[order_[begin + i].line][order_[begin + i].index];
        a.work_seconds = std::max(0.0, work(order_[begin + i]) + rest_[number(from)] - rest_[here] +
                                           spread_[g] * (slow_[number(begin + slow)] - slow_[here]));
        a.disturbed_seconds = 0.0;
        a.call_seconds = of.call_seconds;
        a.wake_seconds = of.wake_seconds;
        a.waited_seconds = of.waited_seconds;
      }
    }
  }

  /// The log with what probably interrupted its work apart, in `disturbed_seconds`, where no change of the program reaches
  /// it. Interruptions only lengthen work, which makes it skew. They
  /// are taken as exponential: of mean m they add 2 m^3 to the third central moment, to which symmetric variation of the
  /// work adds nothing.
  models::run_log with_interruptions() const {
    models::run_log other = log_;
    base::pod_vector<double> all;
    for (std::size_t begin = 0, end; begin + 1 < groups_.size(); begin = end) {
      for (end = begin; end + 1 < groups_.size() && groups_[end].kind == groups_[begin].kind;) ++end;
      all.clear();
      double mean = 0.0, third = 0.0;
      for (std::size_t i = groups_[begin].begin; i != groups_[end].begin; ++i) all.push_back(rest(i));
      const double n = static_cast<double>(all.size());
      for (const double x : all) mean += x / n;
      for (const double x : all) third += (x - mean) * (x - mean) * (x - mean) / n;
      base::small_stable_sort(all);
      const double floor = all[all.size() / 50];
      const double interrupted = std::min(std::cbrt(std::max(third, 0.0) / 2.0), mean - floor);
      if (!(interrupted > 0.0)) continue;
      for (std::size_t i = groups_[begin].begin; i != groups_[end].begin; ++i) {
        models::activity& a = other.lines[order_[i].line][order_[i].index];
        const double above = interrupted * (rest(i) - floor) / (mean - floor);
        const double apart = std::min(std::max(above, 0.0), a.work_seconds);
        if (!(apart > 0.0)) continue;
        a.work_seconds -= apart;
        a.disturbed_seconds = apart;
        for (double left = apart; left > 0.0;) {  // from the longest block, where it matters most
          models::block_time* longest = nullptr;
          for (models::block_time& b : a.blocks)
            if (longest == nullptr || b.seconds > longest->seconds) longest = &b;
          if (longest == nullptr || !(longest->seconds > 0.0)) break;
          const double taken = std::min(left, longest->seconds);
          longest->seconds -= taken;
          left -= taken;
        }
      }
    }
    return other;
  }

 private:
  /// The activities of one kind on one line: from `begin` in order_ to that of the next group.
  struct group_of {
    std::uint64_t kind;
    std::size_t begin;
  };
  static constexpr std::size_t window = 21, phases = 8;
  /// Student's t of 7 degrees of freedom over that of many, times sqrt(8/7): 8 phases say little about others.
  static constexpr double few = 1.29;

  static constexpr double most_alike = 0.9;

  /// The place of the i-th in order_.
  std::size_t number(std::size_t i) const { return first_[order_[i].line] + order_[i].index; }
  double rest(std::size_t i) const { return rest_[number(i)]; }
  const models::activity& activity(const models::place& p) const { return log_.lines[p.line][p.index]; }
  double work(const models::place& p) const { return activity(p).work_seconds + activity(p).disturbed_seconds; }
  /// Work between the same two calls is of one kind.
  std::uint64_t kind(const models::place& p) const {
    const std::uint64_t before = p.index == 0 ? 0xffffffff : log_.lines[p.line][p.index - 1].label;
    return before << 32 | activity(p).label;
  }

  void group() {
    order_.reserve(first_.back());
    for (std::uint32_t l = 0; l != log_.lines.size(); ++l)
      for (std::uint32_t i = 0; i != log_.lines[l].size(); ++i) order_.push_back({l, i});
    base::small_stable_sort(order_, [this](const models::place& a, const models::place& b) {
      return kind(a) != kind(b) ? kind(a) < kind(b) : a.line < b.line;
    });
    for (std::size_t i = 0; i != order_.size(); ++i)
      if (i == 0 || kind(order_[i]) != kind(order_[i - 1]) || order_[i].line != order_[i - 1].line)
        groups_.push_back({kind(order_[i]), i});
    groups_.push_back({UINT64_MAX, order_.size()});
  }

  void run_median(std::size_t begin, std::size_t end) {
    if (end - begin < 3) return;
    const std::size_t n = std::min(window, end - begin);
    double near[window], mean = 0.0;
    for (std::size_t i = begin; i != end; ++i) {
      const std::size_t first = std::min(std::max(i, begin + n / 2) - n / 2, end - n);
      for (std::size_t k = 0; k != n; ++k) {
        near[k] = work(order_[first + k]);
        for (std::size_t at = k; at != 0 && near[at] < near[at - 1]; --at) std::swap(near[at], near[at - 1]);
      }
      slow_[number(i)] = near[n / 2];
      rest_[number(i)] = work(order_[i]) - near[n / 2];
      mean += near[n / 2] / static_cast<double>(end - begin);
    }
    for (std::size_t i = begin; i != end; ++i) slow_[number(i)] -= mean;
  }

  // By how much the courses of two runs may differ more than phases that are drawn one by one: phases that follow one another
  // are alike where the speed of a line changes slowly. Of phase means with correlation r, a sum varies by (1 + r) / (1 - r) times
  // as much. Eight phases show too little of r, on average (1 + 4 r) / 8 (Kendall 1954). The course also has what a running median
  // leaves of the rest, 1.57 / window of its variance, which is alike only within the window.
  double carried(std::size_t begin, std::size_t end) const {
    double square = 0, next = 0, of_slow = 0, of_rest = 0;
    for (std::size_t g = begin; g != end; ++g) {
      const std::size_t first = groups_[g].begin, n = groups_[g + 1].begin - first, phase = n / phases + 1;
      if (n < 2 * phases) continue;
      double mean = 0, before = 0, sum = 0;
      for (std::size_t i = 0; i != n; ++i) mean += slow_[number(first + i)] / static_cast<double>(n);
      for (std::size_t i = 0; i != n; ++i) {
        const double x = slow_[number(first + i)] - mean, r = rest(first + i);
        of_slow += x * x;
        of_rest += r * r;
        sum += x;
        if ((i + 1) % phase != 0 && i + 1 != n) continue;
        square += sum * sum;
        next += before * sum;
        before = sum;
        sum = 0;
      }
    }
    if (!(square > 0) || !(of_slow > 0)) return 1.0;
    constexpr double m = phases;
    const double alike = std::min(most_alike, std::max(0.0, (next / square * m / (m - 1) * m + 1) / (m - 4)));
    const double by_chance = std::min(1.0, 1.57 / window * of_rest / of_slow);
    return std::sqrt(1 + (1 - by_chance) * ((1 + alike) / (1 - alike) - 1));
  }

  // Groups of one kind on several lines: if they have equally many instances, takes away what all have in common.
  void take_shared(std::size_t begin, std::size_t end, base::pod_vector<double>& of) const {
    const std::size_t n = groups_[begin + 1].begin - groups_[begin].begin;
    if (end - begin < 2) return;
    for (std::size_t g = begin; g != end; ++g)
      if (groups_[g + 1].begin - groups_[g].begin != n) return;
    for (std::size_t k = 0; k != n; ++k) {
      double least = of[number(groups_[begin].begin + k)], most = least;
      for (std::size_t g = begin + 1; g != end; ++g) {
        least = std::min(least, of[number(groups_[g].begin + k)]);
        most = std::max(most, of[number(groups_[g].begin + k)]);
      }
      const double shared = least > 0.5 * most && least > 0.0 ? least : most < 0.5 * least && most < 0.0 ? most : 0.0;
      for (std::size_t g = begin; g != end; ++g) of[number(groups_[g].begin + k)] -= shared;
    }
  }

  const models::run_log& log_;
  base::pod_vector<std::size_t> first_;
  base::pod_vector<double> spread_;  ///< by group: factor of the course
  base::pod_vector<double> rest_, slow_;  ///< by place: work less its course; the course less its mean
  base::pod_vector<models::place> order_;
  base::pod_vector<group_of> groups_;  ///< and one more, the end
};

}  // namespace detail
}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
