#ifndef WHYWAIT_REPORT_UNEVEN_SLEEP_HPP
#define WHYWAIT_REPORT_UNEVEN_SLEEP_HPP

#include <whywait/report/model.hpp>
#include <whywait/report/mpi_time.hpp>

#include <algorithm>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Whether threads sleep so much, or one rank outside MPI so much longer than another, that they may wait for each other there: for a
/// tenth of thread time, or of the run. Ranks that sleep alike, as with a limited rate, do not.
inline bool sleeps_unevenly(const result& r) noexcept {
  constexpr double least = 0.1;
  if (r.run.threads_only) return share_of(r.asleep, r.run.location_seconds) > least;
  double shortest = r.run.seconds, longest = 0;
  for (const location_seconds& l : r.asleep.ranks) {
    shortest = std::min(shortest, l.seconds);
    longest = std::max(longest, l.seconds);
  }
  return longest - shortest > least * r.run.seconds;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
