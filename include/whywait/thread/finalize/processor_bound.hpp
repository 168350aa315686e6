#ifndef WHYWAIT_THREAD_FINALIZE_PROCESSOR_BOUND_HPP
#define WHYWAIT_THREAD_FINALIZE_PROCESSOR_BOUND_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/finalize/collect_location.hpp>
#include <whywait/finalize/process_use.hpp>
#include <whywait/record/location.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/verdict_entry.hpp>
#include <whywait/rules/own_code.hpp>
#include <whywait/thread/finalize/solo_run.hpp>

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace threads {

/// What the threads of this process used of processors so far, and how many they may use.
struct processor_time {
  std::int64_t ns = 0;
  std::int64_t processors = 0;  ///< 0: not known
  std::int64_t longest_delay_ns = 0;  ///< a thread was ready to run and had none, so that all were busy

  static processor_time of_process(core::registry& registry) noexcept {
    processor_time out;
    const auto ns_of = [](const timeval& t) { return std::int64_t(t.tv_sec) * 1000000000 + std::int64_t(t.tv_usec) * 1000; };
    rusage used;
    if (getrusage(RUSAGE_SELF, &used) != 0) return out;
    out.ns = ns_of(used.ru_utime) + ns_of(used.ru_stime);
    out.processors = finalize::processors_of_process(registry);
    return out;
  }
};

namespace detail {

/// The processor time of one thread of this process, by its number in the kernel.
inline clockid_t clock_of(std::uint32_t tid) noexcept {
  return static_cast<clockid_t>((~tid << 3) | 6u);  // as the C library makes it of a pthread_t
}

}  // namespace detail

/// What threads that were not recorded used of the processor time of this process in a run.
inline reports::unrecorded_threads unrecorded_threads_of(core::registry& registry, const solo_run& run) {
  reports::unrecorded_threads out;
  const finalize::locked guard(registry.mutex);  // threads that end or begin exchange their locations
  const std::int64_t whole = time_of(CLOCK_PROCESS_CPUTIME_ID) - run.before_ns;
  std::int64_t recorded = 0;
  for (const core::location_base* base = registry.locations; base != nullptr; base = base->next) {
    const bool ended = __atomic_load_n(&base->finished, __ATOMIC_ACQUIRE) != 0;
    const std::int64_t now = ended ? 0 : time_of(detail::clock_of(static_cast<const record::location*>(base)->tid));
    recorded += static_cast<std::int64_t>(base->processor_ns) + std::max<std::int64_t>(0, now);
  }
  out.large_teams = __atomic_load_n(&registry.interposed.large_teams, __ATOMIC_RELAXED) != 0;
  if (whole <= recorded) return out;
  out.seconds = static_cast<double>(whole - recorded) * 1e-9;
  out.share = static_cast<double>(whole - recorded) / static_cast<double>(whole);
  return out;
}

/// Leaves out what the kernel takes to start and to end threads that were recorded, which is not in their own processor time.
inline void leave_out_starts(reports::unrecorded_threads& others, std::int64_t threads) noexcept {
  constexpr double each = 20e-6;  // seconds; measured: 8 us
  const double rest = std::max(0.0, others.seconds - each * static_cast<double>(threads));
  if (others.seconds > 0) others.share *= rest / others.seconds;
  others.seconds = rest;
}

/// What another division of the same work saves at most: no run is shorter than the time in which its threads did not wait, on all of
/// them, nor than its processor time on all processors, nor than the time in which all of these were busy, also with other programs.
inline std::int64_t most_divided_ns(const explain::outcome& found, const processor_time& used) noexcept {
  std::int64_t least_ns = used.processors <= 0 ? 0 : std::max(used.ns / used.processors, used.longest_delay_ns);
  if (found.locations > 0) least_ns = std::max(least_ns, (found.location_ns - found.waiting_ns) / found.locations);
  return std::max<std::int64_t>(0, found.total_ns - least_ns);
}

/// How many threads ran at the same time for a millisecond or more: each counts from a millisecond after its begin to its end.
inline std::int64_t threads_at_once(const base::vector<core::rank_history>& threads) {
  constexpr std::int64_t least_ns = 1000000;
  struct change {
    std::int64_t ns, by;
  };
  base::pod_vector<change> changes;
  for (const core::rank_history& h : threads)
    for (const core::location_history& here : h.locations) {
      const auto& records = here.records;
      const bool began = records.size() != 0 ? records[0].call == core::mpi_call::thread_begin : h.rank != 0;
      if (!began) changes.push_back({INT64_MIN, 1});  // main, or a thread that was there before recording began
      for (std::uint64_t i = 0; i != records.size(); ++i) {
        const std::int64_t begin_ns = h.clock(records[i].begin);
        if (records[i].call == core::mpi_call::thread_begin) changes.push_back({begin_ns + least_ns, 1});
        if (records[i].call == core::mpi_call::thread_end) changes.push_back({begin_ns, -1});
      }
    }
  base::small_stable_sort(changes, [](const change& a, const change& b) { return a.ns != b.ns ? a.ns < b.ns : a.by < b.by; });
  std::int64_t now = 0, most = 0;
  for (const change& c : changes) most = std::max(most, now += c.by);
  return most;
}

/// What the threads ran themselves.
struct own_code {
  rules::code_table code;
  rules::code_use unmarked;  ///< outside any region, together
  base::pod_vector<std::int64_t> delay_ns;  ///< by thread: in code, without a processor

  /// Adds the code of the next thread. `marked`: the blocks that are regions. `threads`: that had its place, one after the other.
  void add(const base::pod_vector<rules::rank_code>& own, const std::vector<core::stable_key>& marked, std::int64_t threads,
           std::int64_t processors) {
    const auto rank = static_cast<std::int32_t>(delay_ns.size());
    rules::processor_use processor;
    processor.processors = static_cast<std::int32_t>(processors);
    base::pod_vector<rules::rank_code> outside;
    for (const rules::rank_code& c : own)
      if (std::find(marked.begin(), marked.end(), c.block) == marked.end()) outside.push_back(c);
    unmarked.add(rules::code_of(rank, outside, processor, threads).whole);
    const rules::code_table all = rules::code_of(rank, own, processor, threads);
    delay_ns.push_back(all.whole.ns - all.whole.ran_ns);
    code.merge(all);
  }
  std::int64_t longest_delay_ns() const noexcept {
    std::int64_t longest = 0;
    for (const std::int64_t d : delay_ns) longest = std::max(longest, d);
    return longest;
  }
};

/// Leaves of the processor time of this process at most what the threads' own code and threads without a record took: a thread
/// that waits in a loop uses a processor as well, for example one of OpenMP.
inline void leave_out_waits(processor_time& used, const own_code& own, const reports::unrecorded_threads& others) noexcept {
  used.ns = std::min(used.ns, own.code.whole.ran_ns + static_cast<std::int64_t>(others.seconds * 1e9));
}

/// What balancing a block saves at most, by what the threads ran. Where the imbalance moves, or the thread is not that with the most of
/// the block, the delays may have made all of it. Of code that joins several pieces the part that is the same in the most uneven one. 0 if what the thread ran itself is too small a part of what it has above the mean.
inline std::int64_t most_balanced_ns(const explain::balance_answer& b, const own_code& own, std::int64_t least_ns) noexcept {
  const rules::code_use* const use = b.block == explain::unmarked_key() ? &own.unmarked : own.code.find(b.piece);
  std::int64_t saving_ns = b.saving_ns;
  if (use != nullptr && (b.several || b.moves)) {
    saving_ns -= (use->ns - use->ran_ns) / std::max(1, b.among);
  } else if (use != nullptr && use->most_rank == b.rank) {
    const std::int64_t own_ns = use->own_excess_ns(b.among), above_ns = use->most_ns - use->ns / std::max(1, b.among);
    if (static_cast<double>(b.saving_ns) * static_cast<double>(own_ns) <
        static_cast<double>(least_ns) * static_cast<double>(above_ns))
      return 0;
    saving_ns =
        b.pieces == 1 || above_ns <= 0
            ? own_ns
            : core::nearest(static_cast<double>(saving_ns) * static_cast<double>(own_ns) / static_cast<double>(above_ns));
  } else if (static_cast<std::size_t>(b.rank) < own.delay_ns.size()) {
    saving_ns -= own.delay_ns[static_cast<std::size_t>(b.rank)];
  }
  if (b.slow_ranks > 1)
    saving_ns = std::min(saving_ns, b.saving_ns - own.longest_delay_ns());  // the other slow ones may only have waited
  return std::max<std::int64_t>(0, saving_ns);
}

/// Bounds the answers about balanced blocks where that is less than the clocks result in, which do not take account of processors. Where
/// threads live for a part of the run only, these give each a part of one thread's code and none to those that could begin beside it:
/// then the bound is the answer.
inline void bound_balances(explain::outcome& found, const processor_time& used, const own_code& own = {}) {
  const std::int64_t most_ns = most_divided_ns(found, used);
  const auto worth_ns = static_cast<std::int64_t>(reports::detail::least_share * static_cast<double>(found.total_ns));
  const bool come_and_go = 10 * found.location_ns < 9 * found.locations * found.total_ns;
  for (explain::balance_answer& b : found.balances) {
    // Divided, the code runs on no more processors than there are; threads that follow one another are one at a time.
    const std::int64_t parts = used.processors > 0 ? std::min<std::int64_t>(b.among, used.processors) : b.among;
    const std::int64_t divided_ns = std::min(most_ns, b.most_ns - b.most_ns / std::max<std::int64_t>(1, parts));
    if (come_and_go && b.among > b.ranks && b.saving_ns >= worth_ns && b.saving_ns < divided_ns) {
      b.saving_ns = divided_ns;
      b.bounded = true;
      continue;
    }
    std::int64_t least_ns = std::min(b.among > b.ranks ? divided_ns : most_ns, most_balanced_ns(b, own, worth_ns));
    // Evened out over more threads than processors, these take turns, if they live at the same time and do not sleep.
    if (!come_and_go && b.among <= b.ranks && parts < b.ranks && b.sum_ns > 0)
      least_ns = std::min(least_ns, std::max<std::int64_t>(0, b.most_ns - std::min(b.sum_ns, used.ns) / parts));
    if (b.saving_ns <= least_ns) continue;
    b.saving_ns = least_ns;
    b.bounded = !b.moves;  // of what moves it is the least in any case
  }
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif
