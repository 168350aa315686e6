#ifndef WHYWAIT_MPI_ONE_SIDED_WRAPPERS_HPP
#define WHYWAIT_MPI_ONE_SIDED_WRAPPERS_HPP

#include <whywait/mpi/mpi_header.hpp>
#include <whywait/mpi/one_sided_calls.hpp>

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

// The table of wrappers of calls on windows: name, parameters, arguments, role function and the facts it receives, as in
// wrappers.hpp. `count_type` and `offset_type` are as in wrappers.hpp.
// clang-format off
#define WHYWAIT_MPI_ONE_SIDED_BOTH(X)                                                                                  \
  X(Win_create, (void* base, MPI_Aint size, offset_type unit, MPI_Info info, MPI_Comm comm, MPI_Win* win), (base,      \
    size, unit, info, comm, win), create_window, (, comm, win))                                                        \
  X(Win_allocate, (MPI_Aint size, offset_type unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),           \
    (size, unit, info, comm, base, win), create_window, (, comm, win))                                                 \
  X(Win_allocate_shared, (MPI_Aint size, offset_type unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win),    \
    (size, unit, info, comm, base, win), allocate_shared, (, comm, win))                                               \
  X(Put, (const void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type         \
    target_count, MPI_Datatype target_type, MPI_Win win), (origin, count, type, rank, displacement, target_count,      \
    target_type, win), transfer, (, target_count, target_type, rank, win))                                             \
  X(Get, (void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type               \
    target_count, MPI_Datatype target_type, MPI_Win win), (origin, count, type, rank, displacement, target_count,      \
    target_type, win), read_window, (, origin, count, type, rank, displacement, win))                                  \
  X(Accumulate, (const void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement,             \
    count_type target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win), (origin, count, type, rank,            \
    displacement, target_count, target_type, op, win), transfer, (, target_count, target_type, rank, win))             \
  X(Get_accumulate, (const void* origin, count_type count, MPI_Datatype type, void* result, count_type                 \
    result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement, count_type target_count, MPI_Datatype     \
    target_type, MPI_Op op, MPI_Win win), (origin, count, type, result, result_count, result_type, rank,               \
    displacement, target_count, target_type, op, win), transfer, (, target_count, target_type, rank, win))             \
  X(Rput, (const void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type        \
    target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request), (origin, count, type, rank,            \
    displacement, target_count, target_type, win, request), transfer, (, target_count, target_type, rank, win,         \
    request))                                                                                                          \
  X(Rget, (void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement, count_type              \
    target_count, MPI_Datatype target_type, MPI_Win win, MPI_Request* request), (origin, count, type, rank,            \
    displacement, target_count, target_type, win, request), transfer, (, target_count, target_type, rank, win,         \
    request))                                                                                                          \
  X(Raccumulate, (const void* origin, count_type count, MPI_Datatype type, int rank, MPI_Aint displacement,            \
    count_type target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win, MPI_Request* request), (origin,         \
    count, type, rank, displacement, target_count, target_type, op, win, request), transfer, (, target_count,          \
    target_type, rank, win, request))                                                                                  \
  X(Rget_accumulate, (const void* origin, count_type count, MPI_Datatype type, void* result, count_type                \
    result_count, MPI_Datatype result_type, int rank, MPI_Aint displacement, count_type target_count, MPI_Datatype     \
    target_type, MPI_Op op, MPI_Win win, MPI_Request* request), (origin, count, type, result, result_count,            \
    result_type, rank, displacement, target_count, target_type, op, win, request), transfer, (, target_count,          \
    target_type, rank, win, request))

