#ifndef WHYWAIT_RULES_BLOCK_COLUMNS_HPP
#define WHYWAIT_RULES_BLOCK_COLUMNS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/rules/data_facts.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/rank_shares.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

namespace detail {

/// The share of a wait of which the location is one of those that `is` accepts.
template <class Is>
double share_of(const base::vector<explain::location_share>& all, Is&& is) {
  std::int64_t sum = 0, some = 0;
  for (const explain::location_share& s : all) {
    sum += s.ns;
    if (s.rank >= 0 && is(s)) some += s.ns;
  }
  return sum > 0 ? static_cast<double>(some) / static_cast<double>(sum) : 0;
}

/// Whether both sides did as many units of work; false if the program does not count them.
inline bool same_work(const explain::residual_term& t) noexcept {
  const std::int64_t most = std::max(t.causer_work, t.waiter_work), least = std::min(t.causer_work, t.waiter_work);
  return least > 0 && 20 * (most - least) <= most;
}

}  // namespace detail

/// The late side of a wait: "threads 1-3 of rank 0" of a wait inside one rank, otherwise its ranks.
inline std::string late_locations(const explain::explanation& e) {
  base::pod_vector<std::int32_t> threads;
  const std::int32_t rank = e.causers.empty() ? -1 : e.causers[0].rank;
  bool same = rank >= 0 && !base::ranks_are_threads();
  for (const auto* const side : {&e.causers, &e.waiters})
    for (const explain::location_share& s : *side) same = same && s.rank == rank;
  if (!same) return guilty_text(e.causers);
  for (const explain::location_share& s : e.causers) threads.push_back(s.thread);
  const base::rank_noun_scope words(true);
  return base::rank_list(threads, false) + " of rank " + std::to_string(rank);
}

/// Sets the columns of a `block` fact that tell what data the late side uses there: an array that it shares, and one that is on
/// another node, unless the waiting side uses it from another node as well.
inline void set_data(row_writer& b, const data_facts& known, const explain::explanation& e, core::stable_key block) {
  for (const shared_data& d : known.shared) {
    const auto among = [](std::uint64_t threads) {
      return [threads](const explain::location_share& s) { return (threads >> (s.thread < 63 ? s.thread : 63) & 1) != 0; };
    };
    const bool ranks = d.threads_here == 0;
    if (d.block != block || (!ranks && 2 * detail::share_of(e.causers, among(d.threads_here)) < 1)) continue;
    b.set("data", d.data).set("data_place", d.place).set("data_sharing", d.sharing).set("data_users", d.users);
    b.set("late_locations", late_locations(e));
    b.set("data_waiters", ranks || 2 * detail::share_of(e.waiters, among(d.threads)) >= 1);
    break;
  }
  for (const far_data& d : known.far) {
    if (d.block != block) continue;
    const auto uses = [&](const explain::location_share& s) {
      for (const far_data& o : known.far)
        if (o.block == block && o.data == d.data && o.rank == s.rank && o.thread == s.thread) return true;
      return false;
    };
    const auto here = [&d](const explain::location_share& s) { return s.rank == d.rank && s.thread == d.thread; };
    if (detail::share_of(e.causers, here) <= 0 || 2 * detail::share_of(e.causers, uses) < 1 ||
        2 * detail::share_of(e.waiters, uses) >= 1)
      continue;
    b.set("late_locations", late_locations(e));
    b.set("far_data", d.data).set("far_place", d.place).set("far_share", d.share);
    b.set("far_node", d.node).set("far_pages_node", d.pages_node);
    break;
  }
}

/// Sets the columns of a `block` fact that tell why each visit is slower on the late side.
inline void set_reason(row_writer& b, const explain::residual_term& t, const explain::slower_parts& parts) {
  const auto decides = [&t](std::int64_t ns) { return t.speed_ns > 0 && 2 * ns >= t.speed_ns; };
  const std::int64_t most = std::max(t.causer_visits, t.waiter_visits), least = std::min(t.causer_visits, t.waiter_visits);
  b.set("why", decides(parts.preempted_ns)                                               ? "processor"
               : decides(parts.kernel_ns) && parts.kernel_ns >= explain::least_kernel_ns ? "kernel"
               : decides(parts.blocked_ns)                                               ? "blocked"
               : decides(parts.instructions_ns)                                          ? "instructions"
               : decides(parts.cycles_ns)                                                ? "cycles"
               : decides(parts.frequency_ns)                                             ? "frequency"
                                                                                         : "");
  const std::int64_t memory_ns = parts.counted ? parts.cycles_ns : parts.not_counted_ns;
  b.set("memory", decides(memory_ns) ? static_cast<double>(memory_ns) / 1e9 : 0.0).set("counted", parts.counted);
  b.set("same_work", detail::same_work(t));
  b.set("same_instructions",
        parts.counted && 20 * (most - least) <= most && 10 * std::abs(parts.instructions_ns) <= std::abs(t.speed_ns));
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
