#ifndef WHYWAIT_MPI_UNEXPLAINED_WRAPPERS_HPP
#define WHYWAIT_MPI_UNEXPLAINED_WRAPPERS_HPP

#include <whywait/mpi/mpi_header.hpp>
#include <whywait/mpi/next_tool.hpp>
#include <whywait/mpi/unexplained_call.hpp>
#include <whywait/mpi/unexplained_table.hpp>

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

// The wrappers of unexplained_table.hpp. Weak and visible for the reasons given in wrappers.hpp; cold, so that they are small.
// A function with C linkage is the same in each namespace: a namespace for each form gives the types of the rows their
// meaning.
#define WHYWAIT_MPI_UNEXPLAINED(name, parameters, arguments)                                    \
  __attribute__((weak, noinline, cold, visibility("default"))) int MPI_##name parameters {      \
    const ::whywait::mpi::unexplained_call here(                                                \
        ::whywait::core::mpi_call::name,                                                        \
        ::whywait::mpi::calling_code(__builtin_return_address(0), __builtin_frame_address(0))); \
    return WHYWAIT_MPI_NEXT(name, arguments);                                                   \
  }
#define WHYWAIT_MPI_UNEXPLAINED_AS_LARGE(name, parameters, arguments) WHYWAIT_MPI_UNEXPLAINED(name##_c, parameters, arguments)

namespace whywait {
inline namespace v0 {
namespace mpi {

namespace usual_counts {
typedef int count_type;
typedef int offset_type;
extern "C" {
WHYWAIT_MPI_UNEXPLAINED_BOTH(WHYWAIT_MPI_UNEXPLAINED)
WHYWAIT_MPI_UNEXPLAINED_PLAIN(WHYWAIT_MPI_UNEXPLAINED)
#if MPI_VERSION > 3 || MPI_SUBVERSION >= 1
WHYWAIT_MPI_UNEXPLAINED_BOTH_SINCE_3_1(WHYWAIT_MPI_UNEXPLAINED)
#endif
#if MPI_VERSION >= 4
WHYWAIT_MPI_UNEXPLAINED_PLAIN_SINCE_4(WHYWAIT_MPI_UNEXPLAINED)
#endif
}
}  // namespace usual_counts

#if MPI_VERSION >= 4
namespace large_counts {
typedef MPI_Count count_type;
typedef MPI_Aint offset_type;
extern "C" {
WHYWAIT_MPI_UNEXPLAINED_BOTH(WHYWAIT_MPI_UNEXPLAINED_AS_LARGE)
WHYWAIT_MPI_UNEXPLAINED_BOTH_SINCE_3_1(WHYWAIT_MPI_UNEXPLAINED_AS_LARGE)
WHYWAIT_MPI_UNEXPLAINED_LARGE(WHYWAIT_MPI_UNEXPLAINED_AS_LARGE)
}
}  // namespace large_counts
#endif

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#undef WHYWAIT_MPI_UNEXPLAINED_AS_LARGE
#undef WHYWAIT_MPI_UNEXPLAINED

#endif  // WHYWAIT_DISABLE

#undef WHYWAIT_MPI_UNEXPLAINED_LARGE
#undef WHYWAIT_MPI_UNEXPLAINED_PLAIN_SINCE_4
#undef WHYWAIT_MPI_UNEXPLAINED_PLAIN
#undef WHYWAIT_MPI_UNEXPLAINED_BOTH_SINCE_3_1
#undef WHYWAIT_MPI_UNEXPLAINED_BOTH

#endif
