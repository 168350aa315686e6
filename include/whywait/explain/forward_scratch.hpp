#ifndef WHYWAIT_EXPLAIN_FORWARD_SCRATCH_HPP
#define WHYWAIT_EXPLAIN_FORWARD_SCRATCH_HPP

#include <whywait/explain/merge_scratch.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/packet.hpp>
#include <whywait/explain/path_profile.hpp>
#include <whywait/explain/snapshot.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What the forward pass needs for a short time only. All ranks that a process hosts share one, so that it stays in the
/// cache and does not grow with them: the snapshots that have come and were not used yet, each of which one rank knows by
/// its number, and room that means nothing from one wait to the next.
struct forward_scratch {
  /// A snapshot that has come and is not used yet.
  struct slot {
    snapshot_head head{};
    std::vector<snapshot_entry> entries;
  };
  merge_scratch merging;  ///< first: its memory pool outlives what takes from it
  std::vector<slot> slots;
  std::vector<std::uint32_t> free;  ///< of slots; what was used last comes first, as it is in the cache

  path_profile incoming;                   ///< the causer's path
  std::vector<snapshot_entry> entries;     ///< the same as it came
  std::vector<std::uint32_t> numbers;      ///< of the blocks of the last one that came, at their places
  wait_instance instance;
  std::vector<std::uint32_t> term_blocks;  ///< of instance.terms
  std::vector<std::uint32_t> places;       ///< where the services of each record begin
  packet out;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
