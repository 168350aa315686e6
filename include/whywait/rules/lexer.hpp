#ifndef WHYWAIT_RULES_LEXER_HPP
#define WHYWAIT_RULES_LEXER_HPP

#include <whywait/rules/diagnostic.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Size limits of rules. Larger input is a reported error, never a crash.
struct limits {
  static constexpr std::size_t source_bytes = std::size_t(1) << 20;
  static constexpr std::size_t string_bytes = std::size_t(1) << 15;
  static constexpr std::size_t depth = 200;        ///< nesting of expressions, one per operator and parenthesis
  static constexpr std::size_t declarations = 4096;
  static constexpr std::size_t members = 8;        ///< members of one composite event
  static constexpr std::size_t parameters = 128;   ///< parameters of one event
  static constexpr std::size_t arguments = 16;     ///< arguments of one function
};

/// Kinds of tokens. `mark` is punctuation, identified by its text.
enum class token_kind : std::uint8_t { end, name, number, string, mark, bad };

/// One token with its position, and the value of a number.
struct token {
  token_kind kind = token_kind::end;
  char quote = 0;  ///< quote of a string: '"' for a template, '\'' for a plain string
  span where;
  double value = 0;
  std::string_view text;  ///< source text, without the quotes of a string
};

/// Splits a range of a source into tokens. Comments extend from '#' to the end of the line. Names may contain letters
/// of any alphabet (UTF-8). Strings are quoted by "..." (or typographic quotes), where {expression} is replaced, or by
/// '...'. Invalid input is reported and skipped. Not thread safe.
class lexer {
 public:
  lexer(diagnostics& log, std::uint32_t source, std::size_t begin, std::size_t end)
      : log_(&log), text_(log.source(source).text), source_(source), at_(begin), end_(end) {}

  /// The next token; after the last one always `end`.
  token next() {
    skip();
    if (at_ >= end_) return make(token_kind::end, end_, end_);
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (digit(c) || (c == '.' && at_ + 1 < end_ && digit(text_[at_ + 1]))) return number();
    if (starts("\xe2\x80\x9c") || starts("\xe2\x80\x9d")) return string(3, '"');
    if (c == '"' || c == '\'') return string(1, c);
    for (const char* two : {"==", "!=", "<>", "<=", ">="})
      if (starts(two)) {
        at_ += 2;
        return make(token_kind::mark, begin, at_);
      }
    for (const char* wrong : {"=>", "=<"})
      if (starts(wrong)) {
        at_ += 2;
        log_->report(code::bad_character, where(begin, at_), {"'", wrong, "': write ", wrong[1] == '>' ? ">=" : "<="});
        return make(token_kind::bad, begin, at_);
      }
    if (std::string_view("(),;=<>+-*/.%").find(c) != std::string_view::npos) {
      ++at_;
      return make(token_kind::mark, begin, at_);
    }
    const std::size_t length = letter();
    if (length != 0) {
      while (at_ < end_ && (letter() != 0 || digit(text_[at_]))) at_ += digit(text_[at_]) ? 1 : letter();
      return make(token_kind::name, begin, at_);
    }
    // Consecutive invalid characters give one message.
    while (at_ < end_ && letter() == 0 && !digit(text_[at_]) && !blank(text_[at_]) &&
           std::string_view("(),;=<>+-*/.%\"'#").find(text_[at_]) == std::string_view::npos) {
      const std::size_t bytes = base::code_point_at(text_, at_).bytes;
      at_ += at_ + bytes <= end_ ? bytes : 1;
    }
    if (at_ == begin) ++at_;
    const std::string_view found = text_.substr(begin, at_ - begin);
    const bool utf8 = base::code_point_at(text_, begin).valid();
    log_->report(code::bad_character, where(begin, at_),
                 {utf8 ? "'" : "these bytes are not UTF-8", utf8 ? found.substr(0, 40) : std::string_view(),
                  !utf8           ? ""
                  : found == "&&" ? "' means nothing here: write and"
                  : found == "||" ? "' means nothing here: write or"
                  : found == "!"  ? "' means nothing here: write not"
                                  : "' means nothing here"});
    return make(token_kind::bad, begin, at_);
  }

