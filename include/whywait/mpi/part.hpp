#ifndef WHYWAIT_MPI_PART_HPP
#define WHYWAIT_MPI_PART_HPP

#include <whywait/mpi/mpi_header.hpp>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// One buffer argument of a collective: `counts` (with `types` or `type`) if it differs from rank to rank. MPI's arrays are
/// of `int`, or of MPI_Count and MPI_Aint in calls with large counts.
struct part {
  const void* buffer;
  MPI_Count count;
  const void* counts;
  const void* displacements;  ///< in elements; bytes with `types`; null: parts follow each other
  MPI_Datatype type;
  const MPI_Datatype* types;
  bool large_counts;
  bool large_displacements;

  MPI_Count count_of(int i) const noexcept {
    return counts == nullptr ? count
           : large_counts    ? static_cast<const MPI_Count*>(counts)[i]
                             : static_cast<const int*>(counts)[i];
  }
  MPI_Aint displacement_of(int i) const noexcept {
    return large_displacements ? static_cast<const MPI_Aint*>(displacements)[i] : static_cast<const int*>(displacements)[i];
  }
};
/// The buffer that is meant by MPI_IN_PLACE.
inline const void* or_other(const void* buffer, const void* other) noexcept { return buffer == MPI_IN_PLACE ? other : buffer; }

inline part one(const void* buffer, MPI_Count count, MPI_Datatype type) noexcept {
  return part{buffer, count, nullptr, nullptr, type, nullptr, false, false};
}
template <class Count>
inline part each(const void* buffer, const Count* counts, MPI_Datatype type) noexcept {
  return part{buffer, 0, counts, nullptr, type, nullptr, sizeof(Count) > sizeof(int), false};
}
template <class Count, class Displacement>
inline part each(const void* buffer, const Count* counts, const Displacement* displacements, MPI_Datatype type) noexcept {
  return part{buffer, 0, counts, displacements, type, nullptr, sizeof(Count) > sizeof(int), sizeof(Displacement) > sizeof(int)};
}
template <class Count, class Displacement>
inline part each(const void* buffer, const Count* counts, const Displacement* displacements,
                 const MPI_Datatype* types) noexcept {
  part p = each(buffer, counts, displacements, MPI_DATATYPE_NULL);
  p.types = types;
  return p;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
