#ifndef WHYWAIT_EXPLAIN_FILE_TIME_HPP
#define WHYWAIT_EXPLAIN_FILE_TIME_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/history.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Which calls of a rank read, write or wait for files, by location and record: calls on files, and calls that completed
/// requests of them. What such a call takes beyond its waits for other ranks is input and output. Empty: there is none.
/// O(records).
inline base::vector<base::vector<bool>> calls_on_files(const rank_history& rank) {
  base::vector<base::vector<bool>> result;
  for (std::size_t l = 0; l != rank.locations.size(); ++l) {
    const location_history& here = rank.locations[l];
    for (std::uint64_t i = 0; i != here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      if (!core::is_of_files(r.call)) continue;
      if (result.empty())
        for (const location_history& each : rank.locations)
          result.emplace_back(static_cast<std::size_t>(each.records.size()), false);
      result[l][static_cast<std::size_t>(i)] = true;
      if (r.has(core::sync_flag::complete) && r.completed_by < result.size() && r.completion < result[r.completed_by].size())
        result[r.completed_by][r.completion] = true;
    }
  }
  return result;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
