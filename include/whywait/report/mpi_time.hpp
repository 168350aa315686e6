#ifndef WHYWAIT_REPORT_MPI_TIME_HPP
#define WHYWAIT_REPORT_MPI_TIME_HPP

#include <whywait/report/not_understood.hpp>

#include <algorithm>

namespace whywait {
inline namespace v0 {
namespace reports {

/// MPI time of one kind that is neither a wait for another rank nor a transfer: input and output, or waiting for processes of
/// another world (docs/method.md 4.13).
struct mpi_time {
  double seconds = 0;                    ///< sum over the ranks
  base::vector<place_total> calls;       ///< call sites with the most of it; `visits`: calls
  base::vector<location_seconds> ranks;  ///< by rank
};

/// From this share of rank time on it is shown.
constexpr double least_mpi_time = 0.01;

/// The share of rank time; 0 without a run.
inline double share_of(const mpi_time& t, double location_seconds) noexcept {
  return location_seconds > 0 ? std::min(1.0, t.seconds / location_seconds) : 0;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
