#ifndef WHYWAIT_CORE_MPI_CALLS_HPP
#define WHYWAIT_CORE_MPI_CALLS_HPP

#include <whywait/core/thread_calls.hpp>

#include <stddef.h>
#include <stdint.h>

// The one table of MPI calls: name and role. Both storeys use it: the wrappers record the number, the
// explanation reads the role, the report prints the name. `posts` and `completes` refer to messages:
// a blocking send posts and completes in the same call. B: a call with two forms, of which the second has large counts
// (MPI_Send_c) and follows the first.
// clang-format off
#define WHYWAIT_MPI_CALLS(X, B)                                                                          \
  X(Init, initialise) X(Init_thread, initialise) X(Finalize, finalise) X(Session_finalize, finalise)     \
  B(Send, send) B(Bsend, post_send) B(Ssend, send) B(Rsend, send) B(Buffer_detach, complete_all)         \
  B(Recv, receive) B(Mrecv, receive)                                                                     \
  B(Sendrecv, exchange) B(Sendrecv_replace, exchange)                                                    \
  X(Probe, probe) X(Mprobe, probe) X(Iprobe, test_probe) X(Improbe, test_probe)                          \
  B(Isend, post_send) B(Ibsend, post_send) B(Issend, post_send) B(Irsend, post_send)                     \
  B(Irecv, post_receive) B(Imrecv, post_receive)                                                         \
  B(Send_init, prepare) B(Bsend_init, prepare) B(Ssend_init, prepare) B(Rsend_init, prepare)             \
  B(Recv_init, prepare) X(Start, start) X(Startall, start)                                               \
  B(Isendrecv, start) B(Isendrecv_replace, start)                                                        \
  X(Psend_init, prepare) X(Precv_init, prepare)                                                          \
  X(Pready, post_send) X(Pready_range, post_send) X(Pready_list, post_send) X(Parrived, test)            \
  X(Wait, complete_all) X(Waitall, complete_all) X(Waitany, complete_any) X(Waitsome, complete_any)      \
  X(Test, test) X(Testall, test) X(Testany, test) X(Testsome, test) X(Request_get_status, test)          \
  X(Cancel, local) X(Request_free, local) X(Grequest_start, local)                                       \
  X(Barrier, barrier)                                                                                    \
  B(Bcast, one_to_all) B(Scatter, one_to_all) B(Scatterv, one_to_all)                                    \
  B(Reduce, all_to_one) B(Gather, all_to_one) B(Gatherv, all_to_one)                                     \
  B(Allreduce, all_to_all) B(Allgather, all_to_all) B(Allgatherv, all_to_all)                            \
  B(Alltoall, all_to_all) B(Alltoallv, all_to_all) B(Alltoallw, all_to_all)                              \
  B(Reduce_scatter, all_to_all) B(Reduce_scatter_block, all_to_all)                                      \
  B(Scan, scan) B(Exscan, scan)                                                                          \
  X(Comm_dup, create) X(Comm_dup_with_info, create) X(Comm_create, create) X(Comm_create_group, create)  \
  X(Comm_create_from_group, create) X(Intercomm_create_from_groups, create)                              \
  X(Comm_split, create) X(Comm_split_type, create)                                                       \
  X(Intercomm_create, create) X(Intercomm_merge, create) X(Cart_create, create) X(Cart_sub, create)      \
  X(Graph_create, create) X(Dist_graph_create, create) X(Dist_graph_create_adjacent, create)             \
  X(Comm_set_info, agree) X(Win_set_info, agree) X(Win_sync, test)                                       \
  X(Comm_free, release) X(Comm_disconnect, release) X(Abort, local) X(Pcontrol, local)                   \
  B(Win_create, create) B(Win_allocate, create)                                                          \
  B(Win_allocate_shared, create) X(Win_create_dynamic, create) X(Win_free, release) X(Win_fence, fence)  \
  X(Win_post, epoch) X(Win_start, epoch) X(Win_complete, epoch) X(Win_wait, epoch) X(Win_test, test)     \
  X(Win_lock, lock) X(Win_lock_all, lock) X(Win_unlock, lock) X(Win_unlock_all, lock)                    \
  X(Win_flush, lock) X(Win_flush_all, lock) X(Win_flush_local, lock) X(Win_flush_local_all, lock)        \
  B(Put, transfer) B(Get, transfer) B(Accumulate, transfer) B(Get_accumulate, transfer)                  \
  B(Rput, transfer) B(Rget, transfer) B(Raccumulate, transfer) B(Rget_accumulate, transfer)              \
  X(Fetch_and_op, transfer) X(Compare_and_swap, transfer)                                                \
  B(Neighbor_allgather, all_to_all) B(Neighbor_allgatherv, all_to_all)                                   \
  B(Neighbor_alltoall, all_to_all) B(Neighbor_alltoallv, all_to_all) B(Neighbor_alltoallw, all_to_all)

