#ifndef WHYWAIT_RULES_PROBLEMS_MEMORY_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_MEMORY_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems of registered data in memory: a block is slower where it uses them.
inline const char* memory() noexcept {
  return R"rules(
# Each visit takes longer because instructions take more cycles; or the processor counts nothing, and no other reason is known.
declare composite event slow_memory member ( wait as w, block as b )
  when b.wait = w.wait and b.both_ran and b.memory > 0 s and (b.why = 'cycles' or (b.why = '' and not b.counted)) and b.kind != 'waiting';

# Writes of one thread take the cache line away from the others, although each uses elements of its own.
declare problem for slow_memory when b.data_sharing = 'false sharing' parameters (
  name = "false_sharing",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, early_scan, late_broadcast, wait_at_create, wait_at_finalize, wait_at_fence, condition_variable, thread_barrier, latch, semaphore, future, join, slower_visits",
  root = "{b.data} {b.data_place}",
  description = "{b.data_users} use different elements of {b.data} ({b.data_place}) within one cache line in {b.name}; each visit takes {b.each} longer on {b.late_locations}"
                + if(not b.counted, ", and that may be why: this machine does not count it.", if(b.data_waiters, ", and that may be why: each instruction takes more cycles,
                     but the side that waits uses the same lines.", ": each instruction takes more cycles.")),
  verdict = "{b.data_users} use different elements of {b.data} ({b.data_place}) within one cache line"
            + if(b.counted and not b.data_waiters, ", so that {b.name} is slower on {b.late_locations}", ", which may be why {b.name} is slower on {b.late_locations}")
            + ": giving each thread cache lines of its own" + if(b.data_waiters, " (not counting what the waiting side gains by it)", ""),
  advice = "align what each thread writes of {b.data} to 64 bytes (alignas or padding), or let each use a copy of its own and write it back at the end"
           + if(b.data_waiters, "; what the waiting side gains by it is not counted", ""),
  duration = w.duration, saving = min(b.memory, w.avoidable) );

# Linux places a page on the node of the thread that touches it first.
declare problem for slow_memory when b.far_data != '' parameters (
  name = "remote_pages",
  instead_of = "late_sender, late_receiver, wait_for_progress, nonblocking_collective, wait_at_nxn, wait_at_barrier, early_reduce, early_scan, late_broadcast, wait_at_create, wait_at_finalize, wait_at_fence, condition_variable, thread_barrier, latch, semaphore, future, join, slower_visits",
  root = "{b.far_data} {b.far_place}",
  description = "{percent(b.far_share)} of what {b.late_locations} used of {b.far_data} ({b.far_place}) in {b.name} is on NUMA node {b.far_pages_node}; the accesses came
                 from node {b.far_node}. Each visit takes {b.each} longer there" + if(b.counted, ": each instruction takes more cycles.", ", and that may be why: this machine does not count it."),
  verdict = "{b.late_locations} used {b.far_data} ({b.far_place}) from NUMA node {b.far_node}, but {percent(b.far_share)} of it is on node {b.far_pages_node}"
            + if(b.counted, ", so that {b.name} is slower there", ", which may be why {b.name} is slower there") + ": placing it where it is used",
  advice = "initialise {b.far_data} by the threads that use it, each its own part, because the first touch places a page; or bind threads to nodes, or interleave it (numactl --interleave, mbind)",
  duration = w.duration, saving = min(b.memory, w.avoidable) );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
