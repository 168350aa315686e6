#ifndef WHYWAIT_DATA_ANALYSIS_INDEX_SET_HPP
#define WHYWAIT_DATA_ANALYSIS_INDEX_SET_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/stable_key.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// `count` pieces of `length` indices, one every `stride`.
struct index_run {
  std::uint64_t first = 0, length = 0, stride = 0, count = 1;

  std::uint64_t end() const noexcept { return first + (count - 1) * stride + length; }
  std::uint64_t size() const noexcept { return length * count; }
  bool holds(std::uint64_t i) const noexcept {
    if (i < first || i >= end()) return false;
    return count == 1 || (i - first) % stride < length;
  }
  bool operator==(const index_run& o) const noexcept {
    return first == o.first && length == o.length && stride == o.stride && count == o.count;
  }
  bool operator!=(const index_run& o) const noexcept { return !(*this == o); }
};

/// Indices that a block touched: a list of strided runs (definitions 2.2). `add` costs a look-up, and nothing is kept of what was
/// added before, so that a loop that runs for ever needs no more than its first round. `settle` makes the runs disjoint, sorted
/// and as few as possible; it does so while there are at most `most_pieces` pieces, else the set stays as it is: `exact()` is
/// false and sizes may count what overlaps twice. While it is added to it settles by itself now and then, so that it stays as
/// small as what it holds allows.
class index_set {
 public:
  static constexpr std::uint64_t most_pieces = std::uint64_t{1} << 20;

  void add(const index_run& r) {
    if (r.length == 0 || r.count == 0) return;
    const index_run one = r.count > 1 && r.stride > r.length ? r : index_run{r.first, r.end() - r.first, 0, 1};
    if (!runs_.empty() && runs_.back() == one) return;
    const core::stable_key key = core::combine(core::combine(one.first, one.length), core::combine(one.stride, one.count));
    const auto fresh = static_cast<std::uint32_t>(runs_.size());
    if (known_.intern(key, fresh) == fresh) runs_.push_back(one);
    settled_ = false;
    if (runs_.size() < settle_at_) return;
    settle();
    settle_at_ = std::max(first_settled, 2 * runs_.size());
  }

  void settle() {
    if (settled_) return;
    std::uint64_t pieces = 0;
    for (const index_run& r : runs_) pieces += r.count;
    exact_ = pieces <= most_pieces;
    if (exact_) {
      struct interval {
        std::uint64_t begin, end;
      };
      base::pod_vector<interval> list;
      list.reserve(static_cast<std::size_t>(pieces));
      for (const index_run& r : runs_) {
        for (std::uint64_t k = 0; k != r.count; ++k)
          list.push_back({r.first + k * r.stride, r.first + k * r.stride + r.length});
      }
      base::small_stable_sort(
          list, [](const interval& a, const interval& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
      std::size_t kept = 0;
      for (std::size_t i = 1; i < list.size(); ++i) {
        if (list[i].begin <= list[kept].end) list[kept].end = std::max(list[kept].end, list[i].end);
        else list[++kept] = list[i];
      }
      if (!list.empty()) list.resize(kept + 1);
      runs_.clear();
      for (const interval& piece : list) append({piece.begin, piece.end - piece.begin, 0, 1});
      known_ = {};
    }
    settled_ = true;
  }

  bool empty() const noexcept { return runs_.empty(); }
  bool exact() const noexcept { return exact_; }
  const base::pod_vector<index_run>& runs() const noexcept { return runs_; }
  std::uint64_t size() const noexcept {
    std::uint64_t n = 0;
    for (const index_run& r : runs_) n += r.size();
    return n;
  }
  std::uint64_t first() const noexcept { return runs_.empty() ? 0 : runs_.front().first; }
  bool contiguous() const noexcept { return runs_.size() == 1 && runs_[0].count == 1; }
  bool operator==(const index_set& o) const noexcept { return runs_ == o.runs_; }

  /// O(runs).
  bool holds(std::uint64_t i) const noexcept {
    for (const index_run& r : runs_) {
      if (r.holds(i)) return true;
    }
    return false;
  }
  /// The k-th index, in the order of the runs; k below `size()`. O(runs).
  std::uint64_t at(std::uint64_t k) const noexcept {
    for (const index_run& r : runs_) {
      if (k < r.size()) return r.first + k / r.length * r.stride + k % r.length;
      k -= r.size();
    }
    return 0;
  }
  /// Calls `each(begin, end)` for all pieces.
  template <class Each>
  void for_each_piece(Each&& each) const {
    for (const index_run& r : runs_) {
      for (std::uint64_t k = 0; k != r.count; ++k) each(r.first + k * r.stride, r.first + k * r.stride + r.length);
    }
  }
  /// Calls `each(index)` for `most` indices spread evenly over the set, its ends among them; for all if there are no more.
  template <class Each>
  void sample(std::uint64_t most, Each&& each) const {
    const std::uint64_t n = size();
    if (n <= most) {
      for_each_piece([&](std::uint64_t begin, std::uint64_t end) {
        for (; begin != end; ++begin) each(begin);
      });
      return;
    }
    for (std::uint64_t k = 0; k != most; ++k) {
      each(at(static_cast<std::uint64_t>(static_cast<double>(k) * static_cast<double>(n - 1) / static_cast<double>(most - 1))));
    }
  }

 private:
  // Pieces come in order: lengthens the last run if they go on in its rhythm.
  void append(const index_run& piece) {
    if (!runs_.empty()) {
      index_run& last = runs_.back();
      const std::uint64_t gap = piece.first - last.first - (last.count - 1) * last.stride;
      if (last.length == piece.length && (last.count == 1 || last.stride == gap)) {
        last.stride = gap;
        ++last.count;
        return;
      }
    }
    runs_.push_back(piece);
  }

  static constexpr std::size_t first_settled = 4096;

  base::pod_vector<index_run> runs_;
  std::size_t settle_at_ = first_settled;
  base::key_map known_;
  bool settled_ = false, exact_ = true;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
