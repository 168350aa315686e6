#ifndef WHYWAIT_DATA_ANALYSIS_DISTRIBUTION_HPP
#define WHYWAIT_DATA_ANALYSIS_DISTRIBUTION_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/index_set.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// A box of indices: extents of an array, or of the iterations of a loop nest; slowest dimension first.
struct index_space {
  base::vector<std::uint64_t> extent;

  std::uint64_t size() const noexcept {
    std::uint64_t n = 1;
    for (const std::uint64_t e : extent) n *= e;
    return n;
  }
  /// Index along dimension `d` of element `e`.
  std::uint64_t along(std::uint64_t e, std::size_t d) const noexcept {
    for (std::size_t k = extent.size(); --k > d;) e /= extent[k];
    return e % extent[d];
  }
  bool operator==(const index_space& o) const noexcept { return extent == o.extent; }
};

/// How one dimension is dealt out: part (i / block) mod parts (definitions 2.2; HPF's BLOCK, CYCLIC, CYCLIC(b)), or,
/// for blocks of several sizes, by where each begins.
struct dimension_map {
  std::uint64_t extent = 1;
  std::uint64_t parts = 1;  ///< 1: not distributed
  std::uint64_t block = 1;
  base::vector<std::uint64_t> starts;  ///< if not empty: first index of every part, rising

  std::uint64_t part_of(std::uint64_t i) const noexcept {
    if (parts == 1) return 0;
    if (starts.empty()) return i / block % parts;
    const auto at = static_cast<std::uint64_t>(std::upper_bound(starts.begin(), starts.end(), i) - starts.begin());
    return at == 0 ? 0 : at - 1;
  }
  bool is_block() const noexcept { return !starts.empty() || (parts > 1 && block * parts >= extent); }
  std::string text() const {
    if (parts == 1) return "*";
    if (is_block()) return "block";
    return block == 1 ? "cyclic" : "block-cyclic(" + std::to_string(block) + ")";
  }
  bool operator==(const dimension_map& o) const noexcept {
    return extent == o.extent && parts == o.parts && starts == o.starts && (block == o.block || parts == 1 || !starts.empty());
  }
};

enum class distribution_kind : std::uint8_t { unknown, replicated, regular, irregular };

/// Which rank owns an element of an array, or runs an iteration: by dimension on a grid of ranks, or as it was seen.
class distribution {
 public:
  static constexpr std::int32_t nobody = -1;

  distribution() = default;
  /// Regular: the ranks of the grid's cells in row-major order; by default 0, 1, 2, ...
  explicit distribution(base::vector<dimension_map> dimensions, base::vector<std::int32_t> ranks = {})
      : kind_(distribution_kind::regular), dimensions_(std::move(dimensions)), ranks_(std::move(ranks)) {
    std::uint64_t cells = 1;
    for (const dimension_map& d : dimensions_) cells *= d.parts;
    while (ranks_.size() < cells) ranks_.push_back(static_cast<std::int32_t>(ranks_.size()));
  }
  static distribution replicated() {
    distribution out;
    out.kind_ = distribution_kind::replicated;
    return out;
  }
  /// As seen: pieces [begin, end) with their rank, sorted.
  struct piece {
    std::uint64_t begin, end;
    std::int32_t rank;
    bool operator<(const piece& o) const noexcept { return begin != o.begin ? begin < o.begin : rank < o.rank; }
  };
  static distribution seen(base::pod_vector<piece> pieces) {
    distribution out;
    out.kind_ = distribution_kind::irregular;
    base::small_stable_sort(pieces);
    out.pieces_ = std::move(pieces);
    return out;
  }

  distribution_kind kind() const noexcept { return kind_; }
  bool known() const noexcept { return kind_ != distribution_kind::unknown; }
  const base::vector<dimension_map>& dimensions() const noexcept { return dimensions_; }

  /// Whether `rank` has element `e` (runs iteration `e`).
  bool has(std::int32_t rank, std::uint64_t e) const noexcept {
    return kind_ == distribution_kind::replicated || owner(e) == rank;
  }
  /// Rank of element `e`, or `nobody` if it was never accessed or is replicated. O(dimensions), or O(log pieces).
  std::int32_t owner(std::uint64_t e) const noexcept {
    if (kind_ == distribution_kind::regular) {
      std::uint64_t cell = 0, factor = 1;
      for (std::size_t d = dimensions_.size(); d-- != 0;) {
        cell += dimensions_[d].part_of(e % dimensions_[d].extent) * factor;
        e /= dimensions_[d].extent;
        factor *= dimensions_[d].parts;
      }
      return ranks_[static_cast<std::size_t>(cell)];
    }
    auto at = std::upper_bound(pieces_.begin(), pieces_.end(), e, [](std::uint64_t i, const piece& p) { return i < p.begin; });
    if (at == pieces_.begin()) return nobody;
    --at;
    return e < at->end ? at->rank : nobody;
  }

  /// "block", "(block, *)", "(block, cyclic) on 2 x 4 ranks", "replicated", "irregular".
  std::string text() const {
    if (kind_ == distribution_kind::replicated) return "replicated";
    if (kind_ == distribution_kind::irregular) return "irregular";
    if (kind_ == distribution_kind::unknown) return "unknown";
    if (dimensions_.size() == 1) return dimensions_[0].parts == 1 ? "on one rank" : dimensions_[0].text();
    std::string out = "(", grid;
    unsigned distributed = 0;
    for (std::size_t d = 0; d != dimensions_.size(); ++d) {
      out += (d != 0 ? ", " : "") + dimensions_[d].text();
      if (dimensions_[d].parts == 1) continue;
      grid += (distributed++ != 0 ? " x " : "") + std::to_string(dimensions_[d].parts);
    }
    return out + ")" + (distributed > 1 ? " on " + grid + " ranks" : "");
  }

 private:
  distribution_kind kind_ = distribution_kind::unknown;
  base::vector<dimension_map> dimensions_;
  base::vector<std::int32_t> ranks_;
  base::pod_vector<piece> pieces_;
};

/// block: ceil(n / parts) in a row; cyclic; block-cyclic(b).
inline dimension_map block_map(std::uint64_t n, std::uint64_t parts) { return {n, parts, (n + parts - 1) / parts, {}}; }
inline dimension_map cyclic_map(std::uint64_t n, std::uint64_t parts, std::uint64_t block = 1) { return {n, parts, block, {}}; }

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
