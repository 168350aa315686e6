#ifndef WHYWAIT_BASE_TABLE_HPP
#define WHYWAIT_BASE_TABLE_HPP

#include <whywait/base/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace base {

/// One code point of a UTF-8 text: its length in bytes and its value; U+FFFD and 1 byte where the text is not UTF-8
/// (overlong forms, surrogates and values above U+10FFFF included, RFC 3629). `at` must be below text.size().
struct code_point {
  std::uint32_t value;
  std::size_t bytes;
};

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

/// Columns a terminal gives a code point: 0 for combining marks, 2 for East Asian wide and emoji, else 1 (the coarse
/// blocks of Unicode's EastAsianWidth; independent of the locale).
inline std::size_t columns_of(std::uint32_t c) noexcept {
  const auto in = [c](std::uint32_t low, std::uint32_t high) { return c >= low && c <= high; };
  if (in(0x300, 0x36f) || in(0x200b, 0x200f) || in(0x20d0, 0x20ff) || in(0xfe00, 0xfe0f) || in(0xfe20, 0xfe2f))
    return 0;
  if (in(0x1100, 0x115f) || in(0x2e80, 0x303e) || in(0x3041, 0xa4cf) || in(0xac00, 0xd7a3) || in(0xf900, 0xfaff) ||
      in(0xfe30, 0xfe6f) || in(0xff00, 0xff60) || in(0xffe0, 0xffe6) || in(0x1f300, 0x1f64f) || in(0x1f680, 0x1f6ff) ||
      in(0x1f900, 0x1f9ff) || in(0x20000, 0x3fffd))
    return 2;
  return 1;
}

/// Columns of a text on a terminal. O(n).
inline std::size_t display_width(std::string_view text) noexcept {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const code_point c = code_point_at(text, i);
    width += columns_of(c.value);
    i += c.bytes;
  }
  return width;
}

/// What may be printed of a name that somebody else chose: control characters (escape sequences, line feeds) and bytes
/// that are not UTF-8 become '?', so that a report stays one report whatever the regions are called.
inline std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const code_point c = code_point_at(text, i);
    const bool control = c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0) || (c.value == 0xfffd && c.bytes == 1);
    if (control)
      out += '?';
    else
      out.append(text.substr(i, c.bytes));
    i += c.bytes;
  }
  return out;
}

/// At most `width` columns; what is too long loses its middle: "compute_int...ary_cells". Never cuts a code point.
inline std::string shorten_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= 3) return std::string(width, '.');
  const std::size_t tail = (width - 3) / 2;
  const std::size_t head = width - 3 - tail;
  std::size_t begin = 0;
  for (std::size_t used = 0; begin < text.size();) {
    const code_point c = code_point_at(text, begin);
    if (used + columns_of(c.value) > head) break;
    used += columns_of(c.value);
    begin += c.bytes;
  }
  std::size_t end = begin;
  for (std::size_t left = display_width(text.substr(begin)); end < text.size() && left > tail;) {
    const code_point c = code_point_at(text, end);
    left -= columns_of(c.value);
    end += c.bytes;
  }
  while (end < text.size() && columns_of(code_point_at(text, end).value) == 0) end += code_point_at(text, end).bytes;
  return std::string(text.substr(0, begin)) + "..." + std::string(text.substr(end));
}

/// Padded with spaces on the right (text columns) or on the left (numbers) to `width` columns; never cut.
inline std::string pad_right(std::string text, std::size_t width) {
  const std::size_t used = display_width(text);
  return used < width ? text.append(width - used, ' ') : text;
}
inline std::string pad_left(std::string text, std::size_t width) {
  const std::size_t used = display_width(text);
  return used < width ? std::string(width - used, ' ') + text : text;
}

/// Breaks at spaces so that no line has more than `columns`; the first line begins with `first`, the others with
/// `rest`. A word that is longer than a line stands alone and is not cut. Ends with a line feed.
inline std::string wrap(std::string_view text, std::size_t columns, std::string_view first,
                                      std::string_view rest) {
  std::string out;
  std::string line(first);
  bool empty = true;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find(' ', i), text.size());
    const std::string_view word = text.substr(i, end - i);
    i = end + 1;
    if (word.empty()) continue;
    if (!empty && display_width(line) + 1 + display_width(word) > columns) {
      out += line + "\n";
      line = rest;
      empty = true;
    }
    if (!empty) line += ' ';
    line += word;
    empty = false;
  }
  return out + line + "\n";
}

/// One row of a block table: what, how much, and a remark.
struct table_row {
  base::vector<std::string> label;  ///< lines; the amount stands beside the last one
  std::string amount;
  std::string remark;
};

/// Label column, right-aligned amounts, remarks that go to a line of their own where they do not fit in `columns`.
/// Labels above `widest` columns push their amount to the next line instead of widening the column; rows without an
/// amount never do.
inline std::string table(const base::vector<table_row>& rows, std::size_t columns, std::size_t indent,
                         std::size_t widest) {
  std::size_t label_width = 0;
  std::size_t amount_width = 0;
  for (const table_row& row : rows) {
    const std::size_t width = row.label.empty() ? 0 : display_width(row.label.back());
    if (width <= widest && !row.amount.empty()) label_width = std::max(label_width, width);
    amount_width = std::max(amount_width, display_width(row.amount));
  }
  const std::string margin(indent, ' ');
  std::string out;
  for (const table_row& row : rows) {
    std::string line = margin;
    for (std::size_t i = 0; i < row.label.size(); ++i) {
      line = margin + row.label[i];
      if (i + 1 < row.label.size()) out += line + "\n";
    }
    if (!row.amount.empty() && !row.label.empty() && display_width(row.label.back()) > label_width) {
      out += line + "\n";
      line = margin;
    }
    line = pad_right(line, indent + label_width) + "  " + pad_left(row.amount, amount_width);
    const bool beside = display_width(line) + 2 + display_width(row.remark) <= columns;
    if (row.remark.empty() || !beside) line.resize(line.find_last_not_of(' ') + 1);
    if (row.remark.empty()) {
      out += line + "\n";
    } else if (beside) {
      out += line + "  " + row.remark + "\n";
    } else {
      const std::string deeper(indent + 4, ' ');
      out += line + "\n" + wrap(row.remark, columns, deeper, deeper);
    }
  }
  return out;
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
