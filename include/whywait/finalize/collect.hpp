#ifndef WHYWAIT_FINALIZE_COLLECT_HPP
#define WHYWAIT_FINALIZE_COLLECT_HPP

#include <whywait/finalize/collect_location.hpp>
#include <whywait/finalize/own_costs.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/mpi/process_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Measures the clock offset again and returns this rank's map to the time of rank 0. Collective over
/// process.tool_comm, for hooks::on_finalize.
inline core::shared_clock finish_clock(mpi::state& process) noexcept { return process.clocks.finish(process.tool_comm); }

/// Adds to the main thread, if it alone calls MPI, what threads did that it started and that ended between two of its calls.
inline void join_ended_threads(const mpi::state& process, process_records& all) {
  core::location_history* main = nullptr;
  for (std::size_t l = 0; l != all.threads.size(); ++l) {
    if (all.threads[l].sites == nullptr) continue;
    if (main != nullptr || !all.history.locations[l].whole) return;
    main = &all.history.locations[l];
  }
  if (main == nullptr || main->order.size() != 0) return;
  const core::site_table& sites = process.registry->sites;
  base::pod_vector<ended_thread> others;
  base::pod_vector<core::path_step> work;
  for (const core::location_base* l = __atomic_load_n(&process.registry->locations, __ATOMIC_ACQUIRE); l != nullptr;
       l = l->next) {
    const record::location& here = static_cast<const record::location&>(*l);
    if (here.index >= all.threads.size() || __atomic_load_n(&here.calls, __ATOMIC_ACQUIRE) != nullptr ||
        __atomic_load_n(&here.finished, __ATOMIC_ACQUIRE) != 1)
      continue;
    ended_thread t{here.path.opened(), here.end_ticks, work.size(), 0};
    here.path.peek(here.end_ticks, [&](const core::path_step& s) {
      if (s.block != 0 && s.block < sites.size() && sites[s.block].kind != core::site_kind::waiting) work.push_back(s);
    });
    t.steps = work.size() - t.first_step;
    if (t.steps != 0) others.push_back(t);
  }
  if (const record::ended_threads* const ended = process.registry->ended) {
    const auto groups = ended->groups();
    const auto steps = ended->steps();
    for (std::uint64_t i = 0; i < groups.size(); ++i) {
      const record::ended_group& g = groups[i];
      others.push_back(
          {g.begin, g.end, work.size(), static_cast<std::size_t>(g.steps), g.used, static_cast<std::int64_t>(g.threads)});
      for (std::uint64_t s = g.first_step; s < g.first_step + g.steps; ++s) work.push_back(steps[s]);
    }
  }
  if (others.empty()) return;
  all.joined.reset(new joined_threads(*main, others, work, main->carried == 0 ? all.begin_ticks : 0, all.end_ticks));
  all.joined->show(*main);
}

/// Reads the records of this process. Local; allocates. Other threads may continue to record, and records that they add
/// later are not included. Cost is O(threads + communicators), plus one pass over the records if memory ran out.
inline process_records collect(mpi::state& process, const core::shared_clock& clock = {}) {
  process_records all;
  core::rank_history& history = all.history;
  history.rank = process.rank;
  history.ranks = process.size;
  history.clock = clock;
  all.begin_ticks = process.begin_ticks;
  all.closed = __atomic_load_n(&process.closed, __ATOMIC_ACQUIRE);
  all.full = all.closed && process.unrecorded_until == 0;
  all.end_ticks = process.end_ticks != 0 ? process.end_ticks : core::cycle_clock::now();
  all.last_ticks = all.end_ticks;
  if (all.closed && process.closed_ticks < all.end_ticks) all.end_ticks = process.closed_ticks;
  all.closings = process.closings;
  all.first_closed_ticks = process.closings != 0 ? process.first_closed_ticks : all.full ? process.closed_ticks : 0;

  locked guard(process.registry->mutex);  // threads that end or begin exchange their locations
  const std::size_t count = process.registry->location_count;
  core::location_base* const newest = process.registry->locations;
  history.locations = std::vector<core::location_history>(count);
  all.threads.resize(count);
  for (core::location_base* base = newest; base != nullptr; base = base->next) {
    record::location& from = *static_cast<record::location*>(base);
    core::location_history& to = history.locations[from.index];
    thread_records& beside = all.threads[from.index];
    collect_location(from, process, to, beside, all);
    const mpi::thread_state* const thread =
        static_cast<mpi::thread_state*>(__atomic_load_n(&from.extension[0], __ATOMIC_ACQUIRE));
    if (thread == nullptr) continue;
    to.whole = thread->began_run;
    to.call_overheads = call_costs(thread->timing, process.calibrated, clock.ns_per_tick);
    to.mark_overheads = mark_costs(thread->timing, process.calibrated, clock.ns_per_tick);
    all.failed_polls += thread->failed_polls - std::min(thread->recorded_polls, thread->failed_polls);
  }

  join_ended_threads(process, all);
  guard.unlock();
  std::uint32_t main = explain::thread_book::no_main;
  for (const core::location_history& l : history.locations)
    if (l.whole) main = static_cast<std::uint32_t>(&l - history.locations.data());
  all.rewrite_threads(process.begin_ticks, main);

  process.lock.lock();
  const std::uint32_t communicators = process.communicators.size();
  process.lock.unlock();
  for (std::uint32_t i = 0; i < communicators; ++i) {
    const mpi::known_communicator& from = process.communicators[i];
    core::communicator to{from.id, from.size, from.rank, from.inter, {}, from.own_size, from.first, from.outside};
    if (from.world != nullptr) to.world.assign(from.world, from.world + from.size);
    history.communicators.push_back(std::move(to));
  }
  return all;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