#define WHYWAIT_MPI_ONE_SIDED_PLAIN(X)                                                                                 \
  X(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win* win), (info, comm, win), create_window, (, comm,       \
    win))                                                                                                              \
  X(Win_fence, (int assertion, MPI_Win win), (assertion, win), fence, (, win))                                         \
  X(Win_post, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win), open_epoch, (, group, win))      \
  X(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win), open_epoch, (, group, win))     \
  X(Win_complete, (MPI_Win win), (win), close_epoch, (, win))                                                          \
  X(Win_wait, (MPI_Win win), (win), close_epoch, (, win))                                                              \
  X(Win_sync, (MPI_Win win), (win), sync_window, ())                                                                   \
  X(Win_test, (MPI_Win win, int* flag), (win, flag), test_epoch, (, win, flag))                                        \
  X(Win_lock, (int kind, int rank, int assertion, MPI_Win win), (kind, rank, assertion, win), lock_window, (, win,     \
    rank, kind == MPI_LOCK_EXCLUSIVE))                                                                                 \
  X(Win_lock_all, (int assertion, MPI_Win win), (assertion, win), lock_window, (, win))                                \
  X(Win_unlock, (int rank, MPI_Win win), (rank, win), lock_window, (, win, rank))                                      \
  X(Win_unlock_all, (MPI_Win win), (win), lock_window, (, win))                                                        \
  X(Win_flush, (int rank, MPI_Win win), (rank, win), flush_window, (, win, rank))                                      \
  X(Win_flush_all, (MPI_Win win), (win), flush_window, (, win))                                                        \
  X(Win_flush_local, (int rank, MPI_Win win), (rank, win), flush_window, (, win, rank))                                \
  X(Win_flush_local_all, (MPI_Win win), (win), flush_window, (, win))                                                  \
  X(Fetch_and_op, (const void* origin, void* result, MPI_Datatype type, int rank, MPI_Aint displacement, MPI_Op        \
    op, MPI_Win win), (origin, result, type, rank, displacement, op, win), read_window, (, result, 1, type, rank,      \
    displacement, win, op == MPI_NO_OP))                                                                               \
  X(Compare_and_swap, (const void* origin, const void* compare, void* result, MPI_Datatype type, int rank,             \
    MPI_Aint displacement, MPI_Win win), (origin, compare, result, type, rank, displacement, win), read_window, (,     \
    result, 1, type, rank, displacement, win))                                                                         \
  X(Win_free, (MPI_Win* win), (win), free_window, (, win))
// clang-format on

#define WHYWAIT_MPI_UNPACK(...) __VA_ARGS__
#define WHYWAIT_MPI_ONE_SIDED(name, parameters, arguments, role, facts)                                \
  __attribute__((weak, noinline, visibility("default"))) int MPI_##name parameters {                   \
    auto call_mpi = [&]() -> int { return WHYWAIT_MPI_NEXT(name, arguments); };                        \
    ::whywait::mpi::passed_call pass(call_mpi);                                                        \
    return ::whywait::mpi::role(::whywait::core::mpi_call::name,                                       \
                                calling_code(__builtin_return_address(0), __builtin_frame_address(0)), \
                                pass WHYWAIT_MPI_UNPACK facts);                                        \
  }
#define WHYWAIT_MPI_ONE_SIDED_LARGE(name, parameters, arguments, role, facts) \
  WHYWAIT_MPI_ONE_SIDED(name##_c, parameters, arguments, role, facts)

namespace whywait {
inline namespace v0 {
namespace mpi {

namespace usual_counts {
typedef int count_type;
typedef int offset_type;
extern "C" {
WHYWAIT_MPI_ONE_SIDED_BOTH(WHYWAIT_MPI_ONE_SIDED)
WHYWAIT_MPI_ONE_SIDED_PLAIN(WHYWAIT_MPI_ONE_SIDED)
}
}  // namespace usual_counts

#if MPI_VERSION >= 4
namespace large_counts {
typedef MPI_Count count_type;
typedef MPI_Aint offset_type;
extern "C" {
WHYWAIT_MPI_ONE_SIDED_BOTH(WHYWAIT_MPI_ONE_SIDED_LARGE)
}
}  // namespace large_counts
#endif

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#undef WHYWAIT_MPI_ONE_SIDED_LARGE
#undef WHYWAIT_MPI_ONE_SIDED
#undef WHYWAIT_MPI_UNPACK
#undef WHYWAIT_MPI_ONE_SIDED_PLAIN
#undef WHYWAIT_MPI_ONE_SIDED_BOTH

#endif  // WHYWAIT_DISABLE

#endif
