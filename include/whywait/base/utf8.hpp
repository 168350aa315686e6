#ifndef WHYWAIT_BASE_UTF8_HPP
#define WHYWAIT_BASE_UTF8_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace base {

/// One code point of a UTF-8 text. Each byte that is not part of valid UTF-8 (RFC 3629: no overlong forms, no surrogates,
/// nothing above U+10FFFF) is a code point of its own, with the value U+FFFD.
struct code_point {
  std::uint32_t value;
  std::size_t bytes;
  bool valid() const noexcept { return value != 0xfffd || bytes != 1; }
};

/// Decodes the code point at `at`, which must be below text.size().
inline code_point code_point_at(std::string_view text, std::size_t at) noexcept {
  constexpr code_point bad{0xfffd, 1};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 && first <= 0xf4 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
  if (first > 0xf4 || length == 1 || text.size() - at < length) return bad;
  std::uint32_t value = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80) return bad;
    value = (value << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return bad;
  return {value, length};
}

/// Code points of a text; an editor counts columns in this unit. O(n).
inline std::size_t code_points(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += code_point_at(text, at).bytes;
  return count;
}

/// Terminal columns of a code point: 0 for combining marks, 2 for East Asian wide characters and emoji, else 1 (the
/// coarse blocks of Unicode's EastAsianWidth; independent of the locale).
inline std::size_t columns_of(std::uint32_t c) noexcept {
  if (c < 0x300) return 1;
  const auto in = [c](std::uint32_t low, std::uint32_t high) { return c >= low && c <= high; };
  if (in(0x300, 0x36f) || in(0x200b, 0x200f) || in(0x20d0, 0x20ff) || in(0xfe00, 0xfe0f) || in(0xfe20, 0xfe2f)) return 0;
  if (in(0x1100, 0x115f) || in(0x2e80, 0x303e) || in(0x3041, 0xa4cf) || in(0xac00, 0xd7a3) || in(0xf900, 0xfaff) ||
      in(0xfe30, 0xfe6f) || in(0xff00, 0xff60) || in(0xffe0, 0xffe6) || in(0x1f300, 0x1f64f) || in(0x1f680, 0x1f6ff) ||
      in(0x1f900, 0x1f9ff) || in(0x20000, 0x3fffd))
    return 2;
  return 1;
}

/// Terminal columns of a text. O(n).
inline std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const code_point c = code_point_at(text, i);
    width += columns_of(c.value);
    i += c.bytes;
  }
  return width;
}

/// The beginning of a text that takes at most `width` columns. Code points stay whole. O(width).
inline std::string_view first_columns(std::string_view text, std::size_t width) noexcept {
  std::size_t end = 0;
  for (std::size_t used = 0; end < text.size();) {
    const code_point c = code_point_at(text, end);
    used += columns_of(c.value);
    if (used > width) break;
    end += c.bytes;
  }
  return text.substr(0, end);
}

/// A name or a source line of the user made safe for a terminal: tabs and line breaks become blanks, other control
/// characters (escape sequences) and bytes that are not UTF-8 become '?'.
inline std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const code_point c = code_point_at(text, i);
    if (c.value >= 0x09 && c.value <= 0x0d) out += ' ';
    else if (c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0) || !c.valid()) out += '?';
    else out.append(text.substr(i, c.bytes));
    i += c.bytes;
  }
  return out;
}

/// Cuts a text to at most `width` columns by replacing its middle: "compute_int...ary_cells". Code points stay whole.
inline std::string shorten_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= 3) return std::string(width, '.');
  const std::size_t tail = (width - 3) / 2;
  const std::size_t head = width - 3 - tail;
  const std::size_t begin = first_columns(text, head).size();
  std::size_t end = begin;
  for (std::size_t left = display_width(text.substr(begin)); end < text.size() && left > tail;) {
    const code_point c = code_point_at(text, end);
    left -= columns_of(c.value);
    end += c.bytes;
  }
  while (end < text.size() && columns_of(code_point_at(text, end).value) == 0) end += code_point_at(text, end).bytes;
  return std::string(text.substr(0, begin)) + "..." + std::string(text.substr(end));
}

/// Pads with spaces on the right (text columns) or on the left (numbers) to `width` columns. Never cuts.
inline std::string pad_right(std::string text, std::size_t width) {
  const std::size_t used = display_width(text);
  return used < width ? text.append(width - used, ' ') : text;
}
inline std::string pad_left(std::string text, std::size_t width) {
  const std::size_t used = display_width(text);
  return used < width ? std::string(width - used, ' ') + text : text;
}

/// Concatenates pieces of text. One call compiles to less code than a chain of `+`, each with its own unwinding.
inline std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (const std::string_view piece : pieces) out += piece;
  return out;
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
