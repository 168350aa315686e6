#ifndef WHYWAIT_CLOCKS_CHOSEN_CHANGES_HPP
#define WHYWAIT_CLOCKS_CHOSEN_CHANGES_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/merging.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

using key_time = std::pair<core::stable_key, std::int64_t>;

/// Adds up the times of equal keys; the longest comes first.
inline void add_up(base::vector<key_time>& times) {
  base::sort_and_join(
      times, [](const key_time& a, const key_time& b) { return a.first < b.first; },
      [](key_time& to, const key_time& t) { to.second += t.second; });
  base::small_stable_sort(times, [](const key_time& a, const key_time& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
}

/// The sends for which it is predicted what sending before the work ahead of them saves: those of late senders, by the block
/// that explains most of the waits for them. At most two blocks with the longest waits.
inline base::pod_vector<explain::earlier_send> sends_to_move(const base::vector<explain::merged_class>& classes) {
  constexpr std::size_t most_blocks = 2, most_sends = 16;
  base::vector<explain::earlier_send> all;
  for (const explain::merged_class& c : classes) {
    if (c.sum.why != explain::pattern::late_sender) continue;
    const explain::residual_term* top = nullptr;
    for (const explain::residual_term& t : c.sum.residual)
      if (t.within == 0 && t.total_ns > 0 && (top == nullptr || t.total_ns > top->total_ns)) top = &t;
    if (top != nullptr) all.push_back({top->block, c.sum.cause, c.sum.wait_ns, 0});
  }
  const auto before = [](const explain::earlier_send& a, const explain::earlier_send& b) {
    return a.block != b.block ? a.block < b.block : a.send < b.send;
  };
  base::sort_and_join(all, before, [](explain::earlier_send& to, const explain::earlier_send& s) { to.wait_ns += s.wait_ns; });
  for (explain::earlier_send& s : all)  // for a while: the waits of the whole block
    for (const explain::earlier_send& o : all) s.saving_ns += o.block == s.block ? o.wait_ns : 0;
  explain::sort_by_saving(all);
  base::pod_vector<explain::earlier_send> sends;
  std::size_t blocks = 0;
  for (explain::earlier_send& s : all) {
    if (10 * s.wait_ns < s.saving_ns) continue;  // hardly waited for
    if (sends.empty() || sends.back().block != s.block) ++blocks;
    if (blocks > most_blocks || sends.size() == most_sends) break;
    s.saving_ns = 0;
    sends.push_back(s);
  }
  return sends;
}

/// The call site of the barrier for which it is predicted what removing it saves: the one in which the ranks wait longest, if that
/// is at least a twentieth of the waiting; otherwise 0.
inline core::stable_key barrier_to_remove(const base::vector<explain::merged_class>& classes) {
  base::vector<key_time> barriers;
  std::int64_t all_ns = 0;
  for (const explain::merged_class& c : classes) {
    all_ns += c.sum.wait_ns;
    if (c.sum.why == explain::pattern::wait_at_barrier && c.sum.operation == c.sum.cause)
      barriers.emplace_back(c.sum.operation, c.sum.wait_ns);
  }
  add_up(barriers);
  return !barriers.empty() && 20 * barriers[0].second >= all_ns ? barriers[0].first : 0;
}

/// The call sites of waits for locks, longest first: of all it is predicted what it saves if no thread waits there, which bounds what a
/// change of any lock saves.
inline base::pod_vector<core::stable_key> locks_to_remove(const base::vector<explain::merged_class>& classes) {
  base::vector<key_time> locks;
  for (const explain::merged_class& c : classes)
    if (c.sum.why == explain::pattern::mutex_contention) locks.emplace_back(c.sum.operation, c.sum.wait_ns);
  add_up(locks);
  base::pod_vector<core::stable_key> sites;
  for (const key_time& l : locks) sites.push_back(l.first);
  return sites;
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
