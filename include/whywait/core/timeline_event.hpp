#ifndef WHYWAIT_CORE_TIMELINE_EVENT_HPP
#define WHYWAIT_CORE_TIMELINE_EVENT_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// One raw event of a timeline, 8 bytes: the lower half of its time, what happened and to which block. The upper half
/// of the time is an event of its own, `clock`: at the beginning of each chunk and whenever it changes, so that
/// whatever chunks are lost, each can be read alone.
struct timeline_event {
  enum kind_t : uint32_t {
    enter,  ///< a region begins
    leave,  ///< a region ends: names the region, so that an end whose begin is lost has a name
    visit,  ///< a step; its time is that of the event before it
    clock   ///< no event: `low` is the upper half of the times that follow
  };
  uint32_t low;
  uint32_t what;  ///< kind in the two upper bits, below them the number of the block

  static constexpr uint32_t number_mask = (1u << 30) - 1;
  static constexpr timeline_event make(kind_t kind, uint32_t number, uint64_t ticks) noexcept {
    return {static_cast<uint32_t>(ticks), (uint32_t(kind) << 30) | (number & number_mask)};
  }
  kind_t kind() const noexcept { return static_cast<kind_t>(what >> 30); }
  uint32_t number() const noexcept { return what & number_mask; }
};
static_assert(sizeof(timeline_event) == 8, "eight events share a cache line");

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
