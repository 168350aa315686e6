#ifndef WHYWAIT_CLOCKS_JOINED_CODE_HPP
#define WHYWAIT_CLOCKS_JOINED_CODE_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/options.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// One piece of unmarked code of one thread of a rank: the time and number of visits between two of its call sites.
struct unmarked_piece {
  core::stable_key block, first, second;
  std::int64_t ns, visits;
  std::uint32_t location = 0;
  bool main = true;  ///< of the main thread
  core::stable_key phase = 0;  ///< key of its phase; of several the last; 0: none
};

/// The unmarked code of one rank, joined: all of it, that between calls in the same two functions, that after and before each call, and
/// that from one operation of all ranks to the next. Ranks with other neighbours make the calls around the same code in other lines, so
/// that only the functions tell that it is the same; code that one rank runs clearly more often is another. Ranks with another part in
/// the program go on from the same call to other calls. Of further threads only what lies between calls in the same two functions is joined.
class joined_code {
 public:
  /// The time of each location of a rank by block, ascending.
  using time_by_location = base::vector<base::pod_vector<explain::block_time>>;

  /// Adds the sums to `own`. Asks for the functions of pieces that make at least 1 % of it, and of the longest 64 also for those of 0.1 %,
  /// for loops that the compiler unrolled. O(pieces log pieces).
  void join(base::pod_vector<unmarked_piece>& pieces, explain::function_names* functions, time_by_location& own) {
    base::pod_vector<std::int64_t> whole_ns(own.size(), 0);
    for (std::size_t l = 0; l != own.size(); ++l)
      for (const explain::block_time& b : own[l]) whole_ns[l] += b.ns;
    small_stable_sort(pieces, [](const unmarked_piece& a, const unmarked_piece& b) { return a.ns > b.ns; });
    base::key_map first_of, number_of;  // in of_blocks_: by functions, the block that has the visits of all; by block
    for (const unmarked_piece& p : pieces) {
      const auto fresh = static_cast<std::uint32_t>(of_blocks_.size());
      const std::uint32_t number = number_of.intern(p.block, fresh);
      if (number == fresh) enter(p, p.ns >= whole_ns[p.location] / (number < 64 ? 1000 : 100) ? functions : nullptr);
      const core::stable_key key = of_blocks_[number].piece;
      if (key == 0) continue;
      sum& all = of_blocks_[first_of.intern(key, number)];
      all.visits += p.visits;
      all.main = all.main || p.main;
    }
    for (sum& s : of_blocks_) {
      if (s.piece == 0) continue;
      const sum& all = of_blocks_[first_of.find(s.piece)];
      // Further threads that had to wait for something pass other calls less often.
      if (all.main) s.piece = core::combine(s.piece, how_often(all.visits));
    }
    std::uint32_t entered = 0;
    for (const unmarked_piece& p : pieces) {
      const std::uint32_t number = number_of.find(p.block);
      const std::int32_t another = number == entered ? 1 : 0;  // the first piece of its block
      entered += static_cast<std::uint32_t>(another);
      if (p.main) add(explain::unmarked_key(), p, how::none, another, own);
      if (p.main && p.first != 0) add(explain::joined_key(p.first, how::after), p, how::after, another, own);
      if (p.main && p.second != 0) add(explain::joined_key(p.second, how::before), p, how::before, another, own);
      if (p.main && p.phase != 0) add(p.phase, p, how::phase, another, own);
      if (const core::stable_key key = of_blocks_[number].piece) add(key, p, how::none, another, own);
    }
    small_stable_sort(of_blocks_, [](const sum& a, const sum& b) { return a.block < b.block; });
    for (base::pod_vector<explain::block_time>& here : own)
      base::sort_and_join(
          here, [](const explain::block_time& a, const explain::block_time& b) { return a.block < b.block; },
          [](explain::block_time& to, const explain::block_time& b) { to.ns += b.ns; });
  }

  /// Sets what `e.block` stands for: the longest piece and the number of pieces of joined code, the calls around a piece and the key
  /// that joins it.
  void describe(explain::balance_answer& e) const noexcept {
    e.piece = e.block;
    if (const sum* const joined = find_sum(e.block)) {
      e.piece = joined->piece;
      e.pieces = joined->pieces;
      e.after = joined->of == how::after;
      e.before = joined->of == how::before;
      if (joined->of == how::phase) e.phase = e.block;
      e.unmarked = true;
    }
    if (const sum* const piece = explain::find_block(of_blocks_, e.block)) {
      e.first = piece->first;
      e.second = piece->second;
      e.joined = piece->piece;
      e.phase = piece->phase;
      e.unmarked = true;
    }
  }
  /// The key of the code between the same functions as a piece; 0: none.
  core::stable_key key_of(core::stable_key block) const noexcept {
    const sum* const piece = explain::find_block(of_blocks_, block);
    return piece != nullptr ? piece->piece : 0;
  }
  /// The same for pieces between calls in the same lines; of others the key of the piece.
  core::stable_key lines_of(core::stable_key block) const noexcept {
    const sum* const piece = explain::find_block(of_blocks_, block);
    return piece != nullptr ? piece->lines : block;
  }

 private:
  using how = explain::joined_by;
  struct sum {
    core::stable_key block, piece;
    std::int32_t pieces;
    core::stable_key first, second;  ///< call sites around a piece
    how of = how::none;
    bool main = false;  ///< of the first piece between two functions: the main thread runs some
    core::stable_key lines = 0;  ///< around a piece
    std::int64_t visits = 0;  ///< of the first piece between two functions: of all
    core::stable_key phase = 0;  ///< of a piece
  };

  // Equal for numbers of visits that differ by less than about a quarter, but for those on both sides of a limit.
  static std::uint64_t how_often(std::int64_t visits) noexcept {
    return static_cast<std::uint64_t>(std::lround(3 * std::log2(static_cast<double>(std::max<std::int64_t>(visits, 1)))));
  }
  const sum* find_sum(core::stable_key key) const noexcept {
    const std::uint32_t at = numbers_.find(key);
    return at != base::key_map::none ? &sums_[at] : nullptr;
  }
  // The longest piece comes first. `another`: 1 if it is the first of its block.
  [[gnu::noinline]] void add(core::stable_key key, const unmarked_piece& p, how of, std::int32_t another,
                             time_by_location& own) {
    const std::uint32_t at = numbers_.intern(key, static_cast<std::uint32_t>(sums_.size()));
    if (at == sums_.size()) sums_.push_back({key, p.block, 0, 0, 0, of});
    sums_[at].pieces += another;
    own[p.location].push_back({key, p.ns, 0});
  }
  // Enters a block, with the functions that its calls are in.
  void enter(const unmarked_piece& p, explain::function_names* functions) {
    of_blocks_.push_back({p.block, 0, 0, p.first, p.second, how::none, false, p.block, 0, p.phase});
    if (functions == nullptr || p.first == 0 || p.second == 0) return;
    const explain::source_keys from = functions->source_of(p.first), to = functions->source_of(p.second);
    if (from.function == 0 || to.function == 0) return;
    of_blocks_.back().piece = core::combine(from.function, to.function);
    if (from.line != 0 && to.line != 0) of_blocks_.back().lines = core::combine(from.line, to.line);
  }

  base::key_map numbers_;  ///< in sums_
  base::pod_vector<sum> sums_;  ///< by joined code; at most 165, and one for each call site
  base::pod_vector<sum> of_blocks_;  ///< all pieces, ascending; `piece`: the key that joins the block, or 0
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
