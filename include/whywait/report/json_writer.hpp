#ifndef WHYWAIT_REPORT_JSON_WRITER_HPP
#define WHYWAIT_REPORT_JSON_WRITER_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/table.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// A streaming JSON writer (RFC 8259) that stores only the nesting. `Sink` is called with (const char*, size_t). Text
/// is UTF-8; invalid bytes become U+FFFD. Numbers have the fewest digits that read back to the same double; NaN and
/// infinity become null. Independent of the locale.
template <class Sink>
class json_writer {
 public:
  /// `compact`: without spaces and line breaks.
  explicit json_writer(Sink sink, bool compact = false) : sink_(std::move(sink)), compact_(compact) {}

  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_array() { return open('['); }
  json_writer& end_array() { return close(']'); }
  /// An array of numbers on one line.
  json_writer& begin_row() {
    open('[');
    in_row_ = true;
    return *this;
  }

  /// Writes the name of the next member; valid only directly inside an object.
  json_writer& key(std::string_view name) {
    separate();
    quote(name);
    raw(compact_ ? ":" : ": ");
    after_key_ = true;
    return *this;
  }

  json_writer& value(std::string_view text) {
    separate();
    quote(text);
    return *this;
  }
  json_writer& value(const char* text) { return value(std::string_view(text)); }
  json_writer& value(const std::string& text) { return value(std::string_view(text)); }
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  json_writer& value(Number number) {
    separate();
    if constexpr (std::is_same_v<Number, bool>) {
      raw(number ? "true" : "false");
    } else {
      if constexpr (std::is_floating_point_v<Number>) {
        if (!std::isfinite(number)) {
          raw("null");
          return *this;
        }
        if (number == 0) number = 0;  // no "-0"
      }
      char buffer[64];
      const auto end = std::to_chars(buffer, buffer + sizeof buffer, number);
      raw({buffer, static_cast<std::size_t>(end.ptr - buffer)});
    }
    return *this;
  }

  /// Writes a name and its value.
  template <class Value>
  json_writer& member(std::string_view name, const Value& v) {
    return key(name).value(v);
  }

  /// Whether all objects and arrays are closed.
  bool complete() const noexcept { return members_.empty() && started_; }

 private:
  json_writer& open(char bracket) {
    separate();
    raw({&bracket, 1});
    members_.push_back(0);
    return *this;
  }
  json_writer& close(char bracket) {
    const bool any = members_.back() > 0;
    members_.pop_back();
    if (any && !in_row_) line();
    in_row_ = false;
    raw({&bracket, 1});
    if (members_.empty()) raw("\n");
    return *this;
  }
  void separate() {
    started_ = true;
    if (after_key_) {
      after_key_ = false;
      return;
    }
    if (members_.empty()) return;
    const bool first = members_.back()++ == 0;
    if (!first) raw(in_row_ && !compact_ ? ", " : ",");
    if (!in_row_) line();
  }
  void line() {
    if (compact_) return;
    raw("\n");
    for (std::size_t i = 0; i < members_.size(); ++i) raw("  ");
  }
  void raw(std::string_view text) { sink_(text.data(), text.size()); }

  void quote(std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    raw("\"");
    std::size_t done = 0;  // the text before this index is written
    for (std::size_t i = 0; i < text.size();) {
      const base::code_point c = base::code_point_at(text, i);
      const bool invalid = c.value == 0xfffd && c.bytes == 1;
      if (c.value >= 0x20 && c.value != '"' && c.value != '\\' && c.value != 0x7f && !invalid) {
        i += c.bytes;
        continue;
      }
      raw(text.substr(done, i - done));
      if (invalid) {
        raw("\xef\xbf\xbd");
      } else if (c.value == '"' || c.value == '\\') {
        const char escape[] = {'\\', static_cast<char>(c.value)};
        raw({escape, 2});
      } else if (c.value == '\n') {
        raw("\\n");
      } else if (c.value == '\t') {
        raw("\\t");
      } else {
        const char escape[] = {'\\', 'u', '0', '0', hex[c.value >> 4], hex[c.value & 15]};
        raw({escape, 6});
      }
      i += c.bytes;
      done = i;
    }
    raw(text.substr(done));
    raw("\"");
  }

  Sink sink_;
  base::pod_vector<std::size_t> members_;  ///< number of members written to each open object or array
  bool compact_ = false, in_row_ = false;
  bool after_key_ = false;
  bool started_ = false;
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
