#ifndef WHYWAIT_FINALIZE_EPOCHS_HPP
#define WHYWAIT_FINALIZE_EPOCHS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/virtual_clocks.hpp>
#include <whywait/coverage/names/code_blocks.hpp>
#include <whywait/explain/explain.hpp>
#include <whywait/finalize/advising.hpp>
#include <whywait/finalize/asking.hpp>
#include <whywait/finalize/carried_records.hpp>
#include <whywait/finalize/code_lines.hpp>
#include <whywait/finalize/collect.hpp>
#include <whywait/finalize/contributions.hpp>
#include <whywait/finalize/data_analysis.hpp>
#include <whywait/finalize/fail_check.hpp>
#include <whywait/finalize/mpi_transport.hpp>
#include <whywait/finalize/node.hpp>
#include <whywait/finalize/one_process.hpp>
#include <whywait/finalize/pause_limit.hpp>
#include <whywait/finalize/pictures.hpp>
#include <whywait/finalize/prediction.hpp>
#include <whywait/finalize/process_names.hpp>
#include <whywait/finalize/processor_time.hpp>
#include <whywait/finalize/run_profile.hpp>
#include <whywait/finalize/run_summary.hpp>
#include <whywait/finalize/time_not_understood.hpp>
#include <whywait/finalize/timeline_store.hpp>
#include <whywait/finalize/together.hpp>
#include <whywait/mpi/epoch_meeting.hpp>
#include <whywait/report/output_file.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// State that this process keeps between epochs, in state::so_far (docs/method.md 4.11). Its size is bounded, except
/// for the calls of the first epoch, which WHYWAIT_WHATIF replays.
struct explained_so_far {
  explain::epoch_memory memory;
  base::pod_vector<rules::site_use> uses;    ///< on rank 0
  rules::call_table calls_by_kind;       ///< on rank 0
  base::pod_vector<rules::rank_code> code_of_rank;  ///< what this rank itself did
  rules::code_table code_of_all;         ///< on rank 0
  rules::processor_use
      processor_before;  ///< what the scheduler did before the run began, in pauses, and in parts without records
  rules::processor_use processor;         ///< what it did otherwise
  base::vector<kept_picture> pictures;   ///< on rank 0
  explain::outcome found;               ///< on rank 0: outcome of all complete epochs
  data_so_far data;
  time_not_understood unknown;
  std::unique_ptr<timeline_store> timeline;  ///< set when the first epoch begins
  run_profile profile;
  asked_questions asked;
  traced_calls calls;                   ///< on rank 0
  call_sources sources;                 ///< of this rank's calls
  base::pod_vector<std::uint32_t> ran;  ///< blocks counted by compiler instrumentation, sorted
  std::unique_ptr<coverage::code_blocks> code;
  run_so_far run;
  machine here;                         ///< set when the first epoch begins
  bool continued = false;               ///< an earlier epoch has ended; the next members describe its end
  mpi::meeting_point end{0, 0, 0};
  std::uint64_t resumed = 0;            ///< ticks at which the program resumed
  std::uint32_t posted = 0;             ///< last posting ordinal
};

inline explained_so_far& so_far_of(mpi::state& process) {
  if (process.so_far == nullptr) process.so_far = new explained_so_far();
  return *static_cast<explained_so_far*>(process.so_far);
}

/// Hook of MPI_Init: what the scheduler did so far does not count. A path that cannot be written and a question that cannot be read are
/// reported now, and not after a long run.
inline void at_recording(mpi::state& process) noexcept {
  try {
    if (process.rank == 0 && !process.spawned) expect_check(process.registry->config);
    if (process.rank == 0 && process.output[0] != '\0' && !process.spawned) {
      const std::string problem = reports::cannot_write(std::string(process.output) + ".json");
      if (!problem.empty())
        core::warn(problem.c_str(), "; create the folder or change WHYWAIT_OUTPUT, else MPI_Finalize cannot write the report");
    }
    if (process.rank == 0) read_questions(so_far_of(process).asked, process.registry->config);
    so_far_of(process).processor_before = processor_use_of_process(process);
  } catch (const std::bad_alloc&) {  // then start-up counts
  }
}

