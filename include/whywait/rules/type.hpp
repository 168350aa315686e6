#ifndef WHYWAIT_RULES_TYPE_HPP
#define WHYWAIT_RULES_TYPE_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Type and unit of a value in a rule. Numbers carry powers of seconds and bytes, so that a duration cannot be
/// compared with a size; both are checked when a rule is read, none at run time.
struct type {
  enum class kind : std::uint8_t {
    wrong,    ///< something was reported already: agrees with everything
    number,
    text,
    boolean
  };
  kind what = kind::wrong;
  std::int8_t seconds = 0;  ///< power of seconds
  std::int8_t bytes = 0;    ///< power of bytes
  bool zero = false;        ///< the literal 0, which has every unit

  static constexpr type wrong() noexcept { return {}; }
  static constexpr type number(int s = 0, int b = 0) noexcept {
    return {kind::number, static_cast<std::int8_t>(s), static_cast<std::int8_t>(b), false};
  }
  static constexpr type duration() noexcept { return number(1); }
  static constexpr type size() noexcept { return number(0, 1); }
  static constexpr type text() noexcept { return {kind::text, 0, 0, false}; }
  static constexpr type boolean() noexcept { return {kind::boolean, 0, 0, false}; }

  constexpr bool is(kind k) const noexcept { return what == k; }
  constexpr bool same_unit(const type& o) const noexcept {
    return zero || o.zero || (seconds == o.seconds && bytes == o.bytes);
  }

  /// "a duration in seconds", "a text": how messages call it.
  [[gnu::cold]] std::string words() const {
    switch (what) {
      case kind::wrong: return "something unknown";
      case kind::text: return "a text";
      case kind::boolean: return "true or false";
      case kind::number: break;
    }
    if (seconds == 0 && bytes == 0) return "a number without unit";
    if (seconds == 1 && bytes == 0) return "a duration in seconds";
    if (seconds == 0 && bytes == 1) return "a size in bytes";
    const auto power = [](const char* name, int p) { return std::string(name) + (p == 1 ? "" : "^" + std::to_string(p)); };
    std::string above, below;
    if (bytes > 0) above += power("bytes", bytes);
    if (seconds > 0) above += (above.empty() ? "" : " ") + power("seconds", seconds);
    if (bytes < 0) below += power("bytes", -bytes);
    if (seconds < 0) below += (below.empty() ? "" : " ") + power("seconds", -seconds);
    return "a value in " + (above.empty() ? std::string("1") : above) + (below.empty() ? "" : " per " + below);
  }
};

/// A unit that may follow a number: its name, what it multiplies by, its type.
struct unit {
  const char* name;
  double factor;
  type what;
};

/// The units of the language: 10 us, 2 ms, 64 KiB, 5 %.
[[gnu::cold]] inline const unit* find_unit(std::string_view name) noexcept {
  static constexpr unit table[] = {
      {"ns", 1e-9, type::duration()},      {"us", 1e-6, type::duration()},  {"ms", 1e-3, type::duration()},
      {"s", 1.0, type::duration()},        {"min", 60.0, type::duration()}, {"h", 3600.0, type::duration()},
      {"B", 1.0, type::size()},            {"KiB", 1024.0, type::size()},   {"MiB", 1048576.0, type::size()},
      {"GiB", 1073741824.0, type::size()}, {"kB", 1e3, type::size()},       {"MB", 1e6, type::size()},
      {"GB", 1e9, type::size()},           {"%", 0.01, type::number()}};
  for (const unit& u : table)
    if (name == u.name) return &u;
  return nullptr;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
