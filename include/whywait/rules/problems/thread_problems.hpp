#ifndef WHYWAIT_RULES_PROBLEMS_THREAD_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_THREAD_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems of threads that wait for each other inside one process.
inline const char* threads() noexcept {
  return R"rules(
declare composite event mutex_contention member ( wait as w ) when w.pattern = 'mutex_contention';
declare problem for mutex_contention parameters (
  name = "mutex_contention",
  instead_of = "uneven_work, slower_visits, serial_work, slow_block, work_in_turn",
  description = "{w.waiting_ranks} waited in {w.operation} for the lock that "
                + if(w.late_others = 'one another', "each of them", "{w.late_others}") + " held until {w.cause}.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for the lock that "
            + if(w.late_others = 'one another', "each of them", "{w.late_others}") + " held: holding it shorter",
  advice = "hold the lock that {w.cause} releases for less time, or divide what it protects among several locks",
  duration = w.duration,
  saving = w.avoidable );

# A wait for a lock is that for its holders: what they ran while they held it is the cause, however uneven it is. If they waited
# themselves, other threads ran it. A thread that finds the lock free leaves no record, so that its code begins where it gave it up.
declare composite event held_lock member ( wait as w ) when w.pattern = 'mutex_contention' and w.blocks_count > 0
  parameters ( holding = if(contains(w.top, 'between pthread_mutex_unlock') or contains(w.top, 'between pthread_rwlock_unlock')
                            or contains(w.top, 'between mutex::unlock'), ", for a part of it holding", " while holding") );
declare problem for held_lock parameters (
  name = "work_under_lock",
  instead_of = "mutex_contention, uneven_work, slower_visits, serial_work, slow_block, work_in_turn",
  root = if(w.top_kind = 'between', "{w.cause}", "{w.top} {w.top_place} {w.cause}"),
  description = if(2 * w.top_inherited > w.top_duration,
                   "{w.late_ranks} waited for {w.blocks} while holding the lock that {w.waiting_ranks} needed in {w.operation}.",
                   "{w.late_ranks} ran {w.blocks}{holding} the lock that {w.waiting_ranks} needed in {w.operation}."),
  verdict = if(2 * w.top_inherited > w.top_duration,
               "{w.late_ranks} waited for {w.blocks} while holding the lock that {w.waiting_ranks} needed in {w.operation}: giving it up meanwhile",
               "{w.late_ranks} ran {w.blocks}{holding} the lock that {w.waiting_ranks} needed in {w.operation}: moving that out of the lock"),
  advice = if(2 * w.top_inherited > w.top_duration, "give up the lock that {w.cause} releases while waiting, or make {w.blocks} shorter",
              "move {w.blocks} out of the lock that {w.cause} releases, or divide what it protects among several locks"
              + if(contains(w.operation_call, 'rwlock_wr'), ", or take it for reading only where nothing is changed", "")),
  duration = w.duration,
  saving = w.avoidable );

# Where the late thread had itself waited for the most part, the verdict is about that wait.
declare composite event condition_variable member ( wait as w ) when w.pattern = 'condition_variable';
declare problem for condition_variable parameters (
  name = "condition_variable",
  description = "{w.waiting_ranks} waited in {w.operation} for a notification ({w.cause}) by {w.late_others}.",
  verdict = if(2 * w.top_inherited > w.top_duration, "", "{w.waiting_ranks} waited in {w.operation} for {w.late_others}"
            + if(w.blocks_count > 0, " because of {w.blocks}: making it shorter", ": notifying earlier")),
  advice = if(w.blocks_count > 0, "make {w.blocks} shorter, or divide it among more threads, or ", "notify earlier, or ")
           + "give {w.waiting_ranks} other work meanwhile",
  duration = w.duration,
  saving = if(w.most_divided > 0 s, min(w.avoidable, w.most_divided), w.avoidable) );  # they use the processors already

# Two threads, or groups of ranks, that hand something to and fro, and hardly ever work at the same time.
declare composite event turns member ( wait as w ) when w.turns_saving > 0 s and not starts_with(w.operation_call, 'omp ');
declare problem for turns parameters (
  name = "no_overlap",
  instead_of = "condition_variable, semaphore, latch, late_sender",
  root = "{w.turns}",
  description = "{w.waiting_ranks} and {w.late_others} wait for each other, in {w.operation} and {w.turns_other}.",
  verdict = "{w.waiting_ranks} and {w.late_others} wait for each other, in {w.operation} and {w.turns_other}: letting both work at once, if they can,",
  advice = if(contains(w.turns, 'MPI_Iprobe') or contains(w.turns, 'MPI_Improbe'), "poll more often in that code, or in a thread of its own; or ", "")
           + "unless each needs the last result of the other, give {w.waiting_ranks} and {w.late_others} a second buffer or "
           + if(w.pattern = 'late_sender', "a second message on the way", "a longer queue") + ", so that both work at the same time",
  duration = w.duration,
  saving = w.turns_saving );

# A thread of a team runs code for all, and which one it is does not matter.
declare composite event single member ( wait as w )
  when w.threads > 1 and w.top_kind = 'between'
       and ((w.pattern = 'thread_barrier' and w.cause_call != 'end of omp task' and contains(w.top, 'between omp single'))
            or (w.pattern = 'latch' and w.cause_call = 'omp task'))
       and not contains(w.top, 'end of omp task');
declare problem for single parameters (
  name = "single_work",
  instead_of = "uneven_work, slower_visits, serial_work, slow_block, work_in_turn, thread_barrier, latch",
  root = "{w.top}",
  description = "one thread runs {w.top} for " + if(w.threads = 2, "both", "all {w.threads}") + " threads, while " + if(w.threads = 2, "the other one waits", "the others wait") + " in {w.operation}.",
  verdict = "one thread at a time runs {w.top} while the others wait: dividing it among all threads",
  advice = "divide that code among the threads (omp for, omp taskloop), make it shorter, or give the others work that does not need its
            result (nowait)",
  duration = w.duration,
  saving = if(w.pattern = 'latch', w.all_shapes, w.top_duration) / w.threads );

# The last tasks of a team: a thread that has none left can only wait. If they are not the last of the region, the thread that creates the
# next ones waits elsewhere.
declare composite event last_tasks member ( wait as w )
  when w.threads > 1 and ((w.pattern = 'thread_barrier' and (w.cause_call = 'end of omp task' or contains(w.top, 'end of omp task')))
                          or (w.pattern = 'latch' and contains(w.top, 'end of omp task')
                              and (w.cause_call = 'omp task' or (w.cause_call = 'end of omp task' and w.same_place))))
  parameters ( end = if(w.cause_call = 'omp task', "one of them came to create the next ones", "{w.cause}") );
declare problem for last_tasks parameters (
  name = "large_tasks",
  instead_of = "uneven_work, slower_visits, serial_work, slow_block, work_in_turn, thread_barrier, latch",
  root = "{w.operation} {w.cause}",
  description = "{w.waiting_ranks} had no task left in {w.operation} while " + if(w.late_others = 'one another', "others", "{w.late_others}") + " still ran one, until {end}.",
  verdict = "threads had no task left in {w.operation} while others ran the last ones: smaller tasks, or the longest first,",
  advice = "divide the tasks into smaller ones, or begin the longest first (created first, or with a priority), so that all threads end
            together",
  duration = w.duration,
  saving = max(w.all_shapes / w.threads,
               min(w.most_divided, if(w.pattern = 'latch', 1.25 * w.all_shapes, w.all_causes) / w.threads)) );

# A loop whose iterations leave its ordered part in their order: threads with many neighbouring iterations come to theirs one after the other.
declare composite event ordered member ( wait as w ) when w.operation_call = 'omp ordered' and w.threads > 1;
declare problem for ordered parameters (
  name = "iteration_order",
  instead_of = "latch, uneven_work, slower_visits, serial_work, slow_block, work_in_turn",
  root = "{w.operation}",
  description = "{w.waiting_ranks} waited in {w.operation} until {w.late_others} had run the iterations before theirs.",
  verdict = "threads waited in {w.operation} for their turn: " + if(w.in_turn < 75 %, "schedule(static,1) or ", "") + "less ordered code",
  advice = if(w.in_turn < 75 %, "give each thread every n-th iteration (schedule(static, 1)), so that its turn comes soon, or ", "")
           + "move code out of the ordered part",
  duration = w.duration,
  saving = max(w.avoidable, min(w.most_divided, 2 * w.all_shapes / w.threads)) );

# Others wait for a thread that waits itself, until its time runs out. Only its share of their wait counts: while they work, it has nothing to do.
declare composite event unnotified member ( wait as w )
  when w.pattern != 'join' and w.top_kind = 'call' and (contains(w.top, 'timedwait') or contains(w.top, 'wait_for') or contains(w.top, 'wait_until'));
declare problem for unnotified parameters (
  name = "unnotified_wait",
  instead_of = "condition_variable, semaphore, future, latch, thread_barrier, mutex_contention",
  root = "{w.top}",
  description = "{w.late_ranks} came late because of {w.top}, which no notification ended, while {w.waiting_ranks} waited in {w.operation}.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others} because of {w.top}, which no notification ended: notifying it",
  advice = "notify {w.late_ranks} when there is something to do, instead of letting it wait until its time runs out",
  duration = w.duration,
  saving = min(w.avoidable, w.top_share * w.duration) );

# The notification is missing, or comes before the condition is true: the thread goes on only because its time runs out.
declare problem for notified when missed_duration > 0 s parameters (
  name = "lost_wakeup",
  description = "{plural(missed, 'wait', 'waits')} in {site} ran to the time limit ({missed_duration}) although the condition had become true meanwhile:
                 no notification came after that.",
  verdict = "{plural(missed, 'wait', 'waits')} in {site} ran to the time limit although the condition had become true: notifying then",
  advice = "notify after each change that makes the condition of {site} true, and change it under the mutex",
  duration = missed_duration, saving = most_missed );

# Threads are woken for nothing: a notification of all, of which one can go on, or one condition variable for several conditions.
# Functions of pthreads do not get the condition: a thread that never gives up the mutex may have done what it was woken for under it.
declare problem for notified when in_vain >= 100 and 2 * in_vain > waits
    and ((call != 'pthread_cond_wait' and call != 'pthread_cond_timedwait') or waits - in_vain >= 10 * ranks) parameters (
  name = "needless_wakeups",
  description = "{percent(in_vain / waits)} of the waits in {site} follow a wake-up after which the condition was still false; threads were awake
                 for {in_vain_duration} for that.",
  verdict = "{percent(in_vain / waits)} of the waits in {site} follow a needless wake-up: waking only threads that can go on",
  advice = "notify one thread where one can go on (notify_one), and use a condition variable for each condition of {site}",
  duration = in_vain_duration, saving = in_vain_duration / max(1, ranks) );

# The lock goes to threads that came later, again and again: it prefers readers, as those of the C library do, or writers.
declare problem for read_write when side = 'writer' and 2 * overtaken_duration > duration and overtaken >= 3 * waits parameters (
  name = "starved_writers",
  description = "threads waited {duration} to write in {site}, {overtaken_duration} of it while threads that came later held the lock
                 ({plural(overtaken, 'time', 'times')} in {plural(waits, 'wait', 'waits')}).",
  verdict = "threads wait to write in {site} while others that come later get the lock: letting the writer go first",
  advice = "use a lock that prefers writers (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP), let readers take a mutex first that the writer of {site} holds while it waits, or
            read a copy that the writer replaces",
  duration = overtaken_duration, saving = most_overtaken );
declare problem for read_write when side = 'reader' and 2 * overtaken_duration > duration and overtaken >= 3 * waits parameters (
  name = "starved_readers",
  description = "threads waited {duration} to read in {site}, {overtaken_duration} of it while threads that came later held the lock
                 ({plural(overtaken, 'time', 'times')} in {plural(waits, 'wait', 'waits')}).",
  verdict = "threads wait to read in {site} while writers that come later get the lock: letting readers in between",
  advice = "use a lock that does not prefer writers, let a writer do several changes at once, or let the threads of {site} read a copy that
            writers replace",
  duration = overtaken_duration, saving = most_overtaken );

# Threads that divide the work of one of them evenly each have a part of it left.
declare composite event thread_barrier member ( wait as w ) when w.pattern = 'thread_barrier'
  parameters ( stays = w.operation_call = 'end of omp parallel' );
declare problem for thread_barrier parameters (
  name = "thread_barrier",
  description = "{w.waiting_ranks} came to {w.operation} before {w.late_others} and waited there.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, "{w.because}", ": arriving together"),
  advice = if(w.blocks_count = 0, if(stays, "join parallel regions, or give them more work", "drop {w.operation} if no data depends on it"), "{w.spread}"
           + if(stays or (w.in_turn < 10 % and w.all_shapes < 1.1 * w.duration), "", ", or let them go on without each other if no data depends on {w.operation}")),
  duration = w.duration,
  saving = if(w.threads > 1, max(max(w.avoidable * (1 - 1 / w.threads), w.balanced),
                                 if(w.blocks_count > 0, min(w.most_divided, w.all_shapes / w.threads), 0 s)), w.avoidable) );

declare composite event latch member ( wait as w ) when w.pattern = 'latch';
declare problem for latch parameters (
  name = "latch",
  description = "{w.waiting_ranks} waited in {w.operation} until {w.late_others} came to {w.cause}.",
  verdict = if(2 * w.top_inherited > w.top_duration, "", "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, " because of {w.blocks}: making it shorter", ": coming to {w.cause} earlier")),
  advice = if(w.blocks_count > 0, "make {w.blocks} shorter, or divide it among more threads, or ", "call {w.cause} earlier, or ")
           + "give {w.waiting_ranks} other work ahead of {w.operation}",
  duration = w.duration,
  saving = if(w.most_divided > 0 s, min(w.avoidable, w.most_divided), w.avoidable) );

declare composite event semaphore member ( wait as w ) when w.pattern = 'semaphore';
declare problem for semaphore parameters (
  name = "semaphore",
  description = "{w.waiting_ranks} waited in {w.operation} until {w.late_others} released the semaphore ({w.cause}).",
  verdict = if(2 * w.top_inherited > w.top_duration, "", "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, " because of {w.blocks}: making it shorter", ": releasing earlier")),
  advice = if(w.blocks_count > 0, "make {w.blocks} shorter, or divide it among more threads, or ", "release the semaphore earlier, or ")
           + "give {w.waiting_ranks} other work ahead of {w.operation}",
  duration = w.duration,
  saving = if(w.most_divided > 0 s, min(w.avoidable, w.most_divided), w.avoidable) );

declare composite event future member ( wait as w ) when w.pattern = 'future';
declare problem for future parameters (
  name = "future",
  description = "{w.waiting_ranks} waited in {w.operation} for a result of {w.late_others} ({w.cause}).",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, " because of {w.blocks}: making it shorter", ": starting it earlier"),
  advice = if(w.blocks_count > 0, "make {w.blocks} shorter, or start it earlier, or ", "start it earlier, or ")
           + "give {w.waiting_ranks} other work ahead of {w.operation}",
  duration = w.duration,
  saving = if(w.most_divided > 0 s, min(w.avoidable, w.most_divided), w.avoidable) );

# If most of the wait is inherited, the joined thread waited itself: advice for that wait shortens this one. Of few threads hardly more
# than one is awaited at a time, and the waiting one has as much to do itself: both may run at once. Where that saves less than a quarter
# of the wait, because the processors are busy, the work is divided already. Threads that live for less than 0.2 ms hardly live longer than
# it takes to start them.
declare composite event join member ( wait as w ) when w.pattern = 'join' and 2 * w.top_inherited <= w.top_duration
  parameters ( all = if(starts_with(w.code_thread, 'thread'), max(w.threads, w.ranks), w.threads),
               short = w.mean < 200 us,
               busy = short or (w.most_divided > 0 s and 4 * w.most_divided * max(1, w.waiting_ranks_count) < w.duration) );
declare problem for join parameters (
  name = "join",
  description = "{w.waiting_ranks} waited in {w.operation} for the end of {w.late_others}.",
  verdict = if(busy, "", "{w.waiting_ranks} waited in {w.operation} for {w.late_others}" + if(w.blocks_count > 0, " because of {w.blocks}: dividing it among the threads, or working meanwhile,", ": working meanwhile")),
  advice = if(short, "start threads once and hand work to them, instead of starting them for each piece of work; or ", "")
           + if(w.blocks_count > 0, "let {w.waiting_ranks} do other work, or a part of {w.blocks},", "let {w.waiting_ranks} also work")
           + " before waiting, or divide it among more threads",
  duration = w.duration,
  saving = min(if(w.most_divided > 0 s, w.most_divided, w.avoidable), if(all > 3, max(w.avoidable * (1 - 1 / all), w.balanced), w.avoidable)) );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
