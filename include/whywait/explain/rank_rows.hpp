#ifndef WHYWAIT_EXPLAIN_RANK_ROWS_HPP
#define WHYWAIT_EXPLAIN_RANK_ROWS_HPP

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The rows of all maps over ranks: each rank is a row of up to 64 ranks; of more ranks a row is a group of consecutive
/// ranks. All groups have the same size, the smallest with which 64 rows suffice; the last one may be smaller.
class rank_rows {
 public:
  static constexpr std::int32_t most = 64;

  rank_rows() = default;
  explicit rank_rows(std::int32_t ranks) noexcept
      : ranks_(std::max(ranks, std::int32_t{1})), each_((ranks_ - 1) / most + 1), count_((ranks_ - 1) / each_ + 1) {}

  std::int32_t ranks() const noexcept { return ranks_; }
  std::int32_t each() const noexcept { return each_; }  ///< ranks per row
  std::int32_t count() const noexcept { return count_; }
  std::int32_t of(std::int32_t rank) const noexcept { return rank / each_; }
  std::int32_t first_rank(std::int32_t row) const noexcept { return row * each_; }
  std::int32_t last_rank(std::int32_t row) const noexcept { return std::min(ranks_, (row + 1) * each_) - 1; }

 private:
  std::int32_t ranks_ = 1, each_ = 1, count_ = 1;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
