#ifndef WHYWAIT_RULES_EXPRESSION_COMPILER_HPP
#define WHYWAIT_RULES_EXPRESSION_COMPILER_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/rules/detail/closest_name.hpp>
#include <whywait/rules/knowledge.hpp>
#include <whywait/rules/lexer.hpp>
#include <whywait/rules/not_recorded.hpp>
#include <whywait/rules/scope.hpp>
#include <whywait/rules/syntax.hpp>

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

/// Compiles expressions of one syntax to programs, computes their types and reports type errors. Not thread safe.
class expression_compiler {
 public:
  expression_compiler(knowledge& out, const syntax& from) : out_(&out), from_(&from) {}

  /// Compiles an expression and returns its type; `wrong` if an error was reported.
  type compile(std::uint32_t index, const scope& names, program& result) {
    result = program();
    const node& n = from_->nodes[index];
    result.where = n.where;
    steps_ = &result.steps;
    names_ = &names;
    depth_ = deepest_ = 0;
    const type found = visit(index);
    result.stack = static_cast<std::uint32_t>(deepest_);
    if (!found.is(type::kind::wrong) && deepest_ > machine_stack)
      return report(code::too_deep, n, {"this expression needs more than ", std::to_string(machine_stack), " values at once"});
    result.plain = result.steps.size() == 1 && result.steps[0].what == op::load;
    return found;
  }

  /// Compiles a condition; false if an error was reported.
  bool condition(std::uint32_t index, const scope& names, program& result) {
    const type t = compile(index, names, result);
    if (t.is(type::kind::boolean)) return true;
    if (!t.is(type::kind::wrong))
      report(code::wrong_type, from_->nodes[index], {"'when' needs a condition, this is ", t.words()});
    return false;
  }

  /// Compiles the conjunction of several conditions; an empty program for none.
  type compile_all(const base::pod_vector<std::uint32_t>& conditions, const scope& names, program& result) {
    result = program();
    type found = type::boolean();
    for (const std::uint32_t condition : conditions) {
      program one;
      if (!compile(condition, names, one).is(type::kind::boolean)) found = type::wrong();
      // c1 (if false, jump to the end and keep it) drop c2 ...; addresses are relocated by the code before.
      const auto base = static_cast<std::uint32_t>(result.steps.size());
      const bool first = base == 0;
      if (first) result.where = one.where;
      const std::uint32_t shift = first ? 0 : base + 2;
      if (!first) {
        result.steps.push_back({op::jump_if_false_keep, 0, 0, 0});
        result.steps.push_back({op::drop, 0, 0, 0});
      }
      for (instruction i : one.steps) {
        if (jumps(i.what)) i.column += shift;
        result.steps.push_back(i);
      }
      result.stack = std::max(result.stack, one.stack);
      result.where.begin = std::min(result.where.begin, one.where.begin);
      result.where.end = std::max(result.where.end, one.where.end);
      joints_.push_back(first ? 0 : base);
    }
    for (const std::uint32_t joint : joints_)
      if (joint != 0) result.steps[joint].column = static_cast<std::uint32_t>(result.steps.size());
    joints_.clear();
    result.plain = result.steps.size() == 1 && result.steps[0].what == op::load;
    return found;
  }

 private:
  static bool jumps(op what) noexcept {
    return what == op::jump || what == op::jump_if_false || what == op::jump_if_false_keep || what == op::jump_if_true_keep;
  }
  void emit(op what, int change, std::uint32_t column = 0, double value = 0, std::uint8_t row = 0) {
    steps_->push_back({what, row, column, value});
    depth_ += static_cast<std::size_t>(change);
    deepest_ = std::max(deepest_, depth_);
  }
  std::uint32_t here() const noexcept { return static_cast<std::uint32_t>(steps_->size()); }
  type report(code number, const node& n, std::initializer_list<std::string_view> message, std::string_view hint = {}) {
    out_->log.report(number, n.where, message, hint);
    return type::wrong();
  }
  type report(code number, const node& n, std::initializer_list<std::string_view> message, const detail::nearest_name& near) {
    out_->log.report(number, n.where, message, near);
    return type::wrong();
  }

