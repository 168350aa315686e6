#ifndef WHYWAIT_MPI_WRAPPERS_HPP
#define WHYWAIT_MPI_WRAPPERS_HPP

#include <whywait/mpi/collective_calls.hpp>
#include <whywait/mpi/collective_wrappers.hpp>
#include <whywait/mpi/communicator_calls.hpp>
#include <whywait/mpi/completion_calls.hpp>
#include <whywait/mpi/file_wrappers.hpp>
#include <whywait/mpi/initiations.hpp>
#include <whywait/mpi/lifecycle.hpp>
#include <whywait/mpi/mpi_header.hpp>
#include <whywait/mpi/next_tool.hpp>
#include <whywait/mpi/one_sided_wrappers.hpp>
#include <whywait/mpi/partitioned.hpp>
#include <whywait/mpi/point_to_point.hpp>
#include <whywait/mpi/posting.hpp>
#include <whywait/mpi/probes.hpp>
#include <whywait/mpi/request_calls.hpp>
#include <whywait/mpi/sessions.hpp>
#include <whywait/mpi/windows.hpp>
#include <whywait/mpi/world_calls.hpp>

#ifndef WHYWAIT_DISABLE

// The table of wrappers: name, parameters, arguments, role function and the facts it receives. X: calls of inner loops, which
// have a role function each; R: rare calls, which share the role functions of their kind; XL, RL: the same with a second form
// that has large counts (MPI_Send_c). `count_type` and `offset_type` (displacements) are `int`, and MPI_Count and MPI_Aint in
// the second form, whose calls are all rare. Inside the facts
// the parameters have MPI's names; a status parameter is passed by reference, so that the role function can
// put one of its own in place of an ignored one.
// clang-format off
#define WHYWAIT_MPI_WRAPPERS(X, R, XL, RL)                                                                          \
  R(Init, (int* argc, char*** argv), (argc, argv), initialise, ())                                                  \
  R(Init_thread, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided),          \
    initialise, ())                                                                                                 \
  X(Finalize, (void), (), finalise, ())                                                                             \
  X(Abort, (MPI_Comm comm, int code), (comm, code), abort, ())                                                      \
  R(Pcontrol, (const int level, ...), (level), control, (, level))                                                  \
  WHYWAIT_MPI_SEND(XL, Send) WHYWAIT_MPI_SEND(RL, Bsend) WHYWAIT_MPI_SEND(RL, Ssend) WHYWAIT_MPI_SEND(RL, Rsend)    \
  XL(Recv, (void* buf, count_type count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status), \
    (buf, count, type, source, tag, comm, status), receive, (, buf, count, type, {source, tag, comm}, status))      \
  XL(Mrecv, (void* buf, count_type count, MPI_Datatype type, MPI_Message* message, MPI_Status* status),             \
    (buf, count, type, message, status), matched_receive, (, buf, count, type, message, status))                    \
  XL(Sendrecv,                                                                                                      \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,        \
     count_type recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status),      \
    (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status),     \
    exchange,                                                                                                       \
    (, [=](MPI_Request* requests) {                                                                                 \
      const int posted = detail::post_receive(recvbuf, recvcount, recvtype, {source, recvtag, comm}, &requests[0]); \
      return posted != MPI_SUCCESS                                                                                  \
                 ? posted                                                                                           \
                 : detail::post_send(::whywait::core::mpi_call::Send, sendbuf, sendcount, sendtype,                 \
                                     {dest, sendtag, comm}, &requests[1]);                                          \
    }, sendbuf, sendcount, sendtype, {dest, sendtag, comm}, recvbuf, recvcount, recvtype, {source, recvtag, comm},  \
     status))                                                                                                       \
  XL(Sendrecv_replace,                                                                                              \
    (void* buf, count_type count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, \
     MPI_Status* status),                                                                                           \
    (buf, count, type, dest, sendtag, source, recvtag, comm, status), exchange,                                     \
    (, [](MPI_Request*) { return MPI_SUCCESS; }, buf, count, type, {dest, sendtag, comm}, buf, count, type,         \
     {source, recvtag, comm}, status))                                                                              \
  X(Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status), (source, tag, comm, status), probe,            \
    (, {source, tag, comm}, status))                                                                                \
  X(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status),                         \
    (source, tag, comm, message, status), matched_probe, (, {source, tag, comm}, message, status))                  \
  X(Iprobe, (int source, int tag, MPI_Comm comm, int* found, MPI_Status* status),                                   \
    (source, tag, comm, found, status), test_probe, (, {source, tag, comm}, found, status))                         \
  X(Improbe, (int source, int tag, MPI_Comm comm, int* found, MPI_Message* message, MPI_Status* status),            \
    (source, tag, comm, found, message, status), test_matched_probe, (, {source, tag, comm}, found, message, status))\
  WHYWAIT_MPI_POST(XL, const void*, post, posts_send, Isend)                                                        \
  WHYWAIT_MPI_POSTS(RL, const void*, post, posts_send, Ibsend, Issend, Irsend)                                      \
  WHYWAIT_MPI_POST(XL, void*, post, posts_receive, Irecv)                                                           \
  XL(Imrecv, (void* buf, count_type count, MPI_Datatype type, MPI_Message* message, MPI_Request* request),          \
    (buf, count, type, message, request), post_matched, (, buf, count, type, message, request))                     \
  WHYWAIT_MPI_POST(RL, const void*, prepare, posts_send, Send_init)                                                 \
  WHYWAIT_MPI_POSTS(RL, const void*, prepare, posts_send, Bsend_init, Ssend_init, Rsend_init)                       \
  WHYWAIT_MPI_POST(RL, void*, prepare, posts_receive, Recv_init)                                                    \
  R(Start, (MPI_Request * request), (request), start, (, 1, request))                                               \
  R(Startall, (int count, MPI_Request requests[]), (count, requests), start, (, count, requests))                   \
  X(Wait, (MPI_Request * request, MPI_Status* status), (request, status), wait, (, request, status))                \
  X(Waitall, (int count, MPI_Request requests[], MPI_Status* statuses), (count, requests, statuses), wait_all,      \
    (, count, requests, statuses))                                                                                  \
  X(Waitany, (int count, MPI_Request requests[], int* index, MPI_Status* status), (count, requests, index, status), \
    complete_any, (, count, requests, index, nullptr, status))                                                      \
  X(Waitsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status* statuses),                  \
    (count, requests, done, indices, statuses), complete_some, (, count, requests, done, indices, true, statuses))  \
  X(Test, (MPI_Request * request, int* found, MPI_Status* status), (request, found, status), test_all,              \
    (, 1, request, found, status))                                                                                  \
  X(Testall, (int count, MPI_Request requests[], int* found, MPI_Status* statuses),                                 \
    (count, requests, found, statuses), test_all, (, count, requests, found, statuses))                             \
  X(Testany, (int count, MPI_Request requests[], int* index, int* found, MPI_Status* status),                       \
    (count, requests, index, found, status), complete_any, (, count, requests, index, found, status))               \
  X(Testsome, (int count, MPI_Request requests[], int* done, int indices[], MPI_Status* statuses),                  \
    (count, requests, done, indices, statuses), complete_some, (, count, requests, done, indices, false, statuses)) \
  X(Request_get_status, (MPI_Request request, int* found, MPI_Status* status), (request, found, status),            \
    get_status, (, request, found, status))                                                                         \
  X(Cancel, (MPI_Request * request), (request), cancel, (, request))                                                \
  X(Request_free, (MPI_Request * request), (request), free_request, (, request))                                    \
  R(Grequest_start,                                                                                                 \
    (MPI_Grequest_query_function * query, MPI_Grequest_free_function * free, MPI_Grequest_cancel_function * cancel, \
     void* state, MPI_Request* request),                                                                            \
    (query, free, cancel, state, request), start_general, ())                                                       \
  X(Barrier, (MPI_Comm comm), (comm), collective, (, comm, barrier_facts{}))                                        \
  R(Comm_dup, (MPI_Comm comm, MPI_Comm * newcomm), (comm, newcomm), create, (, comm, newcomm))                      \
  R(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * newcomm), (comm, info, newcomm), create,          \
    (, comm, newcomm))                                                                                              \
  R(Comm_idup, (MPI_Comm comm, MPI_Comm * newcomm, MPI_Request * request), (comm, newcomm, request), create_later,  \
    (, comm, newcomm, request))                                                                                     \
  R(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm * newcomm), (comm, group, newcomm), create,              \
    (, comm, newcomm))                                                                                              \
  R(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm * newcomm), (comm, group, tag, newcomm),  \
    create, (, comm, newcomm, true))                                                                                \
  R(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm * newcomm), (comm, color, key, newcomm), create,       \
    (, comm, newcomm))                                                                                              \
  R(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm * newcomm),                         \
    (comm, type, key, info, newcomm), create, (, comm, newcomm))                                                    \
  R(Intercomm_create,                                                                                               \
    (MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm * newcomm),                   \
    (local, leader, peers, remote_leader, tag, newcomm), create, (, local, newcomm, true))                                \
  R(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm * newcomm), (comm, high, newcomm), create,                  \
    (, comm, newcomm, true))                                                                                        \
  R(Cart_create,                                                                                                    \
    (MPI_Comm comm, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm* newcomm),              \
    (comm, ndims, dims, periods, reorder, newcomm), create, (, comm, newcomm))                                      \
  R(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* newcomm), (comm, remain, newcomm), create,              \
    (, comm, newcomm))                                                                                              \
  R(Graph_create,                                                                                                   \
    (MPI_Comm comm, int nnodes, const int index[], const int edges[], int reorder, MPI_Comm* newcomm),              \
    (comm, nnodes, index, edges, reorder, newcomm), create, (, comm, newcomm))                                      \
  R(Dist_graph_create,                                                                                              \
    (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],                      \
     const int weights[], MPI_Info info, int reorder, MPI_Comm* newcomm),                                           \
    (comm, n, sources, degrees, destinations, weights, info, reorder, newcomm), create, (, comm, newcomm))          \
  R(Dist_graph_create_adjacent,                                                                                     \
    (MPI_Comm comm, int indegree, const int sources[], const int sourceweights[], int outdegree,                    \
     const int destinations[], const int destweights[], MPI_Info info, int reorder, MPI_Comm* newcomm),             \
    (comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, reorder, newcomm), create, \
    (, comm, newcomm))                                                                                              \
  R(Comm_free, (MPI_Comm * comm), (comm), release, (, comm))                                                        \
  R(Comm_disconnect, (MPI_Comm * comm), (comm), release, (, comm))                                                  \
  R(Comm_set_info, (MPI_Comm comm, MPI_Info info), (comm, info), set_together, (, bits_of(comm)))                   \
  R(Win_set_info, (MPI_Win win, MPI_Info info), (win, info), set_together, (, handle_of(win)))                      \
  R(Comm_spawn,                                                                                                     \
    (const char* command, char* argv[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made,           \
     int codes[]),                                                                                                  \
    (command, argv, most, info, root, comm, made, codes), meet_world, (, comm, made))                               \
  R(Comm_spawn_multiple,                                                                                            \
    (int count, char* commands[], char** argvs[], const int most[], const MPI_Info infos[], int root,               \
     MPI_Comm comm, MPI_Comm* made, int codes[]),                                                                   \
    (count, commands, argvs, most, infos, root, comm, made, codes), meet_world, (, comm, made))                     \
  R(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),                        \
    (port, info, root, comm, made), meet_world, (, comm, made))                                                     \
  R(Comm_connect, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),                       \
    (port, info, root, comm, made), meet_world, (, comm, made))                                                     \
  R(Comm_join, (int socket, MPI_Comm* made), (socket, made), ask_world, (, made))                                   \
  R(Open_port, (MPI_Info info, char* port), (info, port), ask_world, (, nullptr))                                   \
  R(Close_port, (const char* port), (port), ask_world, (, nullptr))                                                 \
  R(Publish_name, (const char* service, MPI_Info info, const char* port), (service, info, port), ask_world,         \
    (, nullptr))                                                                                                    \
  R(Unpublish_name, (const char* service, MPI_Info info, const char* port), (service, info, port), ask_world,       \
    (, nullptr))                                                                                                    \
  R(Lookup_name, (const char* service, MPI_Info info, char* port), (service, info, port), ask_world, (, nullptr))   \
  RL(Buffer_detach, (void* buffer, count_type* size), (buffer, size), detach_buffer, ())

