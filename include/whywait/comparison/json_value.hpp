#ifndef WHYWAIT_COMPARISON_JSON_VALUE_HPP
#define WHYWAIT_COMPARISON_JSON_VALUE_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {

/// A file that cannot be read, parsed or compared. what() is one sentence for a person.
struct unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A member of a document is of another kind than its reader expects. what() has its name, but not that of the file.
struct wrong_type : unreadable {
  using unreadable::unreadable;
};

/// A JSON value as a tree. Lookups of what is missing give a fallback, because a report leaves out what is unknown; lookups of
/// what has another type throw `wrong_type`.
struct json_value {
  enum kind_t : std::uint8_t { null, boolean, number, text, array, object };

  kind_t kind = null;
  bool truth = false;
  double amount = 0;
  std::string string;
  std::vector<json_value> items;                             ///< elements of an array, values of an object
  std::vector<std::string> names;                            ///< of an object: the name of each item

  /// The member of an object, or null if there is none. O(members).
  const json_value* find(std::string_view name) const noexcept {
    for (std::size_t i = 0; i != names.size(); ++i)
      if (names[i] == name) return &items[i];
    return nullptr;
  }
  /// The member, or null if it is missing or JSON's null. Throws `wrong_type` if it is of another kind.
  const json_value* find(std::string_view name, kind_t expected) const {
    const json_value* const found = find(name);
    if (found == nullptr || found->kind == null) return nullptr;
    if (found->kind != expected) refuse(name, "", expected);
    return found;
  }
  /// The elements of a member, all of one kind; empty if it is missing.
  const std::vector<json_value>& list(std::string_view name, kind_t expected = object) const {
    static const std::vector<json_value> none;
    const json_value* const found = find(name, array);
    if (found == nullptr) return none;
    for (const json_value& each : found->items)
      if (each.kind != expected) refuse(name, "an element of ", expected);
    return found->items;
  }
  /// The member that is an object, else an empty one.
  const json_value& at(std::string_view name) const {
    static const json_value none;
    const json_value* const found = find(name, object);
    return found != nullptr ? *found : none;
  }
  double number_of(std::string_view name, double fallback = 0) const {
    const json_value* const found = find(name, number);
    return found != nullptr ? found->amount : fallback;
  }
  std::int64_t count_of(std::string_view name) const {
    const double n = number_of(name);
    return n > -9e18 && n < 9e18 ? static_cast<std::int64_t>(n) : 0;
  }
  std::string text_of(std::string_view name) const {
    const json_value* const found = find(name, text);
    return found != nullptr ? found->string : std::string();
  }
  bool is_true(std::string_view name) const {
    const json_value* const found = find(name, boolean);
    return found != nullptr && found->truth;
  }

 private:
  [[noreturn]] static void refuse(std::string_view name, const char* part, kind_t expected) {
    static constexpr const char* kinds[] = {"null", "true or false", "a number", "a text", "a list", "an object"};
    throw wrong_type(std::string(part) + "\"" + std::string(name) + "\" is not " + kinds[expected]);
  }
};

namespace detail {

/// A recursive descent parser of RFC 8259 with limited depth.
class json_parser {
 public:
  json_parser(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  json_value document() {
    json_value all = value(0);
    blanks();
    if (at_ != text_.size()) fail("expected the end of the file");
    return all;
  }

 private:
  static constexpr int deepest = 100;

  [[noreturn]] void fail(const char* problem) const {
    std::size_t line = 1, begin = 0;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i)
      if (text_[i] == '\n') {
        ++line;
        begin = i + 1;
      }
    throw unreadable(std::string(name_) + ":" + std::to_string(line) + ":" + std::to_string(at_ - begin + 1) + ": " + problem +
                     (at_ >= text_.size() ? ", but the file ends here" : ""));
  }
  char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
  void blanks() noexcept {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
  }
  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) fail("expected a JSON value");
    at_ += expected.size();
  }

  json_value value(int depth) {
    if (depth == deepest) fail("nested too deeply");
    blanks();
    json_value v;
    switch (peek()) {
      case '{': members(v, depth); break;
      case '[': elements(v, depth); break;
      case '"':
        v.kind = json_value::text;
        v.string = quoted();
        break;
      case 't':
        word("true");
        v.kind = json_value::boolean;
        v.truth = true;
        break;
      case 'f':
        word("false");
        v.kind = json_value::boolean;
        break;
      case 'n': word("null"); break;
      default: v.kind = json_value::number; v.amount = amount();
    }
    return v;
  }

  void members(json_value& v, int depth) {
    v.kind = json_value::object;
    ++at_;
    blanks();
    if (peek() == '}') {
      ++at_;
      return;
    }
    for (;;) {
      blanks();
      if (peek() != '"') fail("expected the name of a member in quotes");
      v.names.push_back(quoted());
      blanks();
      if (peek() != ':') fail("expected ':'");
      ++at_;
      v.items.push_back(value(depth + 1));
      blanks();
      if (peek() == '}') break;
      if (peek() != ',') fail("expected ',' or '}'");
      ++at_;
    }
    ++at_;
  }

  void elements(json_value& v, int depth) {
    v.kind = json_value::array;
    ++at_;
    blanks();
    if (peek() == ']') {
      ++at_;
      return;
    }
    for (;;) {
      v.items.push_back(value(depth + 1));
      blanks();
      if (peek() == ']') break;
      if (peek() != ',') fail("expected ',' or ']'");
      ++at_;
    }
    ++at_;
  }

  double amount() {
    double number = 0;
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    const bool digits = begin != end && (*begin == '-' || (*begin >= '0' && *begin <= '9'));
    const std::from_chars_result read = std::from_chars(begin, end, number);
    if (!digits || read.ec == std::errc::invalid_argument) fail("expected a JSON value");
    at_ += static_cast<std::size_t>(read.ptr - begin);
    return number;
  }

  unsigned hex() {
    unsigned code = 0;
    for (int i = 0; i != 4; ++i) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail("expected four hexadecimal digits");
      code = code * 16 + static_cast<unsigned>(digit);
      ++at_;
    }
    return code;
  }

  static void append(std::string& out, unsigned code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
      return;
    }
    if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
    } else {
      if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
      } else {
        out += static_cast<char>(0xf0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 63));
      }
      out += static_cast<char>(0x80 | (code >> 6 & 63));
    }
    out += static_cast<char>(0x80 | (code & 63));
  }

  std::string quoted() {
    std::string out;
    for (++at_;;) {
      if (at_ >= text_.size()) fail("expected the closing quote of a text");
      const char c = text_[at_++];
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      const char escape = peek();
      ++at_;
      switch (escape) {
        case 'n': out += '\n'; break;
        case 't': out += '\t'; break;
        case 'r': out += '\r'; break;
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case '"':
        case '\\':
        case '/': out += escape; break;
        case 'u': {
          unsigned code = hex();
          if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
            at_ += 2;
            const unsigned low = hex();
            code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
          }
          append(out, code >= 0xd800 && code < 0xe000 ? 0xfffd : code);
          break;
        }
        default: fail("an unknown escape");
      }
    }
  }

  std::string_view text_, name_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Parses a document. `name` is its file, for messages such as "run.json:3:17: expected ':'". Throws `unreadable`.
inline json_value parse_json(std::string_view text, std::string_view name = "JSON") {
  return detail::json_parser(text, name).document();
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
