#ifndef WHYWAIT_MPI_UNEXPLAINED_TABLE_HPP
#define WHYWAIT_MPI_UNEXPLAINED_TABLE_HPP

#include <whywait/mpi/mpi_header.hpp>

// The calls of the role `unexplained`: name, parameters, arguments; core/mpi_calls.hpp lists the same names. `count_type`
// and `offset_type` (displacements and units) are `int`, and MPI_Count and MPI_Aint in the forms with large counts (MPI_Put_c).
// unexplained_wrappers.hpp makes a wrapper of each row and undefines the macros.
// clang-format off

// F: calls without `comm` and what follows it. They have a nonblocking and, since MPI 4, a persistent form.
#define WHYWAIT_MPI_UNEXPLAINED_COLLECTIVES(F)                                                                           \
  F(Bcast, Ibcast, (void* buffer, count_type count, MPI_Datatype type, int root), (buffer, count, type, root))           \
  F(Gather, Igather,                                                                                                     \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype, int root),                                                                                   \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))                                                  \
  F(Gatherv, Igatherv,                                                                                                   \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, const count_type recvcounts[],     \
     const offset_type displs[], MPI_Datatype recvtype, int root),                                                       \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root))                                         \
  F(Scatter, Iscatter,                                                                                                   \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype, int root),                                                                                   \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root))                                                  \
  F(Scatterv, Iscatterv,                                                                                                 \
    (const void* sendbuf, const count_type sendcounts[], const offset_type displs[], MPI_Datatype sendtype, void*        \
     recvbuf, count_type recvcount, MPI_Datatype recvtype, int root),                                                    \
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root))                                         \
  F(Allgather, Iallgather,                                                                                               \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype),                                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                                                        \
  F(Allgatherv, Iallgatherv,                                                                                             \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, const count_type recvcounts[],     \
     const offset_type displs[], MPI_Datatype recvtype),                                                                 \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))                                               \
  F(Alltoall, Ialltoall,                                                                                                 \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype),                                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                                                        \
  F(Alltoallv, Ialltoallv,                                                                                               \
    (const void* sendbuf, const count_type sendcounts[], const offset_type sdispls[], MPI_Datatype sendtype, void*       \
     recvbuf, const count_type recvcounts[], const offset_type rdispls[], MPI_Datatype recvtype),                        \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype))                                    \
  F(Alltoallw, Ialltoallw,                                                                                               \
    (const void* sendbuf, const count_type sendcounts[], const offset_type sdispls[], const MPI_Datatype                 \
     sendtypes[], void* recvbuf, const count_type recvcounts[], const offset_type rdispls[], const MPI_Datatype          \
     recvtypes[]),                                                                                                       \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))                                  \
  F(Reduce, Ireduce, (const void* sendbuf, void* recvbuf, count_type count, MPI_Datatype type, MPI_Op op, int root),     \
    (sendbuf, recvbuf, count, type, op, root))                                                                           \
  F(Allreduce, Iallreduce, (const void* sendbuf, void* recvbuf, count_type count, MPI_Datatype type, MPI_Op op),         \
    (sendbuf, recvbuf, count, type, op))                                                                                 \
  F(Reduce_scatter, Ireduce_scatter,                                                                                     \
    (const void* sendbuf, void* recvbuf, const count_type recvcounts[], MPI_Datatype type, MPI_Op op),                   \
    (sendbuf, recvbuf, recvcounts, type, op))                                                                            \
  F(Reduce_scatter_block, Ireduce_scatter_block,                                                                         \
    (const void* sendbuf, void* recvbuf, count_type recvcount, MPI_Datatype type, MPI_Op op),                            \
    (sendbuf, recvbuf, recvcount, type, op))                                                                             \
  F(Scan, Iscan, (const void* sendbuf, void* recvbuf, count_type count, MPI_Datatype type, MPI_Op op),                   \
    (sendbuf, recvbuf, count, type, op))                                                                                 \
  F(Exscan, Iexscan, (const void* sendbuf, void* recvbuf, count_type count, MPI_Datatype type, MPI_Op op),               \
    (sendbuf, recvbuf, count, type, op))
