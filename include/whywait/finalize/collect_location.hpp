#ifndef WHYWAIT_FINALIZE_COLLECT_LOCATION_HPP
#define WHYWAIT_FINALIZE_COLLECT_LOCATION_HPP

#include <whywait/core/rank_history.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/kept_details.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/slow_path.hpp>

#include <pthread.h>
#include <cstdint>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Holds a mutex of the recorder for a scope, or up to `unlock`.
class locked {
 public:
  explicit locked(pthread_mutex_t& mutex) noexcept : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~locked() { unlock(); }
  void unlock() noexcept {
    if (holds_) pthread_mutex_unlock(&mutex_);
    holds_ = false;
  }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

 private:
  pthread_mutex_t& mutex_;
  bool holds_ = true;
};

/// Reads the records of one location into `to` and `beside`, and adds its totals to `all`. Under registry::mutex.
inline void collect_location(record::location& from, const record::run_facts& run, core::location_history& to,
                             thread_records& beside, process_records& all) {
  to.thread = static_cast<std::int32_t>(from.index);
  to.records = from.syncs.view();
  to.steps = from.steps.view();
  to.needs = from.needs.view();
  // Of a location that still records only the thread itself may read everything.
  const bool still = &from == record::this_location() || __atomic_load_n(&from.finished, __ATOMIC_ACQUIRE) != 0;
  if (!run.running && still) record::detail::count_open_begins(from);
  beside.mismatched_ends = from.mismatched_ends;
  if (record::kept_details* const more = record::kept_details::of(from)) {
    // The segment before the last record ends with the next event, which may never happen.
    if (still && more->ordered) more->order.flush(from);
    all.lost_orders += more->order.lost_segments();
    to.order = more->order.segments();
    to.order_nodes = more->order.nodes();
  }
  all.interposed += __atomic_load_n(&from.interposed, __ATOMIC_RELAXED);
  const record::thread_facts* const thread = __atomic_load_n(&from.calls, __ATOMIC_ACQUIRE);
  if (thread == nullptr) return;
  beside.sites = &thread->sites;
  beside.folded = thread->folded;
  beside.lost_records = thread->lost_records;
  beside.lost_steps = thread->lost_steps;
  beside.lost_before = thread->lost_before;
  to.whole = false;
  to.dropped = beside.lost_records + beside.lost_steps - beside.lost_before;
  to.carried = thread->carried;
  if (from.cuts.is_open()) to.cuts = from.cuts.view();
  if (from.cut_steps.is_open()) to.cut_steps = from.cut_steps.view();
  to.opened = from.path.opened();
  for (std::uint64_t n : thread->calls) all.calls += n;
  all.primitives += __atomic_load_n(&thread->primitives, __ATOMIC_RELAXED);
  all.short_waits += __atomic_load_n(&thread->short_waits, __ATOMIC_RELAXED);
  all.short_ticks += __atomic_load_n(&thread->short_ticks, __ATOMIC_RELAXED);
  all.lost_records += thread->lost_records;
  all.lost_steps += thread->lost_steps;
  // A thread may have stored a few records after another thread ran out of memory. These records follow gaps.
  for (std::uint64_t i = 0; all.closed && i < to.records.size(); ++i)
    if (from.syncs[i].posting > run.closed_posting)
      from.syncs[i].flags = static_cast<std::uint16_t>(from.syncs[i].flags | core::sync_flag::failed);
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
