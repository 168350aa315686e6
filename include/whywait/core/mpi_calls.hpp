#ifndef WHYWAIT_CORE_MPI_CALLS_HPP
#define WHYWAIT_CORE_MPI_CALLS_HPP

#include <stddef.h>
#include <stdint.h>

// The one table of MPI calls: name and role. Both storeys use it: the wrappers record the number, the
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

// Calls that can block or communicate and that the explanation does not model. Each is recorded with the role `unexplained`:
// its time is known, what it waited for is not. A call that neither of the tables has synchronises no rank.
#define WHYWAIT_MPI_FORMS(X, name, nonblocking) X(name##_c) X(nonblocking) X(nonblocking##_c) X(name##_init) X(name##_init_c)
#define WHYWAIT_MPI_BOTH(X, name) X(name) X(name##_c)
#define WHYWAIT_MPI_UNEXPLAINED_CALLS(X)                                                                 \
  X(Ibarrier) X(Barrier_init)                                                                            \
  WHYWAIT_MPI_FORMS(X, Bcast, Ibcast)                                                                    \
  WHYWAIT_MPI_FORMS(X, Gather, Igather) WHYWAIT_MPI_FORMS(X, Gatherv, Igatherv)                          \
  WHYWAIT_MPI_FORMS(X, Scatter, Iscatter) WHYWAIT_MPI_FORMS(X, Scatterv, Iscatterv)                      \
  WHYWAIT_MPI_FORMS(X, Allgather, Iallgather) WHYWAIT_MPI_FORMS(X, Allgatherv, Iallgatherv)              \
  WHYWAIT_MPI_FORMS(X, Alltoall, Ialltoall) WHYWAIT_MPI_FORMS(X, Alltoallv, Ialltoallv)                  \
  WHYWAIT_MPI_FORMS(X, Alltoallw, Ialltoallw)                                                            \
  WHYWAIT_MPI_FORMS(X, Reduce, Ireduce) WHYWAIT_MPI_FORMS(X, Allreduce, Iallreduce)                      \
  WHYWAIT_MPI_FORMS(X, Reduce_scatter, Ireduce_scatter)                                                  \
  WHYWAIT_MPI_FORMS(X, Reduce_scatter_block, Ireduce_scatter_block)                                      \
  WHYWAIT_MPI_FORMS(X, Scan, Iscan) WHYWAIT_MPI_FORMS(X, Exscan, Iexscan)                                \
  X(Neighbor_allgather) WHYWAIT_MPI_FORMS(X, Neighbor_allgather, Ineighbor_allgather)                    \
  X(Neighbor_allgatherv) WHYWAIT_MPI_FORMS(X, Neighbor_allgatherv, Ineighbor_allgatherv)                 \
  X(Neighbor_alltoall) WHYWAIT_MPI_FORMS(X, Neighbor_alltoall, Ineighbor_alltoall)                       \
  X(Neighbor_alltoallv) WHYWAIT_MPI_FORMS(X, Neighbor_alltoallv, Ineighbor_alltoallv)                    \
  X(Neighbor_alltoallw) WHYWAIT_MPI_FORMS(X, Neighbor_alltoallw, Ineighbor_alltoallw)                    \
  X(Send_c) X(Bsend_c) X(Ssend_c) X(Rsend_c) X(Recv_c) X(Mrecv_c) X(Sendrecv_c) X(Sendrecv_replace_c)    \
  X(Isend_c) X(Ibsend_c) X(Issend_c) X(Irsend_c) X(Irecv_c) X(Imrecv_c)                                  \
  X(Send_init_c) X(Bsend_init_c) X(Ssend_init_c) X(Rsend_init_c) X(Recv_init_c)                          \
  WHYWAIT_MPI_BOTH(X, Isendrecv) WHYWAIT_MPI_BOTH(X, Isendrecv_replace) WHYWAIT_MPI_BOTH(X, Buffer_detach) \
  X(Psend_init) X(Precv_init) X(Pready) X(Pready_range) X(Pready_list) X(Parrived)                       \
  WHYWAIT_MPI_BOTH(X, Put) WHYWAIT_MPI_BOTH(X, Get) WHYWAIT_MPI_BOTH(X, Accumulate)                      \
  WHYWAIT_MPI_BOTH(X, Get_accumulate) WHYWAIT_MPI_BOTH(X, Rput) WHYWAIT_MPI_BOTH(X, Rget)                \
  WHYWAIT_MPI_BOTH(X, Raccumulate) WHYWAIT_MPI_BOTH(X, Rget_accumulate)                                  \
  X(Fetch_and_op) X(Compare_and_swap)                                                                    \
  X(Win_fence) X(Win_start) X(Win_complete) X(Win_post) X(Win_wait) X(Win_test)                          \
  X(Win_lock) X(Win_unlock) X(Win_lock_all) X(Win_unlock_all) X(Win_sync)                                \
  X(Win_flush) X(Win_flush_all) X(Win_flush_local) X(Win_flush_local_all)                                \
  WHYWAIT_MPI_BOTH(X, Win_create) WHYWAIT_MPI_BOTH(X, Win_allocate) X(Win_allocate_shared_c)             \
  X(Win_create_dynamic) X(Win_set_info)                                                                  \
  X(Comm_idup_with_info) X(Comm_create_from_group) X(Intercomm_create_from_groups) X(Comm_set_info)      \
  X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_accept) X(Comm_connect) X(Comm_join)                       \
  X(Open_port) X(Close_port) X(Publish_name) X(Unpublish_name) X(Lookup_name)                            \
  X(Session_init) X(Session_finalize)                                                                    \
  X(File_open) X(File_close) X(File_delete) X(File_preallocate) X(File_set_size) X(File_set_view)        \
  X(File_set_info) X(File_set_atomicity) X(File_sync) X(File_seek) X(File_seek_shared)                   \
  X(File_get_size) X(File_get_position_shared)                                                           \
  WHYWAIT_MPI_BOTH(X, File_read) WHYWAIT_MPI_BOTH(X, File_read_all)                                      \
  WHYWAIT_MPI_BOTH(X, File_read_at) WHYWAIT_MPI_BOTH(X, File_read_at_all)                                \
  WHYWAIT_MPI_BOTH(X, File_read_shared) WHYWAIT_MPI_BOTH(X, File_read_ordered)                           \
  WHYWAIT_MPI_BOTH(X, File_read_all_begin) X(File_read_all_end)                                          \
  WHYWAIT_MPI_BOTH(X, File_read_at_all_begin) X(File_read_at_all_end)                                    \
  WHYWAIT_MPI_BOTH(X, File_read_ordered_begin) X(File_read_ordered_end)                                  \
  WHYWAIT_MPI_BOTH(X, File_write) WHYWAIT_MPI_BOTH(X, File_write_all)                                    \
  WHYWAIT_MPI_BOTH(X, File_write_at) WHYWAIT_MPI_BOTH(X, File_write_at_all)                              \
  WHYWAIT_MPI_BOTH(X, File_write_shared) WHYWAIT_MPI_BOTH(X, File_write_ordered)                         \
  WHYWAIT_MPI_BOTH(X, File_write_all_begin) X(File_write_all_end)                                        \
  WHYWAIT_MPI_BOTH(X, File_write_at_all_begin) X(File_write_at_all_end)                                  \
  WHYWAIT_MPI_BOTH(X, File_write_ordered_begin) X(File_write_ordered_end)                                \
  WHYWAIT_MPI_BOTH(X, File_iread) WHYWAIT_MPI_BOTH(X, File_iread_all)                                    \
  WHYWAIT_MPI_BOTH(X, File_iread_at) WHYWAIT_MPI_BOTH(X, File_iread_at_all)                              \
  WHYWAIT_MPI_BOTH(X, File_iread_shared)                                                                 \
  WHYWAIT_MPI_BOTH(X, File_iwrite) WHYWAIT_MPI_BOTH(X, File_iwrite_all)                                  \
  WHYWAIT_MPI_BOTH(X, File_iwrite_at) WHYWAIT_MPI_BOTH(X, File_iwrite_at_all)                            \
  WHYWAIT_MPI_BOTH(X, File_iwrite_shared)
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
  release,       ///< frees a communicator
  unexplained    ///< may wait, but the explanation does not model for what: count and time only
};

