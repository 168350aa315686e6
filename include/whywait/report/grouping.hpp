#ifndef WHYWAIT_REPORT_GROUPING_HPP
#define WHYWAIT_REPORT_GROUPING_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/same_code.hpp>
#include <whywait/report/merge_lines.hpp>
#include <whywait/report/model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// All waits of one pattern with one operation and one cause; the sum over their shapes.
struct wait_group {
  wait_entry sum;
  std::size_t shapes = 1;     ///< number of classes of explanations in the sum
  double largest_seconds = 0; ///< time of the most costly class
  base::pod_vector<const wait_entry*> advised = {};  ///< for each advice of the sum the class that it was given for
};

namespace detail {

inline bool same_block(const residual_entry& a, const residual_entry& b) {
  return a.kind == b.kind && a.block == b.block && a.within == b.within && a.where == b.where;
}

// Shapes in which the late side has fewer visits of the block are added up apart until `join_directions`.
inline void add_term(base::vector<residual_entry>& terms, const residual_entry& more) {
  for (residual_entry& r : terms) {
    if (r.fewer() != more.fewer() || !same_block(r, more)) continue;
    r.add(more);
    return;
  }
  terms.push_back(residual_entry(more));
}

inline void join_directions(base::vector<residual_entry>& terms) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    for (std::size_t j = i + 1; j < terms.size(); ++j) {
      if (!same_block(terms[i], terms[j])) continue;
      explain::add_direction(terms[i], terms[j]);
      terms[i].slower.add(terms[j].slower);
      for (std::size_t k = j + 1; k < terms.size(); ++k) terms[k - 1] = std::move(terms[k]);
      terms.pop_back();
      break;
    }
  }
}

inline void add_shares(base::vector<location_seconds>& shares, const base::vector<location_seconds>& more) {
  for (const location_seconds& m : more) {
    std::size_t same = 0;
    while (same != shares.size() && (shares[same].rank != m.rank || shares[same].thread != m.thread)) ++same;
    if (same == shares.size()) shares.push_back(location_seconds(m));
    else shares[same].seconds += m.seconds;
  }
}

inline bool same_top(const wait_entry& a, const wait_entry& b) {
  const auto top = [](const wait_entry& w) {
    const residual_entry* most = nullptr;
    for (const residual_entry& r : w.residual)
      if (most == nullptr || r.total_ns > most->total_ns) most = &r;
    return most;
  };
  const residual_entry *const x = top(a), *const y = top(b);
  return x == nullptr || y == nullptr ? x == y : same_block(*x, *y);
}

// Savings are wall time: together no more than the rank that waited most could gain. Those of advice about other code do not add up.
inline void add_advice(wait_group& to, const wait_entry& w) {
  double longest = 0;
  for (const location_seconds& s : to.sum.waiters) longest = std::max(longest, s.seconds);
  base::vector<advice_entry>& advice = to.sum.advice;
  for (const advice_entry& m : w.advice) {
    std::size_t same = 0;
    while (same != advice.size() && advice[same].problem != m.problem) ++same;
    if (same == advice.size()) {
      if (m.problem == w.pattern && !advice.empty()) continue;  // a special advice replaces that of the pattern
      advice.push_back(advice_entry(m));
      to.advised.push_back(&w);
      continue;
    }
    advice_entry& known = advice[same];
    const double both = known.saving_seconds + m.saving_seconds, larger = std::max(known.saving_seconds, m.saving_seconds);
    const bool again = known.predicted && m.predicted && known.saving_seconds == m.saving_seconds;  // by one answer
    known.seconds += m.seconds;
    if (known.text == m.text || same_top(*to.advised[same], w)) {
      known.saving_seconds =
          again ? larger : std::max(larger, std::min(both, longest));  // the text stays that of the most costly shape
    } else if (m.saving_seconds > known.saving_seconds) {
      const double seconds = known.seconds;
      known = m;
      known.seconds = seconds;
      to.advised[same] = &w;
    }
  }
}

inline int rank_of_quality(const std::string& quality) noexcept {
  return quality == "exact" ? 0 : quality == "bounded" ? 1 : quality == "order_suspect" ? 2 : 3;
}

}  // namespace detail

/// Merges waits that differ only in their shape: one entry per (pattern, operation, cause). Entries and their terms are
/// sorted by cost; terms below 1 % of the sum go into the remainder. The sum of each entry is preserved.
inline base::vector<wait_group> group_shapes(const base::vector<wait_entry>& waits) {
  base::vector<wait_group> groups;
  for (const wait_entry& w : waits) {
    wait_group* same = nullptr;
    for (wait_group& g : groups)
      if (g.sum.pattern == w.pattern && g.sum.operation == w.operation && g.sum.cause == w.cause) same = &g;
    if (same == nullptr) {
      groups.push_back({w, 1, w.seconds});
      groups.back().advised.assign(w.advice.size(), &w);
      continue;
    }
    wait_entry& sum = same->sum;
    ++same->shapes;
    same->largest_seconds = std::max(same->largest_seconds, w.seconds);
    if (detail::rank_of_quality(w.quality) > detail::rank_of_quality(sum.quality)) sum.quality = w.quality;
    sum.add_lengths(w);
    sum.wrong_order = sum.wrong_order || w.wrong_order;
    sum.wrong_order_count += w.wrong_order_count;
    sum.wrong_order_seconds += w.wrong_order_seconds;
    sum.unexplained_seconds += w.unexplained_seconds;
    sum.indirect_seconds += w.indirect_seconds;
    if (sum.compensated_seconds && w.compensated_seconds) *sum.compensated_seconds += *w.compensated_seconds;
    for (const residual_entry& r : w.residual) detail::add_term(sum.residual, r);
    detail::add_shares(sum.waiters, w.waiters);
    detail::add_shares(sum.causers, w.causers);
    detail::add_advice(*same, w);
  }
  for (wait_group& g : groups) {
    wait_entry& sum = g.sum;
    if (g.shapes > 1) detail::join_directions(sum.residual);
    base::vector<residual_entry> terms;
    for (residual_entry& r : sum.residual) {
      if (g.shapes == 1 || r.kind == "step" || std::fabs(r.seconds()) >= 0.01 * sum.seconds) terms.push_back(std::move(r));
      else sum.unexplained_seconds += r.seconds();
    }
    sum.residual = std::move(terms);
    base::small_stable_sort(sum.residual, [](const residual_entry& a, const residual_entry& b) {
      return std::abs(a.total_ns) > std::abs(b.total_ns);
    });
    merge_lines(sum.residual, true);
    const auto more = [](const location_seconds& a, const location_seconds& b) { return a.seconds > b.seconds; };
    base::small_stable_sort(sum.waiters, more);
    base::small_stable_sort(sum.causers, more);
    base::vector<advice_entry> advice;
    for (advice_entry& a : sum.advice)
      if (g.shapes == 1 || a.problem == sum.pattern || a.seconds >= 0.1 * sum.seconds)  // not from a small shape
        advice.push_back(std::move(a));
    sum.advice = std::move(advice);
    base::small_stable_sort(sum.advice,
                            [](const advice_entry& a, const advice_entry& b) { return a.saving_seconds > b.saving_seconds; });
  }
  base::small_stable_sort(groups, [](const wait_group& a, const wait_group& b) { return a.sum.seconds > b.sum.seconds; });
  return groups;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