// Collectives that a later call completes, with the role of their blocking form.
#define WHYWAIT_MPI_INITIATIONS(X, B)                                                                       \
  X(Comm_idup, create) X(Comm_idup_with_info, create) X(Ibarrier, barrier)                               \
  B(Ibcast, one_to_all) B(Iscatter, one_to_all) B(Iscatterv, one_to_all)                                 \
  B(Ireduce, all_to_one) B(Igather, all_to_one) B(Igatherv, all_to_one)                                  \
  B(Iallreduce, all_to_all) B(Iallgather, all_to_all) B(Iallgatherv, all_to_all)                         \
  B(Ialltoall, all_to_all) B(Ialltoallv, all_to_all) B(Ialltoallw, all_to_all)                           \
  B(Ireduce_scatter, all_to_all) B(Ireduce_scatter_block, all_to_all)                                    \
  B(Iscan, scan) B(Iexscan, scan)                                                                        \
  B(Ineighbor_allgather, all_to_all) B(Ineighbor_allgatherv, all_to_all)                                 \
  B(Ineighbor_alltoall, all_to_all) B(Ineighbor_alltoallv, all_to_all) B(Ineighbor_alltoallw, all_to_all) \
  B(File_iread_all, file_all) B(File_iread_at_all, file_all)                                             \
  B(File_iwrite_all, file_all) B(File_iwrite_at_all, file_all)

// The same for those that MPI_Start initiates: its record has the number of the call that made the request.
#define WHYWAIT_MPI_PERSISTENT_INITIATIONS(X, B)                                                            \
  X(Barrier_init, barrier)                                                                               \
  B(Bcast_init, one_to_all) B(Scatter_init, one_to_all) B(Scatterv_init, one_to_all)                     \
  B(Reduce_init, all_to_one) B(Gather_init, all_to_one) B(Gatherv_init, all_to_one)                      \
  B(Allreduce_init, all_to_all) B(Allgather_init, all_to_all) B(Allgatherv_init, all_to_all)             \
  B(Alltoall_init, all_to_all) B(Alltoallv_init, all_to_all) B(Alltoallw_init, all_to_all)               \
  B(Reduce_scatter_init, all_to_all) B(Reduce_scatter_block_init, all_to_all)                            \
  B(Scan_init, scan) B(Exscan_init, scan)                                                                \
  B(Neighbor_allgather_init, all_to_all) B(Neighbor_allgatherv_init, all_to_all)                         \
  B(Neighbor_alltoall_init, all_to_all) B(Neighbor_alltoallv_init, all_to_all)                           \
  B(Neighbor_alltoallw_init, all_to_all)

// Calls on files: what they take beyond waits for other ranks is input and output.
#define WHYWAIT_MPI_FILE_CALLS(X, B)                                                                     \
  X(File_open, file_all) X(File_close, file_all) X(File_delete, file) X(File_preallocate, file_all)      \
  X(File_set_size, file_all) X(File_set_view, file_all) X(File_set_info, file_all)                       \
  X(File_set_atomicity, file_all) X(File_sync, file_all) X(File_seek, file) X(File_seek_shared, file_all) \
  X(File_get_size, file) X(File_get_position_shared, file)                                               \
  B(File_read, file) B(File_read_at, file) B(File_read_shared, file)                                     \
  B(File_read_all, file_all) B(File_read_at_all, file_all) B(File_read_ordered, file_in_turn)            \
  B(File_read_all_begin, file_all) X(File_read_all_end, file_all)                                        \
  B(File_read_at_all_begin, file_all) X(File_read_at_all_end, file_all)                                  \
  B(File_read_ordered_begin, file_in_turn) X(File_read_ordered_end, file_all)                            \
  B(File_write, file) B(File_write_at, file) B(File_write_shared, file)                                  \
  B(File_write_all, file_all) B(File_write_at_all, file_all) B(File_write_ordered, file_in_turn)         \
  B(File_write_all_begin, file_all) X(File_write_all_end, file_all)                                      \
  B(File_write_at_all_begin, file_all) X(File_write_at_all_end, file_all)                                \
  B(File_write_ordered_begin, file_in_turn) X(File_write_ordered_end, file_all)                          \
  B(File_iread, file) B(File_iread_at, file) B(File_iread_shared, file)                                  \
  B(File_iwrite, file) B(File_iwrite_at, file) B(File_iwrite_shared, file)