  type visit(std::uint32_t index) {
    const node& n = from_->nodes[index];
    switch (n.kind) {
      case node_kind::wrong: return type::wrong();
      case node_kind::number: emit(op::push, 1, 0, n.value); return n.unit;
      case node_kind::boolean: emit(op::push, 1, 0, n.value); return type::boolean();
      case node_kind::text: return text(n);
      case node_kind::name: return name(n);
      case node_kind::negative: {
        const type t = numeric(n.parts[0], "-");
        emit(op::negate, 0);
        return t;
      }
      case node_kind::negation: {
        const type t = condition(n.parts[0], "not");
        emit(op::invert, 0);
        return t;
      }
      case node_kind::binary: return binary(n);
      case node_kind::call: return call(n);
      case node_kind::joined: return joined(n);
    }
    return type::wrong();
  }

  type text(const node& n) {
    const std::uint32_t number = out_->texts.intern(n.text);
    if (number == text_pool::none) return report(code::too_large, n, {"too many texts"});
    emit(op::push, 1, 0, number);
    return type::text();
  }

  /// Compiles an operand that must be a number or a condition.
  type numeric(std::uint32_t index, std::string_view who) {
    const type t = visit(index);
    if (t.is(type::kind::number) || t.is(type::kind::wrong)) return t;
    return report(code::wrong_type, from_->nodes[index], {"'", who, "' needs a number, this is ", t.words()});
  }
  type condition(std::uint32_t index, std::string_view who) {
    const type t = visit(index);
    if (t.is(type::kind::boolean) || t.is(type::kind::wrong)) return t;
    return report(code::wrong_type, from_->nodes[index], {"'", who, "' needs a condition, this is ", t.words()});
  }

