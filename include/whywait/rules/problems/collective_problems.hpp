#ifndef WHYWAIT_RULES_PROBLEMS_COLLECTIVE_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_COLLECTIVE_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems of collective operations: those of the paper, and barriers that order nothing.
inline const char* collectives() noexcept {
  return R"rules(
# Without the barrier that ranks wait longest in they may wait for the same elsewhere.
declare composite event wait_at_barrier member ( wait as w ) when w.pattern = 'wait_at_barrier'
  parameters ( late_call = w.blocks_count = 0 and w.top_kind = 'call' and w.top_share >= 50 %,
               drop = if(w.without_known and w.without_share < 1 %, "", "drop {w.operation} if no data depends on it") );
declare problem for wait_at_barrier parameters (
  name = "wait_at_barrier",
  description = "{w.waiting_ranks} came to {w.operation} before {w.late_ranks} and waited there.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, "{w.because}", if(late_call, " because of {w.top}: making it shorter", ": arriving together") + if(drop = '', "", ", or dropping it,")),
  advice = if(w.blocks_count > 0, "{w.spread}" + if(drop = '', "", ", or {drop}"), if(late_call, "call it less often or on all ranks alike, or make it shorter: {w.top}" + if(drop = '', "", ", or {drop}"), if(drop = '', "let all ranks come to {w.operation} together", drop))),
  duration = w.duration,
  saving = if(late_call, w.avoidable * max(1, w.all_shapes / w.duration), w.avoidable) );

# Calls for files have a nonblocking form only if they read or write.
declare composite event wait_at_nxn member ( wait as w ) when w.pattern = 'wait_at_nxn'
  parameters ( late_call = w.blocks_count = 0 and w.top_kind = 'call' and w.top_share >= 50 %,
               form = if(starts_with(w.operation_call, 'MPI_File_') and not contains(w.operation_call, '_all'), "", "the nonblocking form of {w.operation}") );
declare problem for wait_at_nxn parameters (
  name = "wait_at_nxn",
  description = "All need data of all in {w.operation}: {w.waiting_ranks} came before {w.late_ranks} and waited.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, "{w.because}", if(late_call, " because of {w.top}: making it shorter", ": arriving together" + if(form = '', "", ", or its nonblocking form,"))),
  advice = if(w.blocks_count > 0, "{w.spread}", if(late_call, "call it less often or on all ranks alike, or make it shorter: {w.top}", if(form = '', "let all ranks come to {w.operation} together", "")))
           + if((w.blocks_count > 0 or late_call) and form != '' and not w.only_divided, ", or ", "") + if(form = '' or (w.only_divided and (w.blocks_count > 0 or late_call)), "", "start {form} and do other work until its result is needed"),
  duration = w.duration,
  saving = if(late_call, w.avoidable * max(1, w.all_shapes / w.duration), w.avoidable) );

declare composite event late_broadcast member ( wait as w ) when w.pattern = 'late_broadcast';
declare problem for late_broadcast parameters (
  name = "late_broadcast",
  description = "{w.waiting_ranks} needed data of the root in {w.operation} before it came there ({w.cause}).",
  verdict = "{w.waiting_ranks} waited in {w.operation} for its root"
            + if(w.blocks_count > 0, " because of {w.blocks}", "") + if(w.only_divided and w.blocks_count > 0, ": dividing that among the ranks", ": calling it earlier there"),
  advice = if(w.blocks_count > 0 and (w.only_divided or (2 * w.balanced >= w.avoidable and w.balanced > 0 us)), "divide the work of {w.blocks} among the ranks" + if(w.only_divided, "", ", or "), "")
           + if(w.only_divided and w.blocks_count > 0, "", if(w.blocks_count = 0, "let the root call {w.cause} earlier, or start the nonblocking form early and wait where the data is needed",
           "let the root call {w.cause} before {w.blocks} if what it sends does not depend on that, or start the nonblocking form early and wait where the data is needed")),
  duration = w.duration,
  saving = w.avoidable );

declare composite event early_reduce member ( wait as w ) when w.pattern = 'early_reduce';
declare problem for early_reduce parameters (
  name = "early_reduce",
  description = "The root came to {w.operation} before the others had given their data ({w.late_ranks}).",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, "{w.because}", ": its nonblocking form"),
  advice = if(w.blocks_count = 0, "let the root use the nonblocking form of {w.operation} and do other work meanwhile",
           "{w.spread}" + if(w.only_divided, "", ", or let the root use the nonblocking form of {w.operation} and do other work meanwhile")),
  duration = w.duration,
  saving = w.avoidable );

declare composite event early_scan member ( wait as w ) when w.pattern = 'early_scan';
declare problem for early_scan parameters (
  name = "early_scan",
  description = "In {w.operation} a rank needs all ranks below it: {w.waiting_ranks} came before {w.late_ranks}.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, "{w.because}", ": its nonblocking form"),
  advice = if(w.blocks_count = 0, "use the nonblocking form of {w.operation} and do other work meanwhile",
           if(w.lead = 'even', "even out {w.blocks} from visit to visit", "give the lower ranks less of {w.blocks}") + if(w.only_divided, "", ", or use the nonblocking form of {w.operation} and do other work meanwhile")),
  duration = w.duration,
  saving = w.avoidable );

