#ifndef WHYWAIT_RULES_PROBLEMS_BALANCE_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_BALANCE_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems that the explanation and the ranks' own code decide: uneven or serial work, a slow rank, a lead that moves.
inline const char* balance() noexcept {
  return R"rules(
# The ranks do different amounts of the block that made the late side late: the difference is the cause, whatever waits. A block that
# one thread of a team runs for all, as that of omp single, may be run by one of them more often by chance.
declare composite event uneven member ( wait as w )
  when (w.lead = 'one' or w.lead = 'several') and w.top_kind != 'waiting'
       and not (w.pattern = 'thread_barrier' and w.threads > 1 and w.top_waiting_amount = 0 and w.top_kind != 'between')
  parameters ( owner = if(w.locations > w.ranks, "thread", "rank"), sharers = max(2, max(w.code_ranks, w.ranks)),
               as_others = w.above_mean * sharers / (sharers - 1), over_all = max(w.shorter, as_others),
               as_fast = if(w.lead = 'one' and not w.balance_moves, min(w.above_others, over_all), 0 s) );
declare problem for uneven when w.excess = 'units' or w.excess = 'visits' or w.excess = 'both' or w.excess = 'work' or w.excess = 'unknown' parameters (
  name = "uneven_work",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, early_scan, late_broadcast, wait_at_create, wait_at_finalize, wait_at_fence, late_post, early_wait, late_complete, window_lock_contention, condition_variable, thread_barrier, latch, semaphore, future, join, serialised_pipeline, slow_block, work_in_turn, send_after_work",
  root = "{w.top} {w.top_place} {w.code_thread}",
  description = if(w.lead = 'one', "{w.code_thread} takes {w.code_ratio} times as long as " + if(w.code_ranks = 2, "the other", "the others") + " in {w.top}",
                   "some {w.code_nouns} take up to {w.code_ratio} times as long as the others in {w.top}, {w.code_thread} most")
                + if(w.excess = 'units', " ({w.units_ratio} times the units of work).", if(w.excess = 'visits', " ({w.visits_ratio} times the visits).",
                     if(w.excess = 'both', " ({w.units_ratio} times the units of work, and each takes longer).",
                     if(w.excess = 'work', " (with as many visits, of more instructions each).",
                     if(abs(w.visits_ratio - 1) < 10 %, " (with as many visits).", " ({w.visits_ratio} times the visits, and each takes longer)."))))),
  advice = if(w.lead = 'one', "give some of " + if(w.top_kind = 'between', if(w.balance_whole, "the unmarked code", "that code"), "{w.top}") + " on {w.code_thread} to " + if(w.code_ranks = 2 and w.ranks = 2, "the other one", "the other {w.code_nouns}") + ": balance it by cost, not by count",
              "balance " + if(w.top_kind = 'between', if(w.balance_whole, "the unmarked code", "that code"), "{w.top}") + " over the {w.code_nouns}, by cost and not by count")
           + if(w.code_asleep >= 10 %, "; or find what {w.code_thread} waits for there, asleep or blocked for {percent(w.code_asleep)} of the time, which saves up to {min(over_all, w.code_slept)}", if(w.excess = 'unknown' and w.code_ratio < 4.5, "; if it is the same work on all {w.code_nouns} (WHYWAIT_WORK would tell), find what makes it slower there" + if(as_fast > w.above_mean, ", which saves up to {as_fast}", ""), "")),
  duration = w.duration, saving = w.above_mean, predicted = w.balance_predicted, at_least = w.balance_moves );
declare problem for uneven when w.excess = 'speed' or w.excess = 'instructions' or w.excess = 'cycles' or w.excess = 'core' or w.excess = 'frequency' parameters (
  name = "slower_visits",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, early_scan, late_broadcast, wait_at_create, wait_at_finalize, wait_at_fence, late_post, early_wait, late_complete, window_lock_contention, condition_variable, thread_barrier, latch, semaphore, future, join, serialised_pipeline, slow_block, work_in_turn, send_after_work",
  root = "{w.top} {w.top_place} {w.code_thread}",
  description = "{w.code_thread} takes {w.code_ratio} times as long as " + if(w.code_ranks = 2, "the other", "the others") + " in {w.top}, " + if(w.units_ratio > 0, if(w.units_ratio < 95 %, "with fewer units of work", "at the same number of units of work"), "at the same number of visits")
                + if(w.top_branch != '', ": it runs {w.top_branch} there, which the others hardly run.", if(w.excess = 'instructions', ": it executes more instructions.", if(w.excess = 'cycles', ": each instruction takes it more cycles.",
                     if(w.excess = 'core', ": each instruction takes it more cycles, as in its other code.",
                     if(w.excess = 'frequency', ": it gets fewer cycles in a second.", "."))))),
  verdict = "{w.code_thread} takes {w.code_ratio} times as long as " + if(w.code_ranks = 2, "the other", "the others") + " in {w.top}" + if(w.top_place = '' or w.top_kind = 'between', "", " ({w.top_place})")
            + if(w.top_branch != '', " because it runs {w.top_branch} there: balancing it by cost", if(w.excess = 'instructions', " because it executes more instructions: making it as fast there", if(w.excess = 'cycles',
                 " because each instruction takes it more cycles: making it as fast there as elsewhere", if(w.excess = 'core',
                 " because each instruction takes it more cycles, as in its other code: a processor as fast as the others", if(w.excess = 'frequency',
                 " because it gets fewer cycles in a second: a processor as fast as the others", if(w.units_ratio > 0 and w.units_ratio < 95 %, " for less work", " for the same work") + ": making each unit of work as fast there as elsewhere"))))),
  advice = if(w.top_branch != '', "give some of the work that needs {w.top_branch} to the other {w.code_nouns}, which hardly run it: balance by cost, not by
            count; or make {w.top_branch} shorter",
           if(w.excess = 'instructions', "look at the code that {w.code_thread} runs in " + if(w.top_kind = 'between', "that code", "{w.top}") + ": it takes another path there, or its data need more
            work; the machine is as fast as elsewhere",
           if(w.excess = 'cycles', "look at how " + if(w.top_kind = 'between', "that code", "{w.top}") + " uses memory on {w.code_thread}: other data, a larger stride, cache lines that others
            write, memory of another node",
           if(w.excess = 'core', "look at the machine under {w.code_thread}, not at the code: a slower core, one that another thread shares, memory of another node",
           if(w.excess = 'frequency', "look at the machine under {w.code_thread}, not at the code: frequency, temperature, a processor that is shared with another virtual machine",
           "find what makes a unit of work in " + if(w.top_kind = 'between', "that code", "{w.top}") + " slower on {w.code_thread}: other data, memory, a slower or shared core"
           + if(w.balance_predicted, "; or give {w.code_thread} fewer of them, which saves {w.above_mean}", "; or give {w.code_thread} fewer of them")))))),
  duration = w.duration, saving = if(w.top_branch != '', w.above_mean, as_others),
  predicted = w.top_branch != '' and w.balance_predicted );

# The scheduler is the cause: the rank had work to do and no processor.
declare problem for uneven when w.excess = 'shared' parameters (
  name = "shared_processor",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, early_scan, late_broadcast, wait_at_create, wait_at_finalize, wait_at_fence, late_post, early_wait, late_complete, window_lock_contention, condition_variable, thread_barrier, latch, semaphore, future, join, serialised_pipeline, slow_block, work_in_turn, send_after_work",
  root = "processors",
  description = "{w.code_thread} was ready to run for {w.code_delay} without a processor, so that {w.top} took {w.code_ratio} times as
                 long as on the others" + if(w.code_processors > 0, "; it may use {plural(w.code_processors, 'processor', 'processors')}.", "."),
  verdict = if(w.own_processors > w.code_delay, "ranks were ready to run without a processor: giving each {owner} one of its own",
               "{w.code_thread} was ready to run for {w.code_delay} without a processor: giving each {owner} one of its own"),
  advice = "give each {owner} a processor of its own: start fewer {owner}s on this machine, check the binding, stop what else runs there",
  duration = max(w.duration, w.own_processors), saving = max(as_others, w.own_processors),
  predicted = w.own_at_least, at_least = w.own_at_least );

# The kernel is the cause: it gave the rank memory, or served other calls.
declare problem for uneven when w.excess = 'faults' parameters (
  name = "page_faults",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, early_scan, late_broadcast, wait_at_create, wait_at_finalize, wait_at_fence, late_post, early_wait, late_complete, window_lock_contention, condition_variable, thread_barrier, latch, semaphore, future, join, serialised_pipeline, slow_block, work_in_turn, send_after_work",
  root = "{w.top} {w.top_place} {w.code_thread}",
  description = "{w.code_thread} spent {w.code_system} more in the kernel than the others, in {plural(w.code_faults, 'more page fault', 'more page faults')},
                 so that {w.top} took {w.code_ratio} times as long.",
  verdict = "{w.code_thread} takes {w.code_ratio} times as long as " + if(w.code_ranks = 2, "the other", "the others") + " in {w.top}" + if(w.top_place = '' or w.top_kind = 'between', "", " ({w.top_place})")
            + " because of page faults: using " + if(w.count <= 2, "large pages, or less memory,", "the same memory again"),
  advice = if(w.count <= 2, "use less memory on {w.code_thread}, or large pages (madvise with MADV_HUGEPAGE): it seems to be used for the first time there",
              "use the same memory again on {w.code_thread} instead of giving it back to the system: a pool, or M_MMAP_THRESHOLD and
            M_TRIM_THRESHOLD of mallopt; or touch it once before"),
  duration = w.duration, saving = as_others );
declare problem for uneven when w.excess = 'system' parameters (
  name = "system_calls",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, early_scan, late_broadcast, wait_at_create, wait_at_finalize, wait_at_fence, late_post, early_wait, late_complete, window_lock_contention, condition_variable, thread_barrier, latch, semaphore, future, join, serialised_pipeline, slow_block, work_in_turn, send_after_work",
  root = "{w.top} {w.top_place} {w.code_thread}",
  description = "{w.code_thread} spent {w.code_system} more in system calls than the others, so that {w.top} took {w.code_ratio} times as long.",
  verdict = "{w.code_thread} takes {w.code_ratio} times as long as " + if(w.code_ranks = 2, "the other", "the others") + " in {w.top}" + if(w.top_place = '' or w.top_kind = 'between', "", " ({w.top_place})")
            + " because of system calls: fewer of them, or for less data,",
  advice = "make fewer system calls on {w.code_thread} (strace -c -f counts them): larger buffers, fewer files, no clock or memory calls in loops; or for less data, if few move much of it",
  duration = w.duration, saving = as_others );

# All ranks alike lack a processor now and then, so that none is late.
declare problem for run when own_processors >= 10 % * duration and own_processors > 0 s parameters (
  name = "few_processors",
  root = "processors",
  description = "All ranks were ready to run without a processor now and then, for " + if(own_at_least, "at least", "up to") + " {own_processors} of the run.",
  verdict = if(locations = 1, "the rank was ready to run without a processor: giving it one of its own", "ranks were ready to run without a processor: giving each " + if(locations > ranks, "thread", "rank") + " one of its own"),
  advice = "give each " + if(locations > ranks, "thread", "rank") + " a processor of its own: check the binding, start no more " + if(locations > ranks, "threads", "ranks") + " than processors, stop what else runs there",
  duration = min(own_processors * ranks, location_time), saving = own_processors, predicted = own_at_least, at_least = own_at_least );

# All ranks alike spend time in the kernel, so that none is late. A fault for each page of memory comes with its first use; more of them are
# memory that goes back and comes again.
declare problem for run when kernel_duration >= 15 % * duration and kernel_duration >= 40 ms
    and (faults * 50 us < kernel_duration or 2 * repeated_faults >= faults) parameters (
  name = "time_in_kernel",
  description = "Each rank spends {kernel_duration} of its own code in the kernel"
                + if(faults * 50 us < kernel_duration, ".", ", in {plural(faults, 'page fault', 'page faults')}."),
  verdict = "all ranks spend {percent(kernel_duration / duration)} of the run in the kernel"
            + if(faults * 50 us < kernel_duration, ", in system calls: fewer of them, or for less data,", ", in page faults: using the same memory again"),
  advice = if(faults * 50 us < kernel_duration, "make fewer system calls (strace -c -f counts them): larger buffers, fewer files, no clock or memory calls in loops; or for less data, if few move much of it",
              "use the same memory again instead of giving it back to the system: a pool, or M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of mallopt"),
  duration = min(kernel_duration * ranks, location_time), saving = kernel_duration );

# One rank runs the block, or few do, and the others wait: Amdahl's law.
declare composite event serial member ( wait as w ) when (w.lead = 'alone' or w.lead = 'few') and w.top_kind != 'between' and w.top_kind != 'waiting';
declare problem for serial parameters (
  name = "serial_work",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, late_broadcast, wait_at_create, wait_at_finalize, wait_at_fence, late_post, early_wait, late_complete, window_lock_contention, condition_variable, thread_barrier, latch, semaphore, future, join, serialised_pipeline, uneven_work, send_after_work",
  root = "{w.top} {w.top_place} {w.code_thread}",
  description = if(w.lead = 'few', "only {w.code_ranks} of {w.ranks} ranks run {w.top}; the others wait for them at {w.operation}.",
                   if(w.code_ranks > 1, "{w.code_thread} does nearly all of", "only {w.code_thread} runs") + " {w.top}; the other ranks wait for it at {w.operation}."),
  verdict = if(w.lead = 'few', "only {w.code_ranks} of {w.ranks} ranks run {w.top}, and the others wait for them: dividing it among all ranks", ""),
  advice = "divide {w.top} among the ranks, or give {w.waiting_ranks} work that does not need its result",
  duration = w.duration, saving = w.above_mean, predicted = w.balance_predicted );

# One rank that is slower in every block that both sides ran is a matter of its place, not of the code; unless it executes more
# instructions.
declare composite event slow_place
  member ( all block as b )
  when b.both_ran and (b.same_work or b.same_instructions) and b.one_late_rank and b.late_duration > 0 s and b.ratio > 0
       and b.slower != 0 and b.kind != 'waiting' and b.why != 'instructions'
  by ( b.late_rank )
  parameters ( rank = b.late_rank, blocks = distinct(b.name), least_ratio = least(b.ratio), most_ratio = most(b.ratio),
               lost = sum(b.slower), ranks = most(b.ranks), same_units = least(if(b.same_work, 1, 0)) );
declare problem for slow_place when blocks >= 3 and least_ratio > 1.1 and most_ratio < 1.5 * least_ratio parameters (
  name = "slow_rank",
  root = "rank {rank}",
  description = "rank {rank} is slower in each of {blocks} blocks, " + if(most_ratio < 1.05 * least_ratio, "{most_ratio} times", "{least_ratio} to {most_ratio} times")
                + if(same_units = 1, ", at the same number of units of work.", ", at the same number of instructions."),
  verdict = "rank {rank} takes " + if(most_ratio < 1.05 * least_ratio, "{most_ratio} times", "{least_ratio} to {most_ratio} times")
            + " as long as the others in each of {blocks} blocks, for the same work: making it as fast as the others",
  advice = "look at the machine under rank {rank}, not at the code: frequency, memory, another job, binding; or give it
            {percent(1 - 1 / least_ratio)} less work",
  duration = lost, saving = lost / max(1, ranks - 1) );

# All ranks do as much of the block in total, but not at the same time, and each waits for the others in turn: the lead moves.
# Where the others run the block earlier or later, or not at all, it is run by one after the other. The last thread that comes to a barrier
# of the C++ library makes another call than the others, so that its code has another name. Waits of some microseconds are the cost of calls,
# and short ones beside long ones for the same block chance.
declare composite event varying_block member ( wait as w )
  when w.lead = 'even' and not (w.pattern = 'wait_for_progress' and w.nonblocking) and w.mean >= 5 us and 3 * w.duration >= w.above_mean and w.operation_call != 'futex wait' and w.late_ranks_count >= 2 and w.late_share < 70 % and w.in_turn >= 50 %
       and w.top_kind != 'waiting' and (w.top_duration - w.top_inherited > 40 % * w.duration or w.longer_share >= 50 %);
declare problem for varying_block when w.top_here >= 50 % and w.top_waiting_amount > 0 parameters (
  name = "slow_block",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, late_broadcast, wait_at_fence, early_wait, condition_variable, thread_barrier, latch, semaphore, future, join",
  root = "{w.top} {w.top_place}",
  description = if(w.late_share < 60 %, "{w.late_ranks}", "{w.waiting_ranks}") + " are late in turn because {w.top} takes longer now on one, now on another; in total all ranks spend
                 about as much time in it." + if(w.above_mean < w.noise, " They were ready to run without a processor for as long, which may be the reason.", ""),
  verdict = if(w.above_mean < w.noise, "", if(w.late_share < 60 %, "{w.late_ranks}", "{w.waiting_ranks}") + " are late in turn, by how long {w.top} takes: evening it out"),
  advice = if(w.above_mean < w.noise, "give each rank a processor of its own, or measure where nothing else runs; if it stays, ", "")
            + if(w.code_asleep >= 10 %, "find what is waited for in that code, asleep or blocked for {percent(w.code_asleep)} of the time (a lock of the system, a file, a device); else ", "")
            + if(w.top_kind = 'between', "even out that code", "even out {w.top}") + if(w.top_place = '' or w.top_kind = 'between', "", " ({w.top_place})") + " from visit to visit; or let
            a rank go on without the late one: " + if(w.threads > 1, "", "receive later, do more work between two messages, or ") + "synchronise less often",
  duration = max(w.duration, w.above_mean), saving = w.above_mean );
declare problem for varying_block when w.top_here < 50 % or w.top_waiting_amount = 0 parameters (
  name = "work_in_turn",
  instead_of = "late_sender, wait_at_nxn, wait_at_barrier, early_reduce, late_broadcast, wait_at_fence, early_wait, condition_variable, thread_barrier, latch, semaphore, future, join",
  root = "{w.top} {w.top_place}",
  description = "{w.waiting_ranks} run {w.top} in turn while others wait; in total all {w.code_nouns} spend about as much time in it.",
  verdict = "{w.waiting_ranks} run {w.top} in turn while others wait: running it at the same time on all, if none needs the result of another,",
  advice = if(w.top_kind = 'between', "divide that code among", "divide each {w.top} among") + " the {w.code_nouns}, or let the next one begin it ahead of {w.operation}",
  duration = max(w.duration, w.above_mean), saving = w.above_mean );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