// Calls that meet or wait for processes outside of MPI_COMM_WORLD, whose records whywait does not have.
#define WHYWAIT_MPI_WORLD_CALLS(X)                                                                       \
  X(Comm_spawn, connect) X(Comm_spawn_multiple, connect) X(Comm_accept, connect) X(Comm_connect, connect) \
  X(Comm_join, other_world) X(Open_port, other_world) X(Close_port, other_world)                         \
  X(Publish_name, other_world) X(Unpublish_name, other_world) X(Lookup_name, other_world)

// Calls that can block or communicate and that the explanation does not model. Each is recorded with the role `unexplained`:
// its time is known, what it waited for is not. A call that no table has synchronises no rank.
#define WHYWAIT_MPI_UNEXPLAINED_CALLS(X) X(Session_init)
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
  start,         ///< posts what a persistent request describes, or a send and a receive of one request
  complete_all,  ///< waits until all given requests are complete
  complete_any,  ///< waits until one of the given requests is complete
  test,          ///< checks whether requests are complete
  barrier,       ///< all wait for all
  one_to_all,    ///< non-roots wait for the root
  all_to_one,    ///< the root waits for all
  all_to_all,    ///< all wait for all whose data they need
  scan,          ///< rank i waits for all j < i (Exscan the same)
  fence,         ///< separates the epochs of a window: all wait for all
  create,        ///< makes a communicator or a window: collective
  release,       ///< frees a communicator or a window
  agree,         ///< sets something for all members of a communicator or window: may wait for all
  connect,       ///< of all members of a communicator: meets another world
  file_all,      ///< of all that opened a file: they may wait for all, then input and output
  file_in_turn,  ///< the same, in the order of the ranks: rank i may wait for all j < i
  initiate,      ///< starts a collective that a later call completes
  epoch,         ///< begins or ends access or exposure by a group; leaves a posting for each member (epoch_tag)
  lock,          ///< begins, ends or completes access to a window without the target: MPI_Win_lock to MPI_Win_flush*
  transfer,      ///< moves data of a window: MPI_Put and relatives
  file,          ///< reads, writes or asks for a file without other ranks; or begins to, with a request
  other_world,   ///< waits for processes of another world, or for a name server
  unexplained,   ///< may wait, but the explanation does not model for what: count and time only
  thread_wait,   ///< waits for another thread of the process (thread_calls.hpp)
  thread_event   ///< may end such a wait
};

/// One number per MPI function of the table, and behind `count_` one per thread primitive; `none` for records that no call made.
enum class mpi_call : uint16_t {
  none,
#define WHYWAIT_ROW(name, role) name,
#define WHYWAIT_ROWS(name, role) name, name##_c,
  WHYWAIT_MPI_CALLS(WHYWAIT_ROW, WHYWAIT_ROWS) initiations_,  ///< from here on calls initiate
  before_initiations_ = initiations_ - 1,
  WHYWAIT_MPI_INITIATIONS(WHYWAIT_ROW, WHYWAIT_ROWS) persistent_,  ///< and from here on MPI_Start does
  before_persistent_ = persistent_ - 1,
  WHYWAIT_MPI_PERSISTENT_INITIATIONS(WHYWAIT_ROW, WHYWAIT_ROWS)
#undef WHYWAIT_ROWS
#undef WHYWAIT_ROW
      modelled_,  ///< calls below it have a model of how long they take
  before_files_ = modelled_ - 1,
#define WHYWAIT_ROW(name, role) name,
#define WHYWAIT_ROWS(name, role) name, name##_c,
  WHYWAIT_MPI_FILE_CALLS(WHYWAIT_ROW, WHYWAIT_ROWS) WHYWAIT_MPI_WORLD_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROWS
#undef WHYWAIT_ROW
      unexplained_,  ///< from here on calls are `unexplained`
  before_unexplained_ = unexplained_ - 1,
#define WHYWAIT_ROW(name) name,
  WHYWAIT_MPI_UNEXPLAINED_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
      count_,  ///< calls of MPI are below it
  before_threads_ = 0x3ff,  ///< thread primitives begin at a number of their own, so that records keep their meaning
#define WHYWAIT_ROW(id, text, op, object) id,
  WHYWAIT_THREAD_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
      thread_count_
};