#define WHYWAIT_MPI_UNEXPLAINED_NEIGHBOURS(F)                                                                            \
  F(Neighbor_allgather, Ineighbor_allgather,                                                                             \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype),                                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                                                        \
  F(Neighbor_allgatherv, Ineighbor_allgatherv,                                                                           \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, const count_type recvcounts[],     \
     const offset_type displs[], MPI_Datatype recvtype),                                                                 \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype))                                               \
  F(Neighbor_alltoall, Ineighbor_alltoall,                                                                               \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype),                                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype))                                                        \
  F(Neighbor_alltoallv, Ineighbor_alltoallv,                                                                             \
    (const void* sendbuf, const count_type sendcounts[], const offset_type sdispls[], MPI_Datatype sendtype, void*       \
     recvbuf, const count_type recvcounts[], const offset_type rdispls[], MPI_Datatype recvtype),                        \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype))                                    \
  F(Neighbor_alltoallw, Ineighbor_alltoallw,                                                                             \
    (const void* sendbuf, const count_type sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],       \
     void* recvbuf, const count_type recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),            \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes))

// X: calls with all their parameters. These have both forms.
#define WHYWAIT_MPI_UNEXPLAINED_BOTH(X)                                                                                  \
  X(Put,                                                                                                                 \
    (const void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type                \
     target_count, MPI_Datatype target_type, MPI_Win win),                                                               \
    (origin, count, type, rank, displacement, target_count, target_type, win))                                           \
  X(Get,                                                                                                                 \
    (void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type target_count,        \
     MPI_Datatype target_type, MPI_Win win),                                                                             \
    (origin, count, type, rank, displacement, target_count, target_type, win))                                           \
  X(Accumulate,                                                                                                          \
    (const void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type                \
     target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win),                                                    \
    (origin, count, type, rank, displacement, target_count, target_type, op, win))                                       \
  X(Rput,                                                                                                                \
    (const void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type                \
     target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request),                                         \
    (origin, count, type, rank, displacement, target_count, target_type, win, request))                                  \
  X(Rget,                                                                                                                \
    (void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type target_count,        \
     MPI_Datatype target_type, MPI_Win win, MPI_Request* request),                                                       \
    (origin, count, type, rank, displacement, target_count, target_type, win, request))                                  \
  X(Raccumulate,                                                                                                         \
    (const void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type                \
     target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request),                              \
    (origin, count, type, rank, displacement, target_count, target_type, op, win, request))                              \
  X(Get_accumulate,                                                                                                      \
    (const void* origin, count_type count, MPI_Datatype type, void* result, count_type result_count, MPI_Datatype        \
     result_type, int rank, MPI_Aint displacement, count_type target_count, MPI_Datatype target_type, MPI_Op op,         \
     MPI_Win win),                                                                                                       \
    (origin, count, type, result, result_count, result_type, rank, displacement, target_count, target_type, op,          \
     win))                                                                                                               \
  X(Rget_accumulate,                                                                                                     \
    (const void* origin, count_type count, MPI_Datatype type, void* result, count_type result_count, MPI_Datatype        \
     result_type, int rank, MPI_Aint displacement, count_type target_count, MPI_Datatype target_type, MPI_Op op,         \
     MPI_Win win, MPI_Request* request),                                                                                 \
    (origin, count, type, result, result_count, result_type, rank, displacement, target_count, target_type, op, win,     \
     request))                                                                                                           \
  X(Win_create, (void* base, MPI_Aint size, offset_type unit, MPI_Info info, MPI_Comm comm, MPI_Win* win),               \
    (base, size, unit, info, comm, win))                                                                                 \
  X(Win_allocate, (MPI_Aint size, offset_type unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),             \
    (size, unit, info, comm, base, win))                                                                                 \
  X(Buffer_detach, (void* buffer, count_type* size), (buffer, size))                                                     \
  X(File_read, (MPI_File file, void* buf, count_type count, MPI_Datatype type, MPI_Status* status),                      \
    (file, buf, count, type, status))                                                                                    \
  X(File_read_all, (MPI_File file, void* buf, count_type count, MPI_Datatype type, MPI_Status* status),                  \
    (file, buf, count, type, status))                                                                                    \
  X(File_read_shared, (MPI_File file, void* buf, count_type count, MPI_Datatype type, MPI_Status* status),               \
    (file, buf, count, type, status))                                                                                    \
  X(File_read_ordered, (MPI_File file, void* buf, count_type count, MPI_Datatype type, MPI_Status* status),              \
    (file, buf, count, type, status))                                                                                    \
  X(File_read_at, (MPI_File file, MPI_Offset at, void* buf, count_type count, MPI_Datatype type, MPI_Status* status),    \
    (file, at, buf, count, type, status))                                                                                \
  X(File_read_at_all,                                                                                                    \
    (MPI_File file, MPI_Offset at, void* buf, count_type count, MPI_Datatype type, MPI_Status* status),                  \
    (file, at, buf, count, type, status))                                                                                \
  X(File_read_all_begin, (MPI_File file, void* buf, count_type count, MPI_Datatype type), (file, buf, count, type))      \
  X(File_read_ordered_begin, (MPI_File file, void* buf, count_type count, MPI_Datatype type),                            \
    (file, buf, count, type))                                                                                            \
  X(File_read_at_all_begin, (MPI_File file, MPI_Offset at, void* buf, count_type count, MPI_Datatype type),              \
    (file, at, buf, count, type))                                                                                        \
  X(File_iread, (MPI_File file, void* buf, count_type count, MPI_Datatype type, MPI_Request* request),                   \
    (file, buf, count, type, request))                                                                                   \
  X(File_iread_shared, (MPI_File file, void* buf, count_type count, MPI_Datatype type, MPI_Request* request),            \
    (file, buf, count, type, request))                                                                                   \
  X(File_iread_at,                                                                                                       \
    (MPI_File file, MPI_Offset at, void* buf, count_type count, MPI_Datatype type, MPI_Request* request),                \
    (file, at, buf, count, type, request))                                                                               \
  X(File_write, (MPI_File file, const void* buf, count_type count, MPI_Datatype type, MPI_Status* status),               \
    (file, buf, count, type, status))                                                                                    \
  X(File_write_all, (MPI_File file, const void* buf, count_type count, MPI_Datatype type, MPI_Status* status),           \
    (file, buf, count, type, status))                                                                                    \
  X(File_write_shared, (MPI_File file, const void* buf, count_type count, MPI_Datatype type, MPI_Status* status),        \
    (file, buf, count, type, status))                                                                                    \
  X(File_write_ordered, (MPI_File file, const void* buf, count_type count, MPI_Datatype type, MPI_Status* status),       \
    (file, buf, count, type, status))                                                                                    \
  X(File_write_at,                                                                                                       \
    (MPI_File file, MPI_Offset at, const void* buf, count_type count, MPI_Datatype type, MPI_Status* status),            \
    (file, at, buf, count, type, status))                                                                                \
  X(File_write_at_all,                                                                                                   \
    (MPI_File file, MPI_Offset at, const void* buf, count_type count, MPI_Datatype type, MPI_Status* status),            \
    (file, at, buf, count, type, status))                                                                                \
  X(File_write_all_begin, (MPI_File file, const void* buf, count_type count, MPI_Datatype type),                         \
    (file, buf, count, type))                                                                                            \
  X(File_write_ordered_begin, (MPI_File file, const void* buf, count_type count, MPI_Datatype type),                     \
    (file, buf, count, type))                                                                                            \
  X(File_write_at_all_begin, (MPI_File file, MPI_Offset at, const void* buf, count_type count, MPI_Datatype type),       \
    (file, at, buf, count, type))                                                                                        \
  X(File_iwrite, (MPI_File file, const void* buf, count_type count, MPI_Datatype type, MPI_Request* request),            \
    (file, buf, count, type, request))                                                                                   \
  X(File_iwrite_shared, (MPI_File file, const void* buf, count_type count, MPI_Datatype type, MPI_Request* request),     \
    (file, buf, count, type, request))                                                                                   \
  X(File_iwrite_at,                                                                                                      \
    (MPI_File file, MPI_Offset at, const void* buf, count_type count, MPI_Datatype type, MPI_Request* request),          \
    (file, at, buf, count, type, request))

