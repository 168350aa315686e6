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

/// For each balanced block the ranks that take nearly as long as the one that takes longest. Added up over ranks.
class slow_ranks {
 public:
  /// `own_ns(number)`: the time of this rank in a block.
  template <class Own>
  void measure(std::int32_t rank, const base::pod_vector<explain::balance_answer>& blocks, Own&& own_ns) {
    all_.clear();
    for (std::size_t q = 0; q != blocks.size(); ++q) {
      const explain::balance_answer& b = blocks[q];
      const std::int64_t ns = own_ns(q), mean_ns = block_balance::mean_ns(b);
      all_.emplace_back();
      if (rank != b.rank && least_of_ten * (b.most_ns - mean_ns) > 10 * (ns - mean_ns)) continue;
      all_.back().count = 1;
      all_.back().first[0] = rank;
      all_.back().ns = ns;
    }
  }
  void write(base::packet& out) const { put_all(out, all_); }
  void merge(base::packet_reader& in) {
    base::pod_vector<group> others;
    get_all(in, others);
    for (std::size_t q = 0; q < std::min(all_.size(), others.size()); ++q) {
      group &a = all_[q], &b = others[q], both;
      std::merge(a.first, a.first + a.listed(), b.first, b.first + b.listed(), merged_);
      both.count = a.count + b.count;
      both.ns = a.ns + b.ns;
      std::copy(merged_, merged_ + both.listed(), both.first);
      a = both;
    }
  }
  void name(explain::balance_answer& b, std::size_t q) const {
    if (q >= all_.size()) return;
    b.slow_ranks = all_[q].count;
    b.slow_ns = all_[q].ns;
    std::copy(std::begin(all_[q].first), std::end(all_[q].first), b.slow);
  }

 private:
  static constexpr std::int64_t least_of_ten = 7;  ///< of what the slowest rank has above the mean, in tenths
  static constexpr std::int32_t most = 4;

  struct group {
    std::int32_t count = 0, first[most] = {};
    std::int64_t ns = 0;
    std::int32_t listed() const noexcept { return std::min(count, most); }
  };

  base::pod_vector<group> all_;  ///< by balanced block
  std::int32_t merged_[2 * most] = {};
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
