#ifndef WHYWAIT_BASE_TABLE_HPP
#define WHYWAIT_BASE_TABLE_HPP

#include <whywait/base/utf8.hpp>
#include <whywait/base/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace base {

/// Breaks a text at spaces into lines of at most `columns`; the first line begins with `first`, the others with `rest`. A
/// word longer than a line gets its own line and is not cut. The result ends with a line feed.
inline std::string wrap(std::string_view text, std::size_t columns, std::string_view first, std::string_view rest) {
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

/// One row of a table: label, amount and remark.
struct table_row {
  base::vector<std::string> label;  ///< its lines; the amount is printed beside the last one
  std::string amount;
  std::string remark;
};

/// Lays out a table: labels, right-aligned amounts, and remarks, which move to a new line where they exceed `columns`.
/// A label of more than `widest` columns moves its amount to the next line instead of widening the label column.
inline std::string table(const base::vector<table_row>& rows, std::size_t columns, std::size_t indent, std::size_t widest) {
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
