#ifndef WHYWAIT_FINALIZE_ANALYSIS_HPP
#define WHYWAIT_FINALIZE_ANALYSIS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/replace.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/explain/outcome_keys.hpp>
#include <whywait/finalize/advising.hpp>
#include <whywait/finalize/asking.hpp>
#include <whywait/finalize/data_analysis.hpp>
#include <whywait/finalize/epochs.hpp>
#include <whywait/finalize/fail_check.hpp>
#include <whywait/finalize/fault_cost.hpp>
#include <whywait/finalize/naming.hpp>
#include <whywait/finalize/prediction.hpp>
#include <whywait/finalize/run_summary.hpp>
#include <whywait/finalize/timeline_file.hpp>
#include <whywait/finalize/together.hpp>
#include <whywait/finalize/unseen.hpp>
#include <whywait/report/assemble.hpp>
#include <whywait/report/files.hpp>
#include <whywait/report/text.hpp>
#include <whywait/report/trust.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// How long the main thread of this rank slept in code. Units of work are work, and regions that count as waiting are known to sleep.
inline std::int64_t asleep_outside_waits(const base::pod_vector<rules::rank_code>& code, const core::site_table& sites) {
  std::int64_t asleep_ns = 0;
  for (const rules::rank_code& c : code) asleep_ns += c.thread == 0 && c.work == 0 ? c.counts[core::code_count::blocked_ns] : 0;
  for (std::uint32_t s = 1; s < sites.size(); ++s) {
    if (sites[s].kind != core::site_kind::waiting) continue;  // there are few
    for (const rules::rank_code& c : code) asleep_ns -= c.thread == 0 && c.work == 0 && c.block == sites[s].key ? c.ns : 0;
  }
  return std::max<std::int64_t>(0, asleep_ns);
}

/// Analyses the run so far. The data passes through all stages, from records to explanation, names, rules and report.
/// The result is complete on rank 0. Collective over the process's tool communicator.
inline reports::result analyse(mpi::state& process, epoch& now) {
  reports::run_facts facts = gather_facts(process, now.records(), now.so_far().run, now.team());
  const data_so_far& data = now.so_far().data;
  if (data.not_linked) facts.warnings.push_back(data_not_analysed);
  explain::outcome found = now.explain();
  if (now.so_far().run.skipped_ns != 0) facts.waiting_of_all = now.so_far().run.waiting.of_all();
  if (!now.unnamed().empty()) facts.warnings.push_back(now.unnamed());
  rules::contribution contributions = now.contribute(true);
  const base::pod_vector<unseen_block> unseen = gather_unseen(now.records(), process.registry->sites, now.team());
  base::vector<core::stable_key> keys = keys_of(contributions);
  for (const unseen_block& b : unseen) keys.push_back(b.key);
  reports::not_understood unknown = now.so_far().unknown.gather(now.records(), now.processor(), now.team());
  time_not_understood& unknown_so_far = now.so_far().unknown;
  reports::mpi_time files = unknown_so_far.files().gather(now.team());
  reports::mpi_time other_worlds = unknown_so_far.other_worlds().gather(now.team());
  const std::int64_t asleep_ns = asleep_outside_waits(now.so_far().code_of_rank, process.registry->sites);
  reports::mpi_time asleep = gather_seconds(asleep_ns > 0, base::seconds_of(asleep_ns), now.team());
  for (const time_not_understood::site_sum& s : unknown_so_far.sites()) keys.push_back(s.key);
  for (const mpi_time_sums* const sums : {&unknown_so_far.files(), &unknown_so_far.other_worlds()})
    sums->keys([&](core::stable_key key) { keys.push_back(key); });
  run_profile& profile = now.so_far().profile;
  profile.gather(*process.registry, now.records(), now.so_far().here, unknown_so_far.waiting_ns(), now.so_far().run.paused_ns(),
                 now.so_far().run.unseen_ns != 0, now.team());
  profile.add_keys(keys);
  const base::names names = gather_names(keys_to_name(found, std::move(keys)), now.names(), now.team());
  std::shared_ptr<const reports::section> communication;
  if (data.analysis != nullptr)
    communication = data.analysis->result(&gather_names, now.names(), facts.warnings, contributions.data);
  rules::evaluation advice;
  if (process.rank == 0) {
    found.fault_ns = cost_of_fault_ns();
    const bool shared = reports::shares_processors(unknown, base::seconds_of(found.location_ns));
    const bool useful_known = !reports::polls_matter(unknown, base::seconds_of(found.location_ns));
    const std::int64_t divided_ns =
        found.locations > facts.ranks || unknown.sharing.ranks > unknown.sharing.processors
            ? most_divided_ns(found.total_ns, contributions.code.whole.ran_ns, unknown.sharing.all_processors)
            : INT64_MAX;
    advice = advise(process.registry->config.rules, found, names, std::move(contributions), shared, useful_known,
                    unknown.sharing, facts, divided_ns);
  }
  reports::result result = reports::assemble(found, names, std::move(facts), advice);
  const reports::run_ledger& ledger = result.ledger;
  if (ledger.overhead.calibrated && ledger.seconds > 0)
    result.run.waiting_of_all = without_overhead(result.run.waiting_of_all, ledger.overhead.most_seconds() / ledger.seconds);
  result.unseen = named(unseen, names);
  unknown_so_far.name(unknown, names);
  unknown_so_far.files().name(files, names);
  unknown_so_far.other_worlds().name(other_worlds, names);
  result.not_understood = std::move(unknown);
  result.files = std::move(files);
  result.other_worlds = std::move(other_worlds);
  result.asleep = std::move(asleep);
  result.profile = profile.named(names);
  if (now.so_far().here.number >= 0) result.run.origin.nodes = static_cast<std::int64_t>(result.profile.hosts.size());
  // the kernel's figures are a little older than ours
  reports::processor_sharing& sharing = result.not_understood.sharing;
  sharing.seconds = std::min(sharing.seconds, result.run.location_seconds);
  sharing.code_seconds = std::min(sharing.code_seconds, sharing.seconds);
  reports::name_not_counted(result.run, now.processor().offered, now.processor().refused);
  reports::weaken(result);
  result.communication = std::move(communication);
  answer_questions(process, now.names(), now.team(), now.so_far().calls, now.so_far().asked, found, result);
  now.keep(std::move(found));
  return result;
}