// Calls that MPI has since version 4. MPICH 4.0 declares the partitions of MPI_Pready_list without const.
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define WHYWAIT_MPI_PARTITIONS int
#else
#define WHYWAIT_MPI_PARTITIONS const int
#endif
#define WHYWAIT_MPI_WRAPPERS_SINCE_4(R, RL)                                                                         \
  RL(Isendrecv,                                                                                                     \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,        \
     count_type recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request),    \
    (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, request),    \
    post_exchange, (, sendbuf, sendcount, sendtype, {dest, sendtag, comm}, recvbuf, recvcount, recvtype,            \
     {source, recvtag, comm}, request))                                                                             \
  RL(Isendrecv_replace,                                                                                             \
    (void* buf, count_type count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, \
     MPI_Request* request),                                                                                         \
    (buf, count, type, dest, sendtag, source, recvtag, comm, request), post_exchange,                               \
    (, buf, count, type, {dest, sendtag, comm}, buf, count, type, {source, recvtag, comm}, request))                \
  R(Psend_init,                                                                                                     \
    (const void* buf, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,         \
     MPI_Info info, MPI_Request* request),                                                                          \
    (buf, partitions, count, type, dest, tag, comm, info, request), prepare_partitioned,                            \
    (, flag::posts_send, buf, partitions, count, type, {dest, tag, comm}, request))                                 \
  R(Precv_init,                                                                                                     \
    (void* buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,             \
     MPI_Info info, MPI_Request* request),                                                                          \
    (buf, partitions, count, type, source, tag, comm, info, request), prepare_partitioned,                          \
    (, flag::posts_receive, buf, partitions, count, type, {source, tag, comm}, request))                            \
  R(Pready, (int partition, MPI_Request request), (partition, request), make_ready, (, 1, request))                 \
  R(Pready_range, (int low, int high, MPI_Request request), (low, high, request), make_ready,                       \
    (, high - low + 1, request))                                                                                    \
  R(Pready_list, (int length, WHYWAIT_MPI_PARTITIONS partitions[], MPI_Request request),                            \
    (length, partitions, request), make_ready, (, length, request))                                                 \
  R(Parrived, (MPI_Request request, int partition, int* flag), (request, partition, flag), test_partition,          \
    (, request, flag))                                                                                              \
  R(Session_finalize, (MPI_Session* session), (session), end_session, (, session))                                    \
  R(Intercomm_create_from_groups,                                                                                   \
    (MPI_Group local, int local_leader, MPI_Group remote, int remote_leader, const char* tag, MPI_Info info,        \
     MPI_Errhandler errors, MPI_Comm* newcomm),                                                                     \
    (local, local_leader, remote, remote_leader, tag, info, errors, newcomm), create,                               \
    (, MPI_COMM_NULL, newcomm, true))                                                                               \
  R(Session_init, (MPI_Info info, MPI_Errhandler errors, MPI_Session* session), (info, errors, session),             \
    begin_session, (, session))                                                                                              \
  R(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * newcomm, MPI_Request * request),                 \
    (comm, info, newcomm, request), create_later, (, comm, newcomm, request))                                       \
  R(Comm_create_from_group,                                                                                         \
    (MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler errors, MPI_Comm* newcomm),                    \
    (group, tag, info, errors, newcomm), create_from_group, (, group, newcomm))
