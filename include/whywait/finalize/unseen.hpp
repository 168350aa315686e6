#ifndef WHYWAIT_FINALIZE_UNSEEN_HPP
#define WHYWAIT_FINALIZE_UNSEEN_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/site.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/finalize/team.hpp>
#include <whywait/report/thread_end.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Sums of one marked block for events that did not fit into memory. Waits in that time are unknown.
struct unseen_block {
  core::stable_key key;
  std::int64_t visits, ns, work;
};

namespace detail {
/// Sorts by key and adds up entries of the same key.
inline void add_up(base::pod_vector<unseen_block>& all) {
  base::sort_and_join(
      all, [](const unseen_block& a, const unseen_block& b) { return a.key < b.key; },
      [](unseen_block& to, const unseen_block& b) {
        to.visits += b.visits;
        to.ns += b.ns;
        to.work += b.work;
      });
}
}  // namespace detail

/// Sums over all ranks and threads on rank 0, limited to the 32 blocks with the most time. Collective; costs one
/// agreement if memory sufficed.
inline base::pod_vector<unseen_block> gather_unseen(const process_records& own, const core::site_table& sites,
                                                    const finalize::team& all) {
  constexpr std::size_t most = 32;
  base::pod_vector<unseen_block> found;
  for (const thread_records& l : own.threads)
    for (std::uint32_t site = 1; l.folded != nullptr && site < sites.size(); ++site) {
      const core::path_step& sum = l.folded[site];
      if (sum.visits == 0 && sum.ticks == 0) continue;
      found.push_back({sites[site].key, static_cast<std::int64_t>(sum.visits),
                       static_cast<std::int64_t>(static_cast<double>(sum.ticks) * own.history.clock.ns_per_tick),
                       static_cast<std::int64_t>(sum.work)});
    }
  if (all.lowest_of(!found.empty()) < 0) return found;
  detail::add_up(found);
  all.reduce_list(found, [&] { detail::add_up(found); });
  base::small_stable_sort(
      found, [](const unseen_block& a, const unseen_block& b) { return a.ns != b.ns ? a.ns > b.ns : a.visits > b.visits; });
  found.resize(std::min(found.size(), most));
  return found;
}

/// The same blocks with their names, for the report.
inline base::vector<reports::place_total> named(const base::pod_vector<unseen_block>& found, const base::names& names) {
  base::vector<reports::place_total> out;
  for (const unseen_block& b : found)
    if (const base::place* const where = names.find(b.key))
      out.push_back({*where, b.visits, static_cast<double>(b.ns) * 1e-9, b.work});
  return out;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
