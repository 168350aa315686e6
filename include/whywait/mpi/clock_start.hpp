#ifndef WHYWAIT_MPI_CLOCK_START_HPP
#define WHYWAIT_MPI_CLOCK_START_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The first comparison of a rank's clock with that of rank 0, from which a clock follows when there was no second.
struct clock_start {
  uint64_t own = 0;        ///< own ticks and
  uint64_t reference = 0;  ///< those of rank 0 at one instant; own == reference == 0: not compared
  uint64_t bracket = 0;    ///< own ticks in which that instant lies
  bool same_as_reference = false;  ///< both read one counter
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
