#ifndef WHYWAIT_EXPLAIN_READ_SNAPSHOT_HPP
#define WHYWAIT_EXPLAIN_READ_SNAPSHOT_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/forward_scratch.hpp>
#include <whywait/explain/own_visits.hpp>
#include <whywait/explain/path_profile.hpp>
#include <whywait/explain/snapshot.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The path of a location at one instant, to which a relative snapshot adds.
struct path_state {
  explicit path_state(base::memory_pool& memory) : profile(memory), own(memory) {}
  path_profile profile;
  own_visits own;
};

namespace detail {

// path_use::extra of a causer after it took over this location's path `base`.
inline double extra_since(const forward_scratch& scratch, const path_state& base, std::uint32_t number,
                          const snapshot_entry& e) noexcept {
  const double visits = number < base.profile.size() ? base.profile[number].extra : 0;
  const own_use mine = base.own[number];
  const bool comparable = scratch.taken.head.stretch == base.own.stretch() && mine.total > 0;
  const double theirs = comparable
                            ? e.use.extra - static_cast<double>(e.here) + own_visits::share(e.total, mine.here, mine.total)
                            : e.use.extra - static_cast<double>(e.use.visits);
  return visits + static_cast<double>(mine.sum()) - theirs;
}

}  // namespace detail

/// Converts the snapshot in forward_scratch::taken to a profile in forward_scratch::incoming, by the block numbers of the rank that
/// received it. `base`: the own path that a relative snapshot adds to, else null; `profile` and `own`: the current ones.
inline void read_snapshot(forward_scratch& scratch, const path_state* base, path_profile& profile, const own_visits& own,
                          block_table& blocks) {
  path_profile& incoming = scratch.incoming;
  base::pod_vector<std::int64_t>& totals = scratch.totals;
  base::pod_vector<std::uint32_t>& numbers = scratch.numbers;
  const snapshot_head& head = scratch.taken.head;
  const snapshot_entry* const path = scratch.taken.entries;
  incoming.clear();
  if (base != nullptr) incoming = base->profile;
  incoming.resize(std::max(incoming.size(), profile.size()));
  totals.assign(incoming.size(), 0);
  // `extra` includes the own visits of the location that sent it until they are subtracted below.
  for (std::size_t b = 0; b != incoming.size(); ++b) {
    path_use& u = incoming[b];
    u.own_visits = u.own_ns = 0;
    if (base != nullptr) u.extra += static_cast<double>(base->own[b].sum());
    u.extra -= static_cast<double>(own[b].sum());
  }
  if (numbers.size() < head.entries) numbers.resize(head.entries, 0);
  for (std::size_t i = 0; i != head.entries; ++i) {
    const snapshot_entry& e = path[i];
    std::uint32_t& number = numbers[i];  // usually the same block as at this position of the last snapshot
    if (number >= blocks.size()) number = 0;
    const block_table::name& name = blocks[number];
    if (name.block != e.name.block || name.within != e.name.within) number = blocks.intern(e.name.block, e.name.within);
    if (number >= incoming.size()) {
      incoming.resize(number + 1);
      totals.resize(number + 1);
    }
    path_use& u = incoming[number];
    totals[number] = e.total;
    double visits = e.use.extra;
    if (base != nullptr) {
      visits += detail::extra_since(scratch, *base, number, e);
      u.visits += e.use.visits;
      u.ns += e.use.ns;
      u.work += e.use.work;
      u.own_visits = e.use.own_visits;
      u.own_ns = e.use.own_ns;
    } else {
      u = e.use;
    }
    u.extra = visits - own.where(number, head.stretch, e.here, e.total);
  }
  profile.resize(incoming.size());
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
