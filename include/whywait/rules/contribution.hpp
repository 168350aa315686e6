#ifndef WHYWAIT_RULES_CONTRIBUTION_HPP
#define WHYWAIT_RULES_CONTRIBUTION_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/extend.hpp>
#include <whywait/rules/own_packet.hpp>
#include <whywait/rules/traffic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// What ranks give to the one that runs the rules: what their call sites did, texts given to `add`, own events.
struct contribution {
  base::pod_vector<site_use> uses;    ///< sorted by site, those of several ranks added up
  base::vector<rule_text> texts;  ///< each once
  base::vector<own_packet> events;
  base::pod_vector<std::int32_t> ranks;  ///< of `events`

  /// Adds what ranks after these gave. Linear in both.
  void merge(contribution&& others) {
    merge_uses(uses, others.uses);
    for (rule_text& t : others.texts) {
      bool known = false;
      for (const rule_text& mine : texts) known = known || mine == t;
      if (!known) texts.push_back(std::move(t));
    }
    for (own_packet& p : others.events) events.push_back(std::move(p));
    ranks.insert(ranks.end(), others.ranks.begin(), others.ranks.end());
  }
};

/// What one rank gives; of its own events at most `most_event_bytes`, the first ones.
inline contribution contribution_of(const explain::rank_history& rank, std::size_t most_event_bytes) {
  contribution out;
  out.uses = uses_of(rank);
  out.texts = added_texts();
  own_packet events = pack_own_events(most_event_bytes);
  if (!events.empty()) {
    out.events.push_back(std::move(events));
    out.ranks.push_back(rank.rank);
  }
  return out;
}

namespace detail {

struct contribution_writer {
  own_packet bytes;

  void put(const void* from, std::size_t size) {
    bytes.append(static_cast<const unsigned char*>(from), size);
  }
  void count(std::size_t n) {
    const auto number = static_cast<std::uint32_t>(n);
    put(&number, sizeof number);
  }
  void sized(const void* from, std::size_t size) {
    count(size);
    put(from, size);
  }
};

}  // namespace detail

/// As bytes, for another rank of the same kind of machine.
inline own_packet pack(const contribution& c) {
  detail::contribution_writer out;
  out.sized(c.uses.data(), c.uses.size() * sizeof(site_use));
  out.count(c.texts.size());
  for (const rule_text& t : c.texts) {
    out.sized(t.name.data(), t.name.size());
    out.sized(t.text.data(), t.text.size());
  }
  out.count(c.events.size());
  for (std::size_t i = 0; i < c.events.size(); ++i) {
    out.put(&c.ranks[i], sizeof c.ranks[i]);
    out.sized(c.events[i].data(), c.events[i].size());
  }
  return std::move(out.bytes);
}

/// The way back; what is cut off is left out.
inline contribution unpack_contribution(const unsigned char* data, std::size_t size) {
  contribution out;
  detail::unpacker from(data, size);
  const std::string uses = from.text();
  out.uses.resize(uses.size() / sizeof(site_use));
  if (!out.uses.empty()) std::memcpy(out.uses.data(), uses.data(), out.uses.size() * sizeof(site_use));
  for (auto n = from.value<std::uint32_t>(); n-- > 0 && from.good();) {
    std::string name = from.text();
    out.texts.push_back({std::move(name), from.text()});
  }
  for (auto n = from.value<std::uint32_t>(); n-- > 0 && from.good();) {
    out.ranks.push_back(from.value<std::int32_t>());
    const std::string packet = from.text();
    const auto* const bytes = reinterpret_cast<const unsigned char*>(packet.data());
    out.events.emplace_back(bytes, bytes + packet.size());
  }
  return out;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
