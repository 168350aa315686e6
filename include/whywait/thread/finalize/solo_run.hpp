#ifndef WHYWAIT_THREAD_FINALIZE_SOLO_RUN_HPP
#define WHYWAIT_THREAD_FINALIZE_SOLO_RUN_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/clock.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/spin_lock.hpp>
#include <whywait/explain/thread_book.hpp>
#include <whywait/finalize/collect_location.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/finalize/thread_data_analysis.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/close_segment.hpp>
#include <whywait/record/listen.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/open_calls.hpp>
#include <whywait/thread/record_threads.hpp>

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// ns; -1: not known.
inline std::int64_t time_of(clockid_t clock) noexcept {
  timespec t;
  return clock_gettime(clock, &t) == 0 ? std::int64_t(t.tv_sec) * 1000000000 + t.tv_nsec : -1;
}

/// The run of a process without MPI: from the start of the program to its exit.
struct solo_run : record::run_facts {
  std::int64_t before_ns;  ///< processor time of other threads before the run: of the program that exec replaced
  std::int64_t analysis_ns;  ///< processor time of the analyses so far, and of other threads meanwhile
  finalize::thread_data_analysis*
      data;  ///< of registered data; owned. Null: none is registered, or the analysis is not linked in
  core::spin_lock data_lock;  ///< of `data`
};

/// Begins it, unless a run is recorded already or recording is off. For the start of the program.
inline void begin_solo_run() noexcept {
  core::registry* const registry = core::the_registry();
  if (registry == nullptr || !registry->config.enable || registry->pid != getpid()) return;
  record::location* const here = record::this_location();
  if (here == nullptr || record::run_of(*registry) != nullptr) return;
  void* const pages = core::map_pages(sizeof(solo_run), true);
  if (pages == nullptr) return;
  registry->kept.keep(pages, sizeof(solo_run));
  solo_run* const run = new (pages) solo_run();
  run->layout = sizeof(solo_run);
  run->size = 1;
  run->start_anchor = core::clock_anchor::take();
  run->begin_ticks = core::cycle_clock::now();
  run->before_ns = time_of(CLOCK_PROCESS_CPUTIME_ID) - time_of(CLOCK_THREAD_CPUTIME_ID);
  run->running = true;
  __atomic_store_n(&registry->extension[3], static_cast<void*>(static_cast<record::run_facts*>(run)), __ATOMIC_RELEASE);
}

/// The run of this process if it is one without MPI, and not that of its parent.
inline solo_run* solo_run_of(const core::registry* registry) noexcept {
  record::run_facts* const run = registry != nullptr && registry->pid == getpid() ? record::run_of(*registry) : nullptr;
  return run != nullptr && run->layout == sizeof(solo_run) && run->last_posted == nullptr ? static_cast<solo_run*>(run)
                                                                                          : nullptr;
}

/// The records of a process without MPI, up to now. What threads that still run have done since their last record is read beside
/// them: they may go on meanwhile.
class solo_records {
 public:
  solo_records(core::registry& registry, solo_run& run) {
    using namespace finalize;
    all.begin_ticks = run.begin_ticks;
    all.closed = __atomic_load_n(&run.closed, __ATOMIC_ACQUIRE);
    const std::uint64_t now = run.end_ticks != 0 ? run.end_ticks : core::cycle_clock::now();
    all.end_ticks = all.last_ticks = now;
    if (all.closed && run.closed_ticks < all.end_ticks) all.end_ticks = run.closed_ticks;
    all.first_closed_ticks = all.closed ? run.closed_ticks : 0;
    all.least_ticks = __atomic_load_n(&run.least_ticks, __ATOMIC_RELAXED);
    core::rank_history& history = all.history;
    history.ranks = 1;
    history.node = 0;
    history.clock.origin = run.begin_ticks;
    history.clock.ns_per_tick = core::clock_anchor::rate(run.start_anchor, core::clock_anchor::take());
    std::uint32_t main = explain::thread_book::no_main;
    {
      locked guard(registry.mutex);  // threads that end or begin exchange their locations
      history.locations = std::vector<core::location_history>(registry.location_count);
      all.threads.resize(registry.location_count);
      for (core::location_base* base = registry.locations; base != nullptr; base = base->next) {
        record::location& from = *static_cast<record::location*>(base);
        core::location_history& to = history.locations[from.index];
        collect_location(from, run, to, all.threads[from.index], all);
        const bool ended = __atomic_load_n(&from.finished, __ATOMIC_ACQUIRE) != 0;
        const bool is_main = from.tid == static_cast<std::uint32_t>(registry.pid);
        if (is_main) main = from.index;
        const bool idle = !is_main && waits_for_region(from);
        to.whole = is_main || (!ended && !idle);
        if (to.opened > now) to.opened = now;
        if (!ended && !idle) read_open_segment(from, read_open_wait(from, all.end_ticks, to), to);
      }
    }
    all.rewrite_threads(run.begin_ticks, main);
    all.span_whole_run();
    main_ = main;
  }

