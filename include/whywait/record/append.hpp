#ifndef WHYWAIT_RECORD_APPEND_HPP
#define WHYWAIT_RECORD_APPEND_HPP

#include <whywait/record/location.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {

/// Whether the calling thread keeps the order of its path. Then other counters of blocks than the path recorder call
/// `append` for each visit.
inline bool keeps_order() noexcept {
  const location* const here = this_location();
  return here != nullptr && here->more != nullptr && here->more->ordered;
}

constexpr uint32_t most_appended = (1u << 28) - 1;

/// Appends one visit of a block to the path order without counting it, for blocks that the compiler's callbacks count.
/// `block` is at most `most_appended`. About 8 ns where `keeps_order`, else nothing. Calls from inside a call are
/// dropped.
inline void append(uint32_t block) noexcept {
  location* const here = this_location();
  if (here == nullptr || here->more == nullptr) return;
  if (here->more->ordered) here->more->append(*here, block);
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
