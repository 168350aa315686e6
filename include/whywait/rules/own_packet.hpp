#ifndef WHYWAIT_RULES_OWN_PACKET_HPP
#define WHYWAIT_RULES_OWN_PACKET_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/own_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Own events of one rank, serialised for the rank that evaluates the rules: the types, the number of dropped events,
/// and the events, each preceded by its size.
using own_packet = base::packet;

/// A type of a packet as a declaration: "declare simple event solver_restart parameters (residual = number);".
using own_declaration = named_text;

namespace detail {

/// The head of a packet: the own event types in the order of their numbers, the text of each "tolerance=number,
/// reason=text", how many events were dropped, and when it was packed.
struct own_packet_head {
  base::vector<named_text> types;
  std::uint64_t dropped = 0;
  double packed_at = 0;  ///< seconds of CLOCK_MONOTONIC
  bool complete = true;  ///< false: the packet is truncated
};

inline own_packet_head read_head(base::packet_reader& from) {
  own_packet_head out;
  if (from.empty()) return out;
  try {
    for (auto count = from.get<std::uint32_t>(); count-- > 0;) {
      const std::string_view name = from.text(), shape = from.text();
      out.types.push_back({std::string(name), std::string(shape)});
    }
    out.dropped = from.get<std::uint64_t>();
    out.packed_at = from.get<double>();
  } catch (const std::out_of_range&) {
    out.complete = false;
  }
  return out;
}

/// Removes the next parameter from a shape; a missing type word is empty. False at the end.
inline bool next_parameter(std::string_view& shape, std::string_view& name, std::string_view& word) noexcept {
  if (shape.empty()) return false;
  const std::size_t comma = std::min(shape.find(','), shape.size());
  const std::size_t equals = std::min(shape.find('='), comma);
  name = shape.substr(0, equals);
  word = equals < comma ? shape.substr(equals + 1, comma - equals - 1) : std::string_view();
  shape.remove_prefix(std::min(comma + 1, shape.size()));
  return true;
}

}  // namespace detail

#ifndef WHYWAIT_DISABLE
/// The first `most` bytes of the own events of this process; further events count as dropped. Empty without events.
/// O(bytes).
inline own_packet pack_own_events(std::size_t most = std::size_t(-1)) {
  own_packet out;
  own_state* const state = the_own_state();
  if (state == nullptr) return out;
  const own_state_lock held(*state);
  if (state->type_count != 0) {
    base::pod_vector<const own_type*> types(state->type_count);
    for (const own_type* t = state->types; t != nullptr; t = t->next) types[t->index] = t;
    base::put(out, std::uint32_t{state->type_count});
    for (const own_type* t : types) {
      base::put_text(out, t->name);
      base::put_text(out, t->shape);
    }
    std::uint64_t dropped = state->dropped;
    std::size_t taken = 0;
    for (std::size_t at = 0; at < state->used;) {
      std::uint32_t size = 0;
      std::memcpy(&size, state->events + at, sizeof size);
      at += sizeof size + size;
      if (at <= most) taken = at;
      else ++dropped;
    }
    base::put(out, dropped);
    base::put(out, event_clock());
    base::put_bytes(out, state->events, taken);
  }
  return out;
}
#else
inline own_packet pack_own_events(std::size_t = 0) { return {}; }
#endif

/// Declarations for the types of a packet.
inline base::vector<own_declaration> own_declarations(const own_packet& packet) {
  base::packet_reader from(packet.data(), packet.size());
  base::vector<own_declaration> out;
  detail::own_packet_head head = detail::read_head(from);
  for (named_text& type : head.types) {
    std::string text = base::joined({"declare simple event ", type.name, "\n  parameters ( "});
    std::string_view shape = type.text, name, word;
    for (const char* comma = ""; detail::next_parameter(shape, name, word); comma = ", ")
      text += base::joined({comma, name, " = ", word});
    text += " );\n";
    out.push_back({std::move(type.name), std::move(text)});
  }
  return out;
}

/// Number of events that were dropped before packing.
inline std::uint64_t dropped_events(const own_packet& packet) {
  base::packet_reader from(packet.data(), packet.size());
  return detail::read_head(from).dropped;
}

/// Adds the events of one rank to a store. Events that no rule uses are left out. All ranks pack them together, at the end of the
/// run, so that their times count from one beginning. False if the packet is truncated.
inline bool add_own_events(const own_packet& packet, std::int64_t rank, event_store& store) {
  base::packet_reader from(packet.data(), packet.size());
  const detail::own_packet_head head = detail::read_head(from);
  if (!head.complete) return false;
  try {
    while (!from.empty()) {
      (void)from.get<std::uint32_t>();  // its size
      const auto index = from.get<std::uint32_t>();
      if (index >= head.types.size()) return false;
      const named_text& type = head.types[index];
      const auto line = from.get<double>();
      const auto time = from.get<double>();
      const std::string file(from.text());
      const std::uint32_t known = store.rules().find(type.name);  // an event of the analysis may have its name
      const bool own = known != knowledge::none && store.rules().types[known].source == event_source::own;
      row_writer row(store, own ? std::string_view(type.name) : std::string_view());
      row.set("rank", rank).set("line", line).set("time", store.run_time - (head.packed_at - time)).set("file", file);
      std::string_view shape = type.text, name, word;
      while (detail::next_parameter(shape, name, word)) {
        const std::string key(name);
        if (word == "text") row.set(key.c_str(), from.text());
        else if (word == "boolean") row.set(key.c_str(), from.get<double>() != 0);
        else row.set(key.c_str(), from.get<double>());
      }
      if (row.good()) {
        std::string place = base::printable(file) + ":" + base::number(line);
        row.actions(store.add_action({{}, {}, file, static_cast<int>(line), type.name + " (" + place + ")"}));
      }
    }
  } catch (const std::out_of_range&) {
    return false;
  }
  return true;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
