#ifndef WHYWAIT_MODELS_EXPRESSION_HPP
#define WHYWAIT_MODELS_EXPRESSION_HPP

#include <whywait/models/error.hpp>
#include <whywait/models/weight.hpp>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// E(i) or D(i) as a tree (Kapelnikov et al. 1987, 3.2.1). `any` is EXCLUSIVE-OR in E and OR in D.
struct expression {
  enum class kind { none, node, all, any };
  kind what = kind::none;
  std::string name;                   ///< of a node
  bool weighted = false;              ///< the text gave a weight
  weight probability = weight(1, 1);  ///< probability of this atom; in E only
  std::size_t column = 0;             ///< byte offset of its beginning
  std::vector<expression> parts;      ///< operands of all and any, two or more
};

namespace detail {

/// E: and := xor ('.' xor)* xor := atom ('+' atom)* atom := node ['|' w] | '(' and ')' ['|' w]
/// D: or  := and ('+' and)*     and := atom ('.' atom)*   atom := node | '(' or ')'
class expression_parser {
 public:
  expression_parser(const std::string& text, bool weights, std::string where)
      : text_(text), weights_(weights), where_(std::move(where)) {}

  expression parse() {
    blanks();
    if (at_ == text_.size()) return {};
    expression e = outer();
    if (at_ != text_.size()) fail(fault::syntax, "expected '.', '+'" + std::string(weights_ ? ", '|'" : "") + " or the end");
    return e;
  }

 private:
  static constexpr int deepest = 200;  // maximum depth of parentheses, which bounds the recursion

  [[noreturn]] void fail(fault f, const std::string& message) const { fail(f, message, at_); }
  [[noreturn]] void fail(fault f, const std::string& message, std::size_t column) const {
    throw prediction_error(f, where_ + ": " + message, text_, column);
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    blanks();
    return true;
  }
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool name_char(char c) {
    return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || c == '#' || c == '@';
  }

  // E is '.' of '+', D is '+' of '.'
  expression outer() { return list(weights_ ? '.' : '+', &expression_parser::inner); }
  expression inner() { return list(weights_ ? '+' : '.', &expression_parser::atom); }

  expression list(char separator, expression (expression_parser::*part)()) {
    expression e;
    e.column = at_;
    e.what = separator == '.' ? expression::kind::all : expression::kind::any;
    do e.parts.push_back((this->*part)());
    while (take(separator));
    if (e.parts.size() > 1) return e;
    expression only = std::move(e.parts.front());
    return only;
  }

  expression atom() {
    blanks();
    expression e;
    e.column = at_;
    if (take('(')) {
      if (++depth_ > deepest) fail(fault::syntax, "more than 200 nested parentheses");
      expression group = outer();
      --depth_;
      if (!take(')')) fail(fault::syntax, "expected ')'");
      if (group.weighted) {
        // (a|1/2)|1/3 keeps both weights, one inside the other
        e.what = expression::kind::all;
        e.parts.push_back(std::move(group));
      } else {
        const std::size_t column = e.column;
        e = std::move(group);
        e.column = column;
      }
    } else {
      while (at_ < text_.size() && name_char(text_[at_])) e.name += text_[at_++];
      if (e.name.empty()) fail(fault::syntax, "expected a node or '('");
      e.what = expression::kind::node;
    }
    if (weights_ && take('|')) {
      e.probability = fraction();
      e.weighted = true;
    }
    blanks();
    return e;
  }

  weight fraction() {
    const std::size_t begin = at_;
    weight w = number();
    blanks();
    if (take('/')) {
      const std::size_t column = at_;
      const weight below = number(false);
      if (!(below.value() > 0.0)) fail(fault::weight, "a weight divided by zero", column);
      w = w / below;
    }
    if (!(w.value() >= 0.0 && w.value() <= 1.0)) fail(fault::weight, "a weight must lie between 0 and 1", begin);
    return w;
  }

  // The denominator of a fraction is an integer, so that a|1/2.b is always a|1/2 AND b, even if the name b begins with
  // a digit.
  weight number(bool decimal = true) {
    const std::size_t begin = at_;
    std::string digits;
    std::int64_t scale = 1;
    bool fits = true;
    auto add = [&](bool behind_point) {
      while (at_ < text_.size() && digit(text_[at_])) {
        digits += text_[at_++];
        if (!behind_point) continue;
        if (scale > INT64_MAX / 10) fits = false;
        else scale *= 10;
      }
    };
    add(false);
    // otherwise a point before a digit belongs to the number
    if (decimal && at_ + 1 < text_.size() && text_[at_] == '.' && digit(text_[at_ + 1])) {
      ++at_;
      add(true);
    }
    if (digits.empty()) fail(fault::weight, "expected a weight: a decimal or a fraction such as 1/3");
    std::int64_t value = 0;
    for (const char c : digits) {
      if (value > (INT64_MAX - 9) / 10) {
        fits = false;
        break;
      }
      value = value * 10 + (c - '0');
    }
    if (fits) return weight(value, scale);
    return weight::approximate(std::strtod(text_.substr(begin, at_ - begin).c_str(), nullptr));
  }

  const std::string& text_;
  bool weights_;
  std::string where_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace detail

/// Parses E(i), such as `5|3/4`, `2 . 3`, `a|1/2 + b|1/2`, `(3|1/2+4|1/2)|1/3 . 5|3/4`. EXCLUSIVE-OR binds tighter than
/// AND. Blank text means no arcs. Errors (P001, P002) name `where`.
inline expression parse_enables(const std::string& text, const std::string& where = "E") {
  return detail::expression_parser(text, true, where).parse();
}

/// Parses D(i), such as `1.2`, `1+14`, `(1.2+3).4`. AND binds tighter than OR. Blank text means no arcs.
inline expression parse_needs(const std::string& text, const std::string& where = "D") {
  return detail::expression_parser(text, false, where).parse();
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