// Since MPI 3.1.
#define WHYWAIT_MPI_UNEXPLAINED_BOTH_SINCE_3_1(X)                                                                        \
  X(File_iread_all, (MPI_File file, void* buf, count_type count, MPI_Datatype type, MPI_Request* request),               \
    (file, buf, count, type, request))                                                                                   \
  X(File_iread_at_all,                                                                                                   \
    (MPI_File file, MPI_Offset at, void* buf, count_type count, MPI_Datatype type, MPI_Request* request),                \
    (file, at, buf, count, type, request))                                                                               \
  X(File_iwrite_all, (MPI_File file, const void* buf, count_type count, MPI_Datatype type, MPI_Request* request),        \
    (file, buf, count, type, request))                                                                                   \
  X(File_iwrite_at_all,                                                                                                  \
    (MPI_File file, MPI_Offset at, const void* buf, count_type count, MPI_Datatype type, MPI_Request* request),          \
    (file, at, buf, count, type, request))

// These have only one form.
#define WHYWAIT_MPI_UNEXPLAINED_PLAIN(X)                                                                                 \
  X(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request))                                                    \
  X(File_read_all_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status))                              \
  X(File_read_at_all_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status))                           \
  X(File_read_ordered_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status))                          \
  X(File_write_all_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status))                       \
  X(File_write_at_all_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status))                    \
  X(File_write_ordered_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status))                   \
  X(Fetch_and_op,                                                                                                        \
    (const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint displacement, MPI_Op op, MPI_Win win),      \
    (origin, result, type, rank, displacement, op, win))                                                                 \
  X(Compare_and_swap,                                                                                                    \
    (const void* origin, const void* compare, void* result, MPI_Datatype type, int rank, MPI_Aint displacement,          \
     MPI_Win win),                                                                                                       \
    (origin, compare, result, type, rank, displacement, win))                                                            \
  X(Win_fence, (int assertion, MPI_Win win), (assertion, win))                                                           \
  X(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win))                                   \
  X(Win_post, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win))                                    \
  X(Win_complete, (MPI_Win win), (win))                                                                                  \
  X(Win_wait, (MPI_Win win), (win))                                                                                      \
  X(Win_unlock_all, (MPI_Win win), (win))                                                                                \
  X(Win_sync, (MPI_Win win), (win))                                                                                      \
  X(Win_flush_all, (MPI_Win win), (win))                                                                                 \
  X(Win_flush_local_all, (MPI_Win win), (win))                                                                           \
  X(Win_test, (MPI_Win win, int* flag), (win, flag))                                                                     \
  X(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win))                            \
  X(Win_lock_all, (int assertion, MPI_Win win), (assertion, win))                                                        \
  X(Win_unlock, (int rank, MPI_Win win), (rank, win))                                                                    \
  X(Win_flush, (int rank, MPI_Win win), (rank, win))                                                                     \
  X(Win_flush_local, (int rank, MPI_Win win), (rank, win))                                                               \
  X(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win), (info, comm, win))                                 \
  X(Win_set_info, (MPI_Win win, MPI_Info info), (win, info))                                                             \
  X(Comm_set_info, (MPI_Comm comm, MPI_Info info), (comm, info))                                                         \
  X(Comm_spawn,                                                                                                          \
    (const char* command, char* argv[], int most, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made, int            \
     codes[]),                                                                                                           \
    (command, argv, most, info, root, comm, made, codes))                                                                \
  X(Comm_spawn_multiple,                                                                                                 \
    (int count, char* commands[], char** argvs[], const int most[], const MPI_Info infos[], int root, MPI_Comm comm,     \
     MPI_Comm* made, int codes[]),                                                                                       \
    (count, commands, argvs, most, infos, root, comm, made, codes))                                                      \
  X(Comm_accept, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),                             \
    (port, info, root, comm, made))                                                                                      \
  X(Comm_connect, (const char* port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm* made),                            \
    (port, info, root, comm, made))                                                                                      \
  X(Comm_join, (int socket, MPI_Comm* made), (socket, made))                                                             \
  X(Open_port, (MPI_Info info, char* port), (info, port))                                                                \
  X(Close_port, (const char* port), (port))                                                                              \
  X(Publish_name, (const char* service, MPI_Info info, const char* port), (service, info, port))                         \
  X(Unpublish_name, (const char* service, MPI_Info info, const char* port), (service, info, port))                       \
  X(Lookup_name, (const char* service, MPI_Info info, char* port), (service, info, port))                                \
  X(File_open, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file),                               \
    (comm, name, mode, info, file))                                                                                      \
  X(File_close, (MPI_File* file), (file))                                                                                \
  X(File_delete, (const char* name, MPI_Info info), (name, info))                                                        \
  X(File_preallocate, (MPI_File file, MPI_Offset size), (file, size))                                                    \
  X(File_set_size, (MPI_File file, MPI_Offset size), (file, size))                                                       \
  X(File_set_view,                                                                                                       \
    (MPI_File file, MPI_Offset at, MPI_Datatype element, MPI_Datatype type, const char* format, MPI_Info info),          \
    (file, at, element, type, format, info))                                                                             \
  X(File_set_info, (MPI_File file, MPI_Info info), (file, info))                                                         \
  X(File_set_atomicity, (MPI_File file, int flag), (file, flag))                                                         \
  X(File_sync, (MPI_File file), (file))                                                                                  \
  X(File_seek, (MPI_File file, MPI_Offset at, int from), (file, at, from))                                               \
  X(File_seek_shared, (MPI_File file, MPI_Offset at, int from), (file, at, from))                                        \
  X(File_get_size, (MPI_File file, MPI_Offset* at), (file, at))                                                          \
  X(File_get_position_shared, (MPI_File file, MPI_Offset* at), (file, at))

