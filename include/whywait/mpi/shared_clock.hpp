#ifndef WHYWAIT_MPI_SHARED_CLOCK_HPP
#define WHYWAIT_MPI_SHARED_CLOCK_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// From the ticks of one process to nanoseconds that all ranks share:
/// ns = (ticks - origin) * ns_per_tick + offset_ns. `error_ns`: half of the bracket in which the truth lies.
struct shared_clock {
  uint64_t origin = 0;
  double ns_per_tick = 1.0;
  double offset_ns = 0.0;
  double error_ns = 0.0;

  double operator()(uint64_t ticks) const noexcept {
    return static_cast<double>(static_cast<int64_t>(ticks - origin)) * ns_per_tick + offset_ns;
  }
};

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
