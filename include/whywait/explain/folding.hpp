#ifndef WHYWAIT_EXPLAIN_FOLDING_HPP
#define WHYWAIT_EXPLAIN_FOLDING_HPP

#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/class_leaders.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/messages.hpp>
#include <whywait/explain/progress.hpp>
#include <whywait/explain/wait_classes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The state of one rank from one epoch of a run to the next (docs/method.md 4.11); `explain_epoch` reads
/// and writes it. An operation that synchronises all ranks ends an epoch. From there only differences matter, so all
/// paths restart, and later waits join the classes of earlier epochs. The sums equal an explanation of the whole run if
/// each epoch ends with a wait above the threshold; otherwise paths that reach the end at one time lose what they ran
/// differently. Memory is bounded by distinct blocks and call sites, however long the run is.
struct epoch_memory {
  block_table blocks;
  wait_classes classes;
  std::unique_ptr<progress_votes> progress;  ///< of all ranks and epochs, in the memory of the first
  shape_leaders leaders;  ///< of all ranks, in the memory of the first; by key and slot
  base::vector<merged_class> merged;  ///< on rank 0: all waits so far
  outcome sums;  ///< on rank 0: all numbers so far
  base::vector<collective_count> collectives;  ///< of all epochs, by order_key
  std::int64_t begin_ns = 0;  ///< the beginning of the run, from which the maps count time
  bool paused = false;  ///< MPI_Pcontrol(0) was called last
  base::vector<carried_posting> carried;  ///< postings of the last epoch that the next one begins with
};

