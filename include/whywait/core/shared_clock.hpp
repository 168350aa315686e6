#ifndef WHYWAIT_CORE_SHARED_CLOCK_HPP
#define WHYWAIT_CORE_SHARED_CLOCK_HPP

#include <whywait/core/nearest.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Maps the ticks of one process to nanoseconds that all ranks share: ns = (ticks - origin) * ns_per_tick + offset_ns.
/// The map is linear between two offset measurements, as in Scalasca.
struct shared_clock {
  uint64_t origin = 0;       ///< ticks that become `offset_ns`
  double ns_per_tick = 1.0;  ///< measured rate, drift against rank 0 included
  double offset_ns = 0.0;    ///< shared time at `origin`
  double error_ns = 0.0;     ///< half of the bracket that contains the true offset

  int64_t operator()(uint64_t ticks) const noexcept { return at(since_origin(ticks)); }

  int64_t since_origin(uint64_t ticks) const noexcept { return static_cast<int64_t>(ticks - origin); }
  /// Shared time of ticks that count from the origin.
  __attribute__((always_inline)) int64_t at(int64_t ticks) const noexcept {
    return nearest(static_cast<double>(ticks) * ns_per_tick + offset_ns);
  }
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
