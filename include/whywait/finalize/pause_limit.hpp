#ifndef WHYWAIT_FINALIZE_PAUSE_LIMIT_HPP
#define WHYWAIT_FINALIZE_PAUSE_LIMIT_HPP

#include <whywait/core/settings.hpp>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// How long after its beginning, in ticks and with pauses, a run is recorded again after a pause of `last` ticks; 0: at once. `pauses`:
/// of all pauses, that one included. Until then the program runs long enough for one more pause like it, so that all together are at
/// most the percentage of WHYWAIT_PAUSES of its own time (docs/method.md 4.11).
inline std::uint64_t recorded_again_after(const core::settings& limit, double ns_per_tick, std::uint64_t pauses,
                                          std::uint64_t last) noexcept {
  const bool free = static_cast<double>(pauses) * ns_per_tick < static_cast<double>(limit.pauses_free_seconds) * 1e9;
  return limit.pauses_percent == 0 || free ? 0 : pauses + (pauses + last) / limit.pauses_percent * 100;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
