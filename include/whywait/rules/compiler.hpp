#ifndef WHYWAIT_RULES_COMPILER_HPP
#define WHYWAIT_RULES_COMPILER_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/rules/declaration_names.hpp>
#include <whywait/rules/expression_compiler.hpp>
#include <whywait/rules/fact_types.hpp>
#include <whywait/rules/join_planner.hpp>
#include <whywait/rules/parser.hpp>
#include <whywait/rules/problem_compiler.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Compiles rule texts to one knowledge; later texts replace and remove declarations of earlier ones. Errors are in
/// `knowledge::log`. A declaration with an error is skipped, and the one it would replace stays. The built-in text must
/// come first. Not thread safe.
class compiler {
 public:
  compiler() { add_fact_types(out_); }
  compiler(const compiler&) = delete;
  compiler& operator=(const compiler&) = delete;

  /// Adds a text. `built_in` marks its problems in the listing.
  void add(std::string name, std::string text, bool built_in = false) {
    const std::uint32_t source = out_.log.add_source(std::move(name), std::move(text));
    built_in_.push_back(built_in);
    const std::size_t first = syntax_.declarations.size();
    parser(out_.log, syntax_, source).parse();
    for (std::size_t i = first; i < syntax_.declarations.size(); ++i) enter(i, source);
  }
  diagnostics& log() noexcept { return out_.log; }

  /// Checks all declarations and returns the result; the compiler is empty afterwards.
  knowledge finish() {
    for (const std::size_t i : settings_) setting(syntax_.declarations[i]);
    for (const std::size_t i : order_)
      if (!gone_[i]) event(i);
    for (const std::size_t last : problems_) {
      std::size_t i = gone_[last] ? declaration_names::none : last;
      while (i != declaration_names::none && !problem(i)) i = replaces_[i];
    }
    return std::move(out_);
  }

 private:
  using kind = declaration_kind;

  void enter(std::size_t index, std::uint32_t source) {
    const declaration& d = syntax_.declarations[index];
    gone_.resize(syntax_.declarations.size(), false);
    state_.resize(syntax_.declarations.size(), 0);
    replaces_.resize(syntax_.declarations.size(), declaration_names::none);
    switch (d.kind) {
      case kind::simple:
      case kind::own:
      case kind::composite: return enter_event(index, source);
      case kind::problem: {
        const std::string_view name = declaration_names::problem_name(syntax_, d);
        if (d.bad || name.empty()) {
          if (!d.bad) problems_.push_back(index);  // a missing or wrong name is reported when it is compiled
          return;
        }
        const std::size_t found = problem_named_.find(name);
        if (found != declaration_names::none) {
          if (syntax_.declarations[found].where.source == source)
            return out_.log.report(code::duplicate, d.where, {"a problem '", name, "' is declared above already"});
          gone_[found] = true;
          replaces_[index] = found;
        }
        problem_named_.put(index);
        problems_.push_back(index);
        return;
      }
      case kind::remove_problem: {
        const std::size_t found = problem_named_.find(d.name.text);
        if (found == declaration_names::none) {
          detail::nearest_name near(d.name.text);
          for (const std::size_t known : problem_named_) near.offer(problem_named_.name_of(known));
          out_.log.report(code::unknown_problem, d.name.where, {"there is no problem '", d.name.text, "'"}, near);
          return;
        }
        gone_[found] = true;
        problem_named_.drop(d.name.text);
        return;
      }
      case kind::remove_problems:
        for (const std::size_t known : problem_named_) gone_[known] = true;
        problem_named_.clear();
        return;
      case kind::remove_event: {
        const std::size_t found = event_named_.find(d.name.text);
        if (found == declaration_names::none) return unknown_event(d.name);
        gone_[found] = true;
        removed_.put(index);
        event_named_.drop(d.name.text);
        return;
      }
      case kind::setting:
        if (!d.bad) settings_.push_back(index);
        return;
    }
  }

  void enter_event(std::size_t index, std::uint32_t source) {
    const declaration& d = syntax_.declarations[index];
    const std::string_view name = d.name.text;
    const std::size_t found = event_named_.find(name);
    const bool of_rules =
        found != declaration_names::none && d.kind == kind::own && built_in_[syntax_.declarations[found].where.source];
    if (of_rules || out_.find(name) != knowledge::none) {
      out_.log.report(code::duplicate, d.name.where, {"'", name, "' is an event of the analysis itself"});
      return;
    }
    if (d.bad) {  // already reported; its uses are not reported unless there is an older declaration
      if (found == declaration_names::none) removed_.put(index);
      return;
    }
    if (found != declaration_names::none) {
      const declaration& other = syntax_.declarations[found];
      if (other.where.source == source) {
        out_.log.report(code::duplicate, d.name.where, {"an event '", name, "' is declared above already"});
        return;
      }
      if (other.kind == kind::own && d.kind == kind::own && !same_parameters(syntax_, other, d)) {
        out_.log.report(code::clash, d.name.where,
                        {"the own event '", name, "' has other parameters in ", out_.log.source(other.where.source).name});
        return;
      }
      gone_[found] = true;
    }
    removed_.drop(name);
    event_named_.put(index);
    order_.push_back(index);
  }

