#ifndef WHYWAIT_BASE_RANKS_HPP
#define WHYWAIT_BASE_RANKS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace base {

namespace detail {

inline bool& ranks_are_threads() noexcept {
  static thread_local bool are = false;
  return are;
}

}  // namespace detail

/// Whether texts call ranks threads (rank_noun_scope).
inline bool ranks_are_threads() noexcept { return detail::ranks_are_threads(); }

/// While it lives, texts that the calling thread writes call ranks threads, or ranks. Explanations of programs without MPI and
/// everything that shows a result set it, the latter by run_facts::threads_only.
class rank_noun_scope {
 public:
  explicit rank_noun_scope(bool threads) noexcept : before_(detail::ranks_are_threads()) {
    detail::ranks_are_threads() = threads;
  }
  ~rank_noun_scope() { detail::ranks_are_threads() = before_; }
  rank_noun_scope(const rank_noun_scope&) = delete;
  rank_noun_scope& operator=(const rank_noun_scope&) = delete;

 private:
  bool before_;
};

/// "rank" or "thread", and the plural.
inline const char* rank_noun() noexcept { return ranks_are_threads() ? "thread" : "rank"; }
inline const char* rank_nouns() noexcept { return ranks_are_threads() ? "threads" : "ranks"; }

/// Where the recorded run begins.
inline const char* start_text() noexcept { return ranks_are_threads() ? "the start" : "MPI_Init"; }

/// "rank 3", and of a further thread of it "rank 3 thread 1".
inline std::string rank_text(std::int64_t rank, std::int32_t thread = 0) {
  std::string out = std::string(rank_noun()) + " " + std::to_string(rank);
  if (thread != 0) out += " thread " + std::to_string(thread);
  return out;
}
/// "rank time": that of all ranks together.
inline std::string rank_time() { return std::string(rank_noun()) + " time"; }

/// A list of ranks: "rank 3", "ranks 0, 2 and 5-7", "ranks 1 and 2", "rank 2 and others"; a list of more than six ranges is
/// a count, "12 ranks". Sorts `ranks` and removes repetitions. `others`: the list was truncated.
inline std::string rank_list(base::pod_vector<std::int32_t>& ranks, bool others = false) {
  base::sort_and_unique(ranks);
  if (ranks.empty()) return std::string("some ") + rank_nouns();
  base::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (j == i + 1) j = i;  // "3 and 4" reads better than "3-4"
    ranges.push_back(std::to_string(ranks[i]) + (j > i ? "-" + std::to_string(ranks[j]) : ""));
    i = j + 1;
  }
  std::string out = std::to_string(ranks.size()) + " " + rank_nouns();
  if (ranges.size() <= 6) {
    out = std::string(ranks.size() == 1 ? rank_noun() : rank_nouns()) + " ";
    for (std::size_t i = 0; i < ranges.size(); ++i)
      out += (i == 0 ? "" : i + 1 == ranges.size() && !others ? " and " : ", ") + ranges[i];
  }
  return others ? out + " and others" : out;
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
