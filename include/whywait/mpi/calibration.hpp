#ifndef WHYWAIT_MPI_CALIBRATION_HPP
#define WHYWAIT_MPI_CALIBRATION_HPP

#include <whywait/mpi/process_state.hpp>
#include <whywait/record/region.hpp>

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <initializer_list>
#include <new>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {
namespace detail {

/// Replaces a thread's recorder by one without a reader during its lifetime, so that records of that time are
/// dropped. False: there is no address space.
class recorder_for_trial {
 public:
  explicit recorder_for_trial(state& process) noexcept
      : process_(process), here_(record::detail::here()), posting_(process.last_posting) {
    void* const pages = core::map_pages(sizeof(record::location), false);
    void* const facts = core::map_pages(sizeof(thread_state), true);
    if (pages == nullptr || facts == nullptr) {
      core::unmap_pages(pages, sizeof(record::location));
      core::unmap_pages(facts, sizeof(thread_state));
      return;
    }
    at_ = new (pages) record::location;
    thread_ = new (facts) thread_state();
    thread_->process = &process;
    thread_->registry = process.registry;
    thread_->location = at_;
    thread_->communicator_index = communicator_table::none;
    usable_ = at_->syncs.open(memory_) && at_->steps.open(memory_) && at_->needs.open(memory_) && thread_->sites.open();
    at_->path.open(core::cycle_clock::now());
    at_->path.head().owner = at_;
    at_->extension[0] = thread_;
    const record::location* const own = here_->owner;
    if (own != nullptr && own->decoy != nullptr) usable_ = usable_ && record::detail::make_decoy(*at_);
    if (!usable_) return;
    record::detail::set_here(at_->decoy != nullptr ? at_->decoy : &at_->path.head());
    __atomic_store_n(&process.running, true, __ATOMIC_RELEASE);
  }
  ~recorder_for_trial() {
    if (at_ == nullptr) return;
    if (usable_) {
      __atomic_store_n(&process_.running, false, __ATOMIC_RELEASE);
      process_.last_posting = posting_;
    }
    record::detail::set_here(here_);
    core::unmap_pages(at_->decoy, sizeof(record::detail::no_profile));
    at_->syncs.release();
    at_->steps.release();
    at_->needs.release();
    thread_->sites.release();
    core::unmap_pages(thread_->scratch, thread_->scratch_bytes);
    thread_->counter.stop();
    core::unmap_pages(thread_, sizeof(thread_state));
    core::unmap_pages(at_, sizeof(record::location));
  }
  recorder_for_trial(const recorder_for_trial&) = delete;
  recorder_for_trial& operator=(const recorder_for_trial&) = delete;

  explicit operator bool() const noexcept { return usable_; }
  thread_state& thread() const noexcept { return *thread_; }
  /// Lets the next call of every kind time itself.
  void time_next() noexcept {
    for (uint64_t& n : thread_->calls) n = self_timing::every - 1;
  }

