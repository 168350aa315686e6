#ifndef WHYWAIT_POSTMORTEM_DEAD_JOB_HPP
#define WHYWAIT_POSTMORTEM_DEAD_JOB_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/replace.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/clock.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/explain/collective_book.hpp>
#include <whywait/explain/explain.hpp>
#include <whywait/explain/outcome_keys.hpp>
#include <whywait/explain/simulated_transport.hpp>
#include <whywait/finalize/process_names.hpp>
#include <whywait/postmortem/dead_process.hpp>
#include <whywait/postmortem/dead_wait.hpp>
#include <whywait/report/assemble.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/symbolise.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace postmortem {

/// The killed processes of one parallel program. Reports what each did last. If the files of all ranks exist, it also
/// gives the same explanation as a normal end, for everything that was recorded.
class dead_job {
 public:
  void add(std::unique_ptr<dead_process> process) { processes_.push_back(std::move(process)); }
  const base::vector<std::unique_ptr<dead_process>>& processes() const noexcept { return processes_; }

  /// Whether the last `report` explains waits; otherwise it contains the last words only.
  bool explained() const noexcept { return explained_; }

  /// Call it once. Costs as much as the analysis at the end of the program, for all ranks one after the other.
  reports::result report() {
    base::small_stable_sort(processes_, [](const auto& a, const auto& b) { return a->header().rank < b->header().rank; });
    set_clocks();
    reports::run_facts facts = run_facts();
    reports::result result;
    base::vector<reports::thread_end> last_words;
    for (const auto& p : processes_) add_last_words(*p, last_words);
    if (is_complete()) {
      const std::uint64_t left_out = leave_out_unfinished_collectives(processes_);
      if (left_out != 0)
        facts.warnings.push_back(
            base::counted(static_cast<std::int64_t>(left_out), "collective call is", "collective calls are") +
            " not explained: not all ranks had left it");
      try {
        base::replace(result, explained(facts));
        explained_ = true;
      } catch (const std::exception& problem) {
        facts.warnings.push_back(std::string("waits are not explained: ") + problem.what());
      }
    } else if (processes_.front()->header().job != 0) {
      facts.warnings.push_back("waits are not explained: only " + base::count(static_cast<std::int64_t>(processes_.size())) +
                               " of " + base::counted(facts.ranks, "rank") + " left their records");
    }
    if (!explained_) base::replace(result.run, std::move(facts));
    result.last_words = std::move(last_words);
    return result;
  }