declare composite event wait_at_create member ( wait as w ) when w.pattern = 'wait_at_create';
declare problem for wait_at_create parameters (
  name = "wait_at_create",
  description = "{w.operation} " + if(w.operation_call = 'MPI_File_close', "closes a file", if(w.operation_call = 'MPI_File_open', "opens a file", "makes a communicator or window"))
                + " with all ranks: {w.waiting_ranks} came before {w.late_ranks}.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, "{w.because}", ": calling it where all arrive together"),
  advice = if(w.operation_call = 'MPI_File_close', if(w.blocks_count = 0, "close it where all ranks arrive together", "{w.spread}"),
           if(w.blocks_count = 0, "make it once, where all ranks arrive together",
              "call {w.operation} once, ahead of {w.blocks}, or spread that work evenly over the ranks")),
  duration = w.duration,
  saving = w.avoidable );

declare composite event wait_at_finalize member ( wait as w ) when w.pattern = 'wait_at_finalize';
declare problem for wait_at_finalize parameters (
  name = "wait_at_finalize",
  description = "{w.waiting_ranks} came before {w.late_ranks} and waited in {w.operation}.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, "{w.because}", ": giving the others some of its work"),
  advice = if(w.blocks_count = 0, "give some work of {w.late_ranks} to the ranks that finish first",
           "give some of {w.blocks} to the ranks that finish first"),
  duration = w.duration,
  saving = w.avoidable );

declare composite event nonblocking_collective member ( wait as w ) when w.pattern = 'nonblocking_collective';
declare problem for nonblocking_collective parameters (
  name = "nonblocking_collective",
  description = "{w.operation} completes a collective operation that {w.late_ranks} started late ({w.cause}).",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others} to start the collective operation ({w.cause})"
            + if(w.blocks_count > 0, ", which comes after {w.blocks}", "") + ": starting it earlier",
  advice = if(w.blocks_count > 0, "call {w.cause} before {w.blocks} on {w.late_ranks}", "call {w.cause} earlier on {w.late_ranks}")
           + ", or give {w.waiting_ranks} work to do ahead of {w.operation}",
  duration = w.duration,
  saving = w.avoidable );

# A barrier next to a collective operation that holds all ranks anyway, or with no communication since the last one.
declare composite event needless_barrier
  member ( wait as w, shared barrier_use as b )
  when b.site = w.operation_site and w.pattern = 'wait_at_barrier' and b.calls > 0
       and b.before_collective + b.after_collective + b.idle >= b.calls;
declare problem for needless_barrier parameters (
  name = "needless_barrier",
  instead_of = "wait_at_barrier",
  description = "{w.operation} orders nothing that MPI sees: " + if(b.before_collective >= b.after_collective and b.before_collective >= b.idle,
                "the next call is a collective operation that holds all ranks anyway.", if(b.after_collective >= b.idle,
                "the call before was a collective operation that held all ranks already.",
                "no rank communicated since the one before.")),
  verdict = "{w.operation} orders nothing that MPI sees: removing it",
  advice = "remove {w.operation}; if it orders files or output, state that in a comment",
  duration = w.duration,   # whatever made ranks late makes them wait in the next call instead
  saving = if(w.blocks_count = 0, w.avoidable, w.unexplained / max(1, w.waiting_ranks_count)) );

# Ranks that are late ahead of a barrier and ranks that are late after it each make the others wait. Without it the run would take as
# long as the rank that is late most in all; what that saves is known from the virtual clocks, of threads from their waits.
declare composite event dividing_barrier member ( wait as w )
  when ((w.pattern = 'wait_at_barrier' and w.operation_call = 'MPI_Barrier')
        or (w.pattern = 'thread_barrier' and w.operation_call != 'end of omp parallel'
            and w.all_shapes < 1.1 * w.duration and w.in_turn < 10 % and w.late_others != 'one another'))
       and w.without_share >= 2 %;
declare problem for dividing_barrier parameters (
  name = "dividing_barrier",
  root = if(w.pattern = 'thread_barrier', "barrier", "{w.operation}"),  # the next one instead saves as much
  description = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}, "
                + if(w.late_others = 'one another', "now one and now another is late.", "although other ranks take longer in the code that follows."),
  verdict = if(w.without_saving < w.noise, "", "{w.waiting_ranks} waited in {w.operation} for {w.late_others}, "
            + if(w.late_others = 'one another', "now one and now another is late", "although other ranks take longer in the code that follows")
            + ": removing it, if nothing depends on it,"),
  advice = "remove {w.operation} if nothing depends on it (" + if(w.pattern = 'thread_barrier', "data that another thread wrote; a
            loop of OpenMP takes nowait): threads", "one-sided access, receives from any source, files, shared memory, a
            measurement): ranks") + " that are late ahead of it then catch up before the next call that holds them",
  duration = w.duration, saving = w.without_saving, predicted = true );

# Everybody has arrived and left late all the same: the operation itself takes time after the last arrival.
declare problem for completion parameters (
  name = "slow_completion",
  description = "{late_exits} times a rank left {site} later than the first, up to {longest}, although all had arrived: the
                 library passes the result on.",
  advice = "check where the ranks of {site} run: they leave it at different times although all had arrived",
  duration = duration, saving = duration / max(1, ranks) );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
