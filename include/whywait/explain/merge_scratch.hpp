#ifndef WHYWAIT_EXPLAIN_MERGE_SCRATCH_HPP
#define WHYWAIT_EXPLAIN_MERGE_SCRATCH_HPP

#include <whywait/core/memory_pool.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/class_sums.hpp>
#include <whywait/explain/packet.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What making and merging classes needs for a short time only: room that all ranks of a process share, so that it stays
/// in the cache and does not grow with them. But for the leaders nothing in it means anything from one call to the next.
struct merge_scratch {
  /// A class on its way into the canonical order.
  struct placed_class {
    core::stable_key key;
    std::uint32_t slot, number;
  };
  /// Of a shape: block number, part of the absolute differences.
  struct share {
    std::uint32_t block;
    double part;
  };
  core::memory_pool memory;        ///< of the run: where the ranks' own lists of this and of the forward pass stand
  std::vector<packet> leaders;     ///< those that all ranks have found in each round so far (merging.hpp)
  std::vector<double> parts;       ///< a shape, by block; all 0 between two calls
  std::vector<share> shape;
  std::vector<placed_class> placed;
  std::vector<std::uint32_t> order;
  std::vector<term_sums> terms;     ///< by block
  std::vector<unsigned char> used;  ///< by block: whether it has a term; all 0 between two calls
  std::vector<location_share> waiters, causers, shares;
  packet joined;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