 private:
  state& process_;
  record::path_head* const here_;
  const uint32_t posting_;
  core::memory_budget memory_;
  record::location* at_ = nullptr;
  thread_state* thread_ = nullptr;
  bool usable_ = false;
};

/// The middle one of `count` numbers, which are sorted.
template <class Number>
inline Number median(Number* numbers, uint32_t count) noexcept {
  for (uint32_t i = 1; i < count; ++i) {
    const Number moved = numbers[i];
    uint32_t place = i;
    for (; place > 0 && moved < numbers[place - 1]; --place) numbers[place] = numbers[place - 1];
    numbers[place] = moved;
  }
  return count != 0 ? numbers[count / 2] : Number();
}

/// One call of every kind that has a way of its own through the wrappers, without a partner.
inline void call_wrappers(MPI_Comm self) noexcept {
  char sent = 0, received = 0;
  MPI_Request requests[2];
  MPI_Send(&sent, 1, MPI_CHAR, MPI_PROC_NULL, 0, self);
  MPI_Recv(&received, 1, MPI_CHAR, MPI_PROC_NULL, 0, self, MPI_STATUS_IGNORE);
  MPI_Sendrecv(&sent, 1, MPI_CHAR, MPI_PROC_NULL, 0, &received, 1, MPI_CHAR, MPI_PROC_NULL, 0, self, MPI_STATUS_IGNORE);
  MPI_Irecv(&received, 1, MPI_CHAR, 0, 0, self, &requests[0]);
  MPI_Isend(&sent, 1, MPI_CHAR, 0, 0, self, &requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
  MPI_Barrier(self);
}

/// The least of the medians of several rounds, part by part.
inline void take_least(calibration& found, const self_timing& timed, bool first) noexcept {
  for (size_t c = 0; c < core::modelled_calls; ++c) {
    const self_timing::kind& k = timed.kinds[c];
    if (k.count == 0) continue;
    uint32_t part[self_timing::kept];
    const auto middle = [&](uint32_t own_ticks::*which) {
      for (uint32_t i = 0; i < k.size(); ++i) part[i] = k.last[i].*which;
      return median(part, k.size());
    };
    own_ticks& least = found.calls[c];
    uint32_t above = 0;
    for (uint32_t own_ticks::*which : {&own_ticks::before, &own_ticks::inside, &own_ticks::after, &own_ticks::reading}) {
      const uint32_t now = middle(which);
      if (!first && now > least.*which) above += now - least.*which;
      if (first || now < least.*which) least.*which = now;
    }
    if (above > found.spread[c]) found.spread[c] = above;
  }
}

/// What marks cost: `batches` loops, of which the fastest counts.
inline void try_marks(calibration& found, uint64_t latest) noexcept {
  constexpr uint32_t times = 64, batches = 16;
  site place(site_kind::region, "whywait");
  place.place = record::path_head::place_of(1);  // a number of the trial's own profile
  site step(site_kind::step, "whywait");
  step.place = record::path_head::place_of(2);
  uint64_t regions[batches], steps[batches], readings[batches];
  uint32_t done = 0;
  for (; done < batches && (done < 2 || core::cycle_clock::now() < latest); ++done) {
    const uint64_t begin = core::cycle_clock::now();
    for (uint32_t i = 0; i < times; ++i) {
      region here(place);
      __asm__ volatile("" ::: "memory");
    }
    const uint64_t middle = core::cycle_clock::now();
    for (uint32_t i = 0; i < times; ++i) {
      visit(step);
      __asm__ volatile("" ::: "memory");
    }
    const uint64_t end = core::cycle_clock::now();
    for (uint32_t i = 1; i < times; ++i) static_cast<void>(core::cycle_clock::now());
    readings[done] = core::cycle_clock::now() - end;
    regions[done] = middle - begin;
    steps[done] = end - middle;
  }
  const auto each = [](uint64_t ticks) { return static_cast<double>(ticks) / times; };
  const double usual = each(median(regions, done));
  median(steps, done);
  median(readings, done);
  found.region_ticks = each(regions[0]);  // they are sorted now
  found.step_ticks = each(steps[0]);
  found.reading_ticks = each(readings[0]);
  found.mark_spread = found.region_ticks > 0 ? usual / found.region_ticks - 1 : 0;
}

}  // namespace detail

/// Finds out what wrappers and marks cost on this thread (overhead 3.2), by calls without a partner that
/// leave no trace. At MPI_Init, before anything is recorded. Takes at most about 1 ms, and whatever 4 rounds of calls
/// and 2 of marks take with a slower clock.
inline void calibrate(state& process) noexcept {
  constexpr uint64_t most_ns = 1000000, rounds = 16;
  calibration& found = process.calibrated;
  const uint64_t begin_ns = core::monotonic_ns(), begin = core::cycle_clock::now();
  {
    detail::recorder_for_trial trial(process);
    if (!trial) return;
    // Calls would take over, and lose, what the compiler has counted so far; there the wrappers only time themselves.
    const uint64_t batches = process.registry->sources == nullptr ? 4 : 0;
    if (batches != 0) detail::call_wrappers(process.self_comm);  // pages, tables
    bool first = true;
    for (uint64_t batch = 0; batch < batches && (first || core::monotonic_ns() - begin_ns < most_ns); ++batch) {
      for (self_timing::kind& k : trial.thread().timing.kinds) k.count = 0;
      for (uint64_t i = 0; i < rounds && (i < 4 || core::monotonic_ns() - begin_ns < most_ns); ++i) {
        trial.time_next();
        detail::call_wrappers(process.self_comm);
      }
      detail::take_least(found, trial.thread().timing, first);
      first = false;
    }
    detail::try_marks(found, begin + (core::cycle_clock::now() - begin) * 5 / 4);
  }
  for (int i = 0; i < 4; ++i) {
    const uint64_t asked = core::cycle_clock::now();
    sched_yield();
    const uint64_t took = core::cycle_clock::now() - asked;
    if (i == 0 || took < found.yield_ticks) found.yield_ticks = took;
  }
  const uint64_t end_ns = core::monotonic_ns();
  found.ticks = core::cycle_clock::now() - begin;
  if (end_ns > begin_ns) found.ticks_per_us = 1e3 * static_cast<double>(found.ticks) / static_cast<double>(end_ns - begin_ns);
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
