#ifndef WHYWAIT_CLOCKS_BLOCK_BALANCE_HPP
#define WHYWAIT_CLOCKS_BLOCK_BALANCE_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/clocks/joined_code.hpp>
#include <whywait/clocks/joining.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/clocks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// How the time in each block is distributed over the ranks. Merged up the reduction tree; 64 bytes per distinct block.
class block_balance {
 public:
  /// Sets what one rank did itself, by block, ascending. `joined`: unmarked code by the keys that join it.
  void set(std::int32_t rank, const base::pod_vector<explain::block_time>& own, const joined_code& joined) {
    all_.clear();
    for (const explain::block_time& b : own) {
      if (b.ns > 0) all_.push_back({b.block, joined.longest_of(b.block), rank, 1, joined.pieces_of(b.block), b.ns, b.ns, 0});
    }
  }
  void write(base::packet& out) const { put_all(out, all_); }
  /// Merges what another rank's `write` wrote.
  void join(base::packet_reader& in) {
    join_ascending(
        all_, in, [](const entry& a, const entry& b) { return a.block < b.block; },
        [](entry& to, const entry& e) {
          if (e.most_ns > to.most_ns) {
            to.most_ns = e.most_ns;
            to.rank = e.rank;
            to.piece = e.piece;
            to.pieces = e.pieces;
          }
          to.ranks += e.ranks;
          to.sum_ns += e.sum_ns;
        });
  }

  /// The blocks that one rank spends most time in beyond the mean of all ranks that run them: the candidates for balancing,
  /// at most `most`, largest excess first. What joins only one block is left out.
  base::pod_vector<explain::balance_answer> candidates(std::size_t most) const {
    base::pod_vector<entry> found;
    for (const entry& e : all_) {
      if (e.ranks > 1 && excess(e) > 0) found.push_back(e);
    }
    small_stable_sort(found, [](const entry& a, const entry& b) {
      return excess(a) != excess(b) ? excess(a) > excess(b) : a.block < b.block;
    });
    std::size_t kept = 0;
    for (const entry& e : found) {
      const auto same = [&e](const entry& x) { return x.piece == e.piece && x.sum_ns == e.sum_ns && x.ranks == e.ranks; };
      const auto end = found.begin() + static_cast<std::ptrdiff_t>(kept), twin = std::find_if(found.begin(), end, same);
      if (twin == end) found[kept++] = e;
      else if (e.block == e.piece) *twin = e;
      if (kept == most) break;
    }
    found.resize(kept);
    return found;
  }
  static std::int64_t mean_ns(const explain::balance_answer& e) noexcept { return e.sum_ns / e.ranks; }

 private:
  using entry = explain::balance_answer;
  static std::int64_t excess(const entry& e) noexcept { return e.most_ns - mean_ns(e); }

  base::pod_vector<entry> all_;  ///< by block
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
