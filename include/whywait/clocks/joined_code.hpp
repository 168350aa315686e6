#ifndef WHYWAIT_CLOCKS_JOINED_CODE_HPP
#define WHYWAIT_CLOCKS_JOINED_CODE_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/options.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// One piece of unmarked code of one rank: the time and number of visits between two of its call sites.
struct unmarked_piece {
  core::stable_key block, first, second;
  std::int64_t ns, visits;
};

/// The unmarked code of one rank, joined: all of it, that between calls in the same two functions, and that after each call. Ranks
/// with other neighbours make the calls around the same code in other lines, so that only the functions tell that it is the same;
/// code that one rank runs clearly more often is another. Ranks with another part in the program go on from the same call to
/// other calls.
class joined_code {
 public:
  /// Adds the sums to `own`, the time of the rank by block, ascending. Asks for the functions of pieces that make at least 1 %
  /// of it. O(pieces log pieces).
  void join(base::pod_vector<unmarked_piece>& pieces, explain::function_names* functions,
            base::pod_vector<explain::block_time>& own) {
    std::int64_t whole_ns = 0;
    for (const explain::block_time& b : own) whole_ns += b.ns;
    small_stable_sort(pieces, [](const unmarked_piece& a, const unmarked_piece& b) { return a.ns > b.ns; });
    base::key_map visits_of;
    base::pod_vector<std::int64_t> visits;
    for (const unmarked_piece& p : pieces) {
      of_blocks_.push_back({p.block, 0, 0, 0, p.first, p.second, false, p.block});
      if (functions == nullptr || p.ns < whole_ns / 100 || p.first == 0 || p.second == 0) continue;
      const explain::source_keys from = functions->source_of(p.first), to = functions->source_of(p.second);
      if (from.function == 0 || to.function == 0) continue;
      const core::stable_key key = core::combine(from.function, to.function);
      of_blocks_.back().piece = key;
      if (from.line != 0 && to.line != 0) of_blocks_.back().lines = core::combine(from.line, to.line);
      const std::uint32_t at = visits_of.intern(key, static_cast<std::uint32_t>(visits.size()));
      if (at == visits.size()) visits.push_back(0);
      visits[at] += p.visits;
    }
    for (std::size_t i = 0; i != pieces.size(); ++i) {
      add(explain::unmarked_key(), pieces[i]);
      if (pieces[i].first != 0) add(explain::after_key(pieces[i].first), pieces[i], true);
      core::stable_key& key = of_blocks_[i].piece;
      if (key == 0) continue;
      key = core::combine(key, how_often(visits[visits_of.find(key)]));
      add(key, pieces[i]);
    }
    small_stable_sort(of_blocks_, [](const sum& a, const sum& b) { return a.block < b.block; });
    for (const sum& s : sums_) own.push_back({s.block, s.ns, 0});
    small_stable_sort(own, [](const explain::block_time& a, const explain::block_time& b) { return a.block < b.block; });
  }

  /// The longest piece that a key of joined code stands for; the key itself if it is none.
  core::stable_key longest_of(core::stable_key key) const noexcept {
    const sum* const joined = find_sum(key);
    return joined != nullptr ? joined->piece : key;
  }
  /// Whether a key stands for all code after one call.
  bool is_after(core::stable_key key) const noexcept {
    const sum* const joined = find_sum(key);
    return joined != nullptr && joined->after;
  }
  /// The number of pieces that a key stands for.
  std::int32_t pieces_of(core::stable_key key) const noexcept {
    const sum* const joined = find_sum(key);
    return joined != nullptr ? joined->pieces : 1;
  }
  /// The key of the code between the same functions as a piece; 0: none.
  core::stable_key key_of(core::stable_key block) const noexcept {
    const sum* const piece = find(block);
    return piece != nullptr ? piece->piece : 0;
  }
  /// The same for pieces between calls in the same lines; of others the key of the piece.
  core::stable_key lines_of(core::stable_key block) const noexcept {
    const sum* const piece = find(block);
    return piece != nullptr ? piece->lines : block;
  }
  /// The call sites around a piece; 0 of other blocks.
  struct call_pair {
    core::stable_key first, second;
  };
  call_pair around(core::stable_key block) const noexcept {
    const sum* const piece = find(block);
    return piece != nullptr ? call_pair{piece->first, piece->second} : call_pair{0, 0};
  }
  /// Whether a block is a piece of unmarked code.
  bool is_piece(core::stable_key block) const noexcept { return find(block) != nullptr; }
  /// Whether a block is a piece of unmarked code, or joins such pieces.
  bool is_unmarked(core::stable_key block) const noexcept { return find(block) != nullptr || find_sum(block) != nullptr; }

 private:
  struct sum {
    core::stable_key block, piece;
    std::int64_t ns;
    std::int32_t pieces;
    core::stable_key first, second;  ///< call sites around a piece
    bool after = false;  ///< all code after one call
    core::stable_key lines = 0;  ///< around a piece
  };

  // Equal for numbers of visits that differ by less than about a quarter, but for those on both sides of a limit.
  static std::uint64_t how_often(std::int64_t visits) noexcept {
    return static_cast<std::uint64_t>(std::lround(3 * std::log2(static_cast<double>(std::max<std::int64_t>(visits, 1)))));
  }
  const sum* find(core::stable_key block) const noexcept {
    const auto at = std::lower_bound(of_blocks_.begin(), of_blocks_.end(), block,
                                     [](const sum& s, core::stable_key key) { return s.block < key; });
    return at != of_blocks_.end() && at->block == block ? &*at : nullptr;
  }

  const sum* find_sum(core::stable_key key) const noexcept {
    const std::uint32_t at = numbers_.find(key);
    return at != base::key_map::none ? &sums_[at] : nullptr;
  }
  void add(core::stable_key key, const unmarked_piece& p, bool after = false) {  // the longest piece comes first
    const std::uint32_t at = numbers_.intern(key, static_cast<std::uint32_t>(sums_.size()));
    if (at == sums_.size()) sums_.push_back({key, p.block, 0, 0, 0, 0, after});
    sums_[at].ns += p.ns;
    ++sums_[at].pieces;
  }

  base::key_map numbers_;  ///< in sums_
  base::pod_vector<sum> sums_;  ///< by joined code; at most 101, and one for each call site
  base::pod_vector<sum> of_blocks_;  ///< all pieces, ascending; `piece`: the key that joins the block, or 0
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
