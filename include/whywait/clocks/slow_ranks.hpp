#ifndef WHYWAIT_CLOCKS_SLOW_RANKS_HPP
#define WHYWAIT_CLOCKS_SLOW_RANKS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/clocks/block_balance.hpp>
#include <whywait/explain/clock_question.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// For each balanced block the threads that take nearly as long as the one that takes longest. Added up over ranks.
class slow_ranks {
 public:
  void begin(std::size_t blocks) { all_.assign(blocks, {}); }
  /// Adds a thread of this rank, in ascending order. `ns`: its time in the block number `q`, which `b` is about.
  void measure(explain::thread_of_rank who, std::size_t q, const explain::balance_answer& b, std::int64_t ns) {
    const std::int64_t mean_ns = block_balance::mean_ns(b);
    const bool slowest = who == explain::thread_of_rank{b.rank, b.thread};
    if (ns > 0 && block_balance::hardly_runs(b, ns)) {
      ++all_[q].hardly;
      all_[q].hardly_ns += ns;
    }
    if (!slowest && least_of_ten * (b.most_ns - mean_ns) > 10 * (ns - mean_ns)) return;
    group& g = all_[q];
    g.first[std::min(g.count, most - 1)] = who;
    ++g.count;
    g.ns += ns;
  }
  void write(base::packet& out) const { put_all(out, all_); }
  /// Adds the threads of higher ranks, as their `write` wrote them.
  void merge(base::packet_reader& in) {
    base::pod_vector<group> others;
    get_all(in, others);
    for (std::size_t q = 0; q < std::min(all_.size(), others.size()); ++q) {
      group &a = all_[q], &b = others[q];
      for (std::int32_t i = 0; i != std::min(b.count, most); ++i) a.first[std::min(a.count + i, most - 1)] = b.first[i];
      a.count += b.count;
      a.ns += b.ns;
      a.hardly += b.hardly;
      a.hardly_ns += b.hardly_ns;
    }
  }
  void name(explain::balance_answer& b, std::size_t q) const {
    if (q >= all_.size()) return;
    b.slow_ranks = all_[q].count;
    b.slow_ns = all_[q].ns;
    b.hardly_ranks = all_[q].hardly;
    b.hardly_ns = all_[q].hardly_ns;
    std::copy(std::begin(all_[q].first), std::end(all_[q].first), b.slow);
  }

 private:
  static constexpr std::int64_t least_of_ten = 7;  ///< of what the slowest rank has above the mean, in tenths
  static constexpr std::int32_t most = 4;

  struct group {
    std::int32_t count = 0;
    explain::thread_of_rank first[most] = {};  ///< of more than `most` the first ones, and the last one
    std::int64_t ns = 0;
    std::int32_t hardly = 0;  ///< that hardly run it
    std::int64_t hardly_ns = 0;
  };

  base::pod_vector<group> all_;  ///< by balanced block
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