static_assert(mpi_call::count_ < mpi_call::before_threads_, "calls of MPI and thread primitives have different numbers");

/// Whether a call is a thread primitive.
constexpr bool is_of_threads(mpi_call call) noexcept {
  return call > mpi_call::before_threads_ && call < mpi_call::thread_count_;
}

/// What a thread primitive does, and to which kind of object.
struct thread_action {
  const char* name;
  thread_op op;
  thread_object object;

  constexpr bool waits() const noexcept {
    return op == thread_op::take || op == thread_op::take_shared || op == thread_op::await || op == thread_op::await_notify ||
           op == thread_op::meet || op == thread_op::begin;
  }
};
/// For calls of threads only.
inline const thread_action& action_of(mpi_call call) noexcept {
  static constexpr thread_action actions[] = {
#define WHYWAIT_ROW(id, text, op, object) {text, thread_op::op, thread_object::object},
      WHYWAIT_THREAD_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
  };
  return actions[static_cast<size_t>(call) - static_cast<size_t>(mpi_call::before_threads_) - 1];
}
/// Whether a call takes a read-write lock.
constexpr bool is_read_write_lock(mpi_call call) noexcept {
  return call == mpi_call::shared_mutex_lock || call == mpi_call::shared_mutex_lock_shared ||
         call == mpi_call::pthread_rwlock_wrlock || call == mpi_call::pthread_rwlock_rdlock;
}
/// The number of a call that a reader of a damaged file may trust.
inline bool is_known(mpi_call call) noexcept { return call < mpi_call::count_ || is_of_threads(call); }

/// The number of calls below `mpi_call::modelled_`, with `none`.
enum : size_t { modelled_calls = static_cast<size_t>(mpi_call::modelled_) };

/// "MPI_Send", "mutex::lock". Static storage. For an unknown number "MPI_?".
inline const char* name_of(mpi_call call) noexcept {
  static constexpr const char* names[] = {
      "(none)",
#define WHYWAIT_ROW(name, role) "MPI_" #name,
#define WHYWAIT_ROWS(name, role) "MPI_" #name, "MPI_" #name "_c",
      WHYWAIT_MPI_CALLS(WHYWAIT_ROW, WHYWAIT_ROWS) WHYWAIT_MPI_INITIATIONS(WHYWAIT_ROW, WHYWAIT_ROWS)
          WHYWAIT_MPI_PERSISTENT_INITIATIONS(WHYWAIT_ROW, WHYWAIT_ROWS) WHYWAIT_MPI_FILE_CALLS(WHYWAIT_ROW, WHYWAIT_ROWS)
              WHYWAIT_MPI_WORLD_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROWS
#undef WHYWAIT_ROW
#define WHYWAIT_ROW(name) "MPI_" #name,
                  WHYWAIT_MPI_UNEXPLAINED_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROW
  };
  if (is_of_threads(call)) return action_of(call).name;
  return call < mpi_call::count_ ? names[static_cast<size_t>(call)] : "MPI_?";
}

