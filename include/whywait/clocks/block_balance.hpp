#ifndef WHYWAIT_CLOCKS_BLOCK_BALANCE_HPP
#define WHYWAIT_CLOCKS_BLOCK_BALANCE_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
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

/// How the time in each block is distributed over the threads of all ranks, at first of one rank. Merged up the reduction tree; 168
/// bytes per distinct block.
class block_balance {
 public:
  /// Adds what one location of the rank did itself, by block, ascending; `reused`: as several threads. `joined`: unmarked code by the
  /// keys that join it. `regions`: the keys of all marked code, ascending.
  void add(explain::thread_of_rank who, const base::pod_vector<explain::block_time>& own, const joined_code& joined,
           const base::pod_vector<core::stable_key>& regions, bool reused = false) {
    computing here{0, who};
    for (const explain::block_time& b : own) {
      if (b.ns <= 0) continue;
      entry e;
      e.block = b.block;
      e.rank = who.rank;
      e.thread = who.thread;
      e.of_threads = who.thread != 0;
      e.ranks = 1;
      joined.describe(e);
      if (const explain::block_time* const phase = explain::find_block(own, e.phase)) e.phase_ns = phase->ns;
      e.reused = reused && e.unmarked;  // a mark tells visits apart
      e.region = !e.unmarked && std::binary_search(regions.begin(), regions.end(), b.block);
      e.most_ns = e.least_ns = e.sum_ns = b.ns;
      all_.push_back(e);
      if (e.region || e.first != 0 || e.second != 0) here.ns += b.ns;
    }
    enter(here);
    join_blocks();
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
    enter(first);
    enter(next);
    base::pod_vector<entry> others;
    get_all(in, others);
    all_.append(others.data(), others.size());
    join_blocks();
  }

  /// The blocks that one thread spends most time in beyond the mean of those that share them once balanced: the candidates,
  /// at most `most`, largest excess first. What joins hardly more than one block is left out. A block that one thread runs would be
  /// divided among all ranks; an unmarked one if no other rank runs it between other calls (`is_alone`). `guilty`: the block that explains
  /// most of the waiting, which is one of them in any case: it may take longer now here, now there.
  base::pod_vector<explain::balance_answer> candidates(std::size_t most, core::stable_key guilty = 0) const {
    base::pod_vector<entry> found;
    const entry* const more = all_more();
    for (entry e : all_) {
      if (base::ranks_are_threads() && e.block == explain::unmarked_key() && e.ranks > 2 && hardly_runs(e, e.least_ns)) {
        --e.ranks;  // a thread that only waits for the others to end; of several such threads one
        e.sum_ns -= e.least_ns;
      }
      e.among = e.ranks == 1 && (e.region || is_alone(e, more)) ? all_ranks_ : e.ranks;
      if (e.among > e.ranks) e.others_ns = longest_.who == explain::thread_of_rank{e.rank, e.thread} ? second_.ns : longest_.ns;
      const bool code = (e.region || e.unmarked) && e.phase != e.block;  // neither start-up nor time inside MPI can be balanced
      if (code && e.among > 1 && (excess(e) > 0 || e.block == guilty)) found.push_back(e);
    }
    small_stable_sort(found, [](const entry& a, const entry& b) {
      return excess(a) != excess(b) ? excess(a) > excess(b) : a.block < b.block;
    });
    std::size_t kept = 0;
    entry about;
    for (const entry& e : found)
      if (e.block == guilty) about = e;
    for (entry& e : found) {
      if (e.pieces > 1) e.piece = most_uneven(e);
      if (is_even_in_phase(e)) continue;
      const auto same = [&e](const entry& x) {
        // Others hardly run it, and are no reason to balance it.
        const bool as_many = x.ranks == e.ranks || (x.ranks > 1 && e.ranks > 1 && 2 * excess(e) >= excess(x));
        return x.piece == e.piece && as_many && 50 * std::max(x.sum_ns - e.sum_ns, e.sum_ns - x.sum_ns) <= e.sum_ns;
      };
      entry* twin = nullptr;
      std::size_t again = 0;  // of most code there are several: of one call, of another one, and the piece alone
      for (std::size_t i = 0; i != kept; ++i) {
        if (twin == nullptr && same(found[i])) twin = &found[i];
        again += found[i].piece == e.piece && found[i].block != explain::unmarked_key() ? 1 : 0;
      }
      if (twin != nullptr) {
        if (e.block == e.piece) *twin = e;
        continue;
      }
      if (again == 2 && e.block != explain::unmarked_key()) continue;
      found[kept++] = e;
      if (kept == most) break;
    }
    found.resize(kept);
    if (about.among > 1 && !base::any_of(found, [&about](const entry& e) { return e.piece == about.block; })) {
      if (kept == most) found.pop_back();
      found.push_back(about);
    }
    return found;
  }
  /// Unmarked pieces whose rank computes no longer than the others from the operation of all ranks ahead of them to the next one,
  /// without those in `balanced`, of which it is asked what balancing them saves.
  base::pod_vector<explain::balance_answer> even_in_phase(const base::pod_vector<explain::balance_answer>& balanced) const {
    base::pod_vector<entry> found;
    for (const entry& e : all_) {
      if (e.first == 0 || !is_even_in_phase(e, e.most_ns - e.sum_ns / all_ranks_)) continue;
      if (base::any_of(balanced, [&e](const entry& b) { return b.block == e.block; })) continue;
      found.push_back(e);
      found.back().even = true;
      found.back().among = e.ranks;
    }
    return found;
  }
  static std::int64_t mean_ns(const explain::balance_answer& e) noexcept { return e.sum_ns / e.among; }
  /// Whether a thread hardly runs a block, beside the one that runs most of it.
  static bool hardly_runs(const explain::balance_answer& e, std::int64_t ns) noexcept { return 20 * ns < e.most_ns; }

