#ifndef WHYWAIT_EXPLAIN_MERGE_SCRATCH_HPP
#define WHYWAIT_EXPLAIN_MERGE_SCRATCH_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/class_sums.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What making and merging classes needs for a short time only: room that all ranks of a process share, so that it stays
/// in the cache and does not grow with them. Nothing in it means anything from one call to the next.
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
  base::memory_pool memory;                 ///< of the run: where the ranks' own lists of the passes before stand
  base::pod_vector<double> parts;         ///< a shape, by block; all 0 between two calls
  base::pod_vector<std::uint32_t> order;  ///< the blocks of that shape
  base::pod_vector<placed_class> placed;
  base::pod_vector<term_sums> terms;      ///< by place of the block among all
  base::pod_vector<std::uint64_t> used;   ///< by place of the block, a bit: has it a term? all 0 between two calls
  base::vector<location_share> waiters, causers, shares;
  base::packet joined;

  /// Total variation distance from a shape to that whose parts of 1 lie in `parts`, or are of blocks that are unknown here.
  double distance(const share* shape, std::size_t size) const noexcept {
    if (size == 0) return 1;
    double apart = 0, met = 0;
    for (const share* s = shape; s != shape + size; ++s) {
      apart += std::fabs(s->part - parts[s->block]);
      met += parts[s->block];
    }
    return (apart + std::max(0.0, 1 - met)) / 2;
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
