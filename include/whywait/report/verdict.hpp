#ifndef WHYWAIT_REPORT_VERDICT_HPP
#define WHYWAIT_REPORT_VERDICT_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/balance_verdicts.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/report/rule_verdicts.hpp>
#include <whywait/report/verdict_entry.hpp>
#include <whywait/rules/finding.hpp>
#include <whywait/rules/saving_bounds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Largest saving first.
[[gnu::noinline]] inline void sort_by_saving(base::vector<verdict_entry>& all) {
  base::small_stable_sort(all,
                          [](const verdict_entry& a, const verdict_entry& b) { return a.saving_seconds > b.saving_seconds; });
}

/// Where another order of calls saves most of what can be saved, verdicts about code are mostly about what that order makes late: leaves out
/// those that would save more than remains, of `most` seconds. `all`: largest saving first.
inline void leave_out_alternatives(base::vector<verdict_entry>& all, double most) {
  if (all.empty() || !is_of_order(all[0].problem)) return;
  constexpr double about = 1.05;
  double saved = all[0].saving_seconds;
  std::size_t left = 1;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].problem.empty() && saved + all[i].saving_seconds > about * most) continue;
    saved += all[i].saving_seconds;
    if (i != left) all[left] = std::move(all[i]);
    ++left;
  }
  all.resize(left);
}

/// The blocks whose balancing would shorten the run (`balance_verdicts`), and what rules say, largest saving first. If nothing is known
/// about causes, or only what saves far less, the pattern of the waits whose removal saves most. `dealt`: as in `balances_of`.
inline base::vector<verdict_entry> verdict_of(const explain::outcome& found, const name_resolver& resolve,
                                              const rules::evaluation& said, std::int64_t dealt) {
  balance_verdicts balances(found, resolve, said, dealt);
  const double run = base::seconds_of(found.total_ns != 0 ? found.total_ns : found.longest_ns);
  const double error = base::seconds_of(found.without_overhead.error_ns);
  const double noise = std::max(error, rules::processor_noise::least_effect(said.noise.all_ns, run));
  const auto add = [&](base::vector<verdict_entry>& to, bool of_pattern, double least, double known) {
    add_verdicts(to, said.problems, said, found, run, of_pattern, least, known);
    for (const rules::wait_advice& w : said.waits)
      add_verdicts(to, w.list, said, found, run, of_pattern, least, known, said.problems);
  };
  add(balances.all, false, error, 0);
  sort_by_saving(balances.all);
  base::vector<verdict_entry> kept;
  for (verdict_entry& v : balances.all) {
    const auto same_cause = [&v](const verdict_entry& x) { return !v.root.empty() && x.root == v.root; };
    if (!base::any_of(kept, same_cause)) kept.push_back(std::move(v));  // the same cause may have one that saves more
  }
  if (kept.size() > most_verdicts) kept.resize(most_verdicts);
  // Patterns, and what moves from thread to thread, where nothing is known that saves a large part of it. Those that are kept cover others.
  const std::size_t causes = kept.size();
  const double known = causes == 0 ? 0 : kept[0].saving_seconds;
  if (!balances.drowned && static_cast<double>(found.waiting_ns) >= least_waiting * static_cast<double>(found.location_ns))
    add(kept, true, noise, known);
  double most = 0;
  for (std::size_t i = causes; i < kept.size(); ++i) most = std::max(most, kept[i].saving_seconds);
  std::size_t further = causes;  // of nearly the same saving: ranks wait longest for it
  while (further != kept.size() && 1.05 * kept[further].saving_seconds < most) ++further;
  if (further == kept.size()) {
    if (causes == 0) return std::move(balances.moving);
    if (!balances.moving.empty() && balances.moving[0].saving_seconds >= far_more * known)
      kept.push_back(std::move(balances.moving[0]));
  }
  if (further != kept.size()) {
    const std::size_t last = std::min(causes, most_verdicts - 1);
    if (further != last) kept[last] = std::move(kept[further]);
    kept.resize(last + 1);
    sort_by_saving(kept);
  }
  leave_out_alternatives(kept, (1 - found.efficiency.parallel) * run);
  return kept;
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