/// One number per MPI function of the table; `none` for records that no MPI call made.
enum class mpi_call : uint16_t {
  none,
#define WHYWAIT_ROW(name, role) name,
  WHYWAIT_MPI_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
      modelled_,                 ///< calls below it have a model, those above are `unexplained`
  before_unexplained_ = modelled_ - 1,
#define WHYWAIT_ROW(name) name,
  WHYWAIT_MPI_UNEXPLAINED_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
      count_
};

/// The number of calls that the explanation models, with `none`.
enum : size_t { modelled_calls = static_cast<size_t>(mpi_call::modelled_) };

/// "MPI_Send". Static storage. For an unknown number "MPI_?".
inline const char* name_of(mpi_call call) noexcept {
  static constexpr const char* names[] = {"(none)",
#define WHYWAIT_ROW(name, role) "MPI_" #name,
                                          WHYWAIT_MPI_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
#define WHYWAIT_ROW(name) "MPI_" #name,
                                              WHYWAIT_MPI_UNEXPLAINED_CALLS(WHYWAIT_ROW)
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
  return call < mpi_call::modelled_ ? roles[static_cast<size_t>(call)]
         : call < mpi_call::count_  ? call_role::unexplained
                                    : call_role::local;
}

// Questions about roles that several rooms ask. Each is answered here only.

/// Whether the call is one of data or a barrier, which all members of a communicator make: no communicator is created or freed.
inline bool is_data_collective(call_role role) noexcept { return role >= call_role::barrier && role <= call_role::scan; }

/// Whether all members of a communicator make the call.
inline bool is_collective(mpi_call call) noexcept {
  const call_role role = role_of(call);
  return (role >= call_role::barrier && role <= call_role::release) || role == call_role::finalise;
}

/// Whether all members of a communicator make the call in the same order and may wait for one another in it. MPI_Comm_free
/// may return at once, and MPI_Init synchronises before recording begins.
inline bool is_ordered_collective(mpi_call call) noexcept { return is_collective(call) && call != mpi_call::Comm_free; }

/// Whether the call sends messages, or starts to.
inline bool sends_messages(call_role role) noexcept {
  return role == call_role::send || role == call_role::post_send || role == call_role::exchange || role == call_role::start;
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#undef WHYWAIT_MPI_CALLS
#undef WHYWAIT_MPI_UNEXPLAINED_CALLS
#undef WHYWAIT_MPI_FORMS
#undef WHYWAIT_MPI_BOTH

#endif
