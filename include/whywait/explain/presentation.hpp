#ifndef WHYWAIT_EXPLAIN_PRESENTATION_HPP
#define WHYWAIT_EXPLAIN_PRESENTATION_HPP

#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/code_readings.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/same_code.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Carnival's cut: drops the smallest terms while the rest makes up 95 % to 105 % of the explained wait, and all terms
/// below 1 % of it. Of more than 16 terms it drops those below 1 % of the sum of their magnitudes, which is larger if they
/// cancel each other in part, so that at most 100 remain. Dropped terms are added to unexplained_ns, so that the sum stays
/// exact. Untimed steps are kept if their counts differ by more than 1 %: 16 different pairs of counts, and 16 steps of each
/// pair (lines that run together). O(t log t).
inline void cut_residual(explanation& e, const options& settings) {
  const auto wait = static_cast<double>(e.wait_ns - e.unexplained_ns);
  base::vector<residual_term> timed, steps;
  for (const residual_term& t : e.residual) {
    if (t.within != 0) {
      const std::int64_t more = std::abs(t.causer_visits - t.waiter_visits);
      if (more * 100 > std::max(t.causer_visits, t.waiter_visits)) steps.push_back(t);
    } else if (t.total_ns != 0) {
      timed.push_back(t);
    }
  }
  const auto name_before = [](const residual_term& a, const residual_term& b) {
    return a.block != b.block ? a.block < b.block : a.within < b.within;
  };
  base::small_stable_sort(timed, [&](const residual_term& a, const residual_term& b) {
    const std::int64_t x = std::abs(a.total_ns), y = std::abs(b.total_ns);
    return x != y ? x > y : name_before(a, b);
  });
  double kept = wait, magnitudes = 0;
  for (const residual_term& t : timed) magnitudes += static_cast<double>(std::abs(t.total_ns));
  while (!timed.empty()) {
    const auto least = static_cast<double>(timed.back().total_ns);
    const bool tiny = std::abs(least) < settings.least_share * (timed.size() > settings.listed_terms ? magnitudes : wait);
    const bool enough = std::abs(kept - least - wait) <= (1 - settings.kept_share) * wait;
    if (!tiny && !enough) break;
    kept -= least;
    e.unexplained_ns += timed.back().total_ns;
    timed.pop_back();
  }
  base::small_stable_sort(steps, [&](const residual_term& a, const residual_term& b) {
    const std::int64_t x = std::abs(a.causer_visits - a.waiter_visits);
    const std::int64_t y = std::abs(b.causer_visits - b.waiter_visits);
    if (x != y) return x > y;
    return a.causer_visits != b.causer_visits ? a.causer_visits > b.causer_visits : name_before(a, b);
  });
  std::size_t kept_steps = 0, pairs = 0, alike = 0;
  for (std::size_t i = 0; i != steps.size(); ++i) {
    const bool same =
        i != 0 && steps[i].causer_visits == steps[i - 1].causer_visits && steps[i].waiter_visits == steps[i - 1].waiter_visits;
    alike = same ? alike + 1 : 1;
    if (!same && ++pairs > 16) break;
    if (alike <= 16) steps[kept_steps++] = steps[i];
  }
  steps.resize(kept_steps);
  e.residual = std::move(timed);
  for (const residual_term& step : steps) e.residual.push_back(step);
}

/// Sorts by share, largest first, and adds up all beyond `limit` under rank -1.
inline void bound_shares(base::vector<location_share>& list, std::size_t limit) {
  base::small_stable_sort(list, [](const location_share& a, const location_share& b) {
    if ((a.rank < 0) != (b.rank < 0)) return b.rank < 0;
    if (a.ns != b.ns) return a.ns > b.ns;
    return a.rank != b.rank ? a.rank < b.rank : a.thread < b.thread;
  });
  std::int64_t rest = 0;
  while (list.size() > limit || (!list.empty() && list.back().rank < 0)) {
    rest += list.back().ns;
    list.pop_back();
  }
  if (rest != 0) list.push_back({-1, 0, rest});
}

/// Moves what was counted (count_key) from the residual to `counts`.
inline void take_counts(explanation& e) {
  std::size_t kept = 0;
  for (const residual_term& t : e.residual) {
    core::code_count what{};
    if (t.within == 0 || !is_count_key(t.block, what)) {
      e.residual[kept++] = t;
      continue;
    }
    counted_block& c = e.counts.emplace_back();
    c.block = t.within;
    c.counts.causer[what] = t.causer_work;
    c.counts.waiter[what] = t.waiter_work;
  }
  e.residual.resize(kept);
  base::sort_and_join(
      e.counts, [](const counted_block& a, const counted_block& b) { return a.block < b.block; },
      [](counted_block& a, const counted_block& b) { a.counts.add(b.counts); });
}

/// Sets the times in which the counts were counted: of both sides since they were last aligned, with a lead.
inline void time_counts(explanation& e) {
  for (counted_block& c : e.counts) {
    for (const residual_term& t : e.residual) {
      if (t.block != c.block || t.within != 0) continue;
      c.causer_ns += t.causer_ns;
      c.waiter_ns += t.causer_ns - t.total_ns;
    }
  }
}

/// Converts the merged classes to explanations, most costly first. Waits without a shape join the largest class of
/// their key. `meanings`: of the blocks, sorted by key.
inline base::vector<explanation> present(base::vector<merged_class>& merged, const base::vector<block_meaning>& meanings,
                                         const options& settings) {
  base::vector<explanation> result;
  const std::uint32_t shapeless = settings.classes_per_key + 1;
  for (std::size_t i = 0; i != merged.size();) {
    std::size_t j = i, largest = i;
    for (; j != merged.size() && merged[j].key == merged[i].key; ++j) {
      if (merged[j].slot != shapeless && merged[j].sum.wait_ns > merged[largest].sum.wait_ns) largest = j;
    }
    if (merged[j - 1].slot == shapeless && largest != j - 1) {
      merged[largest].merge(merged[j - 1].sum);
      merged[j - 1].sum = {};
    }
    for (; i != j; ++i) {
      if (merged[i].sum.count == 0) continue;
      explanation& e = merged[i].sum;
      take_counts(e);
      merge_same_code(e, meanings, settings.functions);
      time_counts(e);
      join_directions(e.residual, e.count);
      cut_residual(e, settings);
      bound_shares(e.waiters, settings.listed_locations);
      bound_shares(e.causers, settings.listed_locations);
      result.push_back(std::move(e));
    }
  }
  base::small_stable_sort(result, [](const explanation& a, const explanation& b) {
    if (a.wait_ns != b.wait_ns) return a.wait_ns > b.wait_ns;
    if (a.first_ns != b.first_ns) return a.first_ns < b.first_ns;
    if (a.why != b.why) return a.why < b.why;
    return a.operation != b.operation ? a.operation < b.operation : a.cause < b.cause;
  });
  return result;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
