#ifndef WHYWAIT_CORE_MPI_CALLS_HPP
#define WHYWAIT_CORE_MPI_CALLS_HPP

#include <stddef.h>
#include <stdint.h>

// The one table of MPI calls: name and role. Both storeys speak it: the wrappers record the number, the
// explanation reads the role, the report prints the name. `posts` and `completes` refer to messages:
// a blocking send posts and completes in the same call.
// clang-format off
#define WHYWAIT_MPI_CALLS(X)                                                                             \
  X(Init, initialise) X(Init_thread, initialise) X(Finalize, finalise)                                   \
  X(Send, send) X(Bsend, send) X(Ssend, send) X(Rsend, send)                                             \
  X(Recv, receive) X(Mrecv, receive)                                                                     \
  X(Sendrecv, exchange) X(Sendrecv_replace, exchange)                                                    \
  X(Probe, probe) X(Mprobe, probe) X(Iprobe, test_probe) X(Improbe, test_probe)                          \
  X(Isend, post_send) X(Ibsend, post_send) X(Issend, post_send) X(Irsend, post_send)                     \
  X(Irecv, post_receive) X(Imrecv, post_receive)                                                         \
  X(Send_init, prepare) X(Bsend_init, prepare) X(Ssend_init, prepare) X(Rsend_init, prepare)             \
  X(Recv_init, prepare) X(Start, start) X(Startall, start)                                               \
  X(Wait, complete_all) X(Waitall, complete_all) X(Waitany, complete_any) X(Waitsome, complete_any)      \
  X(Test, test) X(Testall, test) X(Testany, test) X(Testsome, test) X(Request_get_status, test)          \
  X(Cancel, local) X(Request_free, local)                                                                \
  X(Barrier, barrier)                                                                                    \
  X(Bcast, one_to_all) X(Scatter, one_to_all) X(Scatterv, one_to_all)                                    \
  X(Reduce, all_to_one) X(Gather, all_to_one) X(Gatherv, all_to_one)                                     \
  X(Allreduce, all_to_all) X(Allgather, all_to_all) X(Allgatherv, all_to_all)                            \
  X(Alltoall, all_to_all) X(Alltoallv, all_to_all) X(Alltoallw, all_to_all)                              \
  X(Reduce_scatter, all_to_all) X(Reduce_scatter_block, all_to_all)                                      \
  X(Scan, scan) X(Exscan, scan)                                                                          \
  X(Comm_dup, create) X(Comm_dup_with_info, create) X(Comm_idup, create) X(Comm_create, create)          \
  X(Comm_create_group, create) X(Comm_split, create) X(Comm_split_type, create)                          \
  X(Intercomm_create, create) X(Intercomm_merge, create) X(Cart_create, create) X(Cart_sub, create)      \
  X(Graph_create, create) X(Dist_graph_create, create) X(Dist_graph_create_adjacent, create)             \
  X(Comm_free, release) X(Comm_disconnect, release) X(Abort, local)                                      \
  X(Win_allocate_shared, create) X(Win_free, local)
// clang-format on

namespace whywait {
inline namespace v0 {
namespace core {

/// What a call does to the order of events; the wait states of the explanation depend on nothing else.
enum class call_role : uint8_t {
  local,         ///< synchronises no ranks
  initialise,    ///< MPI_Init*: completion only, never a wait
  finalise,      ///< MPI_Finalize: waits for all
  send,          ///< posts and completes a send
  receive,       ///< posts and completes a receive
  exchange,      ///< completes a send and a receive posted by the same call (two further records)
  probe,         ///< waits for a message without receiving it
  test_probe,    ///< checks for a message
  post_send,     ///< posts a send
  post_receive,  ///< posts a receive
  prepare,       ///< makes a persistent request
  start,         ///< posts what a persistent request describes
  complete_all,  ///< waits until all given requests are complete
  complete_any,  ///< waits until one of the given requests is complete
  test,          ///< checks whether requests are complete
  barrier,       ///< all wait for all
  one_to_all,    ///< non-roots wait for the root
  all_to_one,    ///< the root waits for all
  all_to_all,    ///< all wait for all whose data they need
  scan,          ///< rank i waits for all j < i (Exscan the same)
  create,        ///< makes a communicator: collective
  release        ///< frees a communicator
};

/// One number per MPI function of the table; `none` for records that no MPI call made.
enum class mpi_call : uint16_t {
  none,
#define WHYWAIT_ROW(name, role) name,
  WHYWAIT_MPI_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
      count_
};

/// "MPI_Send". Static storage. For an unknown number "MPI_?".
inline const char* name_of(mpi_call call) noexcept {
  static constexpr const char* names[] = {"(none)",
#define WHYWAIT_ROW(name, role) "MPI_" #name,
                                          WHYWAIT_MPI_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
  };
  return call < mpi_call::count_ ? names[static_cast<size_t>(call)] : "MPI_?";
}

/// The role of a call; `local` for an unknown number.
inline call_role role_of(mpi_call call) noexcept {
  static constexpr call_role roles[] = {call_role::local,
#define WHYWAIT_ROW(name, role) call_role::role,
                                        WHYWAIT_MPI_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
  };
  return call < mpi_call::count_ ? roles[static_cast<size_t>(call)] : call_role::local;
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#undef WHYWAIT_MPI_CALLS

#endif
