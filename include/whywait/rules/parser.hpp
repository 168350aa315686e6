#ifndef WHYWAIT_RULES_PARSER_HPP
#define WHYWAIT_RULES_PARSER_HPP

#include <whywait/explain/transport_calls.hpp>
#include <whywait/rules/expression_parser.hpp>

#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Parses the declarations of one source (grammar: docs/reference/rules.md; origin: figures 4 to 6 of the Performance
/// Expert paper). After an error it continues at the next parameter, member or declaration, so that one run reports
/// several errors. O(n). Not thread safe.
class parser : private expression_parser {
 public:
  parser(diagnostics& log, syntax& out, std::uint32_t source) : expression_parser(log, out, source) {}

  /// False if an error was reported.
  bool parse() {
    const std::string& text = log_->source(source_).text;
    if (text.size() > limits::source_bytes) {
      log_->report(code::too_large, {source_, 0, 1},
                   {"more than ", std::to_string(limits::source_bytes), " bytes of rules in one file"});
      return false;
    }
    while (now_.kind != token_kind::end && !log_->full(source_)) {
      if (out_->declarations.size() >= limits::declarations) {
        log_->report(code::too_large, now_.where, {"more than ", std::to_string(limits::declarations), " declarations"});
        break;
      }
      declaration d;
      d.where = now_.where;
      if (!statement(d)) {
        d.bad = true;
        skip_declaration();
      } else if (!take_mark(";")) {
        expected("';' at the end of the declaration");
        d.bad = true;
        skip_declaration();
      }
      d.bad = d.bad || wrong_;
      wrong_ = false;
      if (!d.name.text.empty() || d.kind == declaration_kind::remove_problems) out_->declarations.push_back(std::move(d));
    }
    return !log_->bad(source_);
  }

 private:
  bool statement(declaration& d) {
    if (take_word("declare")) {
      if (take_word("simple")) return expect_word("event") && event_name(d) && simple(d);
      if (take_word("composite")) return expect_word("event") && event_name(d) && composite(d);
      if (take_word("problem")) return expect_word("for") && problem(d);
      return expected_one_of("'simple', 'composite' or 'problem' after 'declare'", {"simple", "composite", "problem"});
    }
    if (take_word("remove")) {
      if (take_word("problems")) {
        d.kind = declaration_kind::remove_problems;
        return true;
      }
      if (take_word("event")) {
        d.kind = declaration_kind::remove_event;
        return event_name(d);
      }
      if (!take_word("problem"))
        return expected_one_of("'problem', 'problems' or 'event' after 'remove'", {"problem", "problems", "event"});
      d.kind = declaration_kind::remove_problem;
      if (now_.kind != token_kind::string) return expected("the name of a problem as a string");
      const std::uint32_t text = string(now_);
      const node& n = out_->nodes[text];
      if (n.kind != node_kind::text) return expected("the name of a problem as a string without braces");
      d.name = {n.text, now_.where};
      advance();
      return true;
    }
    if (take_word("set")) {
      d.kind = declaration_kind::setting;
      if (!name(d.name, "the name of a setting")) return false;
      if (!expect_mark("=")) return false;
      d.when = expression();
      return true;
    }
    return expected_one_of("'declare', 'remove' or 'set'", {"declare", "remove", "set"});
  }

  bool simple(declaration& d) {
    d.kind = declaration_kind::own;
    if (take_word("function")) {
      d.kind = declaration_kind::simple;
      do {
        name_at function;
        if (!name(function, "the name of an MPI function")) return false;
        if (d.functions.size() < limits::parameters) d.functions.push_back(function);
      } while (take_mark(","));
    }
    return parameters(d, true);
  }

  bool composite(declaration& d) {
    d.kind = declaration_kind::composite;
    if (!expect_word("member")) return false;
    if (!expect_mark("(")) return false;
    if (!list([&] { return member(d); }, "',' or ')' after the member")) return false;
    condition(d);
    if (take_word("by")) {
      if (!expect_mark("(")) return false;
      if (!list(
              [&] {
                const bool before = wrong_;
                wrong_ = false;
                const std::uint32_t key = expression();
                const bool good = !wrong_;
                wrong_ = wrong_ || before;
                if (d.by.size() < limits::members) d.by.push_back(key);
                else
                  log_->report(code::too_large, out_->nodes[key].where,
                               {"more than ", std::to_string(limits::members), " keys"});
                return good;
              },
              "',' or ')' after the key"))
        return false;
    }
    if (now_is_mark(";")) return true;
    return parameters(d, false);
  }