  finalize::process_records all;
  std::uint32_t main() const noexcept { return main_; }

 private:
  static constexpr std::uint32_t most_steps = 4096;

  // A thread of OpenMP after its last parallel region: the run has nothing for it to do.
  static bool waits_for_region(const record::location& from) noexcept {
    const record::thread_facts* const facts = __atomic_load_n(&from.calls, __ATOMIC_ACQUIRE);
    if (facts == nullptr || __atomic_load_n(&facts->open.frame, __ATOMIC_ACQUIRE) == nullptr) return false;
    core::mpi_call call;
    __atomic_load(&facts->open.call, &call, __ATOMIC_RELAXED);
    return call == core::mpi_call::omp_idle;
  }

  // A thread that waits now may have waited for long: that is no work. Returns until when its open segment lasts.
  static std::uint64_t read_open_wait(const record::location& from, std::uint64_t now, core::location_history& to) noexcept {
    const record::thread_facts* const facts = __atomic_load_n(&from.calls, __ATOMIC_ACQUIRE);
    if (facts == nullptr || __atomic_load_n(&facts->open.frame, __ATOMIC_ACQUIRE) == nullptr) return now;
    const std::uint64_t begin = __atomic_load_n(&facts->open.begin, __ATOMIC_ACQUIRE);
    core::mpi_call call;
    __atomic_load(&facts->open.call, &call, __ATOMIC_ACQUIRE);
    const std::uint32_t site = __atomic_load_n(&facts->open.site, __ATOMIC_ACQUIRE);
    const bool still = __atomic_load_n(&facts->open.frame, __ATOMIC_RELAXED) != nullptr &&
                       __atomic_load_n(&facts->open.begin, __ATOMIC_RELAXED) == begin && from.syncs.size() == to.records.size();
    if (!still || begin >= now || core::role_of(call) != core::call_role::thread_wait) return now;
    to.open_wait = begin;
    to.open_call = call;
    to.open_site = site;
    return begin;
  }

  void read_open_segment(const record::location& from, std::uint64_t now, core::location_history& to) {
    base::pod_vector<core::path_step> steps(most_steps);
    const std::uint32_t count = from.path.glimpse(now, steps.data(), most_steps);
    if (count > most_steps || from.syncs.size() != to.records.size() || from.steps.size() != to.steps.size()) return;
    steps.resize(count);
    const auto outside = [](const core::path_step& s) { return s.block == 0 || (s.visits | s.ticks | s.work) == 0; };
    steps.erase(std::remove_if(steps.begin(), steps.end(), outside), steps.end());
    if (steps.empty()) return;
    open_.push_back(std::move(steps));
    chunks_.push_back(std::make_unique<const core::path_step*>(open_.back().data()));
    to.open_steps = {chunks_.back().get(), 63, open_.back().size()};
  }

  base::vector<base::pod_vector<core::path_step>> open_;
  base::vector<std::unique_ptr<const core::path_step*>> chunks_;
  std::uint32_t main_ = explain::thread_book::no_main;
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
