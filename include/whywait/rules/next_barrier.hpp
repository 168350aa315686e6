#ifndef WHYWAIT_RULES_NEXT_BARRIER_HPP
#define WHYWAIT_RULES_NEXT_BARRIER_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/block_names.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

namespace detail {

// The time of one thread in a list; 0: it is not in it.
inline std::int64_t ns_of(const base::vector<explain::location_share>& all, const explain::location_share& thread) noexcept {
  std::int64_t ns = 0;
  for (const explain::location_share& s : all)
    if (s.rank == thread.rank && s.thread == thread.thread) ns += s.ns;
  return ns;
}

// Of those that are late by a twentieth of what the latest one is or more, the one that waits least in `waits`.
inline std::int64_t least_wait_ns(const base::vector<explain::location_share>& late,
                                  const base::vector<explain::location_share>& waits) noexcept {
  std::int64_t most_ns = 0, least_ns = INT64_MAX;
  for (const explain::location_share& s : late) most_ns = std::max(most_ns, s.ns);
  for (const explain::location_share& s : late)
    if (20 * s.ns >= most_ns) least_ns = std::min(least_ns, ns_of(waits, s));
  return late.empty() ? 0 : least_ns;
}

}  // namespace detail

/// What the run saves, in ns of wall time, if no thread waits in the barrier of `e`: then each thread is as late at the next one
/// as it was ahead of both together. That is what the threads that are late here wait in the next barrier, and no more than those
/// that are late there wait here. The next barrier is known by unmarked code between the two; 0: it is not known, or a late
/// thread does not wait in the other one. O(waits x terms).
[[gnu::noinline]] inline std::int64_t without_barrier_ns(const explain::explanation& e, const explain::outcome& found,
                                                         const explain::block_names& names) {
  const base::place* const here = names.place(e.operation);
  if (e.why != explain::pattern::thread_barrier || here == nullptr || 100 * e.wait_ns < found.longest_ns) return 0;
  const auto follows = [&](const explain::residual_term& t) {
    const explain::block_description d = names.describe(t.block, t.within != 0);
    return t.total_ns > 0 && d.kind == explain::block_kind::between && d.from != nullptr && *d.from == *here;
  };
  base::vector<explain::location_share> waiting, late;  // in the next barrier
  for (const explain::explanation& next : found.waits) {
    if (next.why != e.why || next.operation == e.operation || !base::any_of(next.residual, follows)) continue;
    for (const explain::location_share& s : next.waiters) waiting.push_back(s);
    for (const explain::location_share& s : next.causers) late.push_back(s);
  }
  return std::min(detail::least_wait_ns(e.causers, waiting), detail::least_wait_ns(late, e.waiters));
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