/// The partial result after a failed analysis. It contains the facts of the run and the explanation of earlier epochs.
/// Complete on rank 0. Collective over `all`.
inline reports::result partial_result(mpi::state& process, const finalize::team& all) {
  explained_so_far& so_far = so_far_of(process);
  core::shared_clock clock;
  clock.origin = process.begin_ticks;
  clock.ns_per_tick = core::clock_anchor::rate(process.start_anchor, core::clock_anchor::take());
  clock.error_ns = std::numeric_limits<double>::quiet_NaN();  // not compared with other ranks
  process_records records = collect(process, clock);
  records.span_whole_run();
  const process_names own(records, process.registry->sites, process.registry->sources, so_far.code.get(), nullptr,
                          &so_far.sources);
  reports::run_facts facts = gather_facts(process, records, so_far.run, all);
  const base::names names = gather_names(keys_to_name(so_far.found), own, all);
  if (process.rank != 0) return {};
  facts.unseen_seconds = std::max(facts.seconds - static_cast<double>(so_far.found.longest_ns) * 1e-9, 0.0);
  facts.warnings.push_back(std::string("the analysis failed (") + process.failed.text + "); " +
                           (so_far.found.records == 0 ? "waits are not explained" : "later waits are not explained"));
  rules::contribution uses;
  uses.uses = so_far.uses;
  uses.calls = so_far.calls_by_kind;
  uses.code = so_far.code_of_all;
  const rules::evaluation advice =
      advise(process.registry->config.rules, so_far.found, names, std::move(uses), false, false, {}, facts);
  return reports::assemble(so_far.found, names, std::move(facts), advice);
}

/// Part of the file name of a result: the processes of MPI_Comm_spawn have the environment of those that started them.
inline std::string name_of_world(const mpi::state& process) {
  return process.spawned ? ".spawned-" + std::to_string(process.registry->pid) : std::string();
}

/// Hook of MPI_Finalize. Explains the run, then prints and writes what the settings of rank 0 request.
inline void at_finalize(mpi::state& process) {
  const core::settings& wanted = process.registry->config;
  const rules::processor_use used = processor_use_of_process(process);
  const bool files = process.output[0] != '\0', writes = wanted.report || files || wanted.fail != nullptr;
  bool needed = false, known = false;
  const struct at_end {
    mpi::state& process;
    ~at_end() { free_so_far(process); }
  } frees{process};
  reports::result result;
  std::unique_ptr<epoch> last;
  // Rank 0 decides, because the environment may differ between ranks.
  if (!process.failed)
    known = together(process, "the analysis failed, waits are not explained: ", [&](const finalize::team& all) {
      needed = all.agree(process.rank == 0 && (writes || rules::rules_setting::parse(wanted.rules).list)) != 0;
      if (!needed) return;
      last.reset(new epoch(process, nullptr, used));
      base::replace(result, analyse(process, *last));
    });
  if (known && needed)
    together(process, "cannot write the timeline: ", [&](const finalize::team& all) {
      const bool timeline = wanted.timeline != core::settings::timeline_choice::none && files;
      if (all.agree(process.rank == 0 && timeline ? 1 : 0) == 0) return;
      const std::string prefix = process.rank == 0 ? process.output + name_of_world(process) : std::string();
      write_timelines(process, *last, prefix, result.run);
    });
  last.reset();
  if (!known)
    known = together(process, "cannot write the report: ", [&](const finalize::team& all) {
      needed = all.agree(process.rank == 0 && writes) != 0;
      if (needed) base::replace(result, partial_result(process, all));
    });
  if (process.rank != 0 || (known && !needed)) return;
  bool reported = false;
  try {
    const std::string world = name_of_world(process);
    if (known && wanted.report) {
      if (process.spawned)
        core::warn(
            ("the next report is that of " + base::counted(process.size, "spawned rank") + ", of which process ").c_str(),
            (std::to_string(process.registry->pid) + " is rank 0").c_str());
      reports::text_options length;
      length.full = wanted.full_report;
      reports::print_text(result, stderr, length);
    }
    reported = known && wanted.report;
    if (known && files) {
      const std::string problem = reports::write_files(
          result, process.output + world, wanted.report ? "; the text report is complete" : "; the result is lost");
      if (!problem.empty()) core::warn(problem.c_str());
      reported = true;
    }
    if (known && wanted.fail != nullptr && !process.spawned) check_conditions(wanted.fail, std::move(result));
  } catch (const std::exception& problem) {
    core::warn(reported ? "cannot write the JSON file: " : "cannot write the report: ", "rank 0: ", problem.what());
  }
  // The last resort is the local summary of this rank, which needs no memory.
  if (!reported && process.hook.on_end != nullptr) process.hook.on_end(process, mpi::end_reason::unexplained, 0);
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
