#ifndef WHYWAIT_RULES_EXPRESSION_PARSER_HPP
#define WHYWAIT_RULES_EXPRESSION_PARSER_HPP

#include <whywait/rules/detail/closest_name.hpp>
#include <whywait/rules/lexer.hpp>
#include <whywait/rules/syntax.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace rules {

/// A recursive-descent parser of expressions and templates, with depth bounded by `limits::depth`. The base of
/// `parser`.
class expression_parser {
 public:
  expression_parser(diagnostics& log, syntax& out, std::uint32_t source)
      : expression_parser(log, out, source, 0, log.source(source).text.size(), 0) {}

  /// Parses an expression at the current token. After an error it sets `wrong()` and returns a `wrong` node.
  std::uint32_t expression() { return either(); }
  bool wrong() const noexcept { return wrong_; }

  /// Whether the word is a keyword.
  static bool reserved(std::string_view word) noexcept {
    for (const char* known : {"declare", "when", "parameters", "member", "and", "or", "not", "true", "false"})
      if (word == known) return true;
    return false;
  }

 protected:
  expression_parser(diagnostics& log, syntax& out, std::uint32_t source, std::size_t begin, std::size_t end, std::size_t depth)
      : log_(&log), out_(&out), source_(source), lexer_(log, source, begin, end), depth_(depth) {
    if (log.source(source).text.size() <= limits::source_bytes) advance();
  }

  void advance() {
    do now_ = lexer_.next();
    while (now_.kind == token_kind::bad && set_wrong());
  }
  bool now_is_mark(std::string_view mark) const noexcept { return now_.kind == token_kind::mark && now_.text == mark; }
  bool now_is_word(std::string_view word) const noexcept { return now_.kind == token_kind::name && now_.text == word; }
  bool take_mark(std::string_view mark) { return now_is_mark(mark) && (advance(), true); }
  bool take_word(std::string_view word) { return now_is_word(word) && (advance(), true); }
  bool expect_mark(std::string_view mark) { return take_mark(mark) || expected(base::joined({"'", mark, "'"})); }
  bool expect_word(const char* word) { return take_word(word) || expected_one_of(base::joined({"'", word, "'"}), {word}); }

  /// Reports the expected token, once per token. Always returns false.
  bool expected(std::string_view what) { return expected_one_of(what, {}); }
  bool expected_one_of(std::string_view what, std::initializer_list<const char*> words) {
    wrong_ = true;
    if (complained_ && last_complaint_ == now_.where.begin) return false;
    complained_ = true;
    last_complaint_ = now_.where.begin;
    detail::nearest_name near(now_.text);
    if (now_.kind == token_kind::name)
      for (const char* word : words) near.offer(word);
    log_->report(code::expected, now_.where, {"expected ", what, ", found ", found()}, near);
    return false;
  }

  std::uint32_t string(const token& from) { return from.quote == '"' ? template_of(from) : plain(from); }

  diagnostics* log_;
  syntax* out_;
  std::uint32_t source_;
  token now_;
  bool wrong_ = false;

 private:
  bool set_wrong() noexcept { return wrong_ = true; }

  std::string found() const {
    if (now_.kind == token_kind::end) return "the end";
    if (now_.kind == token_kind::string) return "a string";
    return base::joined({"'", now_.text.substr(0, 60), "'"});
  }

  std::uint32_t add(node n, const std::uint32_t* parts = nullptr, std::size_t count = 0) {
    n.parts = out_->keep(parts, count);
    for (const std::uint32_t part : n.parts) {
      n.depth = std::max(n.depth, out_->nodes[part].depth + 1);
      n.where.begin = std::min(n.where.begin, out_->nodes[part].where.begin);
      n.where.end = std::max(n.where.end, out_->nodes[part].where.end);
    }
    if (n.depth > limits::depth) return too_deep(n.where);
    out_->nodes.push_back(n);
    return static_cast<std::uint32_t>(out_->nodes.size() - 1);
  }
  std::uint32_t too_deep(span where) {
    if (!deep_) log_->report(code::too_deep, where, {"this expression is nested deeper than ", std::to_string(limits::depth)});
    deep_ = wrong_ = true;
    return 0;
  }
  std::uint32_t binary(operation op, std::uint32_t left, std::uint32_t right) {
    node n;
    n.kind = node_kind::binary;
    n.op = op;
    n.where = out_->nodes[left].where;
    if (left == 0 || right == 0) return 0;
    const std::uint32_t parts[] = {left, right};
    return add(n, parts, 2);
  }

  struct level {
    explicit level(std::size_t& depth) : depth_(depth) { ++depth_; }
    ~level() { --depth_; }
    std::size_t& depth_;
  };