 private:
  using entry = explain::balance_answer;
  // What a thread computes in all.
  struct computing {
    std::int64_t ns = 0;
    explain::thread_of_rank who;
  };

  void enter(const computing& c) noexcept {
    if (c.ns > longest_.ns) {
      second_ = longest_;
      longest_ = c;
    } else if (c.ns > second_.ns) {
      second_ = c;
    }
  }
  [[gnu::noinline]] void join_blocks() {
    base::sort_and_join(
        all_, [](const entry& a, const entry& b) { return a.block < b.block; },
        [](entry& to, const entry& e) {
          to.second_ns = std::max(std::min(to.most_ns, e.most_ns), std::max(to.second_ns, e.second_ns));
          to.least_ns = std::min(to.least_ns, e.least_ns);
          if (e.most_ns > to.most_ns) {
            to.most_ns = e.most_ns;
            to.rank = e.rank;
            to.thread = e.thread;
            to.piece = e.piece;
            to.pieces = e.pieces;
            to.phase = e.phase;
            to.phase_ns = e.phase_ns;
          }
          to.reused |= e.reused;
          to.of_threads |= e.of_threads;
          to.ranks += e.ranks;
          to.sum_ns += e.sum_ns;
        });
  }

  // Whether surely no other rank runs the unmarked code of `e`, which only one rank passes between these two calls. Another one
  // may run it between other calls (docs/method.md 1.4): of the same functions, about as often; or if one of the two calls is
  // the same, and the rank of `e` does not pass that piece as well; or if either computes in such a piece for most of its time. `more`:
  // of `all_more`.
  bool is_alone(const entry& e, const entry* more) const noexcept {
    if (e.first == 0 || e.second == 0 || e.joined == 0) return false;
    const bool explained = more != nullptr && more->rank == e.rank && more->thread == e.thread, most = is_most(e);
    if (explained && more->block != e.block) return false;
    for (const entry& x : all_) {
      // A further thread that had to wait comes from another call than one that had not.
      if (x.block == e.joined && x.ranks > 1 && (!explained || e.thread != 0)) return false;
      if (most && x.thread == e.thread && x.rank != e.rank && 5 * x.sum_ns >= e.sum_ns && is_most(x)) return false;
      const bool same_call = (x.first != 0 && x.first == e.first) || (x.second != 0 && x.second == e.second);
      const bool shared = x.ranks >= all_ranks_ || (x.ranks == 1 && x.rank == e.rank);
      if (same_call && !shared) return false;
    }
    return true;
  }
  // Whether one of the threads that compute longest runs a piece alone, for most of its time.
  [[gnu::noinline]] bool is_most(const entry& e) const noexcept {
    const explain::thread_of_rank who{e.rank, e.thread};
    const std::int64_t all_ns = longest_.who == who ? longest_.ns : second_.who == who ? second_.ns : INT64_MAX;
    return e.ranks == 1 && e.first != 0 && e.second != 0 && e.sum_ns > all_ns / 2;
  }
  // The piece that takes just as long (within a tenth) as all unmarked code takes its rank longer than any other: it is all that this
  // rank runs more. Null: there is none.
  [[gnu::noinline]] const entry* all_more() const noexcept {
    const entry *whole = nullptr, *found = nullptr;
    for (const entry& x : all_)
      if (x.block == explain::unmarked_key()) whole = &x;
    if (whole == nullptr) return nullptr;
    std::int64_t least_ns = INT64_MAX;
    for (const entry& x : all_) {
      const std::int64_t more_ns = whole->most_ns - whole->second_ns - x.sum_ns, off_ns = std::max(more_ns, -more_ns);
      const bool piece = x.joined != 0 && x.ranks == 1 && x.rank == whole->rank && x.thread == whole->thread;
      if (!piece || 10 * off_ns > x.sum_ns || off_ns >= least_ns) continue;
      found = &x;
      least_ns = off_ns;
    }
    return found;
  }
  // Of the pieces that `e` joins the one of which its rank has most above the mean of all; but if it runs one alone that takes just as
  // long (within a tenth) as all of them take it longer than any other, that is what it has more.
  [[gnu::noinline]] core::stable_key most_uneven(const entry& e) const noexcept {
    core::stable_key piece = e.piece;
    std::int64_t most_ns = INT64_MIN;
    const std::int64_t more_ns = e.most_ns - e.second_ns;
    for (const entry& x : all_) {
      const bool in = x.first != 0 && x.second != 0 && x.pieces == 1 &&
                      (e.after    ? e.block == explain::joined_key(x.first, explain::joined_by::after)
                       : e.before ? e.block == explain::joined_key(x.second, explain::joined_by::before)
                                  : e.block == x.joined || e.block == explain::unmarked_key());
      const std::int64_t off_ns = std::max(more_ns - x.sum_ns, x.sum_ns - more_ns);
      const bool alone = x.ranks == 1 && 10 * off_ns <= x.sum_ns;
      const std::int64_t above_ns = alone ? INT64_MAX - off_ns : x.most_ns - x.sum_ns / std::max(x.ranks, all_ranks_);
      if (!in || x.rank != e.rank || x.thread != e.thread || above_ns <= most_ns) continue;
      most_ns = above_ns;
      piece = x.block;
    }
    return piece;
  }
  // Whether all ranks run a piece, or would once balanced, and that which runs most of it does not compute longer than the others from the
  // operation of all ranks ahead of it to the next one: what these run less of it they run there between other calls.
  bool is_even_in_phase(const entry& e) const noexcept {
    const bool asked = std::max(e.ranks, e.among) == all_ranks_ && !e.region && e.block != explain::unmarked_key();
    const entry* const piece = asked ? explain::find_block(all_, e.piece) : nullptr;
    // Code that only one rank runs is not to be divided if the others compute just as long in its phase.
    return piece != nullptr && is_even_in_phase(*piece, e.among > e.ranks ? excess(e) / 5 : excess(e));
  }
  // Whether what makes the rank of a piece late in its phase is less than half of `more_ns`. Of a piece that each rank runs, and one
  // clearly longer, the clocks are asked.
  [[gnu::noinline]] bool is_even_in_phase(const entry& piece, std::int64_t more_ns) const noexcept {
    const bool by_all = piece.ranks == all_ranks_ && !hardly_runs(piece, piece.least_ns);
    const bool uneven = 10 * piece.most_ns >= 11 * (piece.sum_ns / piece.ranks);
    if (by_all && uneven) return false;
    const entry* const all = explain::find_block(all_, piece.phase);
    return all != nullptr && all->ranks == all_ranks_ && 2 * (piece.phase_ns - all->sum_ns / all->ranks) < more_ns;
  }
  static std::int64_t excess(const entry& e) noexcept { return e.most_ns - mean_ns(e); }

  base::pod_vector<entry> all_;  ///< by block
  computing longest_, second_;  ///< the threads that compute longest
  std::int32_t all_ranks_ = 1;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
