#ifndef WHYWAIT_REPORT_SLOW_WORDS_HPP
#define WHYWAIT_REPORT_SLOW_WORDS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/explain/clock_question.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Not 0: further threads of ranks are among the slow ones.
inline std::int32_t further_threads(const explain::balance_answer& b) noexcept {
  std::int32_t all = b.thread;
  for (const explain::thread_of_rank& t : b.slow) all |= t.thread;
  return all;
}

/// The threads that take nearly as long as the slowest one, with a verb: "rank 1 takes", "ranks 2 and 3 take", "12 of 64 ranks take",
/// "8 threads of rank 1 take", "rank 0 thread 1 and rank 1 thread 1 take", "8 of 64 threads take".
inline std::string slow_words(const explain::balance_answer& b, const char* one, const char* more) {
  const std::int32_t further = further_threads(b);
  const char* const nouns = further != 0 ? "threads" : base::rank_nouns();
  if (b.several) return std::string("now one ").append(nouns, std::strlen(nouns) - 1) + ", now another " + one;
  const auto text = [&b](std::int32_t rank, std::int32_t thread) {
    return base::rank_text(rank, thread) + (b.of_threads && thread == 0 && !base::ranks_are_threads() ? " thread 0" : "");
  };
  if (b.slow_ranks < 2) return text(b.rank, b.thread) + " " + one;
  const auto listed = std::min(b.slow_ranks, static_cast<std::int32_t>(std::size(b.slow)));
  const bool of_one = further != 0 && b.slow[0].rank == b.slow[listed - 1].rank;
  std::string out = base::count(b.slow_ranks) + " ";
  if (of_one) {
    out += "threads of " + base::rank_text(b.rank);
  } else if (b.slow_ranks > listed) {
    out += "of " + base::count(std::max(b.ranks, b.slow_ranks)) + " " + nouns;
  } else {
    base::pod_vector<std::int32_t> ranks;
    out.clear();
    for (std::int32_t i = 0; i != listed; ++i) {
      ranks.push_back(b.slow[i].rank);
      if (i != 0) out += i + 1 == listed ? " and " : ", ";
      out += text(b.slow[i].rank, b.slow[i].thread);
    }
    if (further == 0 && !b.of_threads) out = base::rank_list(ranks);
  }
  return out + " " + more;
}

/// The number of threads beside the slow ones that run the block; those that hardly run it count only if there are no more.
inline std::int32_t other_threads(const explain::balance_answer& b) noexcept {
  const std::int32_t others = b.ranks - std::max(b.slow_ranks, 1);
  return others > b.hardly_ranks ? others - b.hardly_ranks : others;
}

/// The time of a slow thread relative to the mean of `other_threads`; 0 if there is none.
inline double slow_ratio(const explain::balance_answer& b) noexcept {
  const std::int32_t slow = std::max(b.slow_ranks, 1), others = other_threads(b);
  const std::int64_t slow_ns = b.slow_ranks > 1 ? b.slow_ns : b.most_ns;
  const std::int64_t left_ns = b.sum_ns - slow_ns - (others < b.ranks - slow ? b.hardly_ns : 0);
  if (others <= 0 || left_ns <= 0) return 0;
  return static_cast<double>(slow_ns) * static_cast<double>(others) /
         (static_cast<double>(slow) * static_cast<double>(left_ns));
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
