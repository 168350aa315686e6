#ifndef WHYWAIT_FINALIZE_RUN_SUMMARY_HPP
#define WHYWAIT_FINALIZE_RUN_SUMMARY_HPP

#include <whywait/base/units.hpp>
#include <whywait/core/clock.hpp>
#include <whywait/finalize/collect.hpp>
#include <whywait/finalize/late_start.hpp>
#include <whywait/finalize/other_threads.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/finalize/unseen_openmp.hpp>
#include <whywait/finalize/waiting_sample.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/mismatch.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/run_settings.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

namespace detail {

inline std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  version.resize(std::min(version.find_first_of(",\n"), version.size()));
  for (char& c : version)
    if (c == '\t') c = ' ';
  return version;
}

// Describes the first mismatched pair of the lowest rank that has one, as a sentence.
inline std::string first_mismatch(const mpi::state& process, const finalize::team& all) {
  char text[300] = "";
  const record::ended_threads* const ended = process.registry->ended;
  if (ended != nullptr && ended->mismatches != 0)
    record::describe(ended->first_mismatch, process.registry->sites, text, sizeof text);
  for (const core::location_base* l = process.registry->locations; l != nullptr; l = l->next) {
    const record::location& location = static_cast<const record::location&>(*l);
    if (location.mismatched_ends != 0) record::describe(location.first_mismatch, process.registry->sites, text, sizeof text);
  }
  const int from = all.lowest_of(text[0] != '\0');
  if (from < 0) return {};
  all.broadcast(text, sizeof text, from);
  return text;
}

}  // namespace detail

/// Counts receives from any source, or of what a probe of any source found, after which this rank next sent to that source. In such a
/// protocol the first request decides which rank gets which work.
inline std::uint64_t answered_first_comers(const core::location_history& l) {
  std::uint64_t answered = 0;
  std::int32_t asked = -1, probed = -1;
  for (std::uint64_t i = 0; i < l.records.size(); ++i) {
    const core::sync_record& r = l.records[i];
    const bool sends = r.has(core::sync_flag::posts_send), takes = r.has(core::sync_flag::posts_receive);
    const bool from_any = r.has(core::sync_flag::any_source);
    if (r.peer < 0) continue;
    if (sends) answered += r.peer == asked ? 1 : 0;
    if (sends != takes) asked = takes && (from_any || r.peer == probed) ? r.peer : -1;
    probed = from_any && sends == takes ? r.peer : -1;
  }
  return answered;
}

/// Sums of this process over all epochs.
struct run_so_far {
  std::uint64_t first_comers = 0;  ///< answered requests from any source
  std::int64_t cut_ns = 0;  ///< what shared time leaves out: pauses, and parts without records. The same on all ranks
  std::int64_t unseen_ns = 0;  ///< of that, the parts without records
  std::int64_t skipped_ns = 0;  ///< of that, the parts that were left out for WHYWAIT_PAUSES; of this rank
  std::uint64_t pause_ticks = 0;  ///< pauses of this rank
  waiting_sample waiting;  ///< on rank 0
  std::int64_t joined_threads = 0;  ///< threads whose work counted as that of the main thread
  std::uint64_t joined_ticks = 0;  ///< their time in marked code

  /// The shortest pauses of all ranks, added up.
  std::int64_t paused_ns() const noexcept { return cut_ns - unseen_ns; }
};

