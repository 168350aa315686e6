#ifndef WHYWAIT_CLOCKS_CHOSEN_CHANGES_HPP
#define WHYWAIT_CLOCKS_CHOSEN_CHANGES_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/merging.hpp>

#include <algorithm>
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

/// The code that holds up most of the waits of each kind for progress, or for receives, longest first: it is predicted what it saves if
/// the late ranks called MPI all through it, or exchanged messages ahead of it.
inline base::pod_vector<core::stable_key> code_behind(explain::pattern why,
                                                      const base::vector<explain::merged_class>& classes) {
  constexpr std::size_t most = 8;
  base::vector<key_time> all;
  for (const explain::merged_class& c : classes) {
    if (c.sum.why != why) continue;
    for (const explain::residual_term& t : c.sum.residual)
      if (t.within == 0 && 4 * t.total_ns > c.sum.wait_ns) all.emplace_back(t.block, t.total_ns);
  }
  add_up(all);
  base::pod_vector<core::stable_key> code;
  for (std::size_t i = 0; i != all.size() && i != most; ++i) code.push_back(all[i].first);
  return code;
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
/// would wait. Each is at least a twentieth of the waiting, and hardly another thread is in either. The waiting one has
/// hardly run anything since both met last: what both run at the same time is uneven instead, as between two barriers.
inline explain::turn_taking turns_to_end(const base::vector<explain::merged_class>& classes) {
  constexpr std::size_t most = 32;  // directions that are compared
  struct direction {
    core::stable_key site;
    std::uint64_t waiter, causer;  // names of groups
    std::int64_t ns;
  };
  const auto runs_beside = [](const explain::explanation& e) {
    std::int64_t waiter_ns = 0, causer_ns = 0;
    for (const explain::residual_term& t : e.residual) {
      waiter_ns += t.waiter_ns;
      causer_ns += t.causer_ns;
    }
    return 4 * waiter_ns > causer_ns;
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
    if (waiter.bits == 0 || causer.bits == 0 || (waiter.bits & causer.bits) != 0 || runs_beside(c.sum)) continue;
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

/// The changes other than balancing of which the clocks are asked what they save. Chosen on rank 0; each rank reads the questions, which
/// are the last ones before those about balanced blocks.
class chosen_changes {
 public:
  void choose(const base::vector<explain::merged_class>& classes) {
    polled_ = code_behind(explain::pattern::wait_for_progress, classes);
    posted_ = code_behind(explain::pattern::late_receiver, classes);
    sends_ = sends_to_move(classes);
    barrier_ = barrier_to_remove(classes);
    locks_ = locks_to_remove(classes);
    turns_ = turns_to_end(classes);
  }
  void write(base::packet& out) const {
    put_all(out, polled_);
    put_all(out, posted_);
    put_all(out, sends_);
    put(out, barrier_);
    put_all(out, locks_);
    put(out, turns_);
  }
  void read(base::packet_reader& in) {
    get_all(in, polled_);
    get_all(in, posted_);
    get_all(in, sends_);
    barrier_ = in.get<core::stable_key>();
    get_all(in, locks_);
    turns_ = in.get<explain::turn_taking>();
  }

  void add_questions(base::vector<explain::what_if>& all) const {
    for (const core::stable_key code : posted_) add(all, {code, 1.0, -1, true, false, true, true}, code == posted_[0]);
    for (const core::stable_key code : polled_) add(all, {code, 1.0, -1, true, false, true}, code == polled_[0]);
    for (std::size_t i = 0; i != sends_.size(); ++i) {
      const bool first = i == 0 || sends_[i].group != sends_[i - 1].group;
      if (first || sends_[i].block != sends_[i - 1].block) add(all, {sends_[i].block, 1.0, -1, true}, first);
    }
    if (barrier_ != 0) add(all, without(barrier_));
    for (const core::stable_key lock : locks_) add(all, without(lock), lock == locks_[0]);
    for (const core::stable_key turn : {turns_.one, turns_.other})
      if (turn != 0) add(all, without(turn));
  }

  /// On the rank that chose: sets the answers in `result`. `saved_ns`: by question. `after`: the number of the question that follows.
  /// Returns the number of the first one.
  std::size_t answer(explain::outcome& result, const base::pod_vector<std::int64_t>& saved_ns, std::size_t after) {
    if (turns_.one != 0) {
      after -= 2;
      result.turns = {turns_.one, turns_.other, std::max(saved_ns[after], saved_ns[after + 1])};
    }
    if (!locks_.empty()) result.no_locks = {locks_[0], saved_ns[--after]};
    if (barrier_ != 0) result.removal = {barrier_, saved_ns[--after]};
    for (std::size_t i = sends_.size(); i-- != 0;) {
      if (i + 1 == sends_.size() || sends_[i].group != sends_[i + 1].group) --after;
      sends_[i].saving_ns = saved_ns[after];
    }
    for (const explain::earlier_send& s : sends_) result.earlier_sends.push_back(s);
    explain::sort_by_saving(result.earlier_sends);
    if (!polled_.empty()) result.polls = {polled_[0], saved_ns[--after]};
    if (!posted_.empty()) result.posts = {posted_[0], saved_ns[--after]};
    return after;
  }

 private:
  static explain::change without(core::stable_key site) { return {explain::call_key(site), 1.0, -1, false, true}; }
  [[gnu::noinline]] static void add(base::vector<explain::what_if>& all, const explain::change& c, bool fresh = true) {
    if (fresh) all.emplace_back();
    all.back().changes.push_back(c);
  }

  base::pod_vector<core::stable_key> polled_, posted_;
  base::pod_vector<explain::earlier_send> sends_;  // one question for each group
  core::stable_key barrier_ = 0;
  base::pod_vector<core::stable_key> locks_;
  explain::turn_taking turns_;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
