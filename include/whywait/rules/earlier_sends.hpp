#ifndef WHYWAIT_RULES_EARLIER_SENDS_HPP
#define WHYWAIT_RULES_EARLIER_SENDS_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/block_names.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/place_columns.hpp>
#include <whywait/rules/program_facts.hpp>
#include <whywait/rules/rank_shares.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {
namespace detail {

/// At most three calls in a sentence; of calls that differ only in the line, the lines: "MPI_Send (halo.cpp:110 and 111)".
inline std::string calls_text(const base::vector<std::string>& calls) {
  constexpr std::size_t most_named = 3;
  const std::size_t named = std::min(calls.size(), most_named), colon = calls.empty() ? std::string::npos : calls[0].rfind(':');
  bool lines = colon != std::string::npos && calls[0].back() == ')';
  for (const std::string& c : calls) lines = lines && c.rfind(':') == colon && c.compare(0, colon, calls[0], 0, colon) == 0;
  std::string text;
  for (std::size_t i = 0; i < named; ++i) {
    text += i == 0 ? "" : i + 1 == calls.size() ? " and " : ", ";
    if (!lines) text += calls[i];
    else if (i == 0) text += calls[i].substr(0, calls[i].size() - 1);
    else text += calls[i].substr(colon + 1, calls[i].size() - colon - 2);
  }
  if (calls.size() > most_named) text += " and " + std::to_string(calls.size() - most_named) + " more";
  return lines ? text + ")" : text;
}

inline void add_up(base::vector<explain::location_share>& to, const base::vector<explain::location_share>& from) {
  for (const explain::location_share& s : from) to.push_back(s);
  base::sort_and_join(
      to, [](const explain::location_share& a, const explain::location_share& b) { return a.rank < b.rank; },
      [](explain::location_share& a, const explain::location_share& b) { a.ns += b.ns; });
}

}  // namespace detail

/// Sets what the virtual clocks know about a wait for a late sender that `block` explains: what it saves to send before the
/// block. All sends that come after it, and the ranks that wait for them, are taken as one.
inline void set_earlier_sends(row_writer& w, const explain::outcome& found, const explain::block_names& names,
                              const program_facts& program, const explain::explanation& e, core::stable_key block) {
  const explain::earlier_send* first = nullptr;
  for (const explain::earlier_send& s : found.earlier_sends)
    if (s.block == block && s.send == e.cause) first = &s;
  if (first == nullptr || e.why != explain::pattern::late_sender) return;
  const auto moves = [&](const explain::explanation& o) {
    for (const explain::earlier_send& s : found.earlier_sends)
      if (s.group == first->group && s.send == o.cause) return o.why == explain::pattern::late_sender;
    return false;
  };
  base::vector<explain::location_share> waiters, causers;
  std::int64_t wait_ns = 0, inherited_ns = 0;
  for (const explain::explanation& o : found.waits) {
    if (!moves(o)) continue;
    wait_ns += o.wait_ns;
    inherited_ns += o.inherited_wait_ns();
    detail::add_up(waiters, o.waiters);
    detail::add_up(causers, o.causers);
  }
  base::vector<std::string> sends;
  const auto add = [&](core::stable_key site) {
    std::string name = detail::call_of(names.place(site));
    if (!base::any_of(sends, [&name](const std::string& known) { return known == name; })) sends.push_back(std::move(name));
  };
  std::int64_t saving_ns = 0;
  for (const explain::earlier_send& s : found.earlier_sends) {
    if (s.group != first->group) continue;
    add(s.send);
    saving_ns = s.saving_ns;
  }
  // No rank waits for what is sent right after a late message, in the same function and after the same work, but it must
  // move as well.
  const base::place* const late = names.place(e.cause);
  const double work_ns = program.mean_ns_before(e.cause);
  for (const program_facts::sends& s : program.sites) {
    const base::place* const p = names.place(s.site);
    if (p == nullptr || late == nullptr || p->file != late->file || p->region != late->region || p->call != late->call)
      continue;
    if (work_ns > 0 && std::abs(program.mean_ns_before(s.site) - work_ns) <= 0.05 * work_ns) add(s.site);
  }
  base::small_stable_sort(sends);
  w.set("earlier_known", true).set("earlier_sends", detail::calls_text(sends)).set("earlier_ranks", ranks_text(waiters));
  w.set("earlier_saving", static_cast<double>(saving_ns) * 1e-9);
  w.set("earlier_share", static_cast<double>(saving_ns) / static_cast<double>(std::max<std::int64_t>(found.longest_ns, 1)));
  w.set("earlier_in_turn", in_turn(causers, waiters));
  w.set("earlier_indirect", static_cast<double>(inherited_ns) / static_cast<double>(std::max<std::int64_t>(wait_ns, 1)));
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
