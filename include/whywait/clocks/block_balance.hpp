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

/// How the time in each block is distributed over the ranks. Merged up the reduction tree; 104 bytes per distinct block.
class block_balance {
 public:
  /// Sets what one rank did itself, by block, ascending. `joined`: unmarked code by the keys that join it.
  /// `regions`: the keys of all marked code.
  void set(std::int32_t rank, const base::pod_vector<explain::block_time>& own, const joined_code& joined,
           base::pod_vector<core::stable_key> regions) {
    small_stable_sort(regions);
    all_.clear();
    all_ranks_ = 1;
    longest_ = second_ = {0, rank};
    for (const explain::block_time& b : own) {
      if (b.ns <= 0) continue;
      entry e;
      e.block = b.block;
      e.piece = joined.longest_of(b.block);
      e.rank = rank;
      e.ranks = 1;
      e.pieces = joined.pieces_of(b.block);
      e.unmarked = joined.is_unmarked(b.block);
      e.after = joined.is_after(b.block);
      e.first = joined.around(b.block).first;
      e.second = joined.around(b.block).second;
      e.joined = joined.key_of(b.block);
      e.region = !e.unmarked && std::binary_search(regions.begin(), regions.end(), b.block);
      e.most_ns = e.sum_ns = b.ns;
      all_.push_back(e);
      if (e.region || joined.is_piece(b.block)) longest_.ns += b.ns;
    }
  }
  void write(base::packet& out) const {
    put(out, all_ranks_);
    put(out, longest_);
    put(out, second_);
    put_all(out, all_);
  }
  /// Merges what another rank's `write` wrote.
  void join(base::packet_reader& in) {
    all_ranks_ += in.get<std::int32_t>();
    const auto first = in.get<computing>(), next = in.get<computing>();
    const bool theirs = first.ns > longest_.ns;
    const computing lower = theirs ? longest_ : first;
    if (theirs) longest_ = first;
    const computing rest = theirs ? next : second_;
    second_ = rest.ns > lower.ns ? rest : lower;
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

  /// The blocks that one rank spends most time in beyond the mean of the ranks that share them once balanced: the candidates,
  /// at most `most`, largest excess first. What joins hardly more than one block is left out. A block that one rank runs would be divided
  /// among all; an unmarked one if no other rank runs it between other calls (`is_alone`).
  base::pod_vector<explain::balance_answer> candidates(std::size_t most) const {
    base::pod_vector<entry> found;
    for (entry e : all_) {
      e.among = e.ranks == 1 && (e.region || is_alone(e)) ? all_ranks_ : e.ranks;
      if (e.among > e.ranks) e.others_ns = longest_.rank == e.rank ? second_.ns : longest_.ns;
      const bool code = e.region || e.unmarked;  // neither start-up nor time inside MPI can be balanced
      if (code && e.among > 1 && excess(e) > 0) found.push_back(e);
    }
    small_stable_sort(found, [](const entry& a, const entry& b) {
      return excess(a) != excess(b) ? excess(a) > excess(b) : a.block < b.block;
    });
    std::size_t kept = 0;
    for (const entry& e : found) {
      const auto same = [&e](const entry& x) {
        return x.piece == e.piece && x.ranks == e.ranks && 50 * std::max(x.sum_ns - e.sum_ns, e.sum_ns - x.sum_ns) <= e.sum_ns;
      };
      const auto end = found.begin() + static_cast<std::ptrdiff_t>(kept), twin = std::find_if(found.begin(), end, same);
      if (twin == end) found[kept++] = e;
      else if (e.block == e.piece) *twin = e;
      if (kept == most) break;
    }
    found.resize(kept);
    return found;
  }
  static std::int64_t mean_ns(const explain::balance_answer& e) noexcept { return e.sum_ns / e.among; }

 private:
  using entry = explain::balance_answer;
  // What a rank computes in all.
  struct computing {
    std::int64_t ns, rank;
  };

  // Whether surely no other rank runs the unmarked code of `e`, which only one rank passes between these two calls. Another one
  // may run it between other calls (docs/method.md 1.4): of the same functions, about as often; or if one of the two calls is
  // the same, and the rank of `e` does not pass that piece as well.
  bool is_alone(const entry& e) const noexcept {
    if (e.first == 0 || e.second == 0 || e.joined == 0) return false;
    for (const entry& x : all_) {
      if (x.block == e.joined && x.ranks > 1) return false;
      const bool same_call = (x.first != 0 && x.first == e.first) || (x.second != 0 && x.second == e.second);
      const bool shared = x.ranks == all_ranks_ || (x.ranks == 1 && x.rank == e.rank);
      if (same_call && !shared) return false;
    }
    return true;
  }
  static std::int64_t excess(const entry& e) noexcept { return e.most_ns - mean_ns(e); }

  base::pod_vector<entry> all_;  ///< by block
  computing longest_{0, 0}, second_{0, 0};  ///< the ranks that compute longest
  std::int32_t all_ranks_ = 0;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
