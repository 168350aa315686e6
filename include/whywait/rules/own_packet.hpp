#ifndef WHYWAIT_RULES_OWN_PACKET_HPP
#define WHYWAIT_RULES_OWN_PACKET_HPP

#include <whywait/core/plain_vector.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/own_state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Own events and their types of one rank, as bytes to send to the rank that runs the rules: count and list of the types,
/// how many events were dropped, the events, each with its size before it.
using own_packet = core::plain_vector<unsigned char>;

/// The types inside a packet, as declarations: "declare simple event solver_restart parameters (residual = number);".
using own_declaration = named_text;

namespace detail {

/// Reads packed values; after the first that is not there everything is 0.
class unpacker {
 public:
  unpacker(const unsigned char* data, std::size_t size) : at_(data), end_(data + size) {}
  template <class T>
  [[gnu::cold]] T value() {
    T out{};
    if (static_cast<std::size_t>(end_ - at_) < sizeof out) at_ = end_, good_ = false;
    else std::memcpy(&out, at_, sizeof out), at_ += sizeof out;
    return out;
  }
  [[gnu::cold]] std::string text() {
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

struct own_shape {
  std::string name;
  std::vector<named_text> parameters;  ///< name and type word
};

[[gnu::cold]] inline own_shape read_shape(unpacker& from) {
  own_shape out;
  out.name = from.text();
  const std::string text = from.text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::size_t equals = std::min(text.find('=', at), comma);
    out.parameters.push_back({text.substr(at, equals - at), equals < comma ? text.substr(equals + 1, comma - equals - 1) : std::string()});
    at = comma + 1;
  }
  return out;
}

[[gnu::cold]] inline std::vector<own_shape> read_shapes(unpacker& from, std::uint64_t& dropped) {
  std::vector<own_shape> out;
  for (auto count = from.value<std::uint32_t>(); count-- > 0 && from.good();) out.push_back(read_shape(from));
  dropped = from.value<std::uint64_t>();
  return out;
}

}  // namespace detail

#ifndef WHYWAIT_DISABLE
/// What this process recorded as own events, the first of them as far as `most` bytes go; what is left out counts as
/// dropped. Empty if there is nothing. O(bytes).
[[gnu::cold]] inline own_packet pack_own_events(std::size_t most = std::size_t(-1)) {
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
    core::plain_vector<const own_type*> types(state->type_count);
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
[[gnu::cold]] inline own_packet pack_own_events(std::size_t = 0) { return {}; }
#endif

/// Declarations for the types of a packet.
[[gnu::cold]] inline std::vector<own_declaration> own_declarations(const own_packet& packet) {
  detail::unpacker from(packet.data(), packet.size());
  std::vector<own_declaration> out;
  std::uint64_t dropped = 0;
  for (const detail::own_shape& shape : detail::read_shapes(from, dropped)) {
    std::string text = "declare simple event " + shape.name + "\n  parameters ( ";
    for (std::size_t i = 0; i < shape.parameters.size(); ++i)
      text += (i == 0 ? "" : ", ") + shape.parameters[i].name + " = " + shape.parameters[i].text;
    out.push_back({shape.name, text + " );\n"});
  }
  return out;
}

/// How many events of a rank its packet lacks for want of room.
[[gnu::cold]] inline std::uint64_t dropped_events(const own_packet& packet) {
  detail::unpacker from(packet.data(), packet.size());
  std::uint64_t dropped = 0;
  detail::read_shapes(from, dropped);
  return dropped;
}

/// Adds the events of one rank to a store. What rules do not know is left out. False if the packet ends too early.
[[gnu::cold]] inline bool add_own_events(const own_packet& packet, std::int64_t rank, event_store& store) {
  if (packet.empty()) return true;
  detail::unpacker from(packet.data(), packet.size());
  std::uint64_t dropped = 0;
  const std::vector<detail::own_shape> shapes = detail::read_shapes(from, dropped);
  while (from.more()) {
    (void)from.value<std::uint32_t>();  // its size
    const auto index = from.value<std::uint32_t>();
    if (index >= shapes.size()) return false;
    const detail::own_shape& shape = shapes[index];
    const auto line = from.value<double>();
    const auto time = from.value<double>();
    const std::string file = from.text();
    row_writer row(store, shape.name);
    row.set("rank", rank).set("line", line).set("time", time).set("file", file);
    for (const auto& [name, word] : shape.parameters) {
      if (word == "text") row.set(name, from.text());
      else if (word == "boolean") row.set(name, from.value<double>() != 0);
      else row.set(name, from.value<double>());
    }
    if (row.good()) {
      std::string place = detail::clean(file) + ":" + detail::number_text(line);
      row.actions(store.add_action({{}, {}, file, static_cast<int>(line), shape.name + " (" + place + ")"}));
    }
  }
  return from.good();
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
