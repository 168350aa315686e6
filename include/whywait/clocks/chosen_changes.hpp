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
/// that explains most of the waits for them. Ranks with other neighbours have other blocks ahead of the same send: these move together.
/// At most two groups of blocks with the longest waits.
inline base::pod_vector<explain::earlier_send> sends_to_move(const base::vector<explain::merged_class>& classes) {
  constexpr std::size_t most_groups = 2, most_sends = 16;
  base::vector<explain::earlier_send> all;
  for (const explain::merged_class& c : classes) {
    if (c.sum.why != explain::pattern::late_sender) continue;
    const explain::residual_term* top = nullptr;
    for (const explain::residual_term& t : c.sum.residual)
      if (t.within == 0 && t.total_ns > 0 && (top == nullptr || t.total_ns > top->total_ns)) top = &t;
    if (top != nullptr) all.push_back({top->block, c.sum.cause, c.sum.wait_ns, 0, top->block});
  }
  const auto before = [](const explain::earlier_send& a, const explain::earlier_send& b) {
    return a.block != b.block ? a.block < b.block : a.send < b.send;
  };
  base::sort_and_join(all, before, [](explain::earlier_send& to, const explain::earlier_send& s) { to.wait_ns += s.wait_ns; });
  std::int64_t all_ns = 0;
  for (const explain::earlier_send& s : all) all_ns += s.wait_ns;
  std::size_t kept = 0;
  for (const explain::earlier_send& s : all)
    if (100 * s.wait_ns >= all_ns) all[kept++] = s;
  all.resize(kept);  // at most 100 are compared with each other
  for (std::size_t i = 0; i != all.size(); ++i) {
    for (const explain::earlier_send& s : all) {
      const core::stable_key other = s.group;
      if ((s.block != all[i].block && s.send != all[i].send) || other == all[i].group) continue;
      for (explain::earlier_send& o : all) o.group = o.group == other ? all[i].group : o.group;
    }
  }
  for (explain::earlier_send& s : all)  // for a while: the waits of the whole group
    for (const explain::earlier_send& o : all) s.saving_ns += o.group == s.group ? o.wait_ns : 0;
  explain::sort_by_saving(all);
  base::pod_vector<explain::earlier_send> sends;
  std::size_t groups = 0;
  for (explain::earlier_send& s : all) {
    if (50 * s.wait_ns < s.saving_ns) continue;  // hardly waited for
    if (sends.empty() || sends.back().group != s.group) ++groups;
    if (groups > most_groups || sends.size() == most_sends) break;
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
    if (explain::waits_for_lock(c.sum.why)) locks.emplace_back(c.sum.operation, c.sum.wait_ns);
  add_up(locks);
  base::pod_vector<core::stable_key> sites;
  for (const key_time& l : locks) sites.push_back(l.first);
  return sites;
}

/// Some threads, in any order. Two groups with a bit in common may have a thread in common.
struct thread_group {
  std::uint64_t name = 0, bits = 0;  ///< no bits: not all of them are known
};
[[gnu::noinline]] inline thread_group group_of(const base::vector<explain::location_share>& threads) noexcept {
  thread_group all;
  for (const explain::location_share& s : threads) {
    if (s.rank < 0) return {};
    all.name += core::combine(static_cast<std::uint64_t>(explain::thread_of_rank{s.rank, s.thread}.number()), 0);
    all.bits |= std::uint64_t{1} << (static_cast<std::uint32_t>(s.rank + 8 * s.thread) & 63u);
  }
  return all;
}

/// The call sites of the two threads, or groups of ranks, that wait longest for each other to hand something on, the shorter wait
/// first: it is predicted what it saves if none waits in one of them, the one that saves more, because behind a probe its receive
/// would wait. Each is at least a twentieth of the waiting, and hardly another thread is in either.
inline explain::turn_taking turns_to_end(const base::vector<explain::merged_class>& classes) {
  constexpr std::size_t most = 32;  // directions that are compared
  struct direction {
    core::stable_key site;
    std::uint64_t waiter, causer;  // names of groups
    std::int64_t ns;
  };
  base::vector<direction> all;
  base::vector<key_time> sites;  // with the waits of all threads
  std::int64_t all_ns = 0;
  for (const explain::merged_class& c : classes) {
    all_ns += c.sum.wait_ns;
    if (c.sum.why != explain::pattern::condition_variable && c.sum.why != explain::pattern::semaphore &&
        c.sum.why != explain::pattern::latch && c.sum.why != explain::pattern::late_sender)
      continue;
    sites.emplace_back(c.sum.operation, c.sum.wait_ns);
    const thread_group waiter = group_of(c.sum.waiters), causer = group_of(c.sum.causers);
    if (waiter.bits == 0 || causer.bits == 0 || (waiter.bits & causer.bits) != 0) continue;
    all.push_back({c.sum.operation, waiter.name, causer.name, c.sum.wait_ns});
  }
  add_up(sites);
  base::sort_and_join(
      all,
      [](const direction& a, const direction& b) {
        if (a.site != b.site) return a.site < b.site;
        return a.waiter != b.waiter ? a.waiter < b.waiter : a.causer < b.causer;
      },
      [](direction& to, const direction& d) { to.ns += d.ns; });
  base::small_stable_sort(all, [](const direction& a, const direction& b) { return a.ns > b.ns; });
  const auto alone = [&sites](const direction& d) {
    for (const key_time& s : sites)
      if (s.first == d.site) return 10 * d.ns >= 9 * s.second;
    return false;
  };
  explain::turn_taking turns;
  std::int64_t longest_ns = all_ns / 20;
  const direction* const end = all.data() + (all.size() < most ? all.size() : most);
  for (const direction* i = all.data(); i != end; ++i) {
    for (const direction* j = all.data(); j != end; ++j) {
      const direction &a = *i, &b = *j;
      if (a.waiter != b.causer || a.causer != b.waiter || a.ns > b.ns || a.site == b.site || a.ns <= longest_ns) continue;
      if (!alone(a) || !alone(b)) continue;
      longest_ns = a.ns;
      turns = {a.site, b.site, 0};
    }
  }
  return turns;
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
