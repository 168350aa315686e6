#ifndef WHYWAIT_MPI_FILE_WRAPPERS_HPP
#define WHYWAIT_MPI_FILE_WRAPPERS_HPP

#include <whywait/mpi/file_calls.hpp>
#include <whywait/mpi/mpi_header.hpp>
#include <whywait/mpi/next_tool.hpp>

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

// The table of wrappers of calls on files: name, parameters, arguments, role function and the facts it receives, as in
// wrappers.hpp. `count_type` is as there.
// clang-format off
// By what follows the file and the data: a status, nothing, or a request; AT: with an offset.
#define WHYWAIT_MPI_FILE_NOW(X, name, pointer)                                                                        \
  X(name, (MPI_File file, pointer buf, count_type count, MPI_Datatype type, MPI_Status* status),                      \
    (file, buf, count, type, status), call_file, (, file, count, type))
#define WHYWAIT_MPI_FILE_NOW_AT(X, name, pointer)                                                                     \
  X(name, (MPI_File file, MPI_Offset at, pointer buf, count_type count, MPI_Datatype type, MPI_Status* status),       \
    (file, at, buf, count, type, status), call_file, (, file, count, type))
#define WHYWAIT_MPI_FILE_BEGIN(X, name, pointer)                                                                      \
  X(name, (MPI_File file, pointer buf, count_type count, MPI_Datatype type),                                          \
    (file, buf, count, type), call_file, (, file, count, type))
#define WHYWAIT_MPI_FILE_BEGIN_AT(X, name, pointer)                                                                   \
  X(name, (MPI_File file, MPI_Offset at, pointer buf, count_type count, MPI_Datatype type),                           \
    (file, at, buf, count, type), call_file, (, file, count, type))
#define WHYWAIT_MPI_FILE_LATER(X, name, pointer)                                                                      \
  X(name, (MPI_File file, pointer buf, count_type count, MPI_Datatype type, MPI_Request* request),                    \
    (file, buf, count, type, request), call_file, (, file, count, type, request))
#define WHYWAIT_MPI_FILE_LATER_AT(X, name, pointer)                                                                   \
  X(name, (MPI_File file, MPI_Offset at, pointer buf, count_type count, MPI_Datatype type, MPI_Request* request),     \
    (file, at, buf, count, type, request), call_file, (, file, count, type, request))

#define WHYWAIT_MPI_FILES_BOTH(X)                                                                                     \
  WHYWAIT_MPI_FILE_NOW(X, File_read, void*)                                                                           \
  WHYWAIT_MPI_FILE_NOW(X, File_read_all, void*)                                                                       \
  WHYWAIT_MPI_FILE_NOW(X, File_read_shared, void*)                                                                    \
  WHYWAIT_MPI_FILE_NOW(X, File_read_ordered, void*)                                                                   \
  WHYWAIT_MPI_FILE_NOW_AT(X, File_read_at, void*)                                                                     \
  WHYWAIT_MPI_FILE_NOW_AT(X, File_read_at_all, void*)                                                                 \
  WHYWAIT_MPI_FILE_BEGIN(X, File_read_all_begin, void*)                                                               \
  WHYWAIT_MPI_FILE_BEGIN(X, File_read_ordered_begin, void*)                                                           \
  WHYWAIT_MPI_FILE_BEGIN_AT(X, File_read_at_all_begin, void*)                                                         \
  WHYWAIT_MPI_FILE_LATER(X, File_iread, void*)                                                                        \
  WHYWAIT_MPI_FILE_LATER(X, File_iread_shared, void*)                                                                 \
  WHYWAIT_MPI_FILE_LATER_AT(X, File_iread_at, void*)                                                                  \
  WHYWAIT_MPI_FILE_NOW(X, File_write, const void*)                                                                    \
  WHYWAIT_MPI_FILE_NOW(X, File_write_all, const void*)                                                                \
  WHYWAIT_MPI_FILE_NOW(X, File_write_shared, const void*)                                                             \
  WHYWAIT_MPI_FILE_NOW(X, File_write_ordered, const void*)                                                            \
  WHYWAIT_MPI_FILE_NOW_AT(X, File_write_at, const void*)                                                              \
  WHYWAIT_MPI_FILE_NOW_AT(X, File_write_at_all, const void*)                                                          \
  WHYWAIT_MPI_FILE_BEGIN(X, File_write_all_begin, const void*)                                                        \
  WHYWAIT_MPI_FILE_BEGIN(X, File_write_ordered_begin, const void*)                                                    \
  WHYWAIT_MPI_FILE_BEGIN_AT(X, File_write_at_all_begin, const void*)                                                  \
  WHYWAIT_MPI_FILE_LATER(X, File_iwrite, const void*)                                                                 \
  WHYWAIT_MPI_FILE_LATER(X, File_iwrite_shared, const void*)                                                          \
  WHYWAIT_MPI_FILE_LATER_AT(X, File_iwrite_at, const void*)

// Since MPI 3.1.
#define WHYWAIT_MPI_FILES_BOTH_SINCE_3_1(X)                                                                           \
  WHYWAIT_MPI_FILE_LATER(X, File_iread_all, void*)                                                                    \
  WHYWAIT_MPI_FILE_LATER_AT(X, File_iread_at_all, void*)                                                              \
  WHYWAIT_MPI_FILE_LATER(X, File_iwrite_all, const void*)                                                             \
  WHYWAIT_MPI_FILE_LATER_AT(X, File_iwrite_at_all, const void*)

