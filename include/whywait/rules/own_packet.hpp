#ifndef WHYWAIT_RULES_OWN_PACKET_HPP
#define WHYWAIT_RULES_OWN_PACKET_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/own_state.hpp>

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

/// Own events and their types of one rank, as bytes to send to the rank that runs the rules: count and list of the types,
/// how many events were dropped, the events, each with its size before it.
using own_packet = base::pod_vector<unsigned char>;

/// The types inside a packet, as declarations: "declare simple event solver_restart parameters (residual = number);".
using own_declaration = named_text;

namespace detail {

/// Reads packed values; after the first that is not there everything is 0.
class unpacker {
 public:
  unpacker(const unsigned char* data, std::size_t size) : at_(data), end_(data + size) {}
  template <class T>
  T value() {
    T out{};
    if (static_cast<std::size_t>(end_ - at_) < sizeof out) at_ = end_, good_ = false;
    else std::memcpy(&out, at_, sizeof out), at_ += sizeof out;
    return out;
  }
  std::string text() {
    const auto length = value<std::uint32_t>();
    if (length > static_cast<std::size_t>(end_ - at_)) {
      at_ = end_;
      good_ = false;
      return {};
    }
    std::string out(reinterpret_cast<const char*>(at_), length);
    at_ += length;
    return out;
  }
  bool more() const noexcept { return good_ && at_ != end_; }
  bool good() const noexcept { return good_; }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
  bool good_ = true;
};

/// Own event types in the order of their numbers; the text of each is "tolerance=number, reason=text".
inline base::vector<named_text> read_shapes(unpacker& from, std::uint64_t& dropped) {
  base::vector<named_text> out;
  for (auto count = from.value<std::uint32_t>(); count-- > 0 && from.good();) {
    std::string name = from.text();
    out.push_back({std::move(name), from.text()});
  }
  dropped = from.value<std::uint64_t>();
  return out;
}

/// Takes the next parameter off a shape; its type word is empty where there is none. False at the end.
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
/// What this process recorded as own events, the first of them as far as `most` bytes go; what is left out counts as
/// dropped. Empty if there is nothing. O(bytes).
inline own_packet pack_own_events(std::size_t most = std::size_t(-1)) {
  own_packet out;
  own_state* const state = the_own_state();
  if (state == nullptr) return out;
  const auto put = [&out](const void* from, std::size_t size) {
    const auto* const bytes = static_cast<const unsigned char*>(from);
    out.insert(out.end(), bytes, bytes + size);
  };
  const auto put_text = [&put](const char* text) {
    const auto length = static_cast<std::uint32_t>(std::strlen(text));
    put(&length, sizeof length);
    put(text, length);
  };
  const own_state_lock held(*state);
  if (state->type_count != 0) {
    base::pod_vector<const own_type*> types(state->type_count);
    for (const own_type* t = state->types; t != nullptr; t = t->next) types[t->index] = t;
    put(&state->type_count, sizeof state->type_count);
    for (const own_type* t : types) {
      put_text(t->name);
      put_text(t->shape);
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
    put(&dropped, sizeof dropped);
    put(state->events, taken);
  }
  return out;
}
#else
inline own_packet pack_own_events(std::size_t = 0) { return {}; }
#endif

/// Declarations for the types of a packet.
inline base::vector<own_declaration> own_declarations(const own_packet& packet) {
  detail::unpacker from(packet.data(), packet.size());
  base::vector<own_declaration> out;
  std::uint64_t dropped = 0;
  for (named_text& type : detail::read_shapes(from, dropped)) {
    std::string text = base::joined({"declare simple event ", type.name, "\n  parameters ( "});
    std::string_view shape = type.text, name, word;
    for (const char* comma = ""; detail::next_parameter(shape, name, word); comma = ", ")
      text += base::joined({comma, name, " = ", word});
    text += " );\n";
    out.push_back({std::move(type.name), std::move(text)});
  }
  return out;
}

/// How many events of a rank its packet lacks for want of room.
inline std::uint64_t dropped_events(const own_packet& packet) {
  detail::unpacker from(packet.data(), packet.size());
  std::uint64_t dropped = 0;
  detail::read_shapes(from, dropped);
  return dropped;
}

/// Adds the events of one rank to a store. What rules do not know is left out. False if the packet ends too early.
inline bool add_own_events(const own_packet& packet, std::int64_t rank, event_store& store) {
  if (packet.empty()) return true;
  detail::unpacker from(packet.data(), packet.size());
  std::uint64_t dropped = 0;
  const base::vector<named_text> types = detail::read_shapes(from, dropped);
  while (from.more()) {
    (void)from.value<std::uint32_t>();  // its size
    const auto index = from.value<std::uint32_t>();
    if (index >= types.size()) return false;
    const named_text& type = types[index];
    const auto line = from.value<double>();
    const auto time = from.value<double>();
    const std::string file = from.text();
    row_writer row(store, type.name);
    row.set("rank", rank).set("line", line).set("time", time).set("file", file);
    std::string_view shape = type.text, name, word;
    while (detail::next_parameter(shape, name, word)) {
      if (word == "text") row.set(name, from.text());
      else if (word == "boolean") row.set(name, from.value<double>() != 0);
      else row.set(name, from.value<double>());
    }
    if (row.good()) {
      std::string place = base::clean(file) + ":" + base::number_text(line);
      row.actions(store.add_action({{}, {}, file, static_cast<int>(line), type.name + " (" + place + ")"}));
    }
  }
  return from.good();
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
