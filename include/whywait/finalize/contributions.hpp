#ifndef WHYWAIT_FINALIZE_CONTRIBUTIONS_HPP
#define WHYWAIT_FINALIZE_CONTRIBUTIONS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/finalize/mpi_transport.hpp>
#include <whywait/rules/call_rows.hpp>
#include <whywait/rules/collective_completion.hpp>
#include <whywait/rules/contribution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Gathers the input of the rules on rank 0. A reduction tree adds up the contributions of one call site on the way.
/// The result is bounded to 64 MiB of own events in total (at least 1 KiB per rank; none without `with_events`) and to
/// the 256 most costly call sites. Collective over the transport's ranks.
inline rules::contribution gather_contributions(finalize::mpi_transport& transport, const explain::rank_history& own,
                                                std::int64_t clock_error_ns, rules::code_table&& code,
                                                bool with_events = true) {
  constexpr std::size_t most_event_bytes = std::size_t(64) << 20, least_event_bytes = 1024, most_sites = 256;
  constexpr std::int64_t shortest_late_exit_ns = 10000;
  rules::contribution all;
  if (with_events)
    all = rules::contribution_of(own,
                                 std::max(most_event_bytes / static_cast<std::size_t>(transport.ranks()), least_event_bytes));
  else all.uses = rules::uses_of(own), all.calls = rules::calls_of(own);
  all.code = std::move(code);
  rules::completion ends(own, std::max(shortest_late_exit_ns, 2 * clock_error_ns));
  transport.exchange(
      [&](std::int32_t, auto&& to, std::size_t room) { ends.announce(to, room); },
      [&](std::int32_t, std::int32_t, const unsigned char* data, std::size_t size) { ends.receive(data, size); });
  ends.add_to(all.uses);
  transport.reduce(
      [&](std::int32_t) { return rules::pack(all); },
      [&](std::int32_t, const unsigned char* data, std::size_t size) { all.merge(rules::unpack_contribution(data, size)); });
  rules::keep_most_costly(all.uses, most_sites);
  return all;
}

/// Merges the call sites of an epoch into those of earlier epochs.
inline void fold_uses(base::pod_vector<rules::site_use>& so_far, base::pod_vector<rules::site_use>& epoch) {
  constexpr std::size_t most_sites = 256;
  // The number of ranks is the maximum of both epochs, because the same ranks may take part in both.
  base::pod_vector<std::int64_t> ranks;
  for (std::size_t i = 0, j = 0; i < so_far.size() || j < epoch.size();) {
    const bool a = j == epoch.size() || (i < so_far.size() && so_far[i].site <= epoch[j].site);
    const bool b = i == so_far.size() || (j < epoch.size() && epoch[j].site <= so_far[i].site);
    ranks.push_back(std::max<std::int64_t>(a ? so_far[i].ranks : 0, b ? epoch[j].ranks : 0));
    i += a ? 1 : 0;
    j += b ? 1 : 0;
  }
  rules::merge_uses(so_far, epoch);
  for (std::size_t i = 0; i < so_far.size(); ++i) so_far[i].ranks = static_cast<decltype(so_far[i].ranks)>(ranks[i]);
  rules::keep_most_costly(so_far, most_sites);
  epoch = so_far;
}

/// The same for the calls.
inline void fold_calls(rules::call_table& so_far, rules::call_table& epoch) {
  constexpr std::size_t most_sites = 256;
  so_far.merge(epoch);
  so_far.keep_sites(most_sites);
  epoch = so_far;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