  std::uint32_t either() {
    const level here(depth_);
    if (depth_ > limits::depth) return too_deep(now_.where);
    std::uint32_t left = conjunction();
    while (take_word("or")) left = binary(operation::either, left, conjunction());
    return left;
  }
  std::uint32_t conjunction() {
    std::uint32_t left = negation();
    while (take_word("and")) left = binary(operation::both, left, negation());
    return left;
  }
  std::uint32_t negation() {
    if (!now_is_word("not")) return comparison();
    const level here(depth_);
    if (depth_ > limits::depth) return too_deep(now_.where);
    return unary(node_kind::negation, &expression_parser::negation);
  }
  std::uint32_t unary(node_kind kind, std::uint32_t (expression_parser::*operand)()) {
    node n;
    n.kind = kind;
    n.where = now_.where;
    advance();
    const std::uint32_t part = (this->*operand)();
    return part == 0 ? 0 : add(n, &part, 1);
  }

  std::uint32_t comparison() {
    const std::uint32_t left = sum();
    const operation op = comparing();
    if (op == operation::none) return left;
    advance();
    const std::uint32_t result = binary(op, left, sum());
    if (comparing() != operation::none) {
      expected("'and' or 'or' between two comparisons");
      return 0;
    }
    return result;
  }
  operation comparing() const noexcept {
    if (now_.kind != token_kind::mark) return operation::none;
    const std::string_view t = now_.text;
    if (t == "=" || t == "==") return operation::equal;
    if (t == "!=" || t == "<>") return operation::not_equal;
    if (t == "<" || t == "<=") return t.size() == 1 ? operation::less : operation::less_equal;
    if (t == ">" || t == ">=") return t.size() == 1 ? operation::greater : operation::greater_equal;
    return operation::none;
  }

  std::uint32_t sum() {
    std::uint32_t left = product();
    for (;;) {
      if (take_mark("+")) left = binary(operation::add, left, product());
      else if (take_mark("-")) left = binary(operation::subtract, left, product());
      else return left;
    }
  }
  std::uint32_t product() {
    std::uint32_t left = sign();
    for (;;) {
      if (take_mark("*")) left = binary(operation::multiply, left, sign());
      else if (take_mark("/")) left = binary(operation::divide, left, sign());
      else return left;
    }
  }
  std::uint32_t sign() {
    if (!now_is_mark("-")) return primary();
    const level here(depth_);
    if (depth_ > limits::depth) return too_deep(now_.where);
    return unary(node_kind::negative, &expression_parser::sign);
  }

  std::uint32_t primary() {
    if (now_.kind == token_kind::number) return number();
    if (now_.kind == token_kind::string) {
      const token t = now_;
      advance();
      return string(t);
    }
    if (take_mark("(")) {
      const std::uint32_t inside = either();
      if (!expect_mark(")")) return 0;
      return inside;
    }
    if (now_is_word("true") || now_is_word("false")) {
      node n;
      n.kind = node_kind::boolean;
      n.where = now_.where;
      n.value = now_.text == "true" ? 1 : 0;
      advance();
      return add(n);
    }
    if (now_.kind == token_kind::name && !reserved(now_.text)) return name_or_call();
    expected("a value");
    return 0;
  }