// Since MPI 4.
#define WHYWAIT_MPI_UNEXPLAINED_BOTH_SINCE_4(X)                                                                          \
  X(Isendrecv,                                                                                                           \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,             \
     count_type recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request),         \
    (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, request))         \
  X(Isendrecv_replace,                                                                                                   \
    (void* buf, count_type count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,      \
     MPI_Request* request),                                                                                              \
    (buf, count, type, dest, sendtag, source, recvtag, comm, request))

#define WHYWAIT_MPI_UNEXPLAINED_PLAIN_SINCE_4(X)                                                                         \
  X(Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request* request), (comm, info, request))                           \
  X(Psend_init,                                                                                                          \
    (const void* buf, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Info     \
     info, MPI_Request* request),                                                                                        \
    (buf, partitions, count, type, dest, tag, comm, info, request))                                                      \
  X(Precv_init,                                                                                                          \
    (void* buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Info         \
     info, MPI_Request* request),                                                                                        \
    (buf, partitions, count, type, source, tag, comm, info, request))                                                    \
  X(Pready, (int partition, MPI_Request request), (partition, request))                                                  \
  X(Pready_range, (int low, int high, MPI_Request request), (low, high, request))                                        \
  X(Pready_list, (int length, WHYWAIT_MPI_PARTITIONS partitions[], MPI_Request request),                                 \
    (length, partitions, request))                                                                                       \
  X(Parrived, (MPI_Request request, int partition, int* flag), (request, partition, flag))                               \
  X(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request),                           \
    (comm, info, made, request))                                                                                         \
  X(Comm_create_from_group, (MPI_Group group, const char* tag, MPI_Info info, MPI_Errhandler errors, MPI_Comm* made),    \
    (group, tag, info, errors, made))                                                                                    \
  X(Intercomm_create_from_groups,                                                                                        \
    (MPI_Group local, int local_leader, MPI_Group remote, int remote_leader, const char* tag, MPI_Info info,             \
     MPI_Errhandler errors, MPI_Comm* made),                                                                             \
    (local, local_leader, remote, remote_leader, tag, info, errors, made))                                               \
  X(Session_init, (MPI_Info info, MPI_Errhandler errors, MPI_Session* session), (info, errors, session))                 \
  X(Session_finalize, (MPI_Session* session), (session))