#define WHYWAIT_MPI_FILES_PLAIN(X)                                                                                    \
  X(File_read_all_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status), call_file, (, file))      \
  X(File_read_at_all_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status), call_file, (,          \
    file))                                                                                                            \
  X(File_read_ordered_end, (MPI_File file, void* buf, MPI_Status* status), (file, buf, status), call_file, (,         \
    file))                                                                                                            \
  X(File_write_all_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status), call_file, (,      \
    file))                                                                                                            \
  X(File_write_at_all_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status), call_file,      \
    (, file))                                                                                                         \
  X(File_write_ordered_end, (MPI_File file, const void* buf, MPI_Status* status), (file, buf, status), call_file,     \
    (, file))                                                                                                         \
  X(File_open, (MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file), (comm, name, mode,         \
    info, file), open_file, (, comm, file))                                                                           \
  X(File_close, (MPI_File* file), (file), close_file, (, file))                                                       \
  X(File_delete, (const char* name, MPI_Info info), (name, info), call_file, (, MPI_FILE_NULL))                       \
  X(File_preallocate, (MPI_File file, MPI_Offset size), (file, size), call_file, (, file))                            \
  X(File_set_size, (MPI_File file, MPI_Offset size), (file, size), call_file, (, file))                               \
  X(File_set_view, (MPI_File file, MPI_Offset at, MPI_Datatype element, MPI_Datatype type, const char* format,        \
    MPI_Info info), (file, at, element, type, format, info), call_file, (, file))                                     \
  X(File_set_info, (MPI_File file, MPI_Info info), (file, info), call_file, (, file))                                 \
  X(File_set_atomicity, (MPI_File file, int flag), (file, flag), call_file, (, file))                                 \
  X(File_sync, (MPI_File file), (file), call_file, (, file))                                                          \
  X(File_seek, (MPI_File file, MPI_Offset at, int from), (file, at, from), call_file, (, file))                       \
  X(File_seek_shared, (MPI_File file, MPI_Offset at, int from), (file, at, from), call_file, (, file))                \
  X(File_get_size, (MPI_File file, MPI_Offset* at), (file, at), call_file, (, file))                                  \
  X(File_get_position_shared, (MPI_File file, MPI_Offset* at), (file, at), call_file, (, file))
// clang-format on

#define WHYWAIT_MPI_UNPACK(...) __VA_ARGS__
#define WHYWAIT_MPI_FILE(name, parameters, arguments, role, facts)                                     \
  __attribute__((weak, noinline, cold, visibility("default"))) int MPI_##name parameters {             \
    auto call_mpi = [&]() -> int { return WHYWAIT_MPI_NEXT(name, arguments); };                        \
    ::whywait::mpi::passed_call pass(call_mpi);                                                        \
    return ::whywait::mpi::role(::whywait::core::mpi_call::name,                                       \
                                calling_code(__builtin_return_address(0), __builtin_frame_address(0)), \
                                pass WHYWAIT_MPI_UNPACK facts);                                        \
  }
#define WHYWAIT_MPI_FILE_LARGE(name, parameters, arguments, role, facts) \
  WHYWAIT_MPI_FILE(name##_c, parameters, arguments, role, facts)

namespace whywait {
inline namespace v0 {
namespace mpi {

namespace usual_counts {
typedef int count_type;
extern "C" {
WHYWAIT_MPI_FILES_BOTH(WHYWAIT_MPI_FILE)
WHYWAIT_MPI_FILES_PLAIN(WHYWAIT_MPI_FILE)
#if MPI_VERSION > 3 || MPI_SUBVERSION >= 1
WHYWAIT_MPI_FILES_BOTH_SINCE_3_1(WHYWAIT_MPI_FILE)
#endif
}
}  // namespace usual_counts

#if MPI_VERSION >= 4
namespace large_counts {
typedef MPI_Count count_type;
extern "C" {
WHYWAIT_MPI_FILES_BOTH(WHYWAIT_MPI_FILE_LARGE)
WHYWAIT_MPI_FILES_BOTH_SINCE_3_1(WHYWAIT_MPI_FILE_LARGE)
}
}  // namespace large_counts
#endif

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#undef WHYWAIT_MPI_FILE_LARGE
#undef WHYWAIT_MPI_FILE
#undef WHYWAIT_MPI_UNPACK
#undef WHYWAIT_MPI_FILES_PLAIN
#undef WHYWAIT_MPI_FILES_BOTH_SINCE_3_1
#undef WHYWAIT_MPI_FILES_BOTH
#undef WHYWAIT_MPI_FILE_LATER_AT
#undef WHYWAIT_MPI_FILE_LATER
#undef WHYWAIT_MPI_FILE_BEGIN_AT
#undef WHYWAIT_MPI_FILE_BEGIN
#undef WHYWAIT_MPI_FILE_NOW_AT
#undef WHYWAIT_MPI_FILE_NOW

#endif  // WHYWAIT_DISABLE

#endif