  type name(const node& n) {
    const base::pod_vector<scope_row>& rows = names_->rows;
    if (n.qualifier.empty() && names_->about_finding) {
      const char* const known[] = {"instances", "total", "share"};
      for (std::uint32_t i = 0; i < 3; ++i)
        if (n.text == known[i]) {
          emit(op::extra, 1, i);
          return i == 1 ? type::duration() : type::number();
        }
    }
    bool member_known = n.qualifier.empty();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (rows[row].name != n.qualifier) continue;
      member_known = true;
      for (std::size_t c = 0; c < rows[row].visible; ++c) {
        const column& found = (*rows[row].columns)[c];
        if (found.name != n.text) continue;
        if (names_->at_entry && found.at_exit)
          return report(code::not_at_entry, n,
                        {"'", n.text, "' is known only when the call has ended: make it an 'out' parameter"});
        emit(op::load, 1, static_cast<std::uint32_t>(c), 0, static_cast<std::uint8_t>(row));
        return found.what;
      }
    }
    if (!member_known) {
      detail::nearest_name near(n.qualifier);
      for (const scope_row& row : rows) near.offer(row.name);
      return report(code::unknown_member, n, {"there is no member '", n.qualifier, "'"}, near);
    }
    if (const char* const why = detail::not_recorded(*out_, *names_, n.qualifier, n.text))
      return report(code::not_recorded, n, {"no run records '", n.text, "' here: ", why});
    detail::nearest_name near(n.text);
    const scope_row* owner = nullptr;
    for (const scope_row& row : rows)
      for (std::size_t c = 0; c < row.visible; ++c)
        if (const std::string& candidate = (*row.columns)[c].name; row.name == n.qualifier) near.offer(candidate);
        else if (candidate == n.text && n.qualifier.empty() && owner == nullptr) owner = &row;
    const bool of = !n.qualifier.empty();
    const std::initializer_list<std::string_view> message = {of ? "the member '" : "the ", of ? n.qualifier : names_->subject,
                                                             of ? "' has no parameter '" : " has no parameter '", n.text, "'"};
    if (owner == nullptr && n.text.compare(0, 4, "MPI_") != 0) return report(code::unknown_parameter, n, message, near);
    return report(code::unknown_parameter, n, message,
                  owner == nullptr ? base::joined({"a text stands in quotes: '", n.text, "'"})
                                   : base::joined({"did you mean ", owner->name, ".", n.text, "?"}));
  }

  type binary(const node& n) {
    if (n.op == operation::both || n.op == operation::either) {
      const char* const who = n.op == operation::both ? "and" : "or";
      const type left = condition(n.parts[0], who);
      const std::uint32_t jump = here();
      emit(n.op == operation::both ? op::jump_if_false_keep : op::jump_if_true_keep, 0);
      emit(op::drop, -1);
      const type right = condition(n.parts[1], who);
      (*steps_)[jump].column = here();
      return left.is(type::kind::wrong) ? left : right;
    }
    const type left = visit(n.parts[0]);
    const type right = visit(n.parts[1]);
    if (left.is(type::kind::wrong) || right.is(type::kind::wrong)) return type::wrong();
    const bool comparison = n.op >= operation::less;
    if (left.what != right.what)
      return report(code::wrong_type, n,
                    {comparison ? "cannot compare " : "cannot compute with ", left.words(), " and ", right.words()});
    if (left.is(type::kind::text)) {
      if (n.op == operation::add) {
        emit(op::join, -1, 2);
        return left;
      }
      if (!comparison) return report(code::wrong_type, n, {"texts can be joined with '+' and compared, nothing else"});
      // In the order of `operation`, from `less` on.
      static constexpr op of_texts[] = {op::text_less,          op::text_less_equal, op::text_greater,
                                        op::text_greater_equal, op::equal,           op::not_equal};
      emit(of_texts[static_cast<unsigned>(n.op) - static_cast<unsigned>(operation::less)], -1);
      return type::boolean();
    }
    if (left.is(type::kind::boolean)) {
      if (n.op != operation::equal && n.op != operation::not_equal)
        return report(code::wrong_type, n, {"conditions can only be compared with '=' and '!='"});
      emit(n.op == operation::equal ? op::equal : op::not_equal, -1);
      return left;
    }
    static constexpr op ops[] = {op::drop,       op::add,     op::subtract,      op::multiply, op::divide,   op::less,
                                 op::less_equal, op::greater, op::greater_equal, op::equal,    op::not_equal};
    emit(ops[static_cast<std::size_t>(n.op)], -1);
    if (n.op == operation::multiply || n.op == operation::divide) {
      const int sign = n.op == operation::multiply ? 1 : -1;
      const int s = left.seconds + sign * right.seconds, b = left.bytes + sign * right.bytes;
      if (s < -8 || s > 8 || b < -8 || b > 8)
        return report(code::wrong_unit, n, {"this has a power of seconds or bytes above 8"});
      type product = type::number(s, b);
      product.zero = left.zero;
      return product;
    }
    const char* const verb = comparison ? "cannot compare " : n.op == operation::add ? "cannot add " : "cannot subtract ";
    if (!left.same_unit(right)) return report(code::wrong_unit, n, {verb, left.words(), " and ", right.words()});
    if (comparison) return type::boolean();
    type sum = left.zero ? right : left;
    sum.zero = left.zero && right.zero;
    return sum;
  }

  type joined(const node& n) {
    type result = type::text();
    std::uint32_t pending = 0;
    for (const std::uint32_t part : n.parts) {
      const type t = visit(part);
      if (t.is(type::kind::wrong)) result = t;
      show(t);
      if (++pending == 64) {  // joins in portions, so that a long template needs no deep stack
        emit(op::join, -63, 64);
        pending = 1;
      }
    }
    emit(op::join, 1 - static_cast<int>(pending), pending);
    return result;
  }
  void show(type t) {
    if (t.is(type::kind::boolean)) emit(op::show, 0, 0, 0, 255);
    if (t.is(type::kind::number))
      emit(op::show, 0, static_cast<std::uint32_t>(t.bytes + 64), 0, static_cast<std::uint8_t>(t.seconds + 64));
  }

  type call(const node& n) {
    const function* const f = find_function(n.text);
    if (f == nullptr) {
      detail::nearest_name near(n.text);
      for_each_function([&near](const function& candidate) { near.offer(candidate.name); });
      return report(code::unknown_function, n, {"there is no function '", n.text, "'"}, near);
    }
    if (n.parts.size() < f->least || n.parts.size() > f->most) {
      return report(
          code::wrong_count, n,
          {"'", n.text, "' takes ", f->least == f->most ? std::string() : std::to_string(f->least) + " to ",
           std::to_string(f->most), f->most == 1 ? " argument" : " arguments", ", not ", std::to_string(n.parts.size())});
    }
    if (f->gathers) return aggregated(n);
    const std::string_view who = n.text;
    if (n.text == "min" || n.text == "max") {
      type result = numeric(n.parts[0], who);
      for (std::size_t i = 1; i < n.parts.size(); ++i) {
        const type t = numeric(n.parts[i], who);
        emit(n.text == "min" ? op::least : op::most, -1);
        if (t.is(type::kind::wrong) || result.is(type::kind::wrong)) result = type::wrong();
        else if (!result.same_unit(t))
          result = report(code::wrong_unit, n, {"'", who, "' of ", result.words(), " and ", t.words()});
        else if (result.zero) result = t;
      }
      return result;
    }
    if (n.text == "abs" || n.text == "floor" || n.text == "round") {
      const type t = numeric(n.parts[0], who);
      emit(n.text == "abs" ? op::absolute : n.text == "floor" ? op::floor : op::round, 0);
      return t;
    }
    if (n.text == "if") return choice(n, n.parts[1], n.parts[2]);
    if (n.text == "percent") {
      const type t = numeric(n.parts[0], who);
      emit(op::percent, 0);
      if (!t.is(type::kind::wrong) && !t.same_unit(type::number()))
        return report(code::wrong_unit, n, {"'", who, "' needs a number without unit, this is ", t.words()});
      return t.is(type::kind::wrong) ? t : type::text();
    }
    if (n.text == "text") {
      const type t = visit(n.parts[0]);
      show(t);
      return t.is(type::kind::wrong) ? t : type::text();
    }
    if (n.text == "plural") {  // plural(n, 'message', 'messages') is "1 message", "7 messages"
      const type count = numeric(n.parts[0], who);
      emit(op::count, 0);
      emit(op::push, 1, 0, out_->texts.intern(" "));
      const type t = numeric(n.parts[0], who);
      emit(op::push, 1, 0, 1);
      emit(op::equal, -1);
      const type words = branches(n, n.parts[1], n.parts[2]);
      emit(op::join, -2, 3);
      if (count.is(type::kind::wrong) || t.is(type::kind::wrong) || words.is(type::kind::wrong)) return type::wrong();
      if (!count.same_unit(type::number()) || !words.is(type::kind::text))
        return report(code::wrong_type, n, {"'", who, "' needs a number and two texts"});
      return words;
    }
    const type left = visit(n.parts[0]);
    const type right = visit(n.parts[1]);
    emit(n.text == "contains" ? op::contains : op::starts_with, -1);
    if (left.is(type::kind::wrong) || right.is(type::kind::wrong)) return type::wrong();
    if (!left.is(type::kind::text) || !right.is(type::kind::text))
      return report(code::wrong_type, n, {"'", who, "' needs two texts"});
    return type::boolean();
  }

  type choice(const node& n, std::uint32_t then, std::uint32_t otherwise) {
    const type asked = condition(n.parts[0], "if");
    const type chosen = branches(n, then, otherwise);
    return asked.is(type::kind::wrong) ? asked : chosen;
  }
  type branches(const node& n, std::uint32_t then, std::uint32_t otherwise) {
    const std::uint32_t skip = here();
    emit(op::jump_if_false, -1);
    const type left = visit(then);
    const std::uint32_t leave = here();
    emit(op::jump, -1);  // the other branch begins without the value of this one
    (*steps_)[skip].column = here();
    const type right = visit(otherwise);
    (*steps_)[leave].column = here();
    if (left.is(type::kind::wrong) || right.is(type::kind::wrong)) return type::wrong();
    if (left.what != right.what)
      return report(code::wrong_type, n, {"the two results of 'if' are ", left.words(), " and ", right.words()});
    if (left.is(type::kind::number) && !left.same_unit(right))
      return report(code::wrong_unit, n, {"the two results of 'if' are ", left.words(), " and ", right.words()});
    return left.zero ? right : left;
  }

  type aggregated(const node& n) {
    if (names_->aggregates == nullptr)
      return report(code::aggregate, n, {"'", n.text, "' needs a composite event that gathers: one member marked 'all'"});
    aggregate a;
    static constexpr const char* words[] = {"count", "sum", "mean", "least", "most", "distinct"};
    for (std::size_t i = 0; i < 6; ++i)
      if (n.text == words[i]) a.kind = static_cast<aggregate_kind>(i);
    type t = type::number();
    if (!n.parts.empty()) {
      scope inner = *names_;
      inner.aggregates = nullptr;      // no count() in sum()
      inner.rows.resize(1);            // nor parameters of the whole
      expression_compiler one(*out_, *from_);
      t = one.compile(n.parts[0], inner, a.value);
      if (t.is(type::kind::wrong)) return t;
      if (a.kind == aggregate_kind::distinct) t = type::number();
      else if (!t.is(type::kind::number))
        return report(code::wrong_type, from_->nodes[n.parts[0]], {"'", n.text, "' needs a number, this is ", t.words()});
    }
    if (names_->aggregates->size() >= 64) return report(code::too_large, n, {"more than 64 aggregates in one event"});
    emit(op::extra, 1, static_cast<std::uint32_t>(names_->aggregates->size()));
    names_->aggregates->push_back(std::move(a));
    t.zero = false;
    return t;
  }

  knowledge* out_;
  const syntax* from_;
  base::pod_vector<instruction>* steps_ = nullptr;
  const scope* names_ = nullptr;
  std::size_t depth_ = 0, deepest_ = 0;
  base::pod_vector<std::uint32_t> joints_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