  bool member(declaration& d) {
    member_syntax m;
    for (;;) {
      if (!m.shared && take_word("shared")) m.shared = true;
      else if (!m.all && take_word("all")) m.all = true;
      else break;
    }
    if (!name(m.event, "the type of a member event")) return false;
    if (!expect_word("as")) return false;
    if (!name(m.name, "a name for the member")) return false;
    if (d.members.size() >= limits::members) {
      log_->report(code::too_large, m.name.where, {"more than ", std::to_string(limits::members), " members"});
      wrong_ = true;
      return true;
    }
    d.members.push_back(m);
    return true;
  }

  bool problem(declaration& d) {
    d.kind = declaration_kind::problem;
    if (!name(d.name, "the type of a composite event")) return false;
    condition(d);
    return parameters(d, false);
  }

  bool parameters(declaration& d, bool directed) {
    if (!take_word("parameters"))
      return expected_one_of(d.kind == declaration_kind::own                      ? "'function' or 'parameters'"
                             : d.kind == declaration_kind::simple                 ? "',' or 'parameters'"
                             : d.kind == declaration_kind::problem && d.when == 0 ? "'when' or 'parameters'"
                                                                                  : "'parameters'",
                             {"parameters", "when", "function", "by"});
    if (!expect_mark("(")) return false;
    return list([&] { return parameter(d, directed); }, "',' or ')' after the parameter");
  }

  bool parameter(declaration& d, bool directed) {
    parameter_syntax p;
    if (!name(p.name, "the name of a parameter")) return false;
    if (!expect_mark("=")) return false;
    if (directed) {
      if (take_word("in")) p.direction = parameter_syntax::way::in;
      else if (take_word("out")) p.direction = parameter_syntax::way::out;
    }
    const bool before = wrong_;
    wrong_ = false;
    p.value = expression();
    const bool good = !wrong_;
    wrong_ = wrong_ || before;
    if (d.parameters.size() >= limits::parameters) {
      log_->report(code::too_large, p.name.where, {"more than ", std::to_string(limits::parameters), " parameters"});
      wrong_ = true;
      return true;
    }
    d.parameters.push_back(p);
    return good;
  }

  /// Parses elements up to the closing parenthesis; a trailing comma is allowed. After an error it continues with the
  /// next element; false only if the end of the list was not found.
  bool list(explain::borrowed<bool()> element, const char* after) {
    while (!take_mark(")")) {
      const bool good = element();
      if (good && (take_mark(",") || now_is_mark(")"))) continue;
      if (good) expected(after);
      wrong_ = true;
      if (!skip_element()) return false;
    }
    return true;
  }

  /// Skips to the next comma (consumed) or the closing parenthesis of the list. False at the end of the declaration.
  bool skip_element() {
    std::size_t open = 0;
    for (;;) {
      if (now_.kind == token_kind::end || now_is_mark(";") || now_is_word("declare")) return false;
      if (now_is_mark("(")) ++open;
      if (now_is_mark(")")) {
        if (open == 0) return true;
        --open;
      }
      if (open == 0 && now_is_mark(",")) {
        advance();
        return true;
      }
      advance();
    }
  }

  void skip_declaration() {
    // Skips at least one token, so that the parser always makes progress.
    if (now_.kind == token_kind::end || now_is_word("declare")) return;
    while (now_.kind != token_kind::end && !now_is_word("declare")) {
      const bool last = now_is_mark(";");
      advance();
      if (last) return;
    }
  }

  // After an invalid condition the rest of the declaration is still checked.
  void condition(declaration& d) {
    if (!take_word("when")) return;
    d.when = expression();
    if (d.when != 0) return;
    while (now_.kind != token_kind::end && !now_is_mark(";") && !now_is_word("declare") && !now_is_word("parameters") &&
           !now_is_word("by"))
      advance();
  }

  bool event_name(declaration& d) { return name(d.name, "the name of an event type"); }

  bool name(name_at& out, const char* what) {
    if (now_.kind != token_kind::name || reserved(now_.text)) return expected(what);
    if (now_.text.size() > 200) {
      log_->report(code::too_large, now_.where, {"this name is longer than 200 bytes"});
      wrong_ = true;
    }
    out = {out_->keep(now_.text.substr(0, 200)), now_.where};
    advance();
    return true;
  }
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
