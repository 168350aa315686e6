#ifndef WHYWAIT_RULES_PROGRAM_FACTS_HPP
#define WHYWAIT_RULES_PROGRAM_FACTS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/interval_diff.hpp>
#include <whywait/rules/data_facts.hpp>
#include <whywait/rules/finding.hpp>
#include <whywait/rules/own_code.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

/// What the facts about waits need from the program: what each rank did itself, and what came before its sends.
struct program_facts {
  struct sends {
    core::stable_key site;
    std::int64_t calls, own_before_ns;
  };
  const code_table* code = nullptr;
  const data_facts* data = nullptr;
  base::pod_vector<sends> sites;  ///< sorted by site
  bool shared_processors = false;  ///< ranks often waited for a processor, so that the virtual clocks see too little saving
  bool other_programs = false;  ///< took processors from ranks of one thread, which are no more than the processors
  std::int64_t most_divided_ns =
      INT64_MAX;  ///< what another division of the same work saves at most, by the processors' idle time
  std::int64_t without_processor_ns = 0;  ///< of all ranks: ready to run, and no processor was free
  std::int64_t most_pages = 0;  ///< of memory that this process had at a time; 0: not known
  processor_noise noise;
  bool useful_known = false;  ///< no rank waits outside MPI: time there is work, or without a processor

  /// Own work of a rank before each send of a call site, since it last completed a communication; 0: unknown.
  double mean_ns_before(core::stable_key site) const noexcept {
    const auto at =
        std::lower_bound(sites.begin(), sites.end(), site, [](const sends& a, core::stable_key s) { return a.site < s; });
    if (at == sites.end() || at->site != site || at->calls == 0) return 0;
    return static_cast<double>(at->own_before_ns) / static_cast<double>(at->calls);
  }
};

/// How the time of a block is spread over the ranks, or over their threads if several of a rank run it, and whether that explains a
/// wait.
struct code_spread {
  const char* lead = "";  ///< one, several, alone: these have more of it; few: at most half of the ranks run it, evenly;
      ///< even: no rank has more; empty: unknown
  const char* excess = "";  ///< why: units (of work), visits, speed (equal units), both (units and
      ///< speed), shared (it waited for a processor), faults (the kernel gave it memory), system (other time in system calls),
      ///< work (more instructions in each visit, units are not known), instructions (more in each unit), cycles (for each
      ///< instruction), core (the same, in nearly all code of the rank), frequency (cycles in a second), unknown
  std::int32_t rank = -1, thread = 0;  ///< the thread with the most time
  double ratio = 0;  ///< its time to the mean of the others that run it; 0: no others do
  std::int64_t above_mean_ns = INT64_MAX;  ///< its time above the mean of all, which balancing saves at most; not of even
  std::int64_t above_others_ns = 0;  ///< its time above the mean of the others that run it
  double units_ratio = 0, visits_ratio = 0;  ///< likewise; 0: unknown
  std::int64_t delay_ns = 0;  ///< of shared: without a processor, above the mean of the others
  std::int64_t more_system_ns = 0, more_faults = 0;  ///< of faults and system: likewise

  bool uneven() const noexcept { return above_mean_ns != INT64_MAX; }