// Calls of which only the form with large counts is not explained.
#define WHYWAIT_MPI_UNEXPLAINED_LARGE(X)                                                                                 \
  X(Send, (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),                      \
    (buf, count, type, dest, tag, comm))                                                                                 \
  X(Bsend, (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),                     \
    (buf, count, type, dest, tag, comm))                                                                                 \
  X(Ssend, (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),                     \
    (buf, count, type, dest, tag, comm))                                                                                 \
  X(Rsend, (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),                     \
    (buf, count, type, dest, tag, comm))                                                                                 \
  X(Recv, (void* buf, count_type count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status),      \
    (buf, count, type, source, tag, comm, status))                                                                       \
  X(Mrecv, (void* buf, count_type count, MPI_Datatype type, MPI_Message* message, MPI_Status* status),                   \
    (buf, count, type, message, status))                                                                                 \
  X(Sendrecv,                                                                                                            \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,             \
     count_type recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status),           \
    (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status))          \
  X(Sendrecv_replace,                                                                                                    \
    (void* buf, count_type count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,      \
     MPI_Status* status),                                                                                                \
    (buf, count, type, dest, sendtag, source, recvtag, comm, status))                                                    \
  X(Isend,                                                                                                               \
    (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),      \
    (buf, count, type, dest, tag, comm, request))                                                                        \
  X(Ibsend,                                                                                                              \
    (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),      \
    (buf, count, type, dest, tag, comm, request))                                                                        \
  X(Issend,                                                                                                              \
    (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),      \
    (buf, count, type, dest, tag, comm, request))                                                                        \
  X(Irsend,                                                                                                              \
    (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),      \
    (buf, count, type, dest, tag, comm, request))                                                                        \
  X(Send_init,                                                                                                           \
    (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),      \
    (buf, count, type, dest, tag, comm, request))                                                                        \
  X(Bsend_init,                                                                                                          \
    (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),      \
    (buf, count, type, dest, tag, comm, request))                                                                        \
  X(Ssend_init,                                                                                                          \
    (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),      \
    (buf, count, type, dest, tag, comm, request))                                                                        \
  X(Rsend_init,                                                                                                          \
    (const void* buf, count_type count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request),      \
    (buf, count, type, dest, tag, comm, request))                                                                        \
  X(Irecv, (void* buf, count_type count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request),   \
    (buf, count, type, source, tag, comm, request))                                                                      \
  X(Recv_init,                                                                                                           \
    (void* buf, count_type count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request),          \
    (buf, count, type, source, tag, comm, request))                                                                      \
  X(Imrecv, (void* buf, count_type count, MPI_Datatype type, MPI_Message* message, MPI_Request* request),                \
    (buf, count, type, message, request))                                                                                \
  X(Win_allocate_shared, (MPI_Aint size, offset_type unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),      \
    (size, unit, info, comm, base, win))
// clang-format on

#endif