/// Frees the state after the last epoch, so that a leak checker does not report it.
inline void free_so_far(mpi::state& process) noexcept {
  delete static_cast<explained_so_far*>(process.so_far);
  process.so_far = nullptr;
}

/// Processes one epoch, from its records to the result of all epochs so far. `end` is the point where all processes
/// met, or null at the end of the run; `used`: processor_use_of_process() then, before anything was waited for. Collective over
/// the process's tool communicator.
class epoch {
 public:
  epoch(mpi::state& process, const mpi::meeting_point* end, const rules::processor_use& used)
      : process_(process),
        so_far_(so_far_of(process)),
        processor_(used.since(so_far_.processor_before)),
        team_(process.tool_comm),
        transport_(team_) {
    team_.agree();  // The clock comparison that follows makes MPI calls only, so it needs an agreement first.
    all_ = collect(process, finish_clock(process));
    if (!so_far_.continued) so_far_.here = machine_of(team_);
    all_.history.node = so_far_.here.number;
    bound(end);
    const double recorded = base::seconds_of(all_.history.end_ns - all_.history.begin_ns),
                 whole = recorded + base::seconds_of(unseen_ns_);
    if (unseen_ns_ > 0) processor_ = so_far_.processor.plus(processor_.since(so_far_.processor), recorded / whole);
    if (all_.joined != nullptr) {
      so_far_.run.joined_threads += all_.joined->threads();
      so_far_.run.joined_ticks += all_.joined->ticks();
    }
    for (const core::location_history& l : all_.history.locations) so_far_.run.first_comers += answered_first_comers(l);
    find_code();
    names_.reset(new process_names(all_, process.registry->sites, process.registry->sources,
                                   left_out_ ? nullptr : so_far_.code.get(), nullptr, &so_far_.sources));
    settings_.maps = process.output[0] != '\0';
    settings_.clock_error_ns = clock_error_ns_;
    settings_.threshold_ns = std::max(settings_.threshold_ns, 2 * settings_.clock_error_ns);
    settings_.clocks = &clocks::virtual_clocks;
    settings_.functions = names_.get();
    update_questions(so_far_.asked, *names_, team_);
    settings_.questions = so_far_.asked.clocks;
    create_data_analysis(process, team_, so_far_.data);
    data_analysis* const data = so_far_.data.analysis.get();
    explain::observer* const watch_data = data != nullptr ? data->begin(all_.history) : nullptr;
    if (so_far_.timeline == nullptr) so_far_.timeline.reset(new timeline_store(process.registry->config));
    settings_.watch = so_far_.unknown.begin(all_.history, so_far_.timeline->begin(all_.history, watch_data));
    until_ = end != nullptr ? end->begin : UINT64_MAX;
  }

  epoch(const epoch&) = delete;
  epoch& operator=(const epoch&) = delete;
  [[gnu::noinline]] ~epoch() = default;  // which is large, and would be compiled at each place that ends one

  const finalize::team& team() const noexcept { return team_; }
  const process_records& records() const noexcept { return all_; }
  const process_names& names() const noexcept { return *names_; }
  /// The reason why some rank cannot name its blocks, on rank 0; empty otherwise.
  const std::string& unnamed() const noexcept { return unnamed_; }
  explained_so_far& so_far() noexcept { return so_far_; }

  /// Explains the epoch and adds it to all earlier ones. On rank 0 the result describes the run so far.
  explain::outcome explain() {
    const bool alone = explained_in_one_process(all_.history, so_far_.here.ranks, so_far_.timeline->on(), team_);
    explain::outcome found = alone ? explain_in_one_process(transport_, all_.history, so_far_.memory, settings_, team_)
                                   : explain::explain_epoch(transport_, &all_.history, &so_far_.memory, 1, settings_);
    so_far_.unknown.fold(all_.history, so_far_.here.ranks, team_);
    so_far_.timeline->fold(all_.history, until_);
    so_far_.profile.fold(all_.history, so_far_.here, team_);
    gather_pictures(found, all_.history, process_.registry->config.path_order, team_);
    if (process_.rank == 0) {
      fold_pictures(so_far_.pictures, found);
      const double ranks = process_.size;
      so_far_.run.waiting.add(base::seconds_of(found.location_ns - so_far_.found.location_ns) / ranks,
                              base::seconds_of(found.waiting_ns - so_far_.found.waiting_ns) / ranks,
                              base::seconds_of(unseen_ns_));
    }
    gather_calls(all_.history, so_far_.asked, all_.history.continues, team_, so_far_.calls);
    if (so_far_.data.analysis != nullptr) so_far_.data.analysis->fold(lossy_);
    return found;
  }
  /// What the scheduler did to this rank until the epoch ended.
  const rules::processor_use& processor() const noexcept { return processor_; }

