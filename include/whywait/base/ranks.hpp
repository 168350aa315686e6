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

/// A list of ranks: "rank 3", "ranks 0, 2 and 5-7", "ranks 1 and 2", "rank 2 and others"; a list of more than six ranges is
/// a count, "12 ranks". Sorts `ranks` and removes repetitions. `others`: the list was truncated.
inline std::string rank_list(base::pod_vector<std::int32_t>& ranks, bool others = false) {
  base::small_stable_sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.empty()) return "some ranks";
  base::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (j == i + 1) j = i;  // "3 and 4" reads better than "3-4"
    ranges.push_back(std::to_string(ranks[i]) + (j > i ? "-" + std::to_string(ranks[j]) : ""));
    i = j + 1;
  }
  std::string out = std::to_string(ranks.size()) + " ranks";
  if (ranges.size() <= 6) {
    out = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < ranges.size(); ++i)
      out += (i == 0 ? "" : i + 1 == ranges.size() && !others ? " and " : ", ") + ranges[i];
  }
  return others ? out + " and others" : out;
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
