#ifndef WHYWAIT_MPI_MPI_HEADER_HPP
#define WHYWAIT_MPI_MPI_HEADER_HPP

// mpi.h without the removed C++ bindings: they cost 0.35 s per file, warn, and keep an object file from being
// linked into a C or Fortran program. Include this header before any mpi.h for that to work.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <stdint.h>
#include <string.h>

static_assert(MPI_VERSION >= 3, "whywait needs an MPI library of standard 3.0 or later");

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The bits of an MPI handle (an int in MPICH, a pointer in Open MPI) as a key.
template <class Handle>
inline uint64_t bits_of(Handle handle) noexcept {
  static_assert(sizeof(Handle) <= sizeof(uint64_t), "an MPI handle fits a word");
  uint64_t bits = 0;
  memcpy(&bits, &handle, sizeof handle);
  return bits;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
