#ifndef WHYWAIT_MPI_EPOCH_MEETING_HPP
#define WHYWAIT_MPI_EPOCH_MEETING_HPP

#include <whywait/core/clock.hpp>
#include <whywait/data/marks/reading.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/record/close_segment.hpp>
#include <whywait/record/kept_details.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

// Epochs: where all processes meet, what was recorded before may be explained and its memory used again.

/// Whether an operation over all ranks, to which every rank contributes and from which every rank receives, returns only
/// after all ranks have entered it, whatever the arguments are. (For other operations that depends on the counts of all ranks.)
constexpr bool meets_all(core::mpi_call call) noexcept {
  using core::mpi_call;
  const mpi_call what = core::plain_form(call);
  return what == mpi_call::Barrier || what == mpi_call::Allreduce || what == mpi_call::Allgather ||
         what == mpi_call::Alltoall || what == mpi_call::Reduce_scatter_block;
}

namespace detail {

/// Where pauses are limited from the beginning (WHYWAIT_PAUSES), records of an epoch take no more memory than that: short epochs
/// sample the run more evenly, and already the first pause is short.
constexpr uint64_t sampled_bytes = uint64_t(8) << 20;

/// The part of the memory for them that records take, in millionths.
inline uint32_t fullness(const state& process) noexcept {
  uint64_t used = 0, ordered = 0;
  for (const core::location_base* l = __atomic_load_n(&process.registry->locations, __ATOMIC_ACQUIRE); l != nullptr;
       l = l->next) {
    const record::location& at = static_cast<const record::location&>(*l);
    used += at.syncs.size() * sizeof(core::sync_record) + at.steps.size() * sizeof(core::path_step) +
            at.needs.size() * sizeof(int32_t);
    if (const record::kept_details* const more = record::kept_details::of(at))
      if (more->ordered) ordered += more->order.used_bytes();
  }
  if (const record::ended_threads* const ended = process.registry->ended) used += ended->used_bytes();
  const core::settings& config = process.registry->config;
  const uint64_t most_bytes = config.pauses_percent != 0 && config.pauses_free_seconds == 0 ? sampled_bytes : ~uint64_t(0);
  const auto part = [most_bytes](uint64_t bytes, uint64_t limit) -> uint64_t {
    const uint64_t room = limit < most_bytes ? limit : most_bytes;
    return room == 0 ? 0 : bytes < room ? bytes * 1000000 / room : 1000000;
  };
  const uint64_t a = part(used, process.registry->memory.limit());
  const uint64_t b = part(ordered, process.registry->order_memory.limit()), c = data::fullness(*process.registry);
  const uint64_t most = a > b ? a : b;
  return static_cast<uint32_t>(most > c ? most : c);
}

/// After a pause: the program's time goes on. What the explanation ran is no part of the program.
inline void go_on(thread_state& thread) noexcept {
  core::registry& registry = *thread.process->registry;
  if (registry.sources != nullptr) record::collect_code(registry, {nullptr, [](void*, const core::path_step&) noexcept {}});
  thread.location->path.resume(core::cycle_clock::now());
}

/// All processes are in the call that ended at `at.leave`: compares their memory and ends the epoch if it is time.
__attribute__((noinline, cold)) inline void end_epoch(thread_state& thread, const meeting_point& at) noexcept {
  state& process = *thread.process;
  // Several threads: another one may be inside a call, so that its records cannot be taken from it.
  const bool alone =
      !__atomic_load_n(&process.several, __ATOMIC_ACQUIRE) && !__atomic_load_n(&process.uses_threads, __ATOMIC_ACQUIRE);
  uint32_t all[4] = {fullness(process), process.closed ? 1u : 0u, !alone || process.hook.on_epoch == nullptr ? 1u : 0u,
                     at.leave < process.unrecorded_until ? 1u : 0u};
  PMPI_Allreduce(MPI_IN_PLACE, all, 4, MPI_UINT32_T, MPI_MAX, process.tool_comm);
  const bool possible = all[2] == 0 && all[3] == 0;
  const bool ends = process.schedule.ends(possible ? all[0] : 0, possible && all[1] != 0);
  record::location& here = *thread.location;
  if (ends && process.hook.on_epoch(process, thread, at)) return go_on(thread);
  if (here.syncs.size() != 0) {  // a short pause: belongs to the call
    core::sync_record& last = here.syncs[here.syncs.size() - 1];
    if (last.begin == at.begin) {
      const uint64_t compared = core::cycle_clock::now(), ended = core::cycle_clock::now(), reading = ended - compared;
      last.duration = compared - at.begin;
      const uint64_t spent = last.overhead + 2 * reading;
      last.overhead = spent < ~uint32_t(0) ? static_cast<uint32_t>(spent) : ~uint32_t(0);
      if (compared - at.leave > reading) process.compared_ticks += compared - at.leave - reading;
      return here.path.resume(ended);
    }
  }
  here.path.resume(core::cycle_clock::now());
}

/// Carries the records `kept[0..count)` of a location over into the next epoch: they become its first. All its others
/// are forgotten, only their blocks' sums stay (for the last words of a program that is killed).
inline void begin_records_anew(thread_state& thread, const core::sync_record* kept, uint64_t count) noexcept {
  record::location& here = *thread.location;
  const auto steps = here.steps.view();
  for (uint64_t i = 0; i < steps.size(); ++i) record::add_step(thread.earlier, steps[i], *thread.process->registry);
  pthread_mutex_lock(&thread.process->registry->mutex);  // a thread that ends reads them (gap_of)
  here.steps.rewind();
  here.needs.rewind();
  here.syncs.rewind();
  thread.polls.record = nullptr;
  thread.last_read.from = nullptr;
  for (uint64_t i = 0; i < count; ++i) here.syncs.push(kept[i]);
  if (record::kept_details* const more = record::kept_details::of(here))
    if (more->ordered) more->order.rewind(here);
  thread.carried = here.syncs.size();
  pthread_mutex_unlock(&thread.process->registry->mutex);
  thread.lost_before = thread.lost_records + thread.lost_steps;
}

}  // namespace detail

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
