#ifndef WHYWAIT_REPORT_PAGE_HTML_WRITER_HPP
#define WHYWAIT_REPORT_PAGE_HTML_WRITER_HPP

#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/report/section.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Text for the content or a quoted attribute of an HTML element: printable (base::printable), without markup.
inline std::string html_text(std::string_view text) {
  const std::string clean = base::printable(text);
  std::string out;
  out.reserve(clean.size());
  for (const char c : clean) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

/// A value in a piece of HTML. What is not marked otherwise is text of a program, or an integer.
struct html_value {
  enum kind_t { text, markup, integer, count, time, figure, width } kind;
  std::int64_t n = 0;
  double v = 0;
  std::string_view words = {};

  html_value(kind_t k, std::int64_t number, double value, std::string_view w) : kind(k), n(number), v(value), words(w) {}
  html_value(const char* w) : kind(text), words(w) {}
  html_value(const std::string& w) : kind(text), words(w) {}
  html_value(std::string_view w) : kind(text), words(w) {}
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  html_value(Integer number) : kind(integer), n(static_cast<std::int64_t>(number)) {}
};
/// Markup of whywait, as it is.
inline html_value as_markup(std::string_view m) { return {html_value::markup, 0, 0, m}; }
/// Numbers of the JSON file: <data value="0.0189">18.9 ms</data>.
inline html_value as_count(std::int64_t n) { return {html_value::count, n, 0, {}}; }
inline html_value as_time(double seconds) { return {html_value::time, 0, seconds, {}}; }
inline html_value as_figure(double v, std::string_view words) { return {html_value::figure, 0, v, words}; }
/// A length for a style attribute: "37.5%" of 0.375; within 0 and 100 %.
inline html_value as_width(double share) { return {html_value::width, 0, share, {}}; }

/// Writes pieces of an HTML page.
class html_writer {
 public:
  explicit html_writer(const json_sink& sink) : sink_(sink) {}

  /// Writes `markup`, in which each $ stands for the next of the values. Everything that comes from a program is a value.
  template <class... Values>
  html_writer& put(const char* markup, const Values&... values) {
    if constexpr (sizeof...(values) == 0) {
      raw(markup);
    } else {
      const html_value all[] = {html_value(values)...};
      write(markup, all);
    }
    return *this;
  }
  /// Writes markup as it is.
  [[gnu::noinline]] html_writer& raw(std::string_view markup) {
    sink_(markup.data(), markup.size());
    return *this;
  }

 private:
  [[gnu::noinline]] void write(const char* markup, const html_value* values) {
    for (std::string_view left = markup;;) {
      const std::size_t at = left.find('$');
      raw(left.substr(0, at));
      if (at == std::string_view::npos) return;
      write(*values++);
      left.remove_prefix(at + 1);
    }
  }

  [[gnu::noinline]] void write(const html_value& value) {
    switch (value.kind) {
      case html_value::text: raw(html_text(value.words)); break;
      case html_value::markup: raw(value.words); break;
      case html_value::integer: number(value.n); break;
      case html_value::count: data(static_cast<double>(value.n), true, value.n, base::count(value.n)); break;
      case html_value::time:
        if (std::isfinite(value.v)) data(value.v, false, 0, base::duration(value.v));
        else raw("unknown");
        break;
      case html_value::figure: data(value.v, false, 0, value.words); break;
      case html_value::width:
        number(std::isfinite(value.v) ? std::floor(std::fmin(std::fmax(value.v, 0), 1) * 10000 + 0.5) / 100 : 0);
        raw("%");
    }
  }
  void data(double value, bool whole, std::int64_t n, std::string_view words) {
    raw("<data value=\"");
    if (whole) number(n);
    else number(value == 0 ? 0 : value);
    raw("\">").raw(html_text(words)).raw("</data>");
  }
  template <class Number>
  void number(Number n) {
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, n);
    raw({digits, static_cast<std::size_t>(end.ptr - digits)});
  }

  json_sink sink_;
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