 private:
  // Requires each rank exactly once, with MPI_Init completed.
  bool is_complete() const {
    const std::int32_t ranks = processes_.front()->records().history.ranks;
    if (!processes_.front()->has_mpi() || processes_.size() != static_cast<std::size_t>(ranks)) return false;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      const dead_process& p = *processes_[static_cast<std::size_t>(rank)];
      if (!p.has_mpi() || p.records().history.rank != rank || p.records().history.ranks != ranks) return false;
    }
    return true;
  }

  // Computes the clock rate from two readings that are as far apart as possible. If this machine has not rebooted
  // since, the second reading is taken now.
  static double rate_of(const core::kept_header& h) noexcept {
    if (h.counter == 0) return 1.0;
    const bool here = h.boot != 0 && h.boot == core::boot_key() && core::cycle_clock::used() != core::clock_source::monotonic;
    const double rate = core::clock_anchor::rate(h.first, here ? core::clock_anchor::take() : h.last);
    return rate > 1e-3 && rate < 1e3 ? rate : 1.0;
  }

  void set_clocks() {
    const dead_process& reference = *processes_.front();
    const double reference_rate = rate_of(reference.header());
    const std::uint64_t origin = reference.has_mpi() ? reference.facts().begin_ticks : reference.header().first.ticks;
    for (const auto& p : processes_) {
      core::shared_clock& clock = p->records().history.clock;
      const mpi::clock_start& compared = p->facts().compared;
      unsigned char same;
      std::memcpy(&same, &compared.same_as_reference, 1);
      clock.origin = origin;
      clock.ns_per_tick = reference_rate;
      if (!p->has_mpi() || same != 0) continue;
      clock.ns_per_tick = rate_of(p->header());
      clock.origin = compared.own;
      clock.offset_ns = static_cast<double>(static_cast<std::int64_t>(compared.reference - origin)) * reference_rate;
      clock.error_ns = static_cast<double>(compared.bracket) / 2 * clock.ns_per_tick;
    }
  }

  reports::run_facts run_facts() const {
    reports::run_facts facts;
    const core::kept_header& first = processes_.front()->header();
    facts.partial = true;
    facts.origin.program = first.program;
    facts.origin.host = first.host;
    facts.origin.date = reports::iso_date(static_cast<std::time_t>(first.started_ns / 1000000000u));
    facts.origin.version = reports::own_version();
    facts.ranks = processes_.front()->has_mpi() ? processes_.front()->records().history.ranks : 1;
    facts.clock = first.counter != 0 ? "cycle counter" : "CLOCK_MONOTONIC";
    std::uint64_t torn = 0, cut = 0, calls = 0, stopped = 0;
    for (const auto& p : processes_) {
      calls += p->records().calls;
      facts.dropped_events += static_cast<std::int64_t>(p->records().lost_records + p->records().lost_steps);
      facts.clock_error_seconds = std::max(facts.clock_error_seconds, p->records().history.clock.error_ns * 1e-9);
      torn += p->torn();
      cut += p->cut();
      stopped += p->header().stopped != 0 ? 1 : 0;
    }
    facts.mpi_calls = static_cast<std::int64_t>(calls);
    if (torn != 0)
      facts.warnings.push_back(base::counted(static_cast<std::int64_t>(torn), "event is", "events are") +
                               " incomplete and ignored: the process ended while it wrote");
    if (cut != 0)
      facts.warnings.push_back(base::counted(static_cast<std::int64_t>(cut), "event is", "events are") +
                               " missing or damaged; later events of the same threads are missing");
    if (stopped != 0)
      facts.warnings.push_back("no space was left in the folder of WHYWAIT_CRASH on " +
                               base::count(static_cast<std::int64_t>(stopped)) + " of " + base::counted(facts.ranks, "rank") +
                               "; later events of these ranks are missing");
    return facts;
  }

  reports::result explained(const reports::run_facts& facts) const {
    base::vector<std::unique_ptr<finalize::process_names>> named;
    base::vector<explain::rank_history> histories;
    for (const auto& p : processes_) {
      named.push_back(std::make_unique<finalize::process_names>(p->records(), p->sites(), nullptr, nullptr, &p->modules()));
      p->records().span_whole_run();
      histories.push_back(p->records().history);
    }
    explain::options settings;
    settings.maps = true;
    settings.clock_error_ns = static_cast<std::int64_t>(facts.clock_error_seconds * 1e9);
    settings.threshold_ns = std::max(settings.threshold_ns, 2 * settings.clock_error_ns);
    explain::simulated_transport transport(static_cast<std::int32_t>(histories.size()));
    const explain::outcome found = explain::explain(transport, histories, settings);
    base::vector<core::stable_key> keys = keys_to_name(found);
    base::names names;
    // The first process that recorded a key names it, because reading debug information is slow.
    for (auto& each : named) {
      base::vector<core::stable_key> mine;
      for (core::stable_key key : keys)
        if (names.find(key) == nullptr && each->contains(key)) mine.push_back(key);
      if (!mine.empty()) names.add(each->names_of(mine));
      each.reset();  // its debug information
    }
    names.clear_needless_callers();
    return reports::assemble(found, names, facts);
  }

  void add_last_words(const dead_process& p, base::vector<reports::thread_end>& out) const {
    const core::shared_clock& clock = p.records().history.clock;
    const std::uint64_t begin = p.has_mpi() ? p.facts().begin_ticks : p.header().first.ticks;
    const auto seconds_since = [&](std::uint64_t ticks) {
      return ticks > begin ? static_cast<double>(clock(ticks) - clock(begin)) * 1e-9 : 0.0;
    };
    reports::symboliser symbols("libdw.so.1", &p.modules());
    for (std::size_t i = 0; i < p.threads().size(); ++i) {
      const dead_thread& t = *p.threads()[i];
      reports::thread_end e;
      e.rank = p.has_mpi() ? p.records().history.rank : -1;
      e.thread = static_cast<std::int32_t>(i);
      e.pid = p.header().pid;
      e.end = how_it_ended(p, t);
      e.seconds = seconds_since(t.last_ticks);
      for (std::uint32_t level = 0; t.path_is_there && level < std::min(t.where.path.depth(), 64u); ++level)
        e.regions += (level == 0 ? "" : "/") + std::string(p.sites()[t.where.path.open_region(level)].name);
      if (t.calls_mpi) {
        std::uint64_t calls = 0;  // of a damaged file it may be too large for a signed number
        for (std::uint64_t n : t.calls.calls) calls += n;
        e.mpi_calls = static_cast<std::int64_t>(calls);
        e.records = static_cast<std::int64_t>(p.records().history.locations[i].records.size());
      }
      const record::open_call& open = t.calls.open;
      if (t.calls_mpi && open.frame != nullptr && open.call != core::mpi_call::Abort) {
        e.inside = true;
        e.since_seconds = seconds_since(open.begin);
        e.call = reports::call_place(symbols.of_call(open.address), core::name_of(open.call), e.regions);
        e.whom = dead_wait(processes_, p, i).text();
      }
      e.torn_events = static_cast<std::int64_t>(t.torn);
      e.lost_events = static_cast<std::int64_t>(t.cut);
      add_blocks(p, i, clock.ns_per_tick, e.blocks);
      out.push_back(std::move(e));
    }
  }

  static std::string how_it_ended(const dead_process& p, const dead_thread& t) {
    if (t.where.finished != 0) return "thread finished";
    switch (p.header().end) {
      case core::kept_end::abort: return "MPI_Abort";
      case core::kept_end::exit: return "exit without MPI_Finalize";
      case core::kept_end::signal: return reports::name_of_signal(p.header().signal);
      default:  // neither leaves a trace: a signal without handler of whywait, as SIGKILL, and _exit
        return std::string(p.has_mpi() && p.facts().end_ticks != 0 ? "ended in" : "ended without") +
               " MPI_Finalize, by an uncaught signal or _exit";
    }
  }

  static void add_blocks(const dead_process& p, std::size_t thread, double ns_per_tick,
                         base::vector<reports::place_total>& out) {
    base::pod_vector<core::path_step> sums(p.sites().size());
    const auto count = [&](const core::path_step& step) {
      if (step.block >= sums.size()) return;
      core::path_step& sum = sums[step.block];
      sum.visits += step.visits;
      sum.ticks += step.ticks;
      sum.work += step.work;
    };
    const auto& steps = p.records().history.locations[thread].steps;
    for (std::uint64_t i = 0; i < steps.size(); ++i) count(steps[i]);
    if (p.threads()[thread]->path_is_there) p.threads()[thread]->where.path.peek(p.threads()[thread]->last_ticks, count);
    for (std::uint32_t site = 1; site < sums.size(); ++site) {  // site 0 is code outside all blocks
      const core::path_step& sum = sums[site];
      if ((sum.visits | sum.ticks | sum.work) == 0) continue;
      reports::place_total total;
      const core::site_info& info = p.sites()[site];
      total.where.name = info.name;
      total.where.file = info.file;
      total.where.line = static_cast<int>(info.line);
      total.visits = static_cast<std::int64_t>(sum.visits);
      total.seconds = static_cast<double>(sum.ticks) * ns_per_tick * 1e-9;
      total.work = static_cast<std::int64_t>(sum.work);
      out.push_back(std::move(total));
    }
    base::small_stable_sort(out, [](const reports::place_total& a, const reports::place_total& b) {
      return a.seconds != b.seconds ? a.seconds > b.seconds : a.where.name < b.where.name;
    });
  }

  base::vector<std::unique_ptr<dead_process>> processes_;
  bool explained_ = false;
};

}  // namespace postmortem
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
