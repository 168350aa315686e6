#ifndef WHYWAIT_CLOCKS_BALANCE_COURSE_HPP
#define WHYWAIT_CLOCKS_BALANCE_COURSE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// How a block lies in the run: imbalance that grows, or that comes in one part of the run, is balanced where it is. A part is the
/// same part of the stretches between operations of all ranks, and within a stretch of each rank's pieces of the block: its visits,
/// which calls inside a region divide. Added up over ranks. Sent between ranks as bytes.
struct balance_course {
  static constexpr std::size_t parts = 32;
  static constexpr std::int64_t least_pieces = 8;  ///< of a rank in each part: fewer differ by chance

  std::int64_t ns[parts] = {}, pieces[parts] = {};
  std::int64_t ranks[parts] = {};  ///< that run the block in this part
  std::int64_t visits = 0;  ///< in all parts, each once

  void add(const balance_course& o) noexcept {
    for (std::size_t p = 0; p != parts; ++p) {
      ns[p] += o.ns[p];
      pieces[p] += o.pieces[p];
      ranks[p] += o.ranks[p];
    }
    visits += o.visits;
  }
  std::int64_t all_ns() const noexcept { return sum_of(ns); }
  /// The number of parts that are taken together, so that each has enough pieces of each of `among` ranks.
  std::size_t together(std::int64_t among) const noexcept {
    std::size_t each = 1;
    const std::int64_t of_rank = sum_of(pieces) / std::max<std::int64_t>(among, 1);
    while (each != parts && of_rank < least_pieces * static_cast<std::int64_t>(parts / each)) each *= 2;
    return each;
  }
  /// Joins `each` parts; the number of ranks becomes the largest of them.
  void join(std::size_t each) noexcept {
    for (std::size_t p = 0; p != parts / each; ++p) {
      std::int64_t sum = 0, count = 0, most = 0;
      for (std::size_t i = p * each; i != (p + 1) * each; ++i) {
        sum += ns[i];
        count += pieces[i];
        most = std::max(most, ranks[i]);
      }
      ns[p] = sum;
      pieces[p] = count;
      ranks[p] = most;
    }
  }

 private:
  static std::int64_t sum_of(const std::int64_t (&values)[parts]) noexcept {
    std::int64_t sum = 0;
    for (const std::int64_t v : values) sum += v;
    return sum;
  }
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
