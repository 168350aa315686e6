#ifndef WHYWAIT_RULES_SAVING_BOUNDS_HPP
#define WHYWAIT_RULES_SAVING_BOUNDS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/rules/program_facts.hpp>
#include <whywait/rules/rank_shares.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Whether threads share out the work that makes them wait, so that now one is late and now another.
inline bool divides_work(explain::pattern why) noexcept {
  return why == explain::pattern::mutex_contention || why == explain::pattern::thread_barrier || why == explain::pattern::join;
}

/// What the run saves at most by changes of one kind, in ns of wall time. Borrows its arguments.
class saving_bounds {
 public:
  saving_bounds(const explain::outcome& found, const program_facts& program, std::int64_t ranks) noexcept
      : found_(found), program_(program), ranks_(ranks) {}

  /// By another division of the same work: the ranks compute as long on average.
  std::int64_t by_balance() const noexcept {
    if (!program_.useful_known || found_.efficiency.parallel <= 0) return program_.most_divided_ns;
    const double useful = std::min(1.0, found_.efficiency.parallel) * static_cast<double>(found_.total_ns);
    const std::int64_t without =
        program_.shared_processors ? program_.without_processor_ns / std::max<std::int64_t>(1, ranks_) : 0;
    return std::min({found_.total_ns, found_.total_ns - static_cast<std::int64_t>(useful) + without, program_.most_divided_ns});
  }
  /// Without waits for locks: then no thread has to be woken either.
  std::int64_t without_locks() const noexcept {
    const double transfer = base::ranks_are_threads() ? 1 - std::min(1.0, found_.efficiency.transfer) : 0;
    return std::max<std::int64_t>(0, found_.no_locks.saving_ns) +
           (found_.efficiency.parallel > 0 ? static_cast<std::int64_t>(transfer * static_cast<double>(found_.total_ns)) : 0);
  }
  /// Without a part of these waits. Where a thread waits now and another one then, all of them may save more than one waits.
  std::int64_t without_locks(double part) const noexcept {
    return core::nearest(part * static_cast<double>(std::max<std::int64_t>(0, found_.no_locks.saving_ns)));
  }
  /// By another division of the same work among the threads of one process; 0: not known.
  std::int64_t by_division() const noexcept { return program_.most_divided_ns != INT64_MAX ? program_.most_divided_ns : 0; }
  /// By sharing the unmarked code of a wait otherwise, as threads may that take work as they come: what it has above the mean on the thread
  /// that runs most of it. `kinds`: of the terms.
  std::int64_t by_sharing(const base::pod_vector<const explain::residual_term*>& terms,
                          const base::pod_vector<const char*>& kinds) const noexcept {
    std::int64_t ns = 0;
    for (std::size_t i = 0; i != terms.size() && program_.code != nullptr; ++i) {
      const bool unmarked = terms[i]->total_ns > 0 && kinds[i] == std::string_view("between");
      const code_use* const use = unmarked ? program_.code->find(terms[i]->block) : nullptr;
      if (use != nullptr) ns += use->most_ns - use->ns / std::max<std::int64_t>(1, use->ranks);
    }
    return ns;
  }
  /// By any change that makes a block shorter: the run is a convex function of its time, so that the second half of it saves no more than the
  /// first. INT64_MAX / 4: not known; such values can be added.
  std::int64_t by_speed(core::stable_key block) const noexcept {
    for (const explain::what_if_answer& a : found_.savings)
      if (a.question.changes.size() == 1 && a.question.changes[0].block == block)
        return 2 * std::max<std::int64_t>(0, a.saving_ns);
    return INT64_MAX / 4;
  }
  /// By taking messages as they come: the code that could run meanwhile, on each of the `waiting` ranks, and no more than another order of
  /// calls saves.
  std::int64_t by_arrival(const explain::explanation& e, std::size_t waiting) const noexcept {
    return std::min(e.ready_code_ns / static_cast<std::int64_t>(std::max<std::size_t>(1, waiting)), by_order(e.why));
  }
  /// By letting two sides work at once that wait for each other in two calls: no more than the side runs that runs less while the other one
  /// waits, of code that the other one hardly runs meanwhile. A rank that only hands out work runs nothing.
  std::int64_t by_overlap(core::stable_key one, core::stable_key other) const noexcept {
    std::int64_t ran_ns[2] = {};
    for (const explain::explanation& e : found_.waits)
      for (const explain::residual_term& t : e.residual) {
        const bool code = program_.code == nullptr || program_.code->find(t.block) != nullptr;  // not time inside a call
        if (5 * t.waiter_ns > t.causer_ns) continue;  // both work already
        if (code && (e.operation == one || e.operation == other))
          ran_ns[e.operation == one ? 0 : 1] += std::max<std::int64_t>(0, t.total_ns - t.inherited_ns);
      }
    return std::min(ran_ns[0], ran_ns[1]);
  }
  /// Whether the usual change is to spread work over the ranks; otherwise it is to call something earlier.
  static bool spreads_work(explain::pattern why) noexcept {
    using explain::pattern;
    switch (why) {
      case pattern::wait_at_barrier:
      case pattern::wait_at_nxn:
      case pattern::early_reduce:
      case pattern::early_scan:
      case pattern::wait_at_create:
      case pattern::wait_at_finalize:
      case pattern::wait_at_fence: return true;
      default: return false;
    }
  }
  /// By a processor for each rank: no more than all ranks lacked one, and the rank that computes longest remains.
  std::int64_t by_processors() const noexcept {
    if (program_.code == nullptr || !program_.shared_processors) return 0;
    return std::max(std::int64_t{0}, std::min(found_.total_ns - longest_computing_ns(), program_.without_processor_ns));
  }
  /// By what all ranks lack alike. Time without a processor inside MPI is not known to be lost: a rank that waits may be ready to run. Of
  /// ranks that compute as long, the run loses what each of them lacked; of others it may be more. Of ranks that lose processors to other
  /// programs, it loses at least what they lacked on average, because one that waits loses them as often as one that computes.
  std::int64_t by_own_processors() const noexcept {
    const std::int64_t lacked_ns = std::min({by_processors(), lacked_alike_ns(), found_.longest_ns});
    const std::int64_t measuring_ns =
        found_.without_overhead.total_ns > 0 ? found_.total_ns - found_.without_overhead.total_ns : 0;
    return std::max<std::int64_t>(0, lacked_ns - std::max<std::int64_t>(0, measuring_ns));
  }
  /// Whether that is at least what is saved.
  bool own_processors_save_more() const noexcept { return program_.other_programs && lacked_alike_ns() < by_processors(); }
  /// By another order of calls, where that is the usual change. A thread beside MPI may run to the end anyway.
  std::int64_t by_order(explain::pattern why) const noexcept {
    return spreads_work(why) || within_ranks(why) ? INT64_MAX : by_any_order();
  }
  /// By another order of calls: the rank that computes longest remains.
  std::int64_t by_any_order() const noexcept {
    if (!program_.useful_known) return INT64_MAX;
    auto computing =
        static_cast<std::int64_t>(std::min(1.0, found_.efficiency.communication) * static_cast<double>(found_.total_ns));
    if (program_.shared_processors)  // it computed for less than it was outside MPI
      computing = program_.code != nullptr ? longest_computing_ns() : 0;
    return computing > 0 ? std::max(std::int64_t{0}, found_.total_ns - computing) : INT64_MAX;
  }

 private:
  std::int64_t longest_computing_ns() const noexcept {
    return program_.code->whole.most_ns - program_.code->whole.most_delay_ns;
  }

  std::int64_t lacked_alike_ns() const noexcept {
    const std::int64_t ranks = std::max<std::int64_t>(1, ranks_);
    return std::max(2 * program_.noise.all_ns / ranks, program_.other_programs ? program_.without_processor_ns / ranks : 0);
  }

  const explain::outcome& found_;
  const program_facts& program_;
  std::int64_t ranks_;
};

/// Whether ranks wait until another one calls MPI again, which runs this code meanwhile: divided, its parts call MPI at other times.
[[gnu::noinline]] inline bool delays_progress(core::stable_key block, const explain::outcome& found) noexcept {
  for (const explain::explanation& e : found.waits)
    for (const explain::residual_term& t : e.residual)
      if (e.why == explain::pattern::wait_for_progress && t.block == block && 2 * t.total_ns >= e.wait_ns) return true;
  return false;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
