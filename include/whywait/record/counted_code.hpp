#ifndef WHYWAIT_RECORD_COUNTED_CODE_HPP
#define WHYWAIT_RECORD_COUNTED_CODE_HPP

#include <whywait/core/code_count.hpp>
#include <whywait/record/call_facts.hpp>
#include <whywait/record/location.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

// The places at which a thread's counters are read, and the steps that readings leave.

namespace detail {

/// Without memory for steps a reading is lost: what it counted counts as not counted.
inline void keep_counts(location& here, const run_facts& run, const core::code_counts& counted) noexcept {
  if (run.closed) return;
  core::counted_step::write(counted, [&here](const core::path_step& step) noexcept { here.steps.push(step); });
}
inline void keep_restart(location& here, const run_facts& run) noexcept {
  if (!run.closed) here.steps.push({core::counted_step::restart, 0, 0, 0, 0});
}

}  // namespace detail

/// A call begins at `now`, the segment before it is closed, and a reading is due. `ticks`: how long the code before the call took.
__attribute__((noinline, cold)) inline void end_counted_code(location& here, thread_facts& thread, const run_facts& run,
                                                             uint64_t now, uint64_t ticks) noexcept {
  core::code_counts counted;
  switch (thread.counter.end_code(now, ticks, counted)) {
    case code_counter::outcome::nothing: break;
    case code_counter::outcome::begins: detail::keep_restart(here, run); break;
    case code_counter::outcome::counts: detail::keep_counts(here, run, counted); break;
  }
  here.node = thread.counter.node();
}

/// A long call ended at `now`: what was counted since the last reading belongs to no code.
__attribute__((noinline, cold)) inline void end_counted_call(location& here, thread_facts& thread, const run_facts& run,
                                                             uint64_t now) noexcept {
  if (!thread.counter.reads_calls()) return;
  thread.counter.end_call(now);
  here.node = thread.counter.node();
  detail::keep_restart(here, run);
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
