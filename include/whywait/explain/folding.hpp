#ifndef WHYWAIT_EXPLAIN_FOLDING_HPP
#define WHYWAIT_EXPLAIN_FOLDING_HPP

#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/merged_class.hpp>
#include <whywait/explain/messages.hpp>
#include <whywait/explain/shape_leaders.hpp>
#include <whywait/explain/sorting.hpp>
#include <whywait/explain/wait_class.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What one rank keeps from one epoch of a run to the next (overhead 4.4 a); `explain_epoch` reads and writes it. After
/// an operation that synchronised all ranks only differences matter: all paths begin anew there, and the waits of later
/// epochs join the classes of earlier ones by the shapes that those had. So what is folded is what an explanation of
/// the whole run would say, if at the end of each epoch somebody waited for longer than the threshold (else the paths
/// that reached it at one time differ in what they had run, which is forgotten there). Bounded by distinct blocks and
/// call sites, however long the run.
struct epoch_memory {
  block_table blocks;
  class_book classes;
  shape_leaders leaders;              ///< of all ranks' classes: by key, then by slot
  std::vector<merged_class> merged;   ///< on rank 0: all waits so far
  outcome sums;                       ///< on rank 0: all numbers so far
  std::vector<carried_posting> carried;  ///< out of the last epoch: what the next one has to begin with
};

namespace detail {

template <class Entry, class Key, class Add>
[[gnu::cold]] void add_by(std::vector<Entry>& into, const std::vector<Entry>& from, Key key, Add add) {
  for (const Entry& e : from) {
    std::size_t at = 0;
    while (at != into.size() && key(into[at]) != key(e)) ++at;
    if (at == into.size()) into.push_back(e);
    else add(into[at], e);
  }
}

// Times add up; shares of time are means over time. The longest useful time of the whole run is not known then, only
// that of each epoch: imbalance that changes sides counts as imbalance.
[[gnu::cold]] inline void fold_efficiency(outcome& run, const outcome& epoch) {
  const auto before = static_cast<double>(run.total_ns), now = static_cast<double>(epoch.total_ns);
  if (now <= 0 || epoch.efficiency.parallel <= 0) return;
  if (before <= 0) {
    run.efficiency = epoch.efficiency;
    return;
  }
  struct ingredients {
    double mean, most, ideal, busiest;
  };
  const auto of = [](const efficiencies& e, double total) {
    return ingredients{e.parallel * total, e.communication * total, e.transfer * total,
                       e.balance_in_nodes * e.communication * total};
  };
  const ingredients a = of(run.efficiency, before), b = of(epoch.efficiency, now);
  const double total = before + now, mean = a.mean + b.mean, most = a.most + b.most, ideal = a.ideal + b.ideal;
  const double busiest = a.busiest + b.busiest;
  efficiencies& e = run.efficiency;
  e.parallel = mean / total;
  e.load_balance = most > 0 ? std::min(1.0, mean / most) : 0;
  e.communication = most / total;
  e.serialisation = ideal > 0 ? most / ideal : 0;
  e.transfer = ideal / total;
  e.balance_in_nodes = most > 0 ? std::min(1.0, busiest / most) : 0;
  e.balance_between_nodes = busiest > 0 ? std::min(1.0, mean / busiest) : 0;
}

/// Adds an epoch to all before it; `waits` and `meanings` are left alone.
[[gnu::cold]] inline void fold(outcome& run, const outcome& epoch) {
  fold_efficiency(run, epoch);
  run.locations = std::max(run.locations, epoch.locations);
  run.longest_ns = std::max(run.longest_ns, epoch.longest_ns);  // that of an epoch has those before it
  run.records += epoch.records;
  run.waiting_ns += epoch.waiting_ns;
  run.location_ns += epoch.location_ns;
  run.clock_violations += epoch.clock_violations;
  run.unmatched += epoch.unmatched;
  run.total_ns += epoch.total_ns;
  run.without_overhead.calibrated = run.without_overhead.calibrated || epoch.without_overhead.calibrated;
  run.without_overhead.total_ns += epoch.without_overhead.total_ns;
  run.without_overhead.waiting_ns += epoch.without_overhead.waiting_ns;
  run.without_overhead.overhead_ns += epoch.without_overhead.overhead_ns;
  run.without_overhead.bound_ns += epoch.without_overhead.bound_ns;
  run.without_overhead.error_ns += epoch.without_overhead.error_ns;
  run.without_overhead.inversions += epoch.without_overhead.inversions;
  add_by(run.critical_path, epoch.critical_path, [](const critical_block& c) { return c.block; },
         [](critical_block& a, const critical_block& b) {
           a.ns += b.ns;
           a.imbalance_ns += b.imbalance_ns;
           a.visits += b.visits;
         });
  sort_rarely(run.critical_path, [](const critical_block& a, const critical_block& b) {
    return a.ns != b.ns ? a.ns > b.ns : a.block < b.block;
  });
  add_by(run.costs.blocks, epoch.costs.blocks, [](const delay_cost& c) { return c.block; },
         [](delay_cost& a, const delay_cost& b) {
           a.short_ns += b.short_ns;
           a.long_ns += b.long_ns;
         });
  sort_rarely(run.costs.blocks, [](const delay_cost& a, const delay_cost& b) {
    const std::int64_t x = a.short_ns + a.long_ns, y = b.short_ns + b.long_ns;
    return x != y ? x > y : a.block < b.block;
  });
  run.costs.direct_ns += epoch.costs.direct_ns;
  run.costs.indirect_ns += epoch.costs.indirect_ns;
  run.costs.propagating_ns += epoch.costs.propagating_ns;
  run.costs.terminal_ns += epoch.costs.terminal_ns;
  run.costs.nobody_ns += epoch.costs.nobody_ns;
  if (run.answers.empty()) {
    run.answers = epoch.answers;
  } else {
    for (std::size_t i = 0; i < std::min(run.answers.size(), epoch.answers.size()); ++i) {
      run.answers[i].total_ns += epoch.answers[i].total_ns;
      run.answers[i].saving_ns += epoch.answers[i].saving_ns;
    }
  }
  // A block that was not asked about in some epoch saved nothing there: what is said is what is saved at least.
  add_by(run.savings, epoch.savings, [](const what_if_answer& a) { return a.question.changes[0].block; },
         [](what_if_answer& a, const what_if_answer& b) { a.saving_ns += b.saving_ns; });
  for (what_if_answer& a : run.savings) a.total_ns = run.total_ns - a.saving_ns;
  sort_rarely(run.savings,
              [](const what_if_answer& a, const what_if_answer& b) { return a.saving_ns > b.saving_ns; });
}

}  // namespace detail
}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
