#ifndef WHYWAIT_RULES_PROBLEMS_ONE_SIDED_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_ONE_SIDED_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems of one-sided communication: those of Scalasca's patterns.
inline const char* one_sided() noexcept {
  return R"rules(
declare composite event wait_at_fence member ( wait as w ) when w.pattern = 'wait_at_fence';
declare problem for wait_at_fence parameters (
  name = "wait_at_fence",
  description = "{w.operation} holds all ranks of the window: {w.waiting_ranks} came before {w.late_ranks} and waited.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, "{w.because}", ": MPI_Win_post and MPI_Win_start with the ranks that exchange data"),
  advice = if(w.blocks_count = 0, "replace {w.operation} by MPI_Win_post and MPI_Win_start with the ranks that exchange data",
           "{w.spread}" + if(w.only_divided or w.ranks <= 2, "", ", or replace {w.operation} by MPI_Win_post and MPI_Win_start with the ranks that exchange data")),
  duration = w.duration,
  saving = w.avoidable );

declare composite event late_post member ( wait as w ) when w.pattern = 'late_post';
declare problem for late_post parameters (
  name = "late_post",
  description = "The origin came to {w.operation} before the target had exposed its window ({w.cause}): {w.waiting_ranks} waited for {w.late_ranks}.",
  verdict = "{w.waiting_ranks} waited in {w.operation} until {w.late_others} exposed the window ({w.cause})"
            + if(w.blocks_count > 0, ", which comes after {w.blocks}", "") + ": exposing it earlier",
  advice = if(w.blocks_count > 0, "call {w.cause} before {w.blocks} if the window may be accessed meanwhile, or ", "call {w.cause} earlier, or ")
           + "give {w.waiting_ranks} work to do ahead of {w.operation}",
  duration = w.duration,
  saving = w.avoidable );

declare composite event early_wait member ( wait as w ) when w.pattern = 'early_wait';
declare problem for early_wait parameters (
  name = "early_wait",
  description = "The target came to {w.operation} before the origins had accessed its window ({w.cause}): {w.waiting_ranks} waited for {w.late_ranks}.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for the accesses of {w.late_others}"
            + if(w.blocks_count > 0, ", which come after {w.blocks}", "") + ": making them earlier",
  advice = if(w.blocks_count > 0, "make {w.blocks} shorter" + if(2 * w.top_inherited > w.top_duration, "", " on {w.late_ranks}") + ", or ", "") + "give {w.waiting_ranks} work to do ahead of {w.operation}",
  duration = w.duration,
  saving = w.avoidable );

declare composite event late_complete member ( wait as w ) when w.pattern = 'late_complete';
declare problem for late_complete parameters (
  name = "late_complete",
  description = "{w.late_ranks} ended the access to the window ({w.cause}) long after the last operation: {w.waiting_ranks} waited in {w.operation}.",
  verdict = "{w.waiting_ranks} waited in {w.operation} until {w.late_others} called {w.cause}, long after the last operation"
            + if(w.blocks_count > 0, ", because of {w.blocks}", "") + ": calling it right after that operation",
  advice = if(w.blocks_count > 0, "call {w.cause} before {w.blocks}", "call {w.cause} right after the last operation"),
  duration = w.duration,
  saving = w.avoidable );

# Where further waits are for locks that other ranks held, no rank is named.
declare composite event window_lock_contention member ( wait as w ) when w.pattern = 'window_lock_contention'
  parameters ( of_many = w.all_shapes > 1.3 * w.duration );
declare problem for window_lock_contention parameters (
  name = "window_lock_contention",
  description = "{w.waiting_ranks} waited in {w.operation} for the lock of a window until {w.late_ranks} released it ({w.cause}).",
  verdict = if(of_many, "ranks", "{w.waiting_ranks}") + " waited in {w.operation} for the lock that "
            + if(of_many, "others", if(w.late_others = 'one another', "each of them", "{w.late_others}")) + " held" + if(w.blocks_count > 0, " during {w.blocks}", "") + ": holding it shorter",
  advice = if(w.blocks_count > 0, "move {w.blocks} out of the lock that {w.cause} releases, or ", "call {w.cause} earlier, or ")
           + "take a shared lock (MPI_LOCK_SHARED, MPI_Win_lock_all) where MPI_Accumulate or MPI_Fetch_and_op suffices",
  duration = w.duration,
  saving = w.avoidable );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
