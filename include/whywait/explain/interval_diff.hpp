#ifndef WHYWAIT_EXPLAIN_INTERVAL_DIFF_HPP
#define WHYWAIT_EXPLAIN_INTERVAL_DIFF_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/nearest.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The use of one block by one path: entries, exclusive time without waiting, work units.
struct block_use {
  std::int64_t visits = 0;
  std::int64_t ns = 0;
  std::int64_t work = 0;
};

/// The difference causer - waiter of one block, split into "more visits" and "slower visits".
struct block_split {
  std::int64_t total_ns = 0;
  std::int64_t visits_ns = 0;
  std::int64_t speed_ns = 0;  ///< total_ns - visits_ns, exactly
};

/// What the times of both sides are divided by: units of work where both sides have them, otherwise visits.
struct block_counts {
  std::int64_t waiter, causer;

  block_counts(const block_use& a, const block_use& b) noexcept
      : waiter(a.work > 0 && b.work > 0 ? a.work : a.visits), causer(a.work > 0 && b.work > 0 ? b.work : b.visits) {}
};

/// Splits the difference of one block by the midpoint rule, which is the Shapley value of the two factors count and
/// time per count (docs/method.md 1.4). Antisymmetric: swapping the sides negates all three numbers. Work units replace
/// visits as the count where both sides have them. O(1), no allocation.
inline block_split split(const block_use& waiter, const block_use& causer) noexcept {
  const block_counts counts(waiter, causer);
  const std::int64_t n_a = counts.waiter, n_b = counts.causer;
  block_split result;
  result.total_ns = causer.ns - waiter.ns;
  if (n_a <= 0 && n_b <= 0) {
    // Time without visits can only be a matter of speed, unless only one side has units of work.
    result.visits_ns = (waiter.work > 0) != (causer.work > 0) ? result.total_ns : 0;
  } else if (n_a <= 0 || n_b <= 0) {
    result.visits_ns = result.total_ns;  // code that only one side ran
  } else if (n_a != n_b) {
    const double mean_a = static_cast<double>(waiter.ns) / static_cast<double>(n_a);
    const double mean_b = static_cast<double>(causer.ns) / static_cast<double>(n_b);
    // Rounds half away from zero on both sides, so that the split stays antisymmetric.
    result.visits_ns = core::nearest(static_cast<double>(n_b - n_a) * (mean_a + mean_b) / 2);
  }
  result.speed_ns = result.total_ns - result.visits_ns;
  return result;
}

/// The residual of two plain profiles: the blocks that made the path of the causer longer than that of the waiter
/// (docs/method.md 1.4). Usable alone: add both sides, then call `terms`. `Block` is any ordered key. Not thread safe;
/// one node per distinct block; throws std::bad_alloc.
template <class Block>
class interval_diff {
 public:
  struct term {
    Block block;
    block_use waiter;
    block_use causer;
    block_split difference;
  };

  void waiter(const Block& block, std::int64_t visits, std::int64_t ns, std::int64_t work = 0) {
    add(sides_[block].first, visits, ns, work);
  }
  void causer(const Block& block, std::int64_t visits, std::int64_t ns, std::int64_t work = 0) {
    add(sides_[block].second, visits, ns, work);
  }

  /// All blocks in which the sides differ, largest |total_ns| first, equal ones by block. O(b log b).
  base::vector<term> terms() const {
    base::vector<term> result;
    for (const auto& entry : sides_) {
      const block_use& a = entry.second.first;
      const block_use& b = entry.second.second;
      if (a.ns == b.ns && a.visits == b.visits && a.work == b.work) continue;
      result.push_back({entry.first, a, b, split(a, b)});
    }
    std::stable_sort(result.begin(), result.end(), [](const term& x, const term& y) {
      return std::abs(x.difference.total_ns) > std::abs(y.difference.total_ns);
    });
    return result;
  }

  /// The sum of all differences: the wait, if both sides began aligned.
  std::int64_t total_ns() const noexcept {
    std::int64_t sum = 0;
    for (const auto& entry : sides_) sum += entry.second.second.ns - entry.second.first.ns;
    return sum;
  }

 private:
  static void add(block_use& side, std::int64_t visits, std::int64_t ns, std::int64_t work) noexcept {
    side.visits += visits;
    side.ns += ns;
    side.work += work;
  }

  std::map<Block, std::pair<block_use, block_use>> sides_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
