#ifndef WHYWAIT_MPI_PART_HPP
#define WHYWAIT_MPI_PART_HPP

#include <whywait/mpi/mpi_header.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// One buffer argument of a collective: `counts` (with `types` or `type`) if it differs from rank to rank.
struct part {
  const void* buffer;
  int count;
  const int* counts;
  const int* displacements;  ///< in elements; bytes with `types`; null: parts follow each other
  MPI_Datatype type;
  const MPI_Datatype* types;
};
/// The buffer that is meant by MPI_IN_PLACE.
inline const void* or_other(const void* buffer, const void* other) noexcept { return buffer == MPI_IN_PLACE ? other : buffer; }

inline part one(const void* buffer, int count, MPI_Datatype type) noexcept {
  return part{buffer, count, nullptr, nullptr, type, nullptr};
}
inline part each(const void* buffer, const int* counts, const int* displacements, MPI_Datatype type) noexcept {
  return part{buffer, 0, counts, displacements, type, nullptr};
}
inline part each(const void* buffer, const int* counts, const int* displacements, const MPI_Datatype* types) noexcept {
  return part{buffer, 0, counts, displacements, MPI_DATATYPE_NULL, types};
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