  void unknown_event(const name_at& name) {
    if (removed_.find(name.text) != declaration_names::none) return;
    if (const char* const why = detail::not_recorded(name.text))
      return out_.log.report(code::not_recorded, name.where, {"no run has events '", name.text, "': ", why});
    detail::nearest_name near(name.text);
    for (const event_type& t : out_.types) near.offer(t.name);
    for (const std::size_t known : event_named_) near.offer(event_named_.name_of(known));
    out_.log.report(code::unknown_event, name.where, {"there is no event type '", name.text, "'"}, near);
  }

  /// The type of that name, compiled on first use; `none` if it does not exist or has errors.
  std::uint32_t type_named(const name_at& name) {
    const std::uint32_t known = out_.find(name.text);
    if (known != knowledge::none) return known;
    const std::size_t found = event_named_.find(name.text);
    if (found == declaration_names::none) {
      unknown_event(name);
      return knowledge::none;
    }
    if (state_[found] == 1) {
      out_.log.report(code::cycle, name.where, {"'", name.text, "' is made of itself"});
      return knowledge::none;
    }
    if (++nested_ <= 64) event(found);
    else if (state_[found] == 0) out_.log.report(code::too_deep, name.where, {"composite events nested deeper than 64"});
    --nested_;
    return out_.find(name.text);
  }

  void event(std::size_t index) {
    if (state_[index] != 0) return;
    state_[index] = 1;
    const declaration& d = syntax_.declarations[index];
    if (d.kind == kind::simple) simple(d);
    else if (d.kind == kind::own) own(d);
    else composite(d);
    state_[index] = 2;
  }

  // These come with every event of a call; a parameter of the same name replaces them.
  static const char* const* always(std::size_t& count) noexcept {
    static constexpr const char* names[] = {"function", "duration", "longest", "count", "rank",
                                            "thread",   "region",   "file",    "line",  "site"};
    count = sizeof names / sizeof *names;
    return names;
  }

  bool fresh(const event_type& t, const name_at& name, std::size_t from = 0) {
    for (std::size_t i = from; i < t.columns.size(); ++i)
      if (t.columns[i].name == name.text) {
        out_.log.report(code::duplicate, name.where, {"'", name.text, "' is given above already"});
        return false;
      }
    return true;
  }

  void simple(const declaration& d) {
    event_type t;
    t.name = d.name.text;
    t.source = event_source::simple;
    simple_rule rule;
    bool good = true;
    for (const name_at& function : d.functions) {
      const core::mpi_call call = mpi_function(function);
      if (call == core::mpi_call::none) good = false;
      rule.functions.push_back(call);
    }
    expression_compiler expressions(out_, syntax_);
    scope calls;
    calls.rows.push_back({"", &call_columns(), call_columns().size()});
    calls.subject = "call";
    for (const parameter_syntax& p : d.parameters) {
      good = fresh(t, p.name) && good;
      calls.at_entry = p.direction != parameter_syntax::way::out;
      program value;
      const type what = settled(expressions.compile(p.value, calls, value));
      good = good && !what.is(type::kind::wrong);
      t.columns.push_back({std::string(p.name.text), what, !calls.at_entry});
      rule.values.push_back(std::move(value));
    }
    std::size_t count = 0;
    const char* const* const names = always(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (t.find(names[i]) != t.columns.size()) continue;
      std::size_t c = 0;
      while (call_columns()[c].name != names[i]) ++c;
      t.columns.push_back(column(call_columns()[c]));
      program load;
      load.steps.push_back({op::load, 0, static_cast<std::uint32_t>(c), 0});
      load.where = d.name.where;
      load.stack = 1;
      load.plain = true;
      rule.values.push_back(std::move(load));
    }
    if (!good) {
      removed_.put(d);
      return;
    }
    rule.type = static_cast<std::uint32_t>(out_.types.size());
    out_.types.push_back(std::move(t));
    out_.simples.push_back(std::move(rule));
  }

  core::mpi_call mpi_function(const name_at& name) {
    detail::nearest_name near(name.text);
    for (auto i = std::uint16_t(1); i < static_cast<std::uint16_t>(core::mpi_call::count_); ++i) {
      const auto call = static_cast<core::mpi_call>(i);
      if (name.text == core::name_of(call)) return call;
      near.offer(core::name_of(call));
    }
    out_.log.report(code::unknown_mpi, name.where, {"whywait does not observe a function '", name.text, "'"}, near);
    return core::mpi_call::none;
  }

