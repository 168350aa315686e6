#ifndef WHYWAIT_THREAD_FINALIZE_SOLO_ANALYSIS_HPP
#define WHYWAIT_THREAD_FINALIZE_SOLO_ANALYSIS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/replace.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/core/output_path.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/coverage/names/code_blocks.hpp>
#include <whywait/data/marks/data_state.hpp>
#include <whywait/explain/explain.hpp>
#include <whywait/explain/outcome_keys.hpp>
#include <whywait/explain/simulated_transport.hpp>
#include <whywait/explain/thread_ranks.hpp>
#include <whywait/finalize/advising.hpp>
#include <whywait/finalize/fail_check.hpp>
#include <whywait/finalize/fault_cost.hpp>
#include <whywait/finalize/process_names.hpp>
#include <whywait/finalize/ran_code.hpp>
#include <whywait/finalize/thread_data_analysis.hpp>
#include <whywait/finalize/unseen_openmp.hpp>
#include <whywait/report/assemble.hpp>
#include <whywait/report/files.hpp>
#include <whywait/report/plain_result.hpp>
#include <whywait/report/run_origin.hpp>
#include <whywait/report/run_settings.hpp>
#include <whywait/report/settings_help.hpp>
#include <whywait/report/text.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/thread/finalize/condition_barriers.hpp>
#include <whywait/thread/finalize/own_stack.hpp>
#include <whywait/thread/finalize/processor_bound.hpp>
#include <whywait/thread/finalize/solo_run.hpp>
#include <whywait/thread/finalize/thread_time.hpp>
#include <whywait/thread/sync_call.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// What an interposer of pthread functions did not see.
inline void warn_of_interposing(const core::registry& registry, reports::run_facts& facts) {
  const auto of = [](const std::uint32_t& count) {
    return static_cast<std::int64_t>(__atomic_load_n(&count, __ATOMIC_RELAXED));
  };
  const std::int64_t lost = of(registry.interposed.lost), replaced = of(registry.interposed.replaced);
  if (lost > 0)
    facts.warnings.push_back("no room to observe the objects of " +
                             base::counted(lost, "call of a pthread function", "calls of pthread functions") +
                             "; their waits are not explained");
  if (replaced > 0)
    facts.warnings.push_back("too many locks for the table of observed ones, so that " +
                             base::counted(replaced, "of them was", "of them were") +
                             " forgotten; causes of waits for these may be missing");
}

/// Facts about the run that the explanation does not contain.
inline reports::run_facts facts_of(core::registry& registry, const solo_run& run, const solo_records& records) {
  const finalize::process_records& all = records.all;
  const core::shared_clock& clock = all.history.clock;
  reports::run_facts facts;
  facts.origin =
      reports::origin_of_process(static_cast<double>(clock(core::cycle_clock::now()) - clock(all.begin_ticks)) * 1e-9);
  facts.threads_only = true;
  facts.unrecorded = unrecorded_threads_of(registry, run);
  facts.seconds = static_cast<double>(clock(all.last_ticks) - clock(all.begin_ticks)) * 1e-9;
  facts.unrecorded.run_seconds = facts.seconds;
  facts.unseen_seconds = static_cast<double>(clock(all.last_ticks) - clock(all.end_ticks)) * 1e-9;
  facts.primitives = static_cast<std::int64_t>(all.primitives);
  facts.interposed_calls = static_cast<std::int64_t>(all.interposed);
  facts.dropped_events = static_cast<std::int64_t>(all.lost_records + all.lost_steps);
  facts.clock = core::cycle_clock::used() != core::clock_source::monotonic ? "cycle counter" : "CLOCK_MONOTONIC";
  facts.short_waits = static_cast<std::int64_t>(all.short_waits);
  facts.short_wait_seconds = static_cast<double>(all.short_ticks) * clock.ns_per_tick * 1e-9;
  facts.least_wait_seconds = static_cast<double>(all.least_ticks) * clock.ns_per_tick * 1e-9;
  const record::location* const here = record::this_location();
  if (here != nullptr && here->calls != nullptr)
    reports::name_not_counted(facts, here->calls->counter.offered(), here->calls->counter.refused());
  reports::add_settings(facts);
  warn_of_interposing(registry, facts);
  finalize::warn_of_openmp(facts, [&registry](std::uint32_t part) { return registry.interposed.used(part); });
  if (all.first_closed_ticks != 0)
    facts.warnings.push_back(
        "the record buffer was full after " +
        base::duration(static_cast<double>(clock(all.first_closed_ticks) - clock(all.begin_ticks)) * 1e-9) +
        "; later waits are not explained; increase WHYWAIT_MEMORY (now " + base::memory(registry.config.memory_bytes) + ")");
  return facts;
}