/// Gathers facts about the run that the explanation does not contain, complete on rank 0. `before` holds the sums of
/// this rank up to now. Collective.
inline reports::run_facts gather_facts(const mpi::state& process, const process_records& all, const run_so_far& before,
                                       const finalize::team& team) {
  const bool several = __atomic_load_n(&process.several, __ATOMIC_ACQUIRE);
  struct {
    std::uint64_t calls, lost, mismatches, full, unordered, first_comers, several, unseen_threads;
    std::int64_t other_threads, other_ns;
    std::uint64_t openmp[core::openmp_part::count_];  // ranks that used them
  } counts = {all.calls,
              all.lost_records + all.lost_steps,
              0,
              all.first_closed_ticks != 0 ? 1u : 0u,
              all.lost_orders,
              before.first_comers,
              several || process.uses_threads ? 1u : 0u,
              several && !process.uses_threads && process.registry->interposed.active == 0 ? 1u : 0u,
              0,
              0,
              {}};
  const other_threads others = other_threads::of(*process.registry);
  counts.other_threads = std::max<std::int64_t>(0, others.count - before.joined_threads);
  const std::uint64_t apart = others.ticks > before.joined_ticks ? others.ticks - before.joined_ticks : 0;
  counts.other_ns = static_cast<std::int64_t>(static_cast<double>(apart) * all.history.clock.ns_per_tick);
  for (const thread_records& l : all.threads) counts.mismatches += l.mismatched_ends;
  if (const record::ended_threads* const ended = process.registry->ended) counts.mismatches += ended->mismatches;
  for (std::uint32_t part = 0; part != core::openmp_part::count_; ++part)
    counts.openmp[part] = process.registry->interposed.used(part) ? 1 : 0;
  team.all_reduce(&counts, static_cast<int>(sizeof counts / sizeof counts.calls), MPI_UINT64_T, MPI_SUM);
  double worst_error_ns = all.history.clock.error_ns;
  team.all_reduce(&worst_error_ns, 1, MPI_DOUBLE, MPI_MAX);
  // The minimum over ranks of the time at which memory first ran out, and whether any rank is still out of memory.
  const auto between = [&all](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(all.history.clock(to) - all.history.clock(from));
  };
  double full_ns[2] = {all.first_closed_ticks != 0 ? between(all.begin_ticks, all.first_closed_ticks) : 1e300,
                       all.full ? 0.0 : 1.0};
  team.all_reduce(full_ns, 2, MPI_DOUBLE, MPI_MIN);

  // What is not recorded at the end of an epoch that goes on is in `before`.
  const double unseen_at_end = all.history.continues ? 0 : between(all.end_ticks, all.last_ticks);
  double longest_ns[3] = {between(all.begin_ticks, all.last_ticks) - static_cast<double>(before.paused_ns()),
                          static_cast<double>(before.unseen_ns) + unseen_at_end,
                          static_cast<double>(before.skipped_ns) + (all.closed && !all.full ? unseen_at_end : 0)};
  team.all_reduce(longest_ns, 3, MPI_DOUBLE, MPI_MAX);
  // Tests that find nothing and follow one another are one record. Each of the others costs at most what recording a call costs, in a
  // loop as in the calibration: single calls among other code, where a reading of the clock takes longer, say nothing about them.
  const mpi::own_ticks& each = process.calibrated.calls[static_cast<std::size_t>(detail::like(core::mpi_call::Test))];
  const double poll_ns = static_cast<double>(all.failed_polls * each.sum()) * all.history.clock.ns_per_tick;
  double beside_ns[2] = {poll_ns, static_cast<double>(process.compared_ticks) * all.history.clock.ns_per_tick};
  team.all_reduce(beside_ns, 2, MPI_DOUBLE, MPI_MAX);

  reports::run_facts facts;
  if (longest_ns[1] > 0 || process.failed) {  // otherwise the records cover the run
    facts.seconds = longest_ns[0] * 1e-9;
    facts.unseen_seconds = longest_ns[1] * 1e-9;
  }
  facts.pause_seconds = static_cast<double>(std::max<std::int64_t>(0, before.paused_ns())) * 1e-9;
  facts.poll_seconds = beside_ns[0] * 1e-9;
  facts.late = late_start_of(process, team);
  facts.compare_seconds = beside_ns[1] * 1e-9;
  facts.origin = reports::origin_of_process(between(all.begin_ticks, core::cycle_clock::now()) * 1e-9);
  facts.ranks = process.size;
  facts.mpi = detail::library_version();
  facts.mpi_calls = static_cast<std::int64_t>(counts.calls);
  facts.dropped_events = static_cast<std::int64_t>(counts.lost);
  facts.epochs = static_cast<std::int64_t>(process.schedule.epochs) + (process.running ? 0 : 1);
  facts.other_threads = counts.other_threads;
  facts.other_thread_seconds = base::seconds_of(counts.other_ns);
  facts.first_comers = static_cast<std::int64_t>(counts.first_comers);
  facts.clock = core::cycle_clock::used() != core::clock_source::monotonic ? "cycle counter" : "CLOCK_MONOTONIC";
  facts.clock_error_seconds = worst_error_ns * 1e-9;
  reports::add_settings(facts);
  const auto ranks_of = [&process](std::uint64_t count) {
    return base::joined({base::count(static_cast<std::int64_t>(count)), " of ", base::counted(process.size, "rank")});
  };
  const std::string memory = "; increase WHYWAIT_MEMORY (now " + base::memory(process.registry->config.memory_bytes) + ")";
  if (counts.full != 0)
    facts.warnings.push_back(base::joined(
        {"the record buffer was full on ", ranks_of(counts.full), ", first after ", base::duration(full_ns[0] * 1e-9),
         full_ns[1] < 1 ? "; later waits are not explained"
                        : "; waits from then until the next meeting of all ranks are not explained",
         memory,
         counts.several != 0 ? ": while several threads call MPI or wait for each other the buffer cannot be reused" : ""}));
  if (longest_ns[2] > 0)
    facts.warnings.push_back(
        base::joined({"WHYWAIT_PAUSES: ", base::duration(longest_ns[2] * 1e-9),
                      " of the run were not recorded, so that the pauses of epochs took ", base::duration(facts.pause_seconds),
                      "; waits in that time are not explained (WHYWAIT_PAUSES=unlimited records all)"}));
  if (counts.unordered != 0)
    facts.warnings.push_back(base::joined({"the path-order buffer (WHYWAIT_PATH=order) was full; for ",
                                           base::counted(static_cast<std::int64_t>(counts.unordered), "interval"),
                                           " between MPI calls only counts are known", memory}));
  if (counts.unseen_threads != 0)
    facts.warnings.push_back(base::joined(
        {"several threads call MPI on ", ranks_of(counts.unseen_threads),
         ", and how they wait for one another (join, locks) is not observed, so that it counts as work: include "
         "<whywait/pthread.hpp> in one file, for OpenMP <whywait/gomp.hpp>, or start the program with whywait run"}));
  warn_of_openmp(facts, [&counts](std::uint32_t part) { return counts.openmp[part] != 0; });
  const core::settings& config = process.registry->config;
  if (config.timeline != core::settings::timeline_choice::none && process.output[0] == '\0')
    facts.warnings.push_back("WHYWAIT_TIMELINE: no file is written without WHYWAIT_OUTPUT, its prefix");
  const std::string mismatch = detail::first_mismatch(process, team);
  if (counts.mismatches != 0)
    facts.warnings.push_back(base::counted(static_cast<std::int64_t>(counts.mismatches), "region does", "regions do") +
                             " not begin and end in pairs; their times are unreliable; the first: " + mismatch);
  return facts;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
