#ifndef WHYWAIT_RULES_RANK_SHARES_HPP
#define WHYWAIT_RULES_RANK_SHARES_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The ranks of a list of shares: "rank 3", "ranks 1-3 and 7", "12 ranks". Without those with less than 5 % of it, if the others have nearly
/// all.
inline std::string ranks_text(const base::vector<explain::location_share>& shares) {
  std::int64_t all = 0, large = 0;
  for (const explain::location_share& s : shares) all += s.ns;
  const auto is_large = [&all](const explain::location_share& s) { return s.rank >= 0 && 20 * s.ns >= all; };
  for (const explain::location_share& s : shares) large += is_large(s) ? s.ns : 0;
  base::pod_vector<std::int32_t> ranks;
  bool others = false;
  for (const explain::location_share& s : shares) {
    if (20 * large >= 19 * all && !is_large(s)) continue;
    if (s.rank < 0) others = true;
    else ranks.push_back(s.rank);
  }
  return base::rank_list(ranks, others);
}

/// The threads of a list of shares in waits within ranks, without those with less than 5 % of it: "thread 1 of rank 0", "threads 0-3 of
/// ranks 0 and 1".
inline std::string threads_text(const base::vector<explain::location_share>& shares) {
  std::int64_t all = 0;
  for (const explain::location_share& s : shares) all += s.ns;
  base::pod_vector<std::int32_t> threads, ranks;
  for (const explain::location_share& s : shares) {
    if (s.rank < 0 || 20 * s.ns < all) continue;
    threads.push_back(s.thread);
    ranks.push_back(s.rank);
  }
  if (ranks.empty()) return ranks_text(shares);
  const std::string of = base::rank_list(ranks);
  const base::rank_noun_scope words(true);
  return base::rank_list(threads) + " of " + of;
}

/// The ranks that share a delay: the one with almost all of it alone, one with most of it by name and share.
inline std::string guilty_text(const base::vector<explain::location_share>& shares) {
  std::int64_t all = 0;
  const explain::location_share* most = nullptr;
  for (const explain::location_share& s : shares) {
    all += s.ns;
    if (s.rank >= 0 && (most == nullptr || s.ns > most->ns)) most = &s;
  }
  if (most == nullptr || shares.size() < 2 || 10 * most->ns < 6 * all) return ranks_text(shares);
  const std::string rank = base::rank_text(most->rank);
  if (20 * most->ns >= 19 * all) return rank;
  return rank + " (" + base::percent(static_cast<double>(most->ns) / static_cast<double>(all)) + ")";
}

/// Whether threads of one rank wait for each other, beside MPI.
inline bool within_ranks(explain::pattern why) noexcept {
  return why >= explain::pattern::mutex_contention && !base::ranks_are_threads();
}

/// How many threads of a process take part in a wait for threads, at most 64; 0: it is not known, or another wait.
inline int threads_in(const explain::explanation& e) noexcept {
  std::uint64_t threads = 0;
  for (const auto* const side : {&e.causers, &e.waiters}) {
    for (const explain::location_share& s : *side) {
      if (s.rank < 0 || e.why < explain::pattern::mutex_contention) return 0;
      threads |= std::uint64_t{1} << ((base::ranks_are_threads() ? s.rank : s.thread) & 63);
    }
  }
  return __builtin_popcountll(threads);
}

/// The late side of a wait, and the waiting side.
inline std::string late_text(const explain::explanation& e) {
  return within_ranks(e.why) ? threads_text(e.causers) : guilty_text(e.causers);
}
inline std::string waiting_text(const explain::explanation& e) {
  return within_ranks(e.why) ? threads_text(e.waiters) : ranks_text(e.waiters);
}

/// The share of a wait in which the ranks that were late also waited: 0 if none of them did, 1 if all had the same part in
/// both. 1 too if the lists name less than half of either.
inline double in_turn(const base::vector<explain::location_share>& causers,
                      const base::vector<explain::location_share>& waiters) {
  base::pod_vector<explain::location_share> late, waited;
  const auto key = [](const explain::location_share& s) { return explain::thread_of_rank{s.rank, s.thread}.number(); };
  const auto part_of = [&key](const base::vector<explain::location_share>& from,
                              base::pod_vector<explain::location_share>& to) {
    double all = 0, named = 0;
    for (const explain::location_share& s : from) {
      all += static_cast<double>(s.ns);
      if (s.rank < 0) continue;
      named += static_cast<double>(s.ns);
      to.push_back(s);
    }
    base::small_stable_sort(to, [&key](const auto& a, const auto& b) { return key(a) < key(b); });
    return 2 * named >= all ? named : 0.0;
  };
  const double late_ns = part_of(causers, late), waited_ns = part_of(waiters, waited);
  if (late_ns <= 0 || waited_ns <= 0) return 1;
  double both = 0;
  for (std::size_t i = 0, j = 0; i < late.size() && j < waited.size();) {
    const bool next_late = key(late[i]) <= key(waited[j]), next_waited = key(waited[j]) <= key(late[i]);
    if (next_late && next_waited)
      both += std::min(static_cast<double>(late[i].ns) / late_ns, static_cast<double>(waited[j].ns) / waited_ns);
    i += next_late ? 1 : 0;
    j += next_waited ? 1 : 0;
  }
  return both;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
