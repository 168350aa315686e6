#ifndef WHYWAIT_REPORT_MAPS_ASSEMBLE_HPP
#define WHYWAIT_REPORT_MAPS_ASSEMBLE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/wait_classes.hpp>
#include <whywait/report/maps.hpp>
#include <whywait/report/name_resolver.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Speeds of the blocks with the largest savings, from answers that are in the order of blocks within an epoch.
inline void list_speeds(const explain::outcome& found, const name_resolver& resolve, maps_section& out) {
  constexpr std::size_t most_speeds = 5;
  base::pod_vector<core::stable_key> keys;
  for (const explain::what_if_answer& a : found.factors) {
    const explain::change& c = a.question.changes[0];
    std::size_t at = 0;
    while (at != keys.size() && keys[at] != c.block) ++at;
    if (at == keys.size()) {
      keys.push_back(c.block);
      out.speeds.emplace_back();
      speed_entry& fresh = out.speeds.back();
      fresh.network = c.block == explain::network_key();
      if (!fresh.network) resolve.describe(c.block, 0, fresh);
    }
    out.speeds[at].answers.push_back({c.factor, base::seconds_of(a.total_ns), base::seconds_of(a.saving_ns)});
  }
  const auto saving = [](const speed_entry& s) { return s.answers.empty() ? 0 : s.answers[0].saving_seconds; };
  base::small_stable_sort(out.speeds, [&](const speed_entry& a, const speed_entry& b) {
    return a.network != b.network ? b.network : saving(a) > saving(b);
  });
  // several epochs may have asked about several blocks
  base::vector<speed_entry> kept;
  for (speed_entry& s : out.speeds) {
    if (kept.size() < most_speeds || s.network) kept.push_back(std::move(s));
  }
  out.speeds = std::move(kept);
}

inline void list_balances(const explain::outcome& found, const name_resolver& resolve, maps_section& out) {
  for (const explain::balance_answer& b : found.balances) {
    if (b.saving_ns <= 0 || b.among < 2) continue;
    balance_entry e;
    resolve.describe(b.piece, 0, e);
    if (e.kind == "call" || e.kind == "startup") continue;  // cannot be balanced
    e.unmarked = b.block == explain::unmarked_key() || b.pieces > 1;
    e.rank = b.rank;
    e.thread = b.thread;
    e.among = b.among;
    e.seconds = base::seconds_of(found.total_ns - b.saving_ns);
    e.saving_seconds = base::seconds_of(b.saving_ns);
    out.balances.push_back(std::move(e));
  }
}

/// The maps of an outcome with names. `listed`: the explanations of result::waits, in their order.
inline maps_section maps_of(const explain::outcome& found, const base::pod_vector<const explain::explanation*>& listed,
                            const name_resolver& resolve) {
  maps_section out;
  out.run = found.maps;
  for (const core::stable_key block : found.maps.blocks) {
    out.blocks.emplace_back();
    resolve.describe(block, 0, out.blocks.back());
  }
  // Waits of one class may have several explanations; a link leads to that of most of them.
  const auto find = [&](core::stable_key key) {
    std::size_t at = 0;
    while (at != listed.size() &&
           explain::wait_classes::key_of(listed[at]->why, listed[at]->operation, listed[at]->cause) != key)
      ++at;
    return at;
  };
  for (const explain::class_link& l : found.maps.links) {
    const std::size_t wait = find(l.wait), through = find(l.through);
    if (wait == listed.size() || through == listed.size()) continue;
    out.links.push_back({wait, through, l.count, base::seconds_of(l.ns)});
  }
  base::small_stable_sort(out.links, [](const wait_link& a, const wait_link& b) { return a.seconds > b.seconds; });
  list_speeds(found, resolve, out);
  list_balances(found, resolve, out);
  return out;
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
