#ifndef WHYWAIT_MPI_COLLECTIVE_WRAPPERS_HPP
#define WHYWAIT_MPI_COLLECTIVE_WRAPPERS_HPP

#include <whywait/mpi/collective_table.hpp>
#include <whywait/mpi/initiations.hpp>
#include <whywait/mpi/mpi_header.hpp>
#include <whywait/mpi/next_tool.hpp>

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

// The wrappers of collective_table.hpp: blocking, nonblocking and persistent collectives, each also with large counts.
// Weak, visible and in namespaces for the reasons given in wrappers.hpp.
#define WHYWAIT_MPI_UNPACK(...) __VA_ARGS__
#define WHYWAIT_MPI_HEAD(name, parameters) __attribute__((weak, noinline, visibility("default"))) int MPI_##name parameters
#define WHYWAIT_MPI_MEET(name, parameters, arguments, role, facts)                                           \
  WHYWAIT_MPI_HEAD(name, parameters) {                                                                       \
    auto call_mpi = [&]() -> int { return WHYWAIT_MPI_NEXT(name, arguments); };                              \
    passed_call pass(call_mpi);                                                                              \
    return role(core::mpi_call::name, calling_code(__builtin_return_address(0), __builtin_frame_address(0)), \
                pass WHYWAIT_MPI_UNPACK facts);                                                              \
  }
#define WHYWAIT_MPI_NONBLOCKING(name, nonblocking, parameters, arguments, facts)                       \
  WHYWAIT_MPI_MEET(nonblocking, (WHYWAIT_MPI_UNPACK parameters, MPI_Comm comm, MPI_Request * request), \
                   (WHYWAIT_MPI_UNPACK arguments, comm, request), initiate, (, comm, WHYWAIT_MPI_UNPACK facts, request))
#define WHYWAIT_MPI_PERSISTENT(name, nonblocking, parameters, arguments, facts)                                       \
  WHYWAIT_MPI_MEET(name##_init, (WHYWAIT_MPI_UNPACK parameters, MPI_Comm comm, MPI_Info info, MPI_Request * request), \
                   (WHYWAIT_MPI_UNPACK arguments, comm, info, request), prepare_together,                             \
                   (, comm, WHYWAIT_MPI_UNPACK facts, request))
#define WHYWAIT_MPI_FREQUENT(name, nonblocking, parameters, arguments, facts)                            \
  WHYWAIT_MPI_HEAD(name, (WHYWAIT_MPI_UNPACK parameters, MPI_Comm comm)) {                               \
    auto pass = [&]() -> int { return WHYWAIT_MPI_NEXT(name, (WHYWAIT_MPI_UNPACK arguments, comm)); };   \
    return collective(fixed_call<core::mpi_call::name>{},                                                \
                      calling_code(__builtin_return_address(0), __builtin_frame_address(0)), pass, comm, \
                      WHYWAIT_MPI_UNPACK facts);                                                         \
  }
#define WHYWAIT_MPI_BLOCKING(name, nonblocking, parameters, arguments, facts)                                  \
  WHYWAIT_MPI_MEET(name, (WHYWAIT_MPI_UNPACK parameters, MPI_Comm comm), (WHYWAIT_MPI_UNPACK arguments, comm), \
                   rare_collective, (, comm, WHYWAIT_MPI_UNPACK facts))
#define WHYWAIT_MPI_NEIGHBOUR(name, nonblocking, parameters, arguments, facts)                                 \
  WHYWAIT_MPI_MEET(name, (WHYWAIT_MPI_UNPACK parameters, MPI_Comm comm), (WHYWAIT_MPI_UNPACK arguments, comm), \
                   neighbour_collective, (, comm, WHYWAIT_MPI_UNPACK facts))