namespace detail {

template <class Entry, class Key, class Add>
void add_by(base::vector<Entry>& into, const base::vector<Entry>& from, Key key, Add add) {
  for (const Entry& e : from) {
    std::size_t at = 0;
    while (at != into.size() && key(into[at]) != key(e)) ++at;
    if (at == into.size()) into.push_back(e);
    else add(into[at], e);
  }
}

// Times add up; shares of time are means over time. Only the longest useful time of each epoch is known, not that of
// the whole run, so imbalance that changes sides counts as imbalance.
inline void add_epoch_efficiency(outcome& run, const outcome& epoch) {
  const auto before = static_cast<double>(run.total_ns), now = static_cast<double>(epoch.total_ns);
  if (now <= 0 || epoch.efficiency.parallel <= 0) return;
  if (before <= 0) {
    run.efficiency = epoch.efficiency;
    return;
  }
  struct ingredients {
    double mean, most, ideal, busiest, inside, without_files;
  };
  const auto of = [](const efficiencies& e, double total) {
    return ingredients{e.parallel * total,          e.communication * total,
                       e.transfer * total,          e.balance_in_nodes * e.communication * total,
                       e.transfer_in_nodes * total, e.files * e.transfer * total};
  };
  const ingredients a = of(run.efficiency, before), b = of(epoch.efficiency, now);
  const double total = before + now, mean = a.mean + b.mean, most = a.most + b.most, ideal = a.ideal + b.ideal;
  const double busiest = a.busiest + b.busiest, inside = a.inside + b.inside;
  auto& [parallel, load_balance, communication, serialisation, transfer, balance_in_nodes, balance_between_nodes,
         transfer_in_nodes, transfer_between_nodes, files] = run.efficiency;
  const double without_files = a.without_files + b.without_files;
  parallel = mean / total;
  load_balance = most > 0 ? std::min(1.0, mean / most) : 0;
  communication = most / total;
  serialisation = without_files > 0 ? most / without_files : 0;
  files = ideal > 0 ? without_files / ideal : 0;
  transfer = ideal / total;
  balance_in_nodes = most > 0 ? std::min(1.0, busiest / most) : 0;
  balance_between_nodes = busiest > 0 ? std::min(1.0, mean / busiest) : 0;
  transfer_in_nodes = inside / total;
  transfer_between_nodes = inside > 0 ? ideal / inside : 0;
}

// The functions below name every member of a struct once. A member that is added to the struct and not here is a
// compile error, so that no number is silently missing after several epochs.

inline void add_epoch(compensation& run, const compensation& epoch) {
  auto& [calibrated, total_ns, waiting_ns, overhead_ns, bound_ns, error_ns, inversions] = run;
  calibrated = calibrated || epoch.calibrated;
  total_ns += epoch.total_ns;
  waiting_ns += epoch.waiting_ns;
  overhead_ns += epoch.overhead_ns;
  bound_ns += epoch.bound_ns;
  error_ns += epoch.error_ns;
  inversions += epoch.inversions;
}

inline void add_epoch(base::vector<critical_block>& run, const base::vector<critical_block>& epoch) {
  add_by(
      run, epoch, [](const critical_block& c) { return c.block; },
      [](critical_block& all, const critical_block& more) {
        auto& [block, ns, imbalance_ns, visits] = all;
        block = more.block;
        ns += more.ns;
        imbalance_ns += more.imbalance_ns;
        visits += more.visits;
      });
  base::small_stable_sort(
      run, [](const critical_block& a, const critical_block& b) { return a.ns != b.ns ? a.ns > b.ns : a.block < b.block; });
}

inline void add_epoch(delay_costs& run, const delay_costs& epoch) {
  auto& [blocks, direct_ns, indirect_ns, propagating_ns, terminal_ns, nobody_ns] = run;
  add_by(
      blocks, epoch.blocks, [](const delay_cost& c) { return c.block; },
      [](delay_cost& all, const delay_cost& more) {
        auto& [block, short_ns, long_ns] = all;
        block = more.block;
        short_ns += more.short_ns;
        long_ns += more.long_ns;
      });
  base::small_stable_sort(blocks, [](const delay_cost& a, const delay_cost& b) {
    const std::int64_t x = a.short_ns + a.long_ns, y = b.short_ns + b.long_ns;
    return x != y ? x > y : a.block < b.block;
  });
  direct_ns += epoch.direct_ns;
  indirect_ns += epoch.indirect_ns;
  propagating_ns += epoch.propagating_ns;
  terminal_ns += epoch.terminal_ns;
  nobody_ns += epoch.nobody_ns;
}

/// Adds an epoch to all before it; `waits` and `meanings` are created for each result.
inline void add_epoch(outcome& run, const outcome& epoch) {
  add_epoch_efficiency(run, epoch);
  auto& [waits, meanings, locations, records, waiting_ns, paused_ns, location_ns, longest_ns, clock_violations, unmatched,
         fault_ns, progress, total_ns, without_overhead, efficiency, critical_path, costs, answers, balances, earlier_sends,
         removal, polls, posts, no_locks, turns, savings, factors, maps] = run;
  static_cast<void>(waits), static_cast<void>(meanings), static_cast<void>(efficiency);
  locations = std::max(locations, epoch.locations);
  longest_ns = std::max(longest_ns, epoch.longest_ns);  // the epoch's value includes earlier epochs
  records += epoch.records;
  waiting_ns += epoch.waiting_ns;
  paused_ns += epoch.paused_ns;
  location_ns += epoch.location_ns;
  clock_violations += epoch.clock_violations;
  unmatched += epoch.unmatched;
  fault_ns = std::max(fault_ns, epoch.fault_ns);
  progress = epoch.progress;  // learnt from all epochs so far
  total_ns += epoch.total_ns;
  add_epoch(without_overhead, epoch.without_overhead);
  add_epoch(critical_path, epoch.critical_path);
  add_epoch(costs, epoch.costs);
  if (answers.empty()) {
    answers = epoch.answers;
  } else {
    for (std::size_t i = 0; i < std::min(answers.size(), epoch.answers.size()); ++i) {
      answers[i].total_ns += epoch.answers[i].total_ns;
      answers[i].saving_ns += epoch.answers[i].saving_ns;
    }
  }
  add_by(
      balances, epoch.balances, [](const balance_answer& b) { return b.block; },
      [](balance_answer& a, const balance_answer& b) {
        const thread_of_rank most{a.rank, a.thread}, theirs{b.rank, b.thread};
        a.several = a.several || (a.most_ns > 0 && !(most == theirs));
        a.moves = a.moves || b.moves;
        a.even = a.even && b.even;
        const bool alone = a.ranks == 1 && b.ranks == 1 && most == theirs;
        a.ranks = std::max(std::max(a.ranks, b.ranks), alone ? 1 : 2);
        if (!alone && a.among > a.ranks) a.among = a.ranks;
        if (b.most_ns > a.most_ns) {
          a.rank = b.rank;
          a.thread = b.thread;
        }
        const bool same = a.slow_ranks == b.slow_ranks && std::equal(std::begin(a.slow), std::end(a.slow), std::begin(b.slow));
        if (!same) a.slow_ranks = 0;
        a.slow_ns += b.slow_ns;
        a.hardly_ranks = std::min(a.hardly_ranks, b.hardly_ranks);
        a.hardly_ns += b.hardly_ns;
        a.visits += b.visits;
        a.most_ns += b.most_ns;
        a.sum_ns += b.sum_ns;
        a.evened_ns += b.evened_ns;
        a.saving_ns += b.saving_ns;
      });
  base::small_stable_sort(balances, &balance_answer::saves_more);
  add_by(
      earlier_sends, epoch.earlier_sends, [](const earlier_send& s) { return core::combine(s.block, s.send); },
      [](earlier_send& a, const earlier_send& b) {
        a.wait_ns += b.wait_ns;
        a.saving_ns += b.saving_ns;
      });
  sort_by_saving(earlier_sends);
  // The same barrier in all epochs, or that of one epoch: a lower bound.
  if (removal.site == epoch.removal.site) removal.saving_ns += epoch.removal.saving_ns;
  else if (removal.saving_ns < epoch.removal.saving_ns) removal = epoch.removal;
  for (const auto& [all, more] :
       {std::pair(&no_locks, &epoch.no_locks), std::pair(&polls, &epoch.polls), std::pair(&posts, &epoch.posts)}) {
    if (all->site == 0) all->site = more->site;
    all->saving_ns += more->saving_ns;
  }
  if (turns.one == epoch.turns.one && turns.other == epoch.turns.other) turns.saving_ns += epoch.turns.saving_ns;
  else if (turns.saving_ns < epoch.turns.saving_ns) turns = epoch.turns;
  // A block without a question in one epoch counts as no saving there, so the sum is a lower bound.
  add_by(
      savings, epoch.savings, [](const what_if_answer& a) { return a.question.changes[0].block; },
      [](what_if_answer& a, const what_if_answer& b) { a.saving_ns += b.saving_ns; });
  for (what_if_answer& a : savings) a.total_ns = run.total_ns - a.saving_ns;
  base::small_stable_sort(savings, [](const what_if_answer& a, const what_if_answer& b) { return a.saving_ns > b.saving_ns; });
  add_by(
      factors, epoch.factors,
      [](const what_if_answer& a) {
        const change& c = a.question.changes[0];
        return core::combine(c.block, static_cast<std::uint64_t>(c.factor * 1024));
      },
      [](what_if_answer& a, const what_if_answer& b) { a.saving_ns += b.saving_ns; });
  for (what_if_answer& a : factors) a.total_ns = run.total_ns - a.saving_ns;
  run_maps more = epoch.maps;
  maps.merge(std::move(more));
}

}  // namespace detail
}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
