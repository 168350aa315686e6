#ifndef WHYWAIT_REPORT_PROFILE_HPP
#define WHYWAIT_REPORT_PROFILE_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/vector.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// The efficiencies of one region as TALP defines them (Lopez et al., SC 2021): the useful time of all ranks that ran it over
/// their number times the longest elapsed time; mean over longest useful time; longest useful over longest elapsed time.
struct region_efficiency {
  double parallel = 0;
  double load_balance = 0;
  double communication = 0;
};

/// A marked region over all ranks that ran it, from its begin to its end with everything inside.
struct region_entry {
  base::place where;
  std::int64_t visits = 0;
  std::int64_t ranks = 0;
  std::int64_t threads = 1;  ///< that ran it on one rank, at most; from 2 on times are sums over the threads of a rank
  double min_seconds = 0, max_seconds = 0;  ///< over these ranks
  double seconds = 0;                       ///< sum over these ranks
  std::int32_t min_rank = 0, max_rank = 0;
  double own_seconds = 0;  ///< part outside MPI and outside regions inside it
  double mpi_seconds = 0;  ///< part in MPI
  std::int64_t work = 0;
  bool recursive = false;  ///< it was entered inside itself: its times are without other regions inside it
  std::optional<region_efficiency> efficiency;  ///< empty: threads, recursive, or it waits by its mark
};

/// Messages of one power of two: from `least_bytes` up to twice as many; of 0 exactly 0.
struct size_class {
  std::int64_t least_bytes = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
};

/// The messages of one call site to one class of peers, or its collective calls.
struct traffic_entry {
  base::place where;
  const char* operation = "send";  ///< send, receive, collective, transfer
  const char* peers = "unknown";   ///< self, node, network, unknown
  std::int64_t ranks = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t least_bytes = 0, most_bytes = 0;
  double seconds = 0;  ///< in these calls
  base::vector<size_class> sizes;  ///< ascending
};

/// Totals of one rank.
struct rank_entry {
  std::int32_t node = 0;  ///< index in profile::hosts
  double seconds = 0;
  double mpi_seconds = 0;
  double waiting_seconds = 0;
};

/// What ran where, and what was sent: of the whole run, whether or not ranks waited.
struct profile {
  base::vector<region_entry> regions;    ///< most time first
  base::vector<traffic_entry> messages;  ///< most time first
  base::vector<rank_entry> ranks;        ///< by rank
  base::vector<std::string> hosts;       ///< of the machines, in the order of their lowest ranks
  std::int64_t omitted_regions = 0;      ///< regions that were left out, because there are too many names
  std::int64_t omitted_messages = 0;     ///< call sites likewise
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
