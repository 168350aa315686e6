#ifndef WHYWAIT_RULES_CONTRIBUTION_HPP
#define WHYWAIT_RULES_CONTRIBUTION_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/call_kinds.hpp>
#include <whywait/rules/data_facts.hpp>
#include <whywait/rules/extend.hpp>
#include <whywait/rules/own_code.hpp>
#include <whywait/rules/own_packet.hpp>
#include <whywait/rules/traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Input of the rules from some ranks: uses of call sites, calls, texts given to `add`, own events.
struct contribution {
  base::pod_vector<site_use> uses;    ///< sorted by site, summed over ranks
  call_table calls;
  code_table code;
  base::vector<rule_text> texts;  ///< each once
  base::vector<own_packet> events;
  base::pod_vector<std::int32_t> ranks;  ///< the rank of each element of `events`
  const data_facts* data = nullptr;  ///< of all ranks; only where the rules are evaluated

  /// Merges the contribution of higher ranks. Linear in both.
  void merge(contribution&& others) {
    merge_uses(uses, others.uses);
    calls.merge(others.calls);
    code.merge(others.code);
    for (rule_text& t : others.texts) {
      bool known = false;
      for (const rule_text& mine : texts) known = known || mine == t;
      if (!known) texts.push_back(std::move(t));
    }
    for (own_packet& p : others.events) events.push_back(std::move(p));
    ranks.insert(ranks.end(), others.ranks.begin(), others.ranks.end());
  }
};

/// The contribution of one rank, with the first `most_event_bytes` of its own events.
inline contribution contribution_of(const explain::rank_history& rank, std::size_t most_event_bytes) {
  contribution out;
  out.uses = uses_of(rank);
  out.calls = calls_of(rank);
  out.texts = added_texts();
  own_packet events = pack_own_events(most_event_bytes);
  if (!events.empty()) {
    out.events.push_back(std::move(events));
    out.ranks.push_back(rank.rank);
  }
  return out;
}

/// Serialises a contribution for another rank of the same job.
inline base::packet pack(const contribution& c) {
  base::packet out;
  base::put_all(out, c.uses);
  base::put_all(out, c.calls.kinds);
  base::put(out, c.calls.others);
  base::put_all(out, c.code.blocks);
  base::put(out, c.code.whole);
  base::put(out, static_cast<std::uint32_t>(c.texts.size()));
  for (const rule_text& t : c.texts) {
    base::put_text(out, t.name);
    base::put_text(out, t.text);
  }
  for (std::size_t i = 0; i < c.events.size(); ++i) {
    base::put(out, c.ranks[i]);
    base::put_all(out, c.events[i]);
  }
  return out;
}

/// Reads what `pack` wrote; of a truncated packet the complete parts.
inline contribution unpack_contribution(const unsigned char* data, std::size_t size) {
  contribution out;
  base::packet_reader from(data, size);
  try {
    base::get_all(from, out.uses);
    base::get_all(from, out.calls.kinds);
    out.calls.others = from.get<folded_calls>();
    base::get_all(from, out.code.blocks);
    out.code.whole = from.get<code_use>();
    for (auto n = from.get<std::uint32_t>(); n-- > 0;) {
      const std::string_view name = from.text(), text = from.text();
      out.texts.push_back({std::string(name), std::string(text)});
    }
    while (!from.empty()) {
      const auto rank = from.get<std::int32_t>();
      own_packet events;
      base::get_all(from, events);
      out.ranks.push_back(rank);
      out.events.push_back(std::move(events));
    }
  } catch (const std::out_of_range&) {
  }
  return out;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