  /// `use`: of a block, one of `code`. `ranks`: those that could run it. `wait_ns`: of the rank that waited most. `fault_ns`: as
  /// in explain::divide_speed.
  static code_spread of(const code_use* use, const code_table& code, std::int64_t ranks, std::int64_t wait_ns,
                        std::int64_t fault_ns = 0) noexcept {
    const code_use& whole = code.whole;
    code_spread out;
    if (use == nullptr || ranks < 2 || use->most_ns <= 0) return out;
    const auto mean_of_others = [ranks](std::int64_t all, std::int64_t most) {
      return static_cast<double>(all - most) / static_cast<double>(ranks - 1);
    };
    const auto ratio = [use](std::int64_t all, std::int64_t most) {
      return all > most ? static_cast<double>(most) * (use->ranks - 1) / static_cast<double>(all - most) : 0;
    };
    out.rank = use->most_rank;
    out.thread = use->most_thread;
    out.ratio = ratio(use->ns, use->most_ns);
    const auto most = static_cast<double>(use->most_ns);
    const double others = mean_of_others(use->ns, use->most_ns), excess = most - others;
    // A rank that has more of this block may have less of another: then it is not late because of it, unless it had no processor.
    const double whole_excess =
        whole.ranks < 2 ? excess
                        : static_cast<double>(use->most_whole_ns) -
                              static_cast<double>(whole.ns - use->most_whole_ns) / static_cast<double>(whole.ranks - 1);
    // Several blocks may add up to the wait: then the whole must be enough for it, and this block a good part.
    const auto wait = static_cast<double>(wait_ns);
    const bool offset = 2 * whole_excess < excess;
    const auto even = [&out]() -> code_spread& {
      out.lead = "even";
      out.excess = "";
      out.above_mean_ns = INT64_MAX;
      return out;
    };
    if (excess < 0.1 * most || 2 * std::max(excess, whole_excess) < wait || 5 * excess < wait) return even();
    if (2 * static_cast<double>(use->most_polls_ns) >= excess) return out;  // it may be waiting there
    out.above_mean_ns = use->most_ns - use->ns / ranks;
    if (out.ratio > 1) out.above_others_ns = static_cast<std::int64_t>((1 - 1 / out.ratio) * most);
    const std::int64_t own_ns = use->own_excess_ns(ranks);
    const std::int64_t delay_ns = use->most_counts[core::code_count::delay_ns];
    if (2 * own_ns < out.above_mean_ns) {  // not because of what it ran
      if (2 * static_cast<double>(delay_ns) < excess) return even();
      out.lead = "one";
      out.excess = "shared";
      out.delay_ns = delay_ns;
      return out;
    }
    out.above_mean_ns = std::min(out.above_mean_ns, own_ns);
    const double units = use->counting_ranks == use->ranks ? ratio(use->work, use->most_work) : 0;
    const bool as_much = units > 0 && 5 * units < out.ratio;  // the others do such work as well, faster
    out.lead = others < 0.05 * most && !as_much                                                    ? "alone"
               : 2 * use->ranks <= ranks && most * use->ranks < 1.1 * static_cast<double>(use->ns) ? "few"
               : most - static_cast<double>(use->second_ns) >= 0.5 * excess                        ? "one"
                                                                                                   : "several";
    out.units_ratio = units;
    out.visits_ratio = ratio(use->visits, use->most_visits);
    const auto part = [&](double of) { return of > 0 && out.ratio > 1 ? (of - 1) / (out.ratio - 1) : 0; };
    if (out.units_ratio > 0)
      out.excess = part(out.units_ratio) > 0.6 ? "units" : part(out.units_ratio) < 0.1 ? "speed" : "both";
    else out.excess = part(out.visits_ratio) > 0.6 ? "visits" : "unknown";
    if (part(out.units_ratio) > 0.6 || part(out.visits_ratio) > 0.6) return offset ? even() : out;
    const explain::slower_parts parts = parts_of(*use, fault_ns);
    const auto decides = [excess](std::int64_t ns) { return 2 * static_cast<double>(ns) >= excess; };
    constexpr std::int64_t most_ns_of_fault = 50'000;
    if (decides(parts.preempted_ns)) {
      out.excess = "shared";
      out.delay_ns = parts.preempted_ns;
    } else if (2 * static_cast<double>(parts.kernel_ns) >= excess * (1 + kernel_share_of_others(*use)) &&
               parts.kernel_ns >= explain::least_kernel_ns) {
      out.excess = parts.more_faults * most_ns_of_fault >= parts.kernel_ns ? "faults" : "system";
      out.more_system_ns = parts.kernel_ns;
      out.more_faults = parts.more_faults;
    } else if (parts.kernel_ns >= explain::least_kernel_ns && decides(2 * parts.kernel_ns) && decides(2 * parts.blocked_ns) &&
               decides(parts.kernel_ns + parts.blocked_ns)) {  // system calls that sleep, as those on files do
      out.excess = "system";
      out.more_system_ns = parts.kernel_ns + parts.blocked_ns;
    } else if (offset) {
      return even();
    } else if (decides(parts.instructions_ns)) {
      out.excess = out.units_ratio > 0 ? "instructions" : "work";
    } else if (decides(parts.cycles_ns)) {
      out.excess = is_slow_core(*use, code, fault_ns) ? "core" : "cycles";
    } else if (decides(parts.frequency_ns)) {
      out.excess = "frequency";
    }
    return out;
  }

 private:
  // Whether the rank that is slow in a block needs more cycles for each instruction in at least 90 % of its other code. That code
  // is also run by other ranks, and takes at least a tenth of the time of the block. One block may use memory in another way, not
  // all.
  static bool is_slow_core(const code_use& slow, const code_table& code, std::int64_t fault_ns) noexcept {
    double all = 0, slower = 0;
    for (const code_use& use : code.blocks) {
      const double others = use.ranks > 1 ? static_cast<double>(use.ns - use.most_ns) / (use.ranks - 1) : 0;
      if (use.block == slow.block || others <= 0) continue;
      all += others;
      const double excess = static_cast<double>(use.most_ns) - others;
      if (use.most_rank == slow.most_rank && use.most_thread == slow.most_thread && excess >= 0.05 * others &&
          2 * static_cast<double>(parts_of(use, fault_ns).cycles_ns) >= excess)
        slower += others;
    }
    return all >= 0.1 * static_cast<double>(slow.most_ns) && slower >= 0.9 * all;
  }

  // More of the same work has more time in the kernel as well, in this proportion.
  static double kernel_share_of_others(const code_use& use) noexcept {
    const auto of_others = [&use](core::code_count what) {
      return static_cast<double>(use.counts[what] - use.most_counts[what]);
    };
    const double all = of_others(core::code_count::read_ns);
    return all > 0 ? std::clamp(of_others(core::code_count::system_ns) / all, 0.0, 1.0) : 0;
  }

  // The rank with the most time against the mean of the others that run the block.
  static explain::slower_parts parts_of(const code_use& use, std::int64_t fault_ns) noexcept {
    const std::int64_t others = use.ranks - 1;
    if (others < 1) return {};
    const bool by_work = use.counting_ranks == use.ranks;
    explain::block_use late{use.most_visits, use.most_ns, by_work ? use.most_work : 0};
    explain::block_use rest{(use.visits - use.most_visits) / others, (use.ns - use.most_ns) / others,
                            by_work ? (use.work - use.most_work) / others : 0};
    const explain::block_counts times(rest, late);
    explain::counted_side a{rest.ns, times.waiter, use.counts}, b{late.ns, times.causer, use.most_counts};
    for (std::size_t i = 0; i != core::code_counts_size; ++i)
      a.counts.values[i] = (use.counts.values[i] - use.most_counts.values[i]) / others;
    return explain::divide_speed(a, b, explain::split(rest, late).speed_ns, fault_ns);
  }
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
