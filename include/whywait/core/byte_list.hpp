#ifndef WHYWAIT_CORE_BYTE_LIST_HPP
#define WHYWAIT_CORE_BYTE_LIST_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// The first of `count` rising pieces that ends behind `at`; `count`: none. O(log count).
template <class Piece, class Count>
inline Count first_behind(const Piece* pieces, Count count, uint64_t at) noexcept {
  Count low = 0, high = count;
  while (low != high) {
    const Count middle = (low + high) / 2;
    if (pieces[middle].end <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/// Bytes that make no pattern: pieces in rising order that do not touch, counted from the first byte. Messages of one shape
/// have the same one; it is never changed and never given back, so that records may point to it.
struct byte_list {
  struct piece {
    uint64_t begin;
    uint64_t end;
  };
  const piece* pieces;
  uint64_t count;  ///< at least 2
  uint64_t bytes;  ///< in all pieces

  uint64_t end() const noexcept { return pieces[count - 1].end; }
  /// The first piece that ends behind `offset`; `count`: none. O(log count).
  uint64_t find(uint64_t offset) const noexcept { return first_behind(pieces, count, offset); }
  /// Bytes of it before `offset`. O(count).
  uint64_t bytes_before(uint64_t offset) const noexcept {
    uint64_t sum = 0;
    for (uint64_t i = 0; i != count && pieces[i].begin < offset; ++i)
      sum += (pieces[i].end < offset ? pieces[i].end : offset) - pieces[i].begin;
    return sum;
  }
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
