#ifndef WHYWAIT_RULES_PROBLEMS_EVENT_DECLARATIONS_HPP
#define WHYWAIT_RULES_PROBLEMS_EVENT_DECLARATIONS_HPP

namespace whywait {
inline namespace v0 {
namespace rules {
namespace problems {

/// The basic events of the rules: sends, receives and arrivals at collective operations.
inline const char* events() noexcept {
  return R"rules(
# What calls become: one event for all calls with equal parameters, which stands for `count` calls. Duration, count,
# process and place come with each. The two halves of MPI_Sendrecv count as MPI_Send and MPI_Recv, what MPI_Start starts
# as MPI_Isend or MPI_Irecv, and calls with large counts (MPI_Send_c) as those with usual ones.
declare simple event send
  function MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend, MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend
  parameters ( destination = in destination, tag = in tag, communicator = in communicator, bytes = in bytes );

# The size of a message is that of its send; a receive knows its buffer.
declare simple event receive
  function MPI_Recv, MPI_Mrecv, MPI_Irecv, MPI_Imrecv
  parameters ( source = out source, tag = out tag, communicator = in communicator, buffer_bytes = in bytes );

# `bytes` is what the rank contributes: of a broadcast only the root contributes any.
declare simple event arrival
  function MPI_Barrier, MPI_Bcast, MPI_Scatter, MPI_Scatterv, MPI_Reduce, MPI_Gather, MPI_Gatherv, MPI_Allreduce,
           MPI_Allgather, MPI_Allgatherv, MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw, MPI_Reduce_scatter,
           MPI_Reduce_scatter_block, MPI_Scan, MPI_Exscan
  parameters ( communicator = in communicator, is_root = in rank = root, bytes = in bytes );
)rules";
}

}  // namespace problems
}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