#define WHYWAIT_MPI_LARGE(name, nonblocking, parameters, arguments, facts)                                               \
  WHYWAIT_MPI_MEET(nonblocking##_c, (WHYWAIT_MPI_UNPACK parameters, MPI_Comm comm, MPI_Request * request),               \
                   (WHYWAIT_MPI_UNPACK arguments, comm, request), initiate, (, comm, WHYWAIT_MPI_UNPACK facts, request)) \
  WHYWAIT_MPI_MEET(name##_init_c, (WHYWAIT_MPI_UNPACK parameters, MPI_Comm comm, MPI_Info info, MPI_Request * request),  \
                   (WHYWAIT_MPI_UNPACK arguments, comm, info, request), prepare_together,                                \
                   (, comm, WHYWAIT_MPI_UNPACK facts, request))
#define WHYWAIT_MPI_LARGE_BLOCKING(name, nonblocking, parameters, arguments, facts) \
  WHYWAIT_MPI_BLOCKING(name##_c, nonblocking, parameters, arguments, facts)
#define WHYWAIT_MPI_LARGE_NEIGHBOUR(name, nonblocking, parameters, arguments, facts) \
  WHYWAIT_MPI_NEIGHBOUR(name##_c, nonblocking, parameters, arguments, facts)

namespace whywait {
inline namespace v0 {
namespace mpi {

namespace usual_counts {
typedef int count_type;
typedef int offset_type;
extern "C" {
WHYWAIT_MPI_MEET(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request), initiate,
                 (, comm, barrier_facts{}, part{}, request))
WHYWAIT_MPI_FREQUENT_COLLECTIVES(WHYWAIT_MPI_FREQUENT)
WHYWAIT_MPI_RARE_COLLECTIVES(WHYWAIT_MPI_BLOCKING)
WHYWAIT_MPI_NEIGHBOURS(WHYWAIT_MPI_NEIGHBOUR)
WHYWAIT_MPI_COLLECTIVES(WHYWAIT_MPI_NONBLOCKING)
WHYWAIT_MPI_NEIGHBOURS(WHYWAIT_MPI_NONBLOCKING)
#if MPI_VERSION >= 4
WHYWAIT_MPI_MEET(Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request* request), (comm, info, request), prepare_together,
                 (, comm, barrier_facts{}, part{}, request))
WHYWAIT_MPI_COLLECTIVES(WHYWAIT_MPI_PERSISTENT)
WHYWAIT_MPI_NEIGHBOURS(WHYWAIT_MPI_PERSISTENT)
#endif
}
}  // namespace usual_counts

#if MPI_VERSION >= 4
namespace large_counts {
typedef MPI_Count count_type;
typedef MPI_Aint offset_type;
extern "C" {
WHYWAIT_MPI_COLLECTIVES(WHYWAIT_MPI_LARGE_BLOCKING)
WHYWAIT_MPI_NEIGHBOURS(WHYWAIT_MPI_LARGE_NEIGHBOUR)
WHYWAIT_MPI_COLLECTIVES(WHYWAIT_MPI_LARGE)
WHYWAIT_MPI_NEIGHBOURS(WHYWAIT_MPI_LARGE)
}
}  // namespace large_counts
#endif

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#undef WHYWAIT_MPI_LARGE_NEIGHBOUR
#undef WHYWAIT_MPI_LARGE_BLOCKING
#undef WHYWAIT_MPI_LARGE
#undef WHYWAIT_MPI_NEIGHBOUR
#undef WHYWAIT_MPI_BLOCKING
#undef WHYWAIT_MPI_FREQUENT
#undef WHYWAIT_MPI_PERSISTENT
#undef WHYWAIT_MPI_NONBLOCKING
#undef WHYWAIT_MPI_MEET
#undef WHYWAIT_MPI_HEAD
#undef WHYWAIT_MPI_UNPACK

#endif  // WHYWAIT_DISABLE

#undef WHYWAIT_MPI_NEIGHBOURS
#undef WHYWAIT_MPI_COLLECTIVES
#undef WHYWAIT_MPI_RARE_COLLECTIVES
#undef WHYWAIT_MPI_FREQUENT_COLLECTIVES

#endif