  void own(const declaration& d) {
    event_type t;
    t.name = d.name.text;
    t.source = event_source::own;
    bool good = true;
    for (const parameter_syntax& p : d.parameters) {
      good = fresh(t, p.name) && good;
      const node& n = syntax_.nodes[p.value];
      const type what = n.kind == node_kind::name && n.qualifier.empty() ? type_of_word(n.text) : type::wrong();
      if (what.is(type::kind::wrong)) {
        detail::nearest_name near(n.text);
        for (const char* word : {"number", "seconds", "bytes", "text", "boolean"}) near.offer(word);
        out_.log.report(code::unknown_unit, n.where, {"a parameter of an own event is number, seconds, bytes, text or boolean"},
                        near);
        good = false;
      }
      t.columns.push_back({std::string(p.name.text), what, false});
    }
    for (const char* name : {"rank", "line"})
      if (t.find(name) == t.columns.size()) t.columns.push_back({name, type::number(), false});
    if (t.find("time") == t.columns.size()) t.columns.push_back({"time", type::duration(), false});
    if (t.find("file") == t.columns.size()) t.columns.push_back({"file", type::text(), false});
    if (good) out_.types.push_back(std::move(t));
    else removed_.put(d);
  }

  /// The unit of a stored value; the literal 0 is a plain number.
  static type settled(type what) noexcept {
    what.zero = false;
    return what;
  }

  void composite(const declaration& d) {
    event_type t;
    t.name = d.name.text;
    t.source = event_source::composite;
    composite_rule rule;
    bool good = true;
    base::pod_vector<std::uint32_t> member_types;
    for (const member_syntax& m : d.members) {
      const std::uint32_t member = type_named(m.event);
      good = good && member != knowledge::none;
      member_types.push_back(member);
      for (const auto& before : t.members)
        if (before.first == m.name.text) {
          out_.log.report(code::duplicate, m.name.where, {"there is a member '", m.name.text, "' already"});
          good = false;
        }
      t.members.emplace_back(m.name.text, member);
      rule.shared.push_back(m.shared);
      if (m.all) t.source = event_source::gathered;
    }
    if (d.members.empty()) {
      out_.log.report(code::missing, d.name.where, {"a composite event needs a member"});
      return;
    }
    if (t.source == event_source::gathered && d.members.size() != 1) {
      out_.log.report(code::wrong_count, d.members[1].event.where, {"an event that gathers ('all') has this one member only"});
      return;
    }
    if (t.source != event_source::gathered && !d.by.empty()) {
      out_.log.report(code::aggregate, syntax_.nodes[d.by[0]].where,
                      {"'by' belongs to events that gather: mark the member 'all'"});
      good = false;
    }
    if (!good) {
      removed_.put(d);
      return;
    }
    scope names;
    names.subject = "composite event";
    for (std::size_t i = 0; i < d.members.size(); ++i)
      names.rows.push_back(
          {d.members[i].name.text, &out_.types[member_types[i]].columns, out_.types[member_types[i]].columns.size()});
    expression_compiler expressions(out_, syntax_);
    if (t.source == event_source::gathered) {
      join_step only;
      if (d.when != 0) good = expressions.condition(d.when, names, only.filter);
      rule.steps.push_back(std::move(only));
      for (const std::uint32_t key : d.by) {
        program p;
        good = !expressions.compile(key, names, p).is(type::kind::wrong) && good;
        rule.keys.push_back(std::move(p));
      }
    } else {
      good = join_planner(out_, syntax_, names, member_types).plan(d, rule.steps);
    }
    // Parameters may use earlier ones, which form one more row.
    if (t.source == event_source::gathered) names.aggregates = &rule.aggregates;
    names.rows.push_back({"", &t.columns, 0});
    for (const parameter_syntax& p : d.parameters) {
      good = fresh(t, p.name) && good;
      names.rows.back().visible = t.columns.size();
      program value;
      const type what = settled(expressions.compile(p.value, names, value));
      good = good && !what.is(type::kind::wrong);
      t.columns.push_back({std::string(p.name.text), what, false});
      rule.values.push_back(std::move(value));
    }
    if (!good) {
      removed_.put(d);
      return;
    }
    rule.type = static_cast<std::uint32_t>(out_.types.size());
    out_.types.push_back(std::move(t));
    out_.composites.push_back(std::move(rule));
  }

  bool problem(std::size_t index) {
    const declaration& d = syntax_.declarations[index];
    const std::uint32_t of = type_named(d.name);
    return of != knowledge::none && problem_compiler(out_, syntax_).compile(d, of, built_in_[d.where.source]);
  }

  void setting(const declaration& d) {
    if (d.name.text == "threshold") {
      problem_compiler(out_, syntax_).share(d.when, out_.threshold);
      return;
    }
    detail::nearest_name near(d.name.text);
    near.offer("threshold");
    out_.log.report(code::unknown_field, d.name.where, {"there is no setting '", d.name.text, "'"}, near);
  }

  knowledge out_;
  syntax syntax_;
  base::pod_vector<bool> built_in_;
  base::pod_vector<bool> gone_;            ///< by declaration: whether it was replaced or removed
  base::pod_vector<unsigned char> state_;  ///< by declaration: 0 not compiled, 1 being compiled, 2 done
  base::pod_vector<std::size_t> order_, problems_, settings_;
  base::pod_vector<std::size_t> replaces_;  ///< by declaration: the problem of the same name, or none
  declaration_names event_named_{syntax_}, problem_named_{syntax_};
  declaration_names removed_{syntax_};  ///< removed or erroneous events; their uses are not reported
  int nested_ = 0;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
