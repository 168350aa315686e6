#ifndef WHYWAIT_CORE_PATH_ORDER_HPP
#define WHYWAIT_CORE_PATH_ORDER_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// What an order_node is: in the upper bits of its symbol, below them the number of the block.
namespace order_flag {
enum : uint32_t {
  region = 1u << 31,     ///< has a begin and an end: its body ran inside it. Else a step
  continued = 1u << 30,  ///< it was open already when the path began: its begin is not part of the path
  unfinished = 1u << 29  ///< it was still open when the path ended: its end is not part of the path
};
}

/// One node of a folded path, in preorder: its body (at all levels) are the `body` nodes that follow. Symbol 0: a
/// loop, its body ran `count` times. A step or a region: it was visited `count` times in a row, each time with this
/// body. Plain data.
struct order_node {
  static constexpr uint32_t number_mask = (1u << 29) - 1;

  uint32_t symbol;
  uint32_t count;
  uint32_t body;
  float ticks;  ///< of a region: exclusive time of all visits, those in all rounds of loops around it

  uint32_t number() const noexcept { return symbol & number_mask; }
  bool is(uint32_t flag) const noexcept { return (symbol & flag) != 0; }
  bool is_loop() const noexcept { return symbol == 0; }
};
static_assert(sizeof(order_node) == 16, "four nodes share a cache line");

/// The order of what one location ran before one sync record: `nodes` order_nodes from `first` on.
struct order_segment {
  uint64_t first;
  uint32_t nodes;
  uint32_t record;  ///< index of the sync record that ended it: that call had not begun yet
  uint64_t lost;    ///< events after these nodes whose order was not kept: there were too many different ones
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
