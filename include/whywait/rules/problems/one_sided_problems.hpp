#ifndef WHYWAIT_RULES_PROBLEMS_ONE_SIDED_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_ONE_SIDED_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems of one-sided communication: windows, exposure epochs and window locks.
inline const char* one_sided() noexcept {
  return R"rules(
declare composite event wait_at_fence member ( wait as w ) when w.pattern = 'wait_at_fence';
declare problem for wait_at_fence parameters (
  name = "wait_at_fence",
  description = "{w.waiting_ranks} came to the fence {w.operation} before {w.late_ranks}.",
  advice = if(w.blocks_count = 0, "replace {w.operation} by post, start, complete and wait among the ranks that exchange data",
           "spread the work of {w.blocks} evenly over the ranks, or replace {w.operation} by post, start, complete and wait among the ranks that exchange data"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event late_post member ( wait as w ) when w.pattern = 'late_post';
declare problem for late_post parameters (
  name = "late_post",
  description = "The origin was ready in {w.operation} before the target had opened its window ({w.cause}).",
  advice = if(w.blocks_count = 0, "open the window ({w.cause}) earlier", "open the window ({w.cause}) before {w.blocks}, or let the origin work ahead of {w.operation}"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event early_wait member ( wait as w ) when w.pattern = 'early_wait';
declare problem for early_wait parameters (
  name = "early_wait",
  description = "The target waited in {w.operation} until the origins had ended their access ({w.cause}).",
  advice = if(w.blocks_count = 0, "call {w.operation} later, after other work", "end the access ({w.cause}) before {w.blocks}, or call {w.operation} after other work"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event late_complete member ( wait as w ) when w.pattern = 'late_complete';
declare problem for late_complete parameters (
  name = "late_complete",
  description = "The origin had moved its last data long before it ended the access ({w.cause}); the target waited in {w.operation}.",
  advice = if(w.blocks_count = 0, "call {w.cause} right after the last access", "call {w.cause} right after the last access, before {w.blocks}"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event window_lock_contention member ( wait as w ) when w.pattern = 'window_lock_contention';
declare problem for window_lock_contention parameters (
  name = "window_lock_contention",
  description = "{w.operation} waited for a window lock that {w.late_ranks} held ({w.cause}).",
  advice = if(w.blocks_count = 0, "hold the lock shorter, or lock shared where nobody writes", "move {w.blocks} out of the locked part, or lock shared where nobody writes"),
  duration = w.duration,
  saving = w.avoidable );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