  std::uint32_t number() {
    node n;
    n.kind = node_kind::number;
    n.where = now_.where;
    n.value = now_.value;
    n.unit = type::number();
    n.unit.zero = now_.value == 0;
    advance();
    const bool percent = now_is_mark("%");
    if (percent || (now_.kind == token_kind::name && !reserved(now_.text) && now_.text != "by")) {
      const unit* const u = find_unit(now_.text);
      if (u == nullptr) {
        detail::nearest_name near(now_.text);
        for (const char* known : {"ns", "us", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB"}) near.offer(known);
        log_->report(code::unknown_unit, now_.where, {"there is no unit ", found()}, near);
        wrong_ = true;
        advance();
        return 0;
      }
      n.value *= u->factor;
      n.unit = u->what;
      n.where.end = now_.where.end;
      advance();
    }
    return add(n);
  }

  std::uint32_t name_or_call() {
    node n;
    n.kind = node_kind::name;
    n.where = now_.where;
    n.text = out_->keep(now_.text.substr(0, 200));
    advance();
    if (take_mark(".")) {
      if (now_.kind != token_kind::name || reserved(now_.text)) {
        expected("the name of a parameter after '.'");
        return 0;
      }
      n.qualifier = n.text;
      n.text = out_->keep(now_.text.substr(0, 200));
      n.where.end = now_.where.end;
      advance();
      return add(n);
    }
    if (!take_mark("(")) return add(n);
    n.kind = node_kind::call;
    base::pod_vector<std::uint32_t> parts;
    while (!now_is_mark(")")) {
      const std::uint32_t part = either();
      if (part == 0) return 0;
      if (parts.size() == limits::arguments) {
        log_->report(code::wrong_count, out_->nodes[part].where,
                     {"no function takes more than ", std::to_string(limits::arguments), " arguments"});
        wrong_ = true;
        return 0;
      }
      parts.push_back(part);
      if (!take_mark(",")) break;
    }
    n.where.end = now_.where.end;
    if (!take_mark(")")) {
      expected("',' or ')' after the argument");
      return 0;
    }
    return add(n, parts.data(), parts.size());
  }

  /// Parses an escape sequence; returns its character, or 0 after reporting an unknown one.
  char escaped(std::string_view text, std::size_t& i, std::size_t base) {
    ++i;
    const char c = i < text.size() ? text[i] : '\0';
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == '"' || c == '\'' || c == '\\' || c == '{' || c == '}') return c;
    const auto at = static_cast<std::uint32_t>(base + i - 1);
    log_->report(code::bad_escape, {source_, at, at + 2}, {"after '\\' only n, t, \", ', \\, { and } mean something"});
    wrong_ = true;
    return ' ';
  }
  /// A line break in a string, with surrounding blanks, becomes one blank, because the strings of the paper span lines.
  static bool fold(std::string_view text, std::size_t& i, std::string& out) {
    std::size_t j = i;
    bool line = false;
    for (; j < text.size() && blank(text[j]); ++j) line = line || text[j] == '\n';
    if (!line) return false;
    out += ' ';
    i = j - 1;
    return true;
  }

  std::uint32_t plain(const token& from) {
    node n;
    n.kind = node_kind::text;
    n.where = from.where;
    const std::size_t base = inside(from);
    std::string text;
    for (std::size_t i = 0; i < from.text.size(); ++i) {
      if (from.text[i] == '\\') text += escaped(from.text, i, base);
      else if (!blank(from.text[i]) || !fold(from.text, i, text)) text += from.text[i];
    }
    n.text = out_->keep(text);
    return add(n);
  }

  /// Parses "text {expression} text" to a `joined` node, and a text without braces to a text node.
  std::uint32_t template_of(const token& from) {
    node whole;
    whole.kind = node_kind::joined;
    whole.where = from.where;
    const std::size_t base = inside(from);
    std::string piece;
    base::pod_vector<std::uint32_t> parts;
    bool good = true;
    const auto flush = [&] {
      node n;
      n.kind = node_kind::text;
      n.where = from.where;
      n.text = out_->keep(piece);
      piece.clear();
      parts.push_back(add(n));
    };
    const std::string_view t = from.text;
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (t[i] == '\\') {
        piece += escaped(t, i, base);
      } else if ((t[i] == '{' || t[i] == '}') && i + 1 < t.size() && t[i + 1] == t[i]) {
        piece += t[i++];
      } else if (t[i] == '}') {
        const auto at = static_cast<std::uint32_t>(base + i);
        log_->report(code::bad_brace, {source_, at, at + 1}, {"no '{' before this '}' (a brace itself is written '}}')"});
        wrong_ = true;
        good = false;
      } else if (t[i] == '{') {
        std::size_t close = i + 1;
        for (char quote = 0; close < t.size() && (quote != 0 || t[close] != '}'); ++close)
          if (t[close] == '\'') quote = quote == 0 ? '\'' : '\0';
        if (close == t.size()) {
          const auto at = static_cast<std::uint32_t>(base + i);
          log_->report(code::bad_brace, {source_, at, at + 1}, {"no '}' after this '{' (a brace itself is written '{{')"});
          wrong_ = true;
          return 0;
        }
        if (!piece.empty() || parts.empty()) flush();
        expression_parser inner(*log_, *out_, source_, base + i + 1, base + close, depth_ + 1);
        std::uint32_t part = inner.expression();
        if (part != 0 && inner.now_.kind != token_kind::end) {
          inner.expected("'}'");
          part = 0;
        }
        wrong_ = wrong_ || inner.wrong_;
        good = good && part != 0 && !inner.wrong_;
        parts.push_back(part);
        i = close;
      } else if (!blank(t[i]) || !fold(t, i, piece)) {
        piece += t[i];
      }
    }
    if (!good) return 0;
    if (parts.empty()) {
      whole.kind = node_kind::text;
      whole.text = out_->keep(piece);
      return add(whole);
    }
    if (!piece.empty()) flush();
    return add(whole, parts.data(), parts.size());
  }

  static bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  std::size_t inside(const token& from) const noexcept {
    return static_cast<std::size_t>(from.text.data() - log_->source(source_).text.data());
  }

  lexer lexer_;
  std::size_t depth_;
  std::uint32_t last_complaint_ = 0;
  bool complained_ = false;
  bool deep_ = false;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
