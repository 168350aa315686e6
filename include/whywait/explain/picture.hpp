#ifndef WHYWAIT_EXPLAIN_PICTURE_HPP
#define WHYWAIT_EXPLAIN_PICTURE_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The kind of a picture_node.
enum class ran : std::uint8_t {
  loop,      ///< its body, `count` times
  region,    ///< a timed scope: key
  step,      ///< an untimed block: key
  call,      ///< an MPI call: key of the call site
  unmarked,  ///< code outside any region
  unordered  ///< its body ran in an order that was not kept: only counts and times
};

/// One node of what a location ran, folded into loops, in preorder: the `body` nodes that follow belong to it.
struct picture_node {
  core::stable_key key = 0;
  std::int64_t ns = 0;      ///< time of all visits including the body; 0 for steps
  std::uint32_t count = 1;  ///< visits in a row, in each round of the enclosing loops
  std::uint32_t body = 0;
  ran what = ran::step;
  bool continued = false;   ///< it began before the picture
  bool unfinished = false;  ///< it ends after the picture
};

/// One column of the picture of a wait: what one location ran since both sides were last aligned.
struct picture_side {
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  bool cut = false;  ///< incomplete: the interval was too long, or its order was not kept
  base::vector<picture_node> nodes;
};

/// The two columns of one wait.
struct wait_picture {
  picture_side waiter, causer;

  bool empty() const noexcept { return waiter.nodes.empty() && causer.nodes.empty(); }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