// clang-format on

#define WHYWAIT_MPI_SEND(X, name)                                                                   \
  X(name, (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm), \
    (buf, count, type, dest, tag, comm), send, (, buf, count, type, {dest, tag, comm}))
#define WHYWAIT_MPI_POST(X, pointer, role, kind, name)                                                                \
  X(name, (pointer buf, count_type count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request), \
    (buf, count, type, peer, tag, comm, request), role, (, flag::kind, buf, count, type, {peer, tag, comm}, request))
#define WHYWAIT_MPI_POSTS(X, pointer, role, kind, a, b, c) \
  WHYWAIT_MPI_POST(X, pointer, role, kind, a)              \
  WHYWAIT_MPI_POST(X, pointer, role, kind, b) WHYWAIT_MPI_POST(X, pointer, role, kind, c)

// Weak: any number of files may include this. Default visibility: calls from shared libraries are seen even
// with -fvisibility=hidden (MPICH's mpi.h sets none). Never inlined, so that the return address is the
// caller's. clang-format leaves the table alone.
#define WHYWAIT_MPI_UNPACK(...) __VA_ARGS__
#define WHYWAIT_MPI_WRAPPER(name, parameters, arguments, role, facts)                                  \
  __attribute__((weak, noinline, visibility("default"))) int MPI_##name parameters {                   \
    using namespace ::whywait::mpi;                                                                    \
    auto pass = [&]() -> int { return WHYWAIT_MPI_NEXT(name, arguments); };                            \
    return ::whywait::mpi::role(fixed_call<::whywait::core::mpi_call::name>{},                         \
                                calling_code(__builtin_return_address(0), __builtin_frame_address(0)), \
                                pass WHYWAIT_MPI_UNPACK facts);                                        \
  }
