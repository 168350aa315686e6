#ifndef WHYWAIT_MPI_UNEXPLAINED_TABLE_HPP
#define WHYWAIT_MPI_UNEXPLAINED_TABLE_HPP

#include <whywait/mpi/mpi_header.hpp>

// The calls of the role `unexplained`: name, parameters, arguments; core/mpi_calls.hpp lists the same names. `count_type`
// and `offset_type` (displacements and units) are `int`, and MPI_Count and MPI_Aint in the forms with large counts (MPI_Bcast_c).
// unexplained_wrappers.hpp makes a wrapper of each row and undefines the macros.
// clang-format off

// X: calls with all their parameters. These have both forms.
#define WHYWAIT_MPI_UNEXPLAINED_BOTH(X)                                                                                  \
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
  X(File_read_all_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status))                              \
  X(File_read_at_all_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status))                           \
  X(File_read_ordered_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status))                          \
  X(File_write_all_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status))                       \
  X(File_write_at_all_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status))                    \
  X(File_write_ordered_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status))                   \
  X(Win_sync, (MPI_Win win), (win))                                                                                      \
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
#define WHYWAIT_MPI_UNEXPLAINED_PLAIN_SINCE_4(X)                                                                         \
  X(Intercomm_create_from_groups,                                                                                        \
    (MPI_Group local, int local_leader, MPI_Group remote, int remote_leader, const char* tag, MPI_Info info,             \
     MPI_Errhandler errors, MPI_Comm* made),                                                                             \
    (local, local_leader, remote, remote_leader, tag, info, errors, made))                                               \
  X(Session_finalize, (MPI_Session* session), (session))

// A call of which only the form with large counts is not explained.
#define WHYWAIT_MPI_UNEXPLAINED_LARGE(X)                                                                                 \
  X(Win_allocate_shared, (MPI_Aint size, offset_type unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),      \
    (size, unit, info, comm, base, win))
// clang-format on

#endif
