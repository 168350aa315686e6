#ifndef WHYWAIT_RULES_HELD_UP_HPP
#define WHYWAIT_RULES_HELD_UP_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/utf8.hpp>
#include <whywait/explain/block_names.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/rules/place_columns.hpp>
#include <whywait/rules/rank_shares.hpp>

#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Why code begins late on a rank: the wait for a message that held it up longest, if that is at least half of what `e` is for each
/// rank that waits: "rank 0 waited in MPI_Send (halo.cpp:12) for rank 1". Empty otherwise. Linear in the waits.
[[gnu::noinline]] inline std::string held_up_text(const explain::explanation& e, std::int32_t rank,
                                                  const explain::outcome& found, const explain::block_names& names) {
  const explain::explanation* longest = nullptr;
  std::int64_t most_ns = 0, waited_ns = 0;
  for (const explain::location_share& s : e.waiters) waited_ns = s.ns > waited_ns ? s.ns : waited_ns;
  for (const explain::explanation& o : found.waits) {
    const bool of_message = o.why == explain::pattern::late_sender || o.why == explain::pattern::late_receiver ||
                            o.why == explain::pattern::wait_for_progress;
    if (o.operation == e.operation || !of_message) continue;
    for (const explain::location_share& s : o.waiters)
      if (s.rank == rank && s.ns > most_ns) most_ns = s.ns, longest = &o;
  }
  if (longest == nullptr || 2 * most_ns < waited_ns) return {};
  return base::joined(
      {base::rank_text(rank), " waited in ", detail::call_of(names.place(longest->operation)), " for ", late_text(*longest)});
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
