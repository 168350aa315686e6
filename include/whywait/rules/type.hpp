#ifndef WHYWAIT_RULES_TYPE_HPP
#define WHYWAIT_RULES_TYPE_HPP

#include <cstdint>
#include <cstdio>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The name of a type in a fixed buffer; a std::string would cost a destructor at each use.
struct type_words {
  char text[128];
  operator std::string_view() const noexcept { return text; }
};

/// Type and unit of a value in a rule. Numbers carry powers of seconds and bytes, so that a duration cannot be compared
/// with a size. Types and units are checked when a rule is compiled, not at run time.
struct type {
  enum class kind : std::uint8_t {
    wrong,    ///< after a reported error; compatible with all types
    number,
    text,
    boolean
  };
  kind what = kind::wrong;
  std::int8_t seconds = 0;  ///< power of seconds
  std::int8_t bytes = 0;    ///< power of bytes
  bool zero = false;        ///< the literal 0, compatible with all units

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

  /// The type in messages: "a duration in seconds", "a text".
  type_words words() const noexcept;
};

namespace detail {

/// "bytes^2"; empty for the power 0.
inline void write_power(char (&to)[24], const char* unit, int power) noexcept {
  if (power == 1) std::snprintf(to, sizeof to, "%s", unit);
  if (power > 1) std::snprintf(to, sizeof to, "%s^%d", unit, power);
}

}  // namespace detail

inline type_words type::words() const noexcept {
  type_words out;
  const char* const known = is(kind::wrong)              ? "something unknown"
                            : is(kind::text)             ? "a text"
                            : is(kind::boolean)          ? "true or false"
                            : seconds == 0 && bytes == 0 ? "a number without unit"
                            : seconds == 1 && bytes == 0 ? "a duration in seconds"
                            : seconds == 0 && bytes == 1 ? "a size in bytes"
                                                         : nullptr;
  if (known != nullptr) {
    std::snprintf(out.text, sizeof out.text, "%s", known);
    return out;
  }
  char powers[4][24] = {};
  detail::write_power(powers[0], "bytes", bytes);
  detail::write_power(powers[1], "seconds", seconds);
  detail::write_power(powers[2], "bytes", -bytes);
  detail::write_power(powers[3], "seconds", -seconds);
  const bool above = bytes > 0 || seconds > 0, below = bytes < 0 || seconds < 0;
  std::snprintf(out.text, sizeof out.text, "a value in %s%s%s%s%s%s%s%s", above ? "" : "1", powers[0],
                bytes > 0 && seconds > 0 ? " " : "", powers[1], below ? " per " : "", powers[2],
                bytes < 0 && seconds < 0 ? " " : "", powers[3]);
  return out;
}

/// A unit after a number: its name, its factor, its type.
struct unit {
  const char* name;
  double factor;
  type what;
};

/// The units of the language: 10 us, 2 ms, 64 KiB, 5 %.
inline const unit* find_unit(std::string_view name) noexcept {
  static constexpr unit table[] = {{"ns", 1e-9, type::duration()},   {"us", 1e-6, type::duration()},
                                   {"ms", 1e-3, type::duration()},   {"s", 1.0, type::duration()},
                                   {"min", 60.0, type::duration()},  {"h", 3600.0, type::duration()},
                                   {"B", 1.0, type::size()},         {"KiB", 1024.0, type::size()},
                                   {"MiB", 1048576.0, type::size()}, {"GiB", 1073741824.0, type::size()},
                                   {"kB", 1e3, type::size()},        {"MB", 1e6, type::size()},
                                   {"GB", 1e9, type::size()},        {"%", 0.01, type::number()}};
  for (const unit& u : table)
    if (name == u.name) return &u;
  return nullptr;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
