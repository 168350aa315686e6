#ifndef WHYWAIT_RULES_PROBLEMS_MESSAGE_PROBLEMS_HPP
#define WHYWAIT_RULES_PROBLEMS_MESSAGE_PROBLEMS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// Problems of point-to-point messages: late sender and receiver of the paper, and more.
inline const char* messages() noexcept {
  return R"rules(
# One rank that hardly works, as the master of a farm, waits for all others, which work evenly: no send can be earlier.
declare composite event late_sender member ( wait as w ) when w.pattern = 'late_sender'
  parameters ( idle = w.waiting_ranks_count = 1 and w.blocks_count > 0 and w.lead = 'even' and w.code_ranks >= 2
                      and w.code_ranks = w.ranks - 1 and w.most_even > 0 s,
               in_vain = w.earlier_known and (w.earlier_share < 2 % or 2 * w.earlier_saving < w.avoidable) );
declare problem for late_sender parameters (
  name = "late_sender",
  description = "The receive ({w.operation}) was ready before the message was sent ({w.cause}): {w.waiting_ranks} waited for {w.late_ranks}.",
  verdict = if(idle, "{w.waiting_ranks} waited in {w.operation} while all others ran {w.blocks}: dividing it among all ranks",
            if(w.blocks_count > 0 and (not w.sends_after_work or in_vain), "",
               "{w.waiting_ranks} waited in {w.operation} for messages of {w.late_others}"
               + if(w.blocks_count > 0, ", which come after {w.blocks}", if(w.top_kind = 'call', ", which come after {w.top}", "")) + ": sending them or parts of them earlier, if possible,")),
  advice = if(idle, "let {w.waiting_ranks} run a part of {w.blocks} as well, or make it shorter; or ",
           if(w.blocks_count > 0 and w.sends_after_work and not w.only_divided and not in_vain, "call {w.cause} before {w.blocks} if the message does not depend on it, else after each part of it" + if(w.nonblocking, ", and MPI_Test in the rest (all but small ones leave only while both ranks are inside MPI)", "") + ", or ",
           if(w.blocks_count > 0, "make {w.blocks} shorter" + if(2 * w.top_inherited > w.top_duration, "", " on {w.late_ranks}") + ", or ", if(w.top_kind = 'call', "{w.late_ranks} came late out of {w.top}: look there first, or ", if(w.sends_after_work, "call {w.cause} earlier, or ", "")))))
           + if(w.nonblocking or (w.only_divided and w.blocks_count > 0), "give {w.waiting_ranks} work to do ahead of {w.operation}",
                "post the receive early with MPI_Irecv and wait for it after other work"),
  duration = w.duration,
  saving = if(idle, min(w.shorter, w.most_even), if(w.blocks_count > 0 and (not w.sends_after_work or in_vain), w.shorter, if(w.earlier_known, max(w.avoidable, w.earlier_saving), w.avoidable))) );

# Each rank works before it sends what others wait for, and they work meanwhile as well: if the sends came first, the messages
# would travel while all work. What that saves is known from the virtual clocks; at most, if ranks also wait until nonblocking sends are
# done, and in MPI_Send until there is a receive: where the library sends large messages only inside calls, they wait for each other's next
# call. Where evening out the work saves far more, that is the problem, and where MPI_Sendrecv would have to become MPI_Isend: ranks that take
# longer in turn have to run ahead of each other, by as many messages as there are buffers.
declare composite event send_after_work member ( wait as w )
  when w.pattern = 'late_sender' and w.lead = 'even' and w.earlier_share >= 2 % and w.earlier_in_turn >= 50 %
       and w.earlier_indirect <= 50 % and w.top_kind != 'waiting'
       and (w.longer_share < 50 % or (2 * w.earlier_saving >= w.above_mean and not contains(w.operation_call, 'Sendrecv')))
  parameters ( in_parts = w.earlier_indirect > 20 % and w.longer_share < 50 % );
declare problem for send_after_work parameters (
  name = "send_after_work",
  instead_of = "late_sender, serialised_pipeline, slow_block, work_in_turn",
  root = "{w.earlier_sends}",
  description = "{w.earlier_ranks} waited for messages that are sent only after {w.top}: {w.earlier_sends}.",
  verdict = if(w.earlier_saving < w.noise, "", "{w.earlier_ranks} waited for messages that are sent only after {w.top}"
            + if(w.top_place = '' or w.top_kind = 'between', "", " ({w.top_place})")
            + ": calling " + if(contains(w.operation_call, 'Sendrecv'), "MPI_Isend instead of ", "") + "{w.earlier_sends} ahead of it" + if(w.nonblocking, " and MPI_Test in it, ", ", ") + if(in_parts, "or after each part of it if the messages depend on it,", "if the messages do not depend on it,")),
  advice = "call " + if(contains(w.operation_call, 'Sendrecv'), "MPI_Isend instead of ", "") + "{w.earlier_sends} before " + if(w.top_kind = 'between', "that code", "{w.top}") + if(w.nonblocking, " and MPI_Test now and then in it,", "") + " if the messages do not depend on it" + if(in_parts, ", else after each part of it", "")
           + if(w.nonblocking, " (all but small ones leave only while both ranks are inside MPI)", ", with MPI_Isend where MPI_Send waits for the receiver")
           + if(w.longer_share >= 50 %, "; or even out that code from visit to visit, which would save up to {w.above_mean}", ""),
  duration = w.duration, saving = w.earlier_saving, predicted = not w.nonblocking and not contains(w.operation_call, 'Sendrecv') );

# The late rank often sends after the same code: where only the receive came ahead of it, the others would wait for that message instead.
declare composite event late_receiver member ( wait as w ) when w.pattern = 'late_receiver';
declare problem for late_receiver parameters (
  name = "late_receiver",
  description = "The send ({w.operation}) had to wait until the receive was posted ({w.cause}): {w.waiting_ranks} waited for {w.late_ranks}.",
  verdict = if(w.only_divided and w.blocks_count > 0, "", "{w.waiting_ranks} waited in {w.operation} for the receive of {w.late_others} ({w.cause})"
            + if(w.blocks_count > 0, ", which comes after {w.blocks}", if(w.top_kind = 'call', ", which comes after {w.top}", "")) + ": posting it earlier and MPI_Test meanwhile"
            + if(w.blocks_count > 0, ", and sending before that code as well", "") + if(w.nonblocking, "", ", or MPI_Isend,")),
  advice = if(w.only_divided and w.blocks_count > 0, "{w.spread}", if(w.blocks_count > 0, "post the receive ({w.cause}) before {w.blocks}, send before it what does not depend on it, and call MPI_Test in it, or ",
           if(w.top_kind = 'call', "{w.late_ranks} came late out of {w.top}: look there first, or ", "post the receive ({w.cause}) earlier, or "))
           + if(w.nonblocking, "give {w.waiting_ranks} work to do ahead of {w.operation}", "send with MPI_Isend and wait for it after other work")),
  duration = w.duration,
  saving = min(w.avoidable, w.posted) );

# What a rank needs of the others in a collective call may need that they are in the same call, not in any.
# Where the late ranks compute longest, only another division of the work helps.
# In code ahead of the call that begins the message nothing is pending: where two pieces of code are named, one may be that.
declare composite event wait_for_progress member ( wait as w ) when w.pattern = 'wait_for_progress'
  parameters ( collective = w.operation_site = w.cause_site and not w.nonblocking and not contains(w.operation_call, 'Send')
                            and not contains(w.operation_call, 'send') and not contains(w.operation_call, 'Recv'),
               code = if(w.blocks_count = 2 and w.top_kind = 'between', w.top, w.blocks),
               shared_out = w.only_divided and w.blocks_count > 0,
               part = if(w.blocks_count = 2 and w.top_kind = 'between', min(1, w.top_duration / w.duration), 1) );
declare problem for wait_for_progress parameters (
  name = "wait_for_progress",
  description = "{w.waiting_ranks} had posted what {w.operation} needs, but it did not complete until {w.late_ranks} called MPI again
                 ({w.cause}).",
  verdict = if(w.top_kind = 'call' or shared_out, "", "{w.waiting_ranks} waited in {w.operation} until {w.late_ranks} called MPI again"
            + if(w.blocks_count > 0, ", after {code}", "") + if(collective, ": its nonblocking form and MPI_Test there", ": calling MPI_Test there now and then")),
  advice = if(shared_out, "{w.spread}", if(collective, "let {w.late_ranks} start the nonblocking form of {w.cause} ahead of that code, and call MPI_Test in it now and then",
           if(w.blocks_count > 0, "let {w.late_ranks} call MPI_Test now and then in {code}, or make {code} shorter there",
              "let {w.late_ranks} call MPI_Test now and then ahead of {w.cause}"))
           + if(w.nonblocking, "; or give {w.waiting_ranks} work to do ahead of {w.operation}", "")
           + "; some MPI libraries have a progress thread"),
  duration = w.duration,
  saving = if(shared_out, w.avoidable, min(part * w.reordered, w.polled)) );

declare composite event wrong_order member ( wait as w )
  when w.pattern = 'late_sender' and w.as_they_come > 10 % * w.duration / max(1, w.waiting_ranks_count)
       and (w.operation_call = 'MPI_Recv' or w.operation_call = 'MPI_Recv_c' or w.operation_call = 'MPI_Wait');
declare problem for wrong_order parameters (
  name = "wrong_order",
  description = "Messages are received in another order than sent: for {percent(w.as_they_come * max(1, w.waiting_ranks_count) / w.duration)} of
                 this wait there was work for ones that are received later and had come.",
  verdict = "{w.waiting_ranks} waited in {w.operation} for {w.late_others} while others had come that are received later: taking them as they come, if possible,",
  advice = if(w.nonblocking, "call MPI_Waitany for all of these messages instead of {w.operation}, and go on with the one that is there",
              "receive in the order of sending: post all receives with MPI_Irecv ahead of {w.operation} and take them as they come
            (MPI_Waitany)"),
  duration = w.as_they_come * max(1, w.waiting_ranks_count), saving = w.as_they_come );

# The late rank was itself held up by others for most of the wait: each rank starts when the one before it has ended.
# Where one rank has more to do than the others (uneven_work), or all of it, that is the cause. If all wait for one another in a circle, the run
# does not show whether a rank needs all of what it waits for, as with a token, or could begin with a part. Visits on the critical path that
# take longer than others are uneven work: in a pipeline there are more of them.
declare composite event pipeline member ( wait as w )
  when w.pattern = 'late_sender' and w.indirect > 50 % * w.duration and w.late_ranks_count > 1 and w.blocks_count > 0
       and w.in_turn >= 30 % and w.lead != 'alone' and w.longer_share < 50 %
  parameters ( circle = w.in_turn >= 95 % or w.late_others = 'one another' );
declare problem for pipeline parameters (
  name = "serialised_pipeline",
  instead_of = "work_in_turn, slow_block",
  root = "{w.top} {w.top_place}",
  description = "{percent(w.indirect / w.duration)} of this wait was handed on: {w.late_ranks} had waited in the same way before
                 they could call {w.cause}.",
  verdict = if(circle and min(w.indirect, w.avoidable) < w.noise, "",
               "{w.waiting_ranks} waited in {w.operation} for {w.late_others}, which had waited in the same way: "
               + if(circle, "if a rank can begin with a part of what it waits for, which is not known, ", "")
               + "handing on smaller pieces of {w.blocks}"),
  advice = if(circle, "make {w.blocks} shorter; if a rank can begin with a part of what it waits for (not if it is a token), ", "") + "cut {w.blocks} into smaller pieces and call {w.cause} after each, so that {w.waiting_ranks} can begin while
            {w.late_ranks} still work",
  duration = w.duration, saving = min(w.indirect, w.avoidable) );

declare problem for traffic
  when calls >= 1000 * ranks and mean_bytes < 1 KiB and batched < 50 % * calls
  parameters (
  name = "small_messages",
  description = "{plural(calls, 'message', 'messages')} of {mean_bytes} on average leave {site}: each costs its latency, not its size.",
  verdict = "{site} sends {plural(calls, 'message', 'messages')} of {mean_bytes} on average: sending them together"
            + if(after_data >= 50 % * calls, ", if they do not need what is received in between,", ""),
  advice = "collect what {site} sends ({mean_bytes} each, {duration / calls} a call) and send it together"
           + if(after_data >= 50 % * calls, ", if it does not need what is received in between", "") + ", or send it less often",
  duration = duration, saving = duration / max(1, ranks) * (1 - mean_bytes / 1 KiB) );

declare problem for traffic
  when calls >= 100 * ranks and batched >= 50 % * calls and messages_per_batch >= 2 and mean_bytes < 64 KiB
  parameters (
  name = "aggregate_messages",
  description = "{percent(batched / calls)} of the messages of {site} follow another one to the same rank at once.",
  verdict = "{percent(batched / calls)} of the messages of {site} follow another one to the same rank: sending "
            + if(messages_per_batch > 20, "20 of them", "{messages_per_batch}") + " as one",
  advice = "put " + if(messages_per_batch > 20, "20 at a time of ", "") + "the {messages_per_batch} messages that {site} sends to one
            rank in a row into one (MPI_Pack, or a datatype over all of it)",
  # More than 20 in one save hardly more, and delay a receiver that can begin with the first of them.
  # Receiving and completing small messages took up to seven times as long as sending them; more of the transfer is not theirs.
  duration = min(max(batched_duration, batched_transfer * max(1, ranks)), 8 * batched_duration),
  saving = min(max(batched_duration, batched_transfer * max(1, ranks)), 8 * batched_duration) / max(1, ranks) * (1 - 1 / min(20, messages_per_batch)) );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
