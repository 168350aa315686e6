#ifndef WHYWAIT_RULES_PROBLEMS_BALANCE_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_BALANCE_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems that need the explanation: more or slower visits, a slow rank or a slow block.
inline const char* balance() noexcept {
  return R"rules(
# Waits for the last of all: there the difference of work is the cause, whatever the operation.
declare composite event uneven member ( wait as w )
  when (w.pattern = 'wait_at_barrier' or w.pattern = 'wait_at_nxn' or w.pattern = 'early_reduce' or w.pattern = 'wait_at_finalize')
       and w.positive > 0 and w.blocks_count > 0;
declare problem for uneven when w.more > 60 % * w.positive and w.top_more > 0 and w.top_late_amount > w.top_waiting_amount parameters (
  name = "uneven_work",
  instead_of = "wait_at_nxn, wait_at_barrier, early_reduce, wait_at_finalize",
  description = if(w.top_waiting_amount = 0, "{w.late_ranks} had work to do before {w.operation} that the waiting side had not.",
                "{w.late_ranks} had more to do before {w.operation}: {w.top_late_amount / w.top_waiting_amount} times the {w.top_unit}
                 of {w.top} on the waiting side."),
  advice = "spread the work of {w.top} evenly over the ranks, by cost and not by count"
           + if(w.late_ranks_count > 1, ", and anew when the load moves", "")
           + if(w.pattern = 'wait_at_barrier', "; or drop {w.operation} if no data depends on it", ""),
  duration = w.duration, saving = w.more );
declare problem for uneven when w.slower > 60 % * w.positive and w.top_slower > 0 and w.top_ratio > 1.1 parameters (
  name = "slower_visits",
  instead_of = "wait_at_nxn, wait_at_barrier, early_reduce, wait_at_finalize",
  description = "{w.late_ranks} ran {w.top} as often as the ranks that waited before {w.operation}, but each visit took
                 {w.top_ratio} times as long.",
  advice = "find what makes a visit of {w.top} {w.top_each} slower on {w.late_ranks}: more data in each, other data, or a slower core;
            more even counts will not help" + if(w.pattern = 'wait_at_barrier', "; or drop {w.operation} if no data depends on it", ""),
  duration = w.duration, saving = w.slower );

# One rank that is slower in every block that both sides ran is a matter of its place, not of the code.
declare composite event slow_place
  member ( all block as b )
  when b.both_ran and b.one_late_rank and b.late_duration > 0 s and b.ratio > 0 and b.slower != 0
       and (b.kind = 'region' or b.kind = 'between')
  by ( b.late_rank )
  parameters ( rank = b.late_rank, blocks = distinct(b.name), least_ratio = least(b.ratio), most_ratio = most(b.ratio),
               lost = sum(b.slower) );
declare problem for slow_place when blocks >= 3 and least_ratio > 1.1 and most_ratio < 1.5 * least_ratio parameters (
  name = "slow_rank",
  description = "Rank {rank} is slower in each of {blocks} blocks, {least_ratio} to {most_ratio} times, at the same work.",
  advice = "look at the machine under rank {rank}, not at the code: frequency, memory, another job, binding; or give it
            {percent(1 - 1 / least_ratio)} less work",
  duration = lost );

# One block that is late on many ranks in turn is a matter of the code: its duration varies from visit to visit.
declare composite event varying_block
  member ( all block as b )
  when b.both_ran and b.slower > 50 % * b.duration and b.duration > 0 s and b.ratio > 1.1 and b.late_rank >= 0
       and (b.kind = 'region' or b.kind = 'between')
  by ( b.name )
  parameters ( block = b.name, place = b.place, late_ranks = distinct(b.late_rank), ranks = b.ranks, lost = sum(b.slower),
               ratio = most(b.ratio) );
declare problem for varying_block when late_ranks >= 3 and late_ranks >= 50 % * ranks parameters (
  name = "slow_block",
  description = "{block} makes {late_ranks} of {ranks} ranks late in turn, up to {ratio} times as long at the same count of visits.",
  advice = "even out {block}" + if(place = '', "", " ({place})") + ": its cost varies from visit to visit on all ranks; split its
            expensive cases, or hand visits out as ranks become free",
  duration = lost );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