  /// The additional input of the rules.
  rules::contribution contribute(bool with_events) {
    rules::add_own_code(so_far_.code_of_rank, all_.history);
    rules::contribution all =
        gather_contributions(transport_, all_.history, settings_.clock_error_ns,
                             rules::code_of(all_.history.rank, so_far_.code_of_rank, processor_), with_events);
    if (process_.rank == 0) {
      fold_uses(so_far_.uses, all.uses);
      fold_calls(so_far_.calls_by_kind, all.calls);
      so_far_.code_of_all = all.code;
    }
    return all;
  }

  /// Stores the outcome once all ranks have explained the epoch. It is reported if a later epoch fails.
  void keep(explain::outcome found) {
    team_.agree();
    so_far_.found = std::move(found);
  }

  /// Releases the memory of all records, except those of pending operations. The program resumes after this call.
  void finish(mpi::thread_state& thread, const mpi::meeting_point& end) {
    for (core::location_base* l = process_.registry->locations; l != nullptr; l = l->next) {
      const auto& location = *static_cast<record::location*>(l);
      auto* const of = static_cast<mpi::thread_state*>(__atomic_load_n(&location.extension[0], __ATOMIC_ACQUIRE));
      if (of != nullptr) carry_over(process_, *of, so_far_.memory.carried, of == &thread ? &end : nullptr, lossy_);
    }
    if (lossy_) so_far_.memory.collectives.clear();  // some rank missed some of them: all begin at 0
    if (so_far_.data.analysis == nullptr) data::drop_all(*process_.registry);  // no analysis reads the accesses
    if (record::ended_threads* const ended = process_.registry->ended) {
      pthread_mutex_lock(&process_.registry->mutex);
      ended->forget_groups();
      pthread_mutex_unlock(&process_.registry->mutex);
    }
    process_.closing.lock();
    if (all_.full && process_.closings++ == 0) process_.first_closed_ticks = process_.closed_ticks;
    __atomic_store_n(&process_.closed, false, __ATOMIC_RELEASE);
    process_.closing.unlock();
    names_.reset();
    const std::uint64_t until = recorded_from(core::cycle_clock::now() - end.leave);
    const bool stops = team_.agree(until != 0 ? 1 : 0) != 0;
    so_far_.continued = true;
    so_far_.end = end;
    so_far_.posted = process_.last_posting;
    so_far_.processor = processor_;
    so_far_.processor_before = processor_use_of_process(process_).since(processor_);
    so_far_.resumed = core::cycle_clock::now();
    so_far_.run.pause_ticks += so_far_.resumed - end.leave;
    process_.unrecorded_until = stops ? std::max(until, so_far_.resumed) : 0;
    thread.location->path.leave_out(so_far_.resumed - end.leave);
    if (thread.carried != 0)
      // The call ends together with the pause.
      thread.location->syncs[thread.carried - 1].duration = so_far_.resumed - end.begin;
    if (stops) process_.close(so_far_.resumed, process_.last_posting);
  }