 private:
  static bool digit(char c) noexcept { return c >= '0' && c <= '9'; }
  static bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  // Bytes of the letter at the current position, or 0. All code points beyond ASCII are letters, except those of the
  // punctuation blocks, which contain quotes and blanks.
  std::size_t letter() const noexcept {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if ((c | 0x20u) >= 'a' && (c | 0x20u) <= 'z') return 1;
    if (c == '_') return 1;
    if (c < 0xc3) return 0;
    const base::code_point point = base::code_point_at(text_, at_);
    if (!point.valid() || at_ + point.bytes > end_) return 0;
    if (c == 0xe2 || c == 0xef || (c == 0xe3 && static_cast<unsigned char>(text_[at_ + 1]) == 0x80)) return 0;
    return point.bytes;
  }
  bool starts(std::string_view what) const noexcept {
    return at_ + what.size() <= end_ && text_.compare(at_, what.size(), what) == 0;
  }
  span where(std::size_t begin, std::size_t end) const noexcept {
    return {source_, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }
  token make(token_kind kind, std::size_t begin, std::size_t end) const noexcept {
    token t;
    t.kind = kind;
    t.where = where(begin, end);
    t.text = text_.substr(begin, end - begin);
    return t;
  }

  void skip() noexcept {
    for (;;) {
      while (at_ < end_ && blank(text_[at_])) ++at_;
      if (starts("\xc2\xa0")) {  // no-break space, common in text copied from papers and web pages
        at_ += 2;
        continue;
      }
      if (at_ == 0 && starts("\xef\xbb\xbf")) {  // byte order mark
        at_ += 3;
        continue;
      }
      if (at_ >= end_ || text_[at_] != '#') return;
      while (at_ < end_ && text_[at_] != '\n') ++at_;
    }
  }

  token number() {
    const std::size_t begin = at_;
    double value = 0;
    const auto result = std::from_chars(text_.data() + at_, text_.data() + end_, value, std::chars_format::general);
    at_ = static_cast<std::size_t>(result.ptr - text_.data());
    if (at_ <= begin) at_ = begin + 1;
    token t = make(token_kind::number, begin, at_);
    if (result.ec != std::errc() || !std::isfinite(value)) {
      log_->report(code::bad_number, t.where, {"this number is out of range"});
      value = 1;
    }
    if (at_ < end_ && digit(text_[at_])) {
      while (at_ < end_ && (digit(text_[at_]) || text_[at_] == '.')) ++at_;
      t = make(token_kind::number, begin, at_);
      log_->report(code::bad_number, t.where, {"this is no number"});
    }
    t.value = value;
    return t;
  }

  token string(std::size_t open, char quote) {
    const std::size_t begin = at_;
    at_ += open;
    const std::size_t inside = at_;
    std::size_t first_line = std::string_view::npos;
    while (at_ < end_) {
      const bool curly = quote == '"' && open == 3 && (starts("\xe2\x80\x9d") || starts("\xe2\x80\x9c"));
      if (curly || (open == 1 && text_[at_] == quote)) {
        token t = make(token_kind::string, inside, at_);
        t.quote = quote;
        at_ += curly ? 3 : 1;
        if (t.text.size() > limits::string_bytes) {
          log_->report(code::too_large, where(begin, begin + open),
                       {"this string is longer than ", std::to_string(limits::string_bytes), " bytes"});
          t.text = t.text.substr(0, 0);
        } else {
          check_utf8(inside, t.text);
        }
        t.where = where(begin, at_);
        return t;
      }
      if (text_[at_] == '\n' && first_line == std::string_view::npos) first_line = at_;
      at_ += text_[at_] == '\\' && at_ + 1 < end_ ? 2u : 1u;
    }
    if (at_ > end_) at_ = end_;
    // The string would extend to the end of the text; continue after its first line, so that the rest is still checked.
    log_->report(code::open_string, where(begin, begin + open), {"this string does not end"});
    if (first_line != std::string_view::npos) at_ = first_line;
    return make(token_kind::bad, begin, at_);
  }

  void check_utf8(std::size_t inside, std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
      const base::code_point point = base::code_point_at(text, i);
      if (!point.valid()) {
        log_->report(code::bad_character, where(inside + i, inside + i + 1), {"this string is not UTF-8"});
        return;
      }
      i += point.bytes;
    }
  }

  diagnostics* log_;
  std::string_view text_;
  std::uint32_t source_;
  std::size_t at_;
  std::size_t end_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
