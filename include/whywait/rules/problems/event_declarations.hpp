#ifndef WHYWAIT_RULES_PROBLEMS_EVENT_DECLARATIONS_HPP
#define WHYWAIT_RULES_PROBLEMS_EVENT_DECLARATIONS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// The basic events of the rules: messages and collective operations.
inline const char* events() noexcept {
  return R"rules(
# Simple events: what calls become. Times, duration, process and place come with each by themselves. The two halves of
# MPI_Sendrecv count as MPI_Send and MPI_Recv, what MPI_Start starts as MPI_Isend or MPI_Irecv.
declare simple event send
  function MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend, MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend
  parameters ( destination = in destination, tag = in tag, communicator = in communicator, ordinal = in ordinal,
               bytes = in bytes, wait_start_time = out wait_start_time, end_time = out end_time );

declare simple event receive
  function MPI_Recv, MPI_Mrecv, MPI_Irecv, MPI_Imrecv
  parameters ( source = out source, tag = out tag, communicator = in communicator, ordinal = in ordinal,
               wait_start_time = out wait_start_time, end_time = out end_time );

declare simple event arrival
  function MPI_Barrier, MPI_Bcast, MPI_Scatter, MPI_Scatterv, MPI_Reduce, MPI_Gather, MPI_Gatherv, MPI_Allreduce,
           MPI_Allgather, MPI_Allgatherv, MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw, MPI_Reduce_scatter,
           MPI_Reduce_scatter_block, MPI_Scan, MPI_Exscan
  parameters ( communicator = in communicator, instance = in instance, is_root = in rank = root, bytes = in bytes,
               end_time = out end_time );

# A message: the k-th send of a channel and the k-th receive posted for it.
declare composite event point_to_point
  member ( send as s, receive as r )
  when s.communicator = r.communicator and s.rank = r.source and s.destination = r.rank and s.tag = r.tag
       and s.ordinal = r.ordinal and s.destination >= 0 and r.source >= 0
  parameters ( send_start_time = s.start_time, send_wait_start_time = s.wait_start_time, send_end_time = s.end_time,
               recv_start_time = r.start_time, recv_wait_start_time = r.wait_start_time, recv_end_time = r.end_time,
               bytes = s.bytes );

# A collective operation: all its arrivals.
declare composite event collective
  member ( all arrival as a )
  by ( a.communicator, a.instance )
  parameters ( communicator = a.communicator, instance = a.instance, ranks = count(), first_arrival = least(a.start_time),
               last_arrival = most(a.start_time), first_end = least(a.end_time), last_end = most(a.end_time) );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
