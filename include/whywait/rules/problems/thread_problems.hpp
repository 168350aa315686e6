#ifndef WHYWAIT_RULES_PROBLEMS_THREAD_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_THREAD_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems of threads of one process: locks, condition variables, barriers, futures.
inline const char* threads() noexcept {
  return R"rules(
declare composite event mutex_contention member ( wait as w ) when w.pattern = 'mutex_contention';
declare problem for mutex_contention parameters (
  name = "mutex_contention",
  description = "{w.operation} waited for a lock while {w.late_ranks} held it ({w.cause}).",
  advice = if(w.blocks_count = 0, "hold the lock of {w.operation} shorter", "move {w.blocks} out of the part that the lock of {w.operation} protects"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event condition_variable member ( wait as w ) when w.pattern = 'condition_variable';
declare problem for condition_variable parameters (
  name = "condition_variable",
  description = "{w.operation} waited to be notified by {w.cause}.",
  advice = if(w.blocks_count = 0, "notify ({w.cause}) as soon as the condition holds", "notify ({w.cause}) before {w.blocks}"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event thread_barrier member ( wait as w ) when w.pattern = 'thread_barrier';
declare problem for thread_barrier parameters (
  name = "thread_barrier",
  description = "Threads came to the barrier {w.operation} before the last one ({w.cause}).",
  advice = if(w.blocks_count = 0, "spread the work ahead of {w.operation} evenly over the threads", "spread the work of {w.blocks} evenly over the threads"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event latch member ( wait as w ) when w.pattern = 'latch';
declare problem for latch parameters (
  name = "latch",
  description = "{w.operation} waited until the latch was counted down ({w.cause}).",
  advice = if(w.blocks_count = 0, "count down ({w.cause}) earlier", "count down ({w.cause}) before {w.blocks}"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event semaphore member ( wait as w ) when w.pattern = 'semaphore';
declare problem for semaphore parameters (
  name = "semaphore",
  description = "{w.operation} waited for a release ({w.cause}).",
  advice = if(w.blocks_count = 0, "release ({w.cause}) earlier", "release ({w.cause}) before {w.blocks}, or start with a larger count"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event future member ( wait as w ) when w.pattern = 'future';
declare problem for future parameters (
  name = "future",
  description = "{w.operation} waited for a value that {w.cause} sets.",
  advice = if(w.blocks_count = 0, "ask for the value later, after other work", "set the value ({w.cause}) before {w.blocks}, or ask for it after other work"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event join member ( wait as w ) when w.pattern = 'join';
declare problem for join parameters (
  name = "join",
  description = "{w.operation} waited for the end of a thread.",
  advice = if(w.blocks_count = 0, "join later, after other work", "give some of {w.blocks} to the thread that joins, or join later"),
  duration = w.duration,
  saving = w.avoidable );

# A lock that is held most of the time is a queue, however its users arrive (utilisation = hold time x rate).
declare composite event queue member ( lock as l, shared wait as w )
  when l.wait = w.wait and l.utilisation > 70 % and l.owners > 1;
declare problem for queue parameters (
  name = "lock_is_a_queue",
  instead_of = "mutex_contention",
  description = "{l.name} is held {percent(l.utilisation)} of the time by {plural(l.owners, 'thread', 'threads')}: who comes must queue.",
  advice = if(w.blocks_count = 0, "shorten what {l.name} protects ({l.held / l.acquisitions} each time), or split it into several locks",
              "move {w.blocks} out of the part that {l.name} protects, or split it into several locks"),
  duration = w.duration, saving = w.duration * (l.utilisation - 70 %) );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
