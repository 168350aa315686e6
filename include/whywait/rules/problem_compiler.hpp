#ifndef WHYWAIT_RULES_PROBLEM_COMPILER_HPP
#define WHYWAIT_RULES_PROBLEM_COMPILER_HPP

#include <whywait/rules/detail/closest_name.hpp>
#include <whywait/rules/expression_compiler.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Checks and compiles problem rules: their fields, and that durations are seconds. Not thread safe.
class problem_compiler {
 public:
  problem_compiler(knowledge& out, const syntax& from) : out_(out), syntax_(from) {}

  /// Checks a declaration about an event type and adds its rule. False: it has an error.
  bool compile(const declaration& d, std::uint32_t event, bool built_in) {
    problem_rule rule;
    rule.source = d.where.source;
    rule.built_in = built_in;
    rule.type = event;
    const event_type& t = out_.types[rule.type];
    scope names;
    names.rows.push_back({"", &t.columns, t.columns.size()});
    const bool of_members = t.source == event_source::composite || t.source == event_source::gathered;
    if (of_members) names.subject = "composite event";
    if (of_members)
      for (const auto& m : t.members)
        names.rows.push_back({m.first, &out_.types[m.second].columns, out_.types[m.second].columns.size()});
    expression_compiler expressions(out_, syntax_);
    bool good = d.when == 0 || expressions.condition(d.when, names, rule.when);
    const auto given = [&d](std::string_view field, const parameter_syntax* before) {
      const parameter_syntax* p = d.parameters.data();
      while (p != before && p->name.text != field) ++p;
      return p != before;
    };
    for (const parameter_syntax& p : d.parameters) {
      const std::string_view field = p.name.text;
      if (given(field, &p)) {
        out_.log.report(code::duplicate, p.name.where, {"'", field, "' is given above already"});
        good = false;
        continue;
      }
      const node& n = syntax_.nodes[p.value];
      if (field == "name" || field == "instead_of") {
        if (n.kind != node_kind::text || n.text.empty()) {
          out_.log.report(code::not_constant, n.where, {"'", field, "' must be a string without braces, and not empty"});
          good = false;
        } else {
          (field == "name" ? rule.name : rule.instead_of) = n.text;
        }
      } else if (field == "threshold") {
        good = share(p.value, rule.threshold) && good;
      } else if (field == "duration" || field == "saving") {
        const type what = expressions.compile(p.value, names, field == "duration" ? rule.duration : rule.saving);
        if (!what.is(type::kind::wrong) && !(what.is(type::kind::number) && what.same_unit(type::duration())))
          out_.log.report(code::not_seconds, n.where, {"'", field, "' must be a duration in seconds, this is ", what.words()});
        good = good && what.is(type::kind::number) && what.same_unit(type::duration());
      } else if (field == "predicted" || field == "at_least") {
        const type what = expressions.compile(p.value, names, field == "predicted" ? rule.predicted : rule.at_least);
        if (!what.is(type::kind::wrong) && !what.is(type::kind::boolean))
          out_.log.report(code::wrong_type, n.where, {"'", field, "' must be a condition, this is ", what.words()});
        good = good && what.is(type::kind::boolean);
      } else if (field == "description" || field == "advice" || field == "root" || field == "verdict") {
        scope finding = names;
        finding.about_finding = field != "root";
        program& into = field == "advice"    ? rule.advice
                        : field == "root"    ? rule.root
                        : field == "verdict" ? rule.verdict
                                             : rule.description;
        const type what = expressions.compile(p.value, finding, into);
        if (!what.is(type::kind::wrong) && !what.is(type::kind::text))
          out_.log.report(code::wrong_type, n.where, {"'", field, "' must be a text, this is ", what.words()});
        good = good && what.is(type::kind::text);
      } else {
        detail::nearest_name near(field);
        for (const char* known : {"name", "description", "advice", "duration", "saving", "predicted", "at_least", "threshold",
                                  "instead_of", "root", "verdict"})
          near.offer(known);
        out_.log.report(code::unknown_field, p.name.where, {"a problem has no field '", field, "'"}, near);
        good = false;
      }
    }
    for (const char* needed : {"name", "duration"})
      if (!given(needed, d.parameters.data() + d.parameters.size())) {
        out_.log.report(code::missing, d.name.where, {"this problem has no '", needed, "'"});
        good = false;
      }
    if (good) out_.problems.push_back(std::move(rule));
    return good;
  }

  /// A constant share: 2 %, 0.02.
  bool share(std::uint32_t index, double& out) {
    const node& n = syntax_.nodes[index];
    if (n.kind == node_kind::number && n.unit.same_unit(type::number()) && n.value >= 0 && n.value <= 1) {
      out = n.value;
      return true;
    }
    if (n.kind != node_kind::wrong)
      out_.log.report(code::not_constant, n.where, {"a threshold is a share of the run's time, written as a number: 2 %"});
    return false;
  }

 private:
  knowledge& out_;
  const syntax& syntax_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