namespace detail {

// By number of the call.
inline constexpr call_role meeting_roles[] = {
    call_role::local,
#define WHYWAIT_ROW(name, role) call_role::role,
#define WHYWAIT_ROWS(name, role) call_role::role, call_role::role,
    WHYWAIT_MPI_CALLS(WHYWAIT_ROW, WHYWAIT_ROWS) WHYWAIT_MPI_INITIATIONS(WHYWAIT_ROW, WHYWAIT_ROWS)
        WHYWAIT_MPI_PERSISTENT_INITIATIONS(WHYWAIT_ROW, WHYWAIT_ROWS) WHYWAIT_MPI_FILE_CALLS(WHYWAIT_ROW, WHYWAIT_ROWS)
            WHYWAIT_MPI_WORLD_CALLS(WHYWAIT_ROW)
#undef WHYWAIT_ROWS
#undef WHYWAIT_ROW
};
inline constexpr mpi_call plain_forms[] = {
    mpi_call::none,
#define WHYWAIT_ROW(name, role) mpi_call::name,
#define WHYWAIT_ROWS(name, role) mpi_call::name, mpi_call::name,
    WHYWAIT_MPI_CALLS(WHYWAIT_ROW, WHYWAIT_ROWS) WHYWAIT_MPI_INITIATIONS(WHYWAIT_ROW, WHYWAIT_ROWS)
        WHYWAIT_MPI_PERSISTENT_INITIATIONS(WHYWAIT_ROW, WHYWAIT_ROWS)
#undef WHYWAIT_ROWS
#undef WHYWAIT_ROW
};

// The role of each call, and behind the last one that of an unknown number.
struct role_table {
  call_role of[static_cast<size_t>(mpi_call::count_) + 1];
  constexpr role_table() noexcept : of() {
    for (size_t i = 0; i < static_cast<size_t>(mpi_call::count_); ++i)
      of[i] = i >= static_cast<size_t>(mpi_call::unexplained_)                         ? call_role::unexplained
              : i >= static_cast<size_t>(mpi_call::initiations_) && i < modelled_calls ? call_role::initiate
                                                                                       : meeting_roles[i];
    of[static_cast<size_t>(mpi_call::count_)] = call_role::local;
  }
};
inline constexpr role_table roles;

}  // namespace detail

/// For a collective the role that decides which members each member waits for, whether it blocks or only initiates; else
/// the role of the call.
inline call_role meeting_role_of(mpi_call call) noexcept {
  return call < mpi_call::unexplained_ ? detail::meeting_roles[static_cast<size_t>(call)]
         : call < mpi_call::count_     ? call_role::unexplained
                                       : call_role::local;
}

/// MPI_Send for MPI_Send_c: the form of a modelled call with usual counts, which does the same. Other calls are returned
/// as they are.
constexpr mpi_call plain_form(mpi_call call) noexcept {
  return call < mpi_call::modelled_ ? detail::plain_forms[static_cast<size_t>(call)] : call;
}

/// Whether the call initiates a collective that a later call completes.
inline bool initiates(mpi_call call) noexcept { return call >= mpi_call::initiations_ && call < mpi_call::modelled_; }

/// Whether it is a persistent one: a call that makes the request, and the number of each record of MPI_Start.
inline bool is_persistent(mpi_call call) noexcept { return call >= mpi_call::persistent_ && call < mpi_call::modelled_; }

/// The role of a call; `local` for an unknown number. Each pass over the records asks for it, so that it is one load for calls of MPI.
__attribute__((always_inline)) inline call_role role_of(mpi_call call) noexcept {
  if (__builtin_expect(call < mpi_call::count_, 1)) return detail::roles.of[static_cast<size_t>(call)];
  if (!is_of_threads(call)) return call_role::local;
  return action_of(call).waits() ? call_role::thread_wait : call_role::thread_event;
}

// Questions about roles that several rooms ask. Each is answered here only.

/// Whether the call is one of data or a barrier, which all members of a communicator make: no communicator is created or freed.
inline bool is_data_collective(call_role role) noexcept { return role >= call_role::barrier && role <= call_role::scan; }

/// Whether all members of a communicator make the call, which may only initiate what they do together.
inline bool is_collective(mpi_call call) noexcept {
  const call_role role = role_of(call);
  return (role >= call_role::barrier && role <= call_role::initiate) || role == call_role::finalise;
}

/// Whether the time of the call, beyond waits for other ranks, is input and output.
inline bool is_of_files(mpi_call call) noexcept {
  const call_role role = meeting_role_of(call);
  return role == call_role::file || role == call_role::file_all || role == call_role::file_in_turn;
}

/// Whether the call meets or waits for processes outside of MPI_COMM_WORLD whatever its communicator is.
inline bool of_other_worlds(mpi_call call) noexcept {
  const call_role role = meeting_role_of(call);
  return role == call_role::connect || role == call_role::other_world;
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
#undef WHYWAIT_THREAD_CALLS
#undef WHYWAIT_MPI_UNEXPLAINED_CALLS
#undef WHYWAIT_MPI_INITIATIONS
#undef WHYWAIT_MPI_PERSISTENT_INITIATIONS
#undef WHYWAIT_MPI_FILE_CALLS
#undef WHYWAIT_MPI_WORLD_CALLS

#endif
