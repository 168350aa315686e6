#ifndef WHYWAIT_RULES_DIAGNOSTIC_HPP
#define WHYWAIT_RULES_DIAGNOSTIC_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/utf8.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/detail/closest_name.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Errors in rules. The numbers are stable and documented in docs/reference/errors.md.
enum class code : int {
  bad_character = 1,      ///< an unexpected character, or bytes that are not UTF-8
  open_string = 2,        ///< an unterminated string
  bad_escape = 3,         ///< an unknown escape sequence
  bad_number = 4,         ///< a number that cannot be read
  bad_brace = 5,          ///< unbalanced braces in a template
  expected = 10,          ///< an unexpected token
  too_deep = 11,          ///< nested deeper than the limit
  too_large = 12,         ///< a file, string or list above the limit
  unknown_event = 20,     ///< no event type of that name
  unknown_parameter = 21, ///< the event has no parameter of that name
  unknown_member = 22,    ///< the composite event has no member of that name
  unknown_function = 23,  ///< no function of that name in expressions
  unknown_mpi = 24,       ///< no MPI function of that name
  unknown_unit = 25,      ///< no unit or parameter type of that name
  unknown_problem = 26,   ///< no problem of that name to remove
  unknown_field = 27,     ///< a problem or setting has no field of that name
  not_recorded = 28,      ///< no run records this
  duplicate = 30,         ///< declared twice in one text
  missing = 31,           ///< a problem without name or duration
  cycle = 32,             ///< composite events made of each other
  wrong_type = 40,        ///< a text where a number is needed, ...
  wrong_unit = 41,        ///< incompatible units
  wrong_count = 42,       ///< too many or too few arguments
  not_seconds = 43,       ///< a duration or saving that is not in seconds
  not_at_entry = 44,      ///< an `in` parameter that needs a value known only at exit
  aggregate = 46,         ///< count, sum, ... outside an event that gathers
  untied = 47,            ///< a member without an equality that ties it to the others
  clash = 48,             ///< an own event with a different declaration elsewhere
  not_constant = 49,      ///< the name of a problem must not depend on anything
  division_by_zero = 60,  ///< at run time
  overflow = 61,          ///< at run time: a number or text too large
  too_many_tries = 62,    ///< at run time: the equalities of a composite event select too little
  too_many_events = 63,   ///< at run time
  unreadable = 70         ///< a file of WHYWAIT_RULES cannot be read
};

/// A range of a source text, in bytes.
struct span {
  std::uint32_t source = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// A text with its name.
struct named_text {
  std::string name;
  std::string text;

  bool operator==(const named_text& o) const { return name == o.name && text == o.text; }
};

/// One text of rules: its name in messages, and the text.
using source_text = named_text;

/// One message, ready to print.
struct diagnostic {
  code number = code::expected;
  std::string source;
  std::size_t line = 0;    ///< from 1; 0: the whole source
  std::size_t column = 0;  ///< from 1, in code points
  std::string message;     ///< "expected ')' after the members, found 'when'"
  std::string hint;        ///< "did you mean late_sender?", or empty
  std::string excerpt;     ///< the source line with a caret below; empty without a line

  /// "my.rules:3:8: whywait-R010: expected ...", the source line, the caret, the hint. No newline at the end.
  std::string text() const {
    std::string digits = std::to_string(static_cast<int>(number));
    std::string out = source;
    if (line != 0) out += ":" + std::to_string(line) + ":" + std::to_string(column);
    out += ": whywait-R" + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits + ": " + message;
    if (!excerpt.empty()) out += "\n" + excerpt;
    if (!hint.empty()) out += "\n    " + hint;
    return out;
  }

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  diagnostic() = default;
  [[gnu::noinline]] diagnostic(const diagnostic&) = default;
  [[gnu::noinline]] diagnostic(diagnostic&&) = default;
  [[gnu::noinline]] diagnostic& operator=(const diagnostic&) = default;
  [[gnu::noinline]] diagnostic& operator=(diagnostic&&) = default;
  [[gnu::noinline]] ~diagnostic() = default;
};

/// Source texts and their errors, at most `most` messages per text. Not thread safe.
class diagnostics {
 public:
  static constexpr std::size_t most = 20;

  std::uint32_t add_source(std::string name, std::string text) {
    sources_.push_back({std::move(name), std::move(text)});
    counts_.push_back(0);
    return static_cast<std::uint32_t>(sources_.size() - 1);
  }
  const source_text& source(std::uint32_t index) const noexcept { return sources_[index]; }

  /// Adds a message about a range of a source; `message` is given in pieces. Beyond `most` per source it only counts.
  void report(code number, span where, std::initializer_list<std::string_view> message, std::string_view hint = {}) {
    if (++counts_[where.source] > most) return;
    const source_text& from = sources_[where.source];
    const std::string_view text = from.text;
    const std::size_t begin = std::min<std::size_t>(where.begin, text.size());
    const std::size_t before = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
    const std::size_t line_begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t line_end = std::min(text.find('\n', begin), text.size());

    diagnostic out;
    out.number = number;
    out.source = base::printable(from.name);
    out.line =
        1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(line_begin), '\n'));
    out.column = 1 + base::code_points(text.substr(line_begin, begin - line_begin));
    out.message = base::printable(base::joined(message));
    out.hint = base::printable(hint);  // it may name something of the same text
    out.excerpt = excerpt(text, line_begin, line_end, begin, std::max<std::size_t>(where.end, begin + 1));
    list_.push_back(std::move(out));
  }

  void report(code number, span where, std::initializer_list<std::string_view> message, const detail::nearest_name& near) {
    report(number, where, message, near.hint());
  }

  /// Adds a message about a whole source, for example a file that cannot be read.
  void report_whole(code number, const std::string& name, const std::string& message) {
    diagnostic out;
    out.number = number;
    out.source = base::printable(name);
    out.message = base::printable(message);
    list_.push_back(std::move(out));
  }

  const base::vector<diagnostic>& list() const noexcept { return list_; }
  bool empty() const noexcept { return list_.empty(); }
  /// Whether there is a message about this source.
  bool bad(std::uint32_t index) const noexcept { return counts_[index] != 0; }
  std::size_t count(std::uint32_t index) const noexcept { return counts_[index]; }
  bool full(std::uint32_t index) const noexcept { return counts_[index] >= most; }

 private:
  // At most about 100 columns of the line around the caret, because a line may be as long as a file.
  static std::string excerpt(std::string_view text, std::size_t line_begin, std::size_t line_end, std::size_t begin,
                             std::size_t end) {
    std::size_t from = line_begin, to = line_end;
    if (begin - from > 70) from = begin - 60;
    while (from > line_begin && from < begin && (static_cast<unsigned char>(text[from]) & 0xc0u) == 0x80) ++from;
    if (to - from > 200) to = from + 200;
    while (to < line_end && (static_cast<unsigned char>(text[to]) & 0xc0u) == 0x80) ++to;
    std::string out = "    " + base::printable(text.substr(from, to - from)) + "\n    ";
    out.append(base::display_width(text.substr(from, begin - from)), ' ');
    out += '^';
    const std::size_t marked =
        base::display_width(text.substr(begin, std::min(end, to) > begin ? std::min(end, to) - begin : 0));
    if (marked > 1) out.append(marked - 1, '~');
    return out;
  }

  base::vector<source_text> sources_;
  base::pod_vector<std::size_t> counts_;
  base::vector<diagnostic> list_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