/// The threads that had the place of one rank, one after the other.
inline std::int64_t threads_of(const core::rank_history& rank) {
  std::int64_t threads = 0;
  for (const core::location_history& here : rank.locations)
    for (std::uint64_t i = 0; i != here.records.size(); ++i)
      threads += here.records[i].call == core::mpi_call::thread_begin ? 1 : 0;
  return std::max<std::int64_t>(1, threads);
}

/// For how long threads were ready to run without a processor, in code of the program. `at_once`: threads that run at the same time.
inline reports::processor_sharing sharing_of(const rules::code_use& whole, const processor_time& used,
                                             std::int64_t at_once) noexcept {
  reports::processor_sharing out;
  out.seconds = out.code_seconds = base::seconds_of(whole.ns - whole.ran_ns);
  out.ranks = at_once;
  out.processors = used.processors;
  return out;
}

/// The section of the report about registered data, and the facts of it for the rules; null without any. `all`: the numbers of its
/// records. Throws std::bad_alloc.
inline std::shared_ptr<const reports::section> analyse_data(core::registry& registry, solo_run& run,
                                                            const core::rank_history& all, const finalize::process_names& names,
                                                            base::vector<std::string>& warnings,
                                                            const rules::data_facts*& facts) {
  if (data::state_of(registry) == nullptr) return nullptr;
  if (finalize::detail::maker_of_thread_data_analysis == nullptr) {
    warnings.push_back(finalize::thread_data_not_analysed);
    return nullptr;
  }
  const core::guard_if guard(run.data_lock, true);  // threads may ask for reports at the same time
  if (run.data == nullptr) run.data = finalize::detail::maker_of_thread_data_analysis();
  const bool over = !__atomic_load_n(&run.running, __ATOMIC_ACQUIRE);
  run.data->take(registry, all, over);
  std::shared_ptr<const reports::section> section = run.data->result(registry, names, warnings, facts);
  if (over) {
    delete run.data;
    run.data = nullptr;
  }
  return section;
}

/// Analyses the run of a process without MPI so far, thread by thread. `maps`: with those of the page. Throws std::bad_alloc and what the explanation throws.
inline reports::result analyse(core::registry& registry, solo_run& run, bool maps = false) {
  const base::rank_noun_scope threads(true);
  processor_time used = processor_time::of_process(registry);
  used.ns -= run.analysis_ns;
  solo_records records(registry, run);
  reports::run_facts facts = facts_of(registry, run, records);
  const base::pod_vector<std::uint32_t> ran = finalize::code_that_ran(records.all);
  const coverage::code_blocks code(registry.sources, ran,
                                   coverage::code_filter(registry.config.coverage != nullptr ? registry.config.coverage : ""));
  if (!code.problem().empty()) facts.warnings.push_back(code.problem());
  finalize::process_names names_here(records.all, registry.sites, registry.sources, code.problem().empty() ? &code : nullptr);
  if (records.all.book != nullptr) condition_barriers(records.all.history, *records.all.book, names_here);
  const base::vector<core::rank_history> histories = explain::threads_as_ranks(records.all.history);
  facts.ranks = static_cast<std::int64_t>(histories.size());
  std::int64_t started = 0;
  for (const core::rank_history& h : histories) started += threads_of(h);
  leave_out_starts(facts.unrecorded, started);
  explain::options settings;
  settings.clocks = &clocks::virtual_clocks;
  settings.functions = &names_here;
  settings.maps = maps;
  explain::simulated_transport transport(static_cast<std::int32_t>(histories.size()));
  explain::outcome found = explain::explain(transport, histories, settings);
  rules::contribution contributions;
  own_code threads_own;
  for (const core::rank_history& h : histories) {
    rules::contribution one;
    one.uses = rules::uses_of(h);
    one.calls = rules::calls_of(h);
    base::pod_vector<rules::rank_code> own;
    rules::add_own_code(own, h);
    threads_own.add(own, h.blocks, threads_of(h), used.processors);
    if (h.rank == 0) {
      constexpr std::size_t most_event_bytes = std::size_t(64) << 20;
      one.texts = rules::added_texts();
      rules::own_packet events = rules::pack_own_events(most_event_bytes);
      if (!events.empty()) {
        one.events.push_back(std::move(events));
        one.ranks.push_back(0);
      }
    }
    contributions.merge(std::move(one));
  }
  std::shared_ptr<const reports::section> data =
      analyse_data(registry, run, records.all.history, names_here, facts.warnings, contributions.data);
  used.longest_delay_ns = threads_own.longest_delay_ns();
  leave_out_waits(used, threads_own, facts.unrecorded);
  bound_balances(found, used, threads_own);
  const reports::processor_sharing sharing = sharing_of(threads_own.code.whole, used, threads_at_once(histories));
  contributions.code = std::move(threads_own.code);
  const thread_time asleep = time_asleep(records.all);
  leave_out_sleep(contributions.code.whole, asleep);
  const time_without_cause without_cause = time_without_cause_of(records.all.history, records.all.end_ticks);
  base::vector<core::stable_key> keys = keys_to_name(found, finalize::keys_of(contributions));
  asleep.add_keys(keys);
  without_cause.outside.add_keys(keys);
  without_cause.unknown.add_keys(keys);
  base::vector<core::stable_key> known;
  for (const core::stable_key key : keys)
    if (names_here.contains(key)) known.push_back(key);
  base::names names = names_here.names_of(known);
  names.clear_needless_callers();
  found.fault_ns = finalize::cost_of_fault_ns();
  rules::evaluation advice = finalize::advise(registry.config.rules, found, names, std::move(contributions), false, false,
                                              sharing, facts, most_divided_ns(found, used));
  reports::result result = reports::assemble(found, names, std::move(facts), advice);
  result.run.locations = result.run.ranks;  // also threads without a record
  asleep.tell(result.asleep, names);
  without_cause.outside.tell(result.outside, names);
  without_cause.unknown.tell(result.not_understood, names);
  result.not_understood.sharing = sharing;
  result.communication = std::move(data);
  reports::weaken(result);
  return result;
}