#define WHYWAIT_MPI_RARE_WRAPPER(name, parameters, arguments, role, facts)                             \
  __attribute__((weak, noinline, visibility("default"))) int MPI_##name parameters {                   \
    using namespace ::whywait::mpi;                                                                    \
    auto call_mpi = [&]() -> int { return WHYWAIT_MPI_NEXT(name, arguments); };                        \
    passed_call pass(call_mpi);                                                                        \
    return ::whywait::mpi::role(::whywait::core::mpi_call::name,                                       \
                                calling_code(__builtin_return_address(0), __builtin_frame_address(0)), \
                                pass WHYWAIT_MPI_UNPACK facts);                                        \
  }

#define WHYWAIT_MPI_LARGE_WRAPPER(name, parameters, arguments, role, facts) \
  WHYWAIT_MPI_RARE_WRAPPER(name##_c, parameters, arguments, role, facts)
#define WHYWAIT_MPI_NO_WRAPPER(name, parameters, arguments, role, facts)

#ifndef WHYWAIT_OBSERVED
// A function with C linkage is the same in each namespace: a namespace for each form gives the types of the rows their meaning.
namespace whywait {
inline namespace v0 {
namespace mpi {

namespace usual_counts {
typedef int count_type;
typedef int offset_type;
extern "C" {
WHYWAIT_MPI_WRAPPERS(WHYWAIT_MPI_WRAPPER, WHYWAIT_MPI_RARE_WRAPPER, WHYWAIT_MPI_WRAPPER, WHYWAIT_MPI_RARE_WRAPPER)
#if MPI_VERSION >= 4
WHYWAIT_MPI_WRAPPERS_SINCE_4(WHYWAIT_MPI_RARE_WRAPPER, WHYWAIT_MPI_RARE_WRAPPER)
#endif
}
}  // namespace usual_counts

#if MPI_VERSION >= 4
namespace large_counts {
typedef MPI_Count count_type;
typedef MPI_Aint offset_type;
extern "C" {
WHYWAIT_MPI_WRAPPERS(WHYWAIT_MPI_NO_WRAPPER, WHYWAIT_MPI_NO_WRAPPER, WHYWAIT_MPI_LARGE_WRAPPER, WHYWAIT_MPI_LARGE_WRAPPER)
WHYWAIT_MPI_WRAPPERS_SINCE_4(WHYWAIT_MPI_NO_WRAPPER, WHYWAIT_MPI_LARGE_WRAPPER)
}
}  // namespace large_counts
#endif

}  // namespace mpi
}  // namespace v0
}  // namespace whywait
#endif

#undef WHYWAIT_MPI_NEXT
#undef WHYWAIT_MPI_NO_WRAPPER
#undef WHYWAIT_MPI_LARGE_WRAPPER
#undef WHYWAIT_MPI_RARE_WRAPPER
#undef WHYWAIT_MPI_WRAPPER
#undef WHYWAIT_MPI_UNPACK
#undef WHYWAIT_MPI_POSTS
#undef WHYWAIT_MPI_POST
#undef WHYWAIT_MPI_SEND
#undef WHYWAIT_MPI_WRAPPERS_SINCE_4
#undef WHYWAIT_MPI_PARTITIONS
#undef WHYWAIT_MPI_WRAPPERS

#endif  // WHYWAIT_DISABLE

#endif