 private:
  // Sets the limits of the epoch in shared time without pauses. All ranks subtract the shortest of their pauses, so
  // that time never goes backwards on a rank and the order of messages is preserved. A rank that resumes later appears
  // to have stayed longer in the call. An epoch in which recording stopped on some rank ends when that happened first.
  // Shared time leaves out the rest, as it leaves out pauses.
  void bound(const mpi::meeting_point* end) {
    const auto raw = [this](std::uint64_t ticks) { return all_.history.clock(ticks); };
    std::int64_t most[5] = {INT64_MIN, INT64_MIN, INT64_MIN, static_cast<std::int64_t>(all_.history.clock.error_ns),
                            all_.closed ? -raw(all_.end_ticks) : INT64_MIN};
    if (so_far_.continued) {
      most[0] = raw(so_far_.end.begin);
      most[1] = raw(so_far_.end.leave) - raw(so_far_.resumed);
    }
    if (end != nullptr) most[2] = raw(end->begin);
    team_.all_reduce(most, 5, MPI_INT64_T, MPI_MAX);
    clock_error_ns_ = most[3];
    lossy_ = most[4] != INT64_MIN;
    core::rank_history& part = all_.history;
    const std::int64_t first_ns = raw(all_.begin_ticks);
    part.continued = so_far_.continued;
    part.continues = end != nullptr;
    part.begin_ns = first_ns;
    part.posted_before = so_far_.posted;
    std::int64_t& cut_ns = so_far_.run.cut_ns;
    if (so_far_.continued) {
      part.begin_ns = most[0] - cut_ns;
      cut_ns -= most[1];
      part.clock.offset_ns -= static_cast<double>(cut_ns);
    }
    part.before_ns = part.begin_ns - first_ns;
    part.end_ns = end != nullptr ? most[2] - cut_ns : raw(all_.end_ticks);
    if (end == nullptr) unseen_ns_ = raw(all_.last_ticks) - raw(all_.end_ticks);
    if (end == nullptr || !lossy_) return;
    std::int64_t recorded_ns = std::min(part.end_ns, -most[4] - cut_ns);
    if (so_far_.continued) recorded_ns = std::max(recorded_ns, part.begin_ns);
    unseen_ns_ = part.end_ns - recorded_ns;
    part.end_ns = std::max(recorded_ns, part.begin_ns);
    cut_ns += unseen_ns_;
    so_far_.run.unseen_ns += unseen_ns_;
    if (all_.closed && !all_.full) so_far_.run.skipped_ns += unseen_ns_;
  }

  // When recording begins again (ticks) after a pause that has taken `ticks`; 0: it does not stop. At least one epoch is recorded
  // between two parts without records.
  std::uint64_t recorded_from(std::uint64_t ticks) const noexcept {
    if (so_far_.data.analysis != nullptr || process_.unrecorded_until != 0) return 0;
    const std::uint64_t after =
        recorded_again_after(process_.registry->config, all_.history.clock.ns_per_tick, so_far_.run.pause_ticks + ticks, ticks);
    return process_.begin_ticks + after > core::cycle_clock::now() ? process_.begin_ticks + after : 0;
  }

  void find_code() {
    base::pod_vector<std::uint32_t> ran = code_that_ran(all_);
    ran.append(so_far_.ran.data(), so_far_.ran.size());
    base::sort_and_unique(ran);
    const std::size_t before = so_far_.ran.size();
    so_far_.ran = std::move(ran);
    const coverage::code_filter filter = common_filter(process_.registry->config, team_);
    if (so_far_.code == nullptr || so_far_.ran.size() != before)
      so_far_.code.reset(new coverage::code_blocks(process_.registry->sources, so_far_.ran, filter));
    left_out_ = any_problem(*so_far_.code, team_, unnamed_);
  }

  mpi::state& process_;
  explained_so_far& so_far_;
  rules::processor_use processor_;
  finalize::team team_;
  finalize::mpi_transport transport_;
  process_records all_;
  std::unique_ptr<process_names> names_;
  explain::options settings_;
  std::string unnamed_;
  std::int64_t clock_error_ns_ = 0;
  std::int64_t unseen_ns_ = 0;  ///< without records, at the end of the epoch
  std::uint64_t until_ = 0;  ///< last tick of the epoch
  bool lossy_ = false, left_out_ = false;
};

/// Hook for operations at which all processes met. Explains the epoch that ends there.
inline bool at_epoch(mpi::state& process, mpi::thread_state& thread, const mpi::meeting_point& end) {
  const rules::processor_use used = processor_use_of_process(process);
  resolve_wildcards(process);
  together(process, "the analysis failed, later waits are not explained: ", [&](const finalize::team&) {
    epoch now(process, &end, used);
    explain::outcome found = now.explain();
    now.contribute(false);
    now.keep(std::move(found));
    now.finish(thread, end);
  });
  return true;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