/// Whether pthread functions are interposed in a process that has no second thread: `whywait run` observes all processes that a program
/// starts, for example those of a shell script.
inline bool is_without_threads(core::registry& registry, const solo_run& run) {
  if (registry.interposed.active == 0 || unrecorded_threads_of(registry, run).matter()) return false;
  const finalize::locked guard(registry.mutex);
  return registry.location_count <= 1;
}

namespace detail {

inline void report_run() noexcept {
  core::registry* const registry = core::the_registry();
  solo_run* const run = solo_run_of(registry);
  if (run == nullptr || !run->running || !core::first_of_the_launch()) return;
  run->end_ticks = core::cycle_clock::now();
  __atomic_store_n(&run->running, false, __ATOMIC_RELEASE);
  const core::settings& wanted = registry->config;
  if (wanted.help) reports::print_settings(stderr);
  if (!wanted.report && wanted.output == nullptr && wanted.fail == nullptr) return;
  if (is_without_threads(*registry, *run)) return;
  if (wanted.whatif != nullptr && *wanted.whatif != '\0')
    core::warn("WHYWAIT_WHATIF: questions are answered of programs with MPI only; the variable is ignored");
  bool printed = false;
  try {
    finalize::expect_check(wanted);
    reports::result result = analyse(*registry, *run, wanted.output != nullptr);
    if (wanted.report) {
      reports::text_options length;
      length.full = wanted.full_report;
      reports::print_text(result, stderr, length);
    }
    printed = wanted.report;
    if (wanted.output != nullptr) {
      char prefix[core::most_output_path];
      core::expand_output(wanted.output, prefix);
      const std::string problem =
          reports::write_files(result, prefix, printed ? "; the text report is complete" : "; the result is lost");
      if (!problem.empty()) core::warn(problem.c_str());
    }
    if (wanted.fail != nullptr) finalize::check_conditions(wanted.fail, std::move(result));
  } catch (const std::exception& problem) {
    core::warn(printed ? "cannot write the JSON file: " : "the analysis failed, waits are not explained: ", problem.what());
  }
}

}  // namespace detail

/// At the end of the program: prints and writes what the settings request.
inline void report_at_exit() noexcept { on_large_stack(&detail::report_run); }

/// run_facts::explain.
inline void explain_now(record::run_facts& run, void* into, const void* address, const void* frame) {
  whywait::result& result = *static_cast<whywait::result*>(into);
  const sync_site site{core::mpi_call::report, address, frame};
  sync_call call(site);  // the time that follows is not that of the program
  if (call) call.begin();
  const std::int64_t before_ns = time_of(CLOCK_PROCESS_CPUTIME_ID);
  try {
    core::registry& registry = *core::the_registry();
    base::replace(result, reports::plain(analyse(registry, static_cast<solo_run&>(run), registry.config.output != nullptr)));
  } catch (const std::exception& problem) {
    base::replace(result, whywait::result());
    result.reason = std::string("the analysis failed: ") + problem.what();
  }
  static_cast<solo_run&>(run).analysis_ns += time_of(CLOCK_PROCESS_CPUTIME_ID) - before_ns;
  if (!call) return;
  static_cast<void>(call.end());
  if (core::sync_record* const r = call.store_wait(0)) call.finish(r);
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
