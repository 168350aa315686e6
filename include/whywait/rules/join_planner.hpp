#ifndef WHYWAIT_RULES_JOIN_PLANNER_HPP
#define WHYWAIT_RULES_JOIN_PLANNER_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/expression_compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Plans the join of a composite event: the order in which its members are bound and the lookup keys of each. The
/// condition is split at its `and`s. An equality between one member and earlier bound members is a key of a hash index.
/// Every member after the first needs such a key, so that no rule compares all pairs (relational hash join).
class join_planner {
 public:
  join_planner(knowledge& out, const syntax& from, const scope& names, const base::pod_vector<std::uint32_t>& types)
      : out_(&out), from_(&from), names_(&names), types_(&types) {}

  /// False if an error was reported.
  bool plan(const declaration& d, base::vector<join_step>& steps) {
    if (d.when != 0) {
      // Checked as a whole first, so that each error is reported once.
      program whole;
      expression_compiler check(*out_, *from_);
      const type t = check.compile(d.when, *names_, whole);
      if (t.is(type::kind::wrong)) return false;
      if (!t.is(type::kind::boolean)) {
        out_->log.report(code::wrong_type, from_->nodes[d.when].where, {"'when' needs a condition, this is ", t.words()});
        return false;
      }
      cut(d.when);
    }
    std::uint32_t bound = 0;
    base::pod_vector<char> placed(d.members.size(), false);
    for (std::size_t n = 0; n < d.members.size(); ++n) {
      std::size_t next = d.members.size();
      for (std::size_t m = 0; m < d.members.size() && next == d.members.size(); ++m)
        if (!placed[m] && (n == 0 || tied(m, bound))) next = m;
      for (std::size_t m = 0; m < d.members.size() && next == d.members.size(); ++m)
        if (!placed[m] && out_->types[(*types_)[m]].single) next = m;
      if (next == d.members.size()) {
        std::size_t loose = 0;
        while (placed[loose]) ++loose;
        out_->log.report(
            code::untied, d.members[loose].name.where,
            {"nothing ties the member '", d.members[loose].name.text, "' to the others: 'when' needs an equality such as ",
             d.members[loose].name.text, ".x = ", d.members[0].name.text, ".y"});
        return false;
      }
      placed[next] = true;
      steps.push_back(step(next, bound));
      bound |= 1u << next;
    }
    return true;
  }

 private:
  struct piece {
    std::uint32_t node;
    std::uint32_t members;  ///< bit set
    bool used = false;
  };

  void cut(std::uint32_t index) {
    const node& n = from_->nodes[index];
    if (n.kind == node_kind::binary && n.op == operation::both) {
      cut(n.parts[0]);
      cut(n.parts[1]);
    } else {
      pieces_.push_back({index, members_in(index)});
    }
  }

  std::uint32_t members_in(std::uint32_t index) const {
    const node& n = from_->nodes[index];
    std::uint32_t found = 0;
    if (n.kind == node_kind::name)
      for (std::size_t m = 0; m < names_->rows.size(); ++m)
        if (names_->rows[m].name == n.qualifier) found |= 1u << m;
    for (const std::uint32_t part : n.parts) found |= members_in(part);
    return found;
  }

  /// Whether a part of the condition is `own = others` for a member and the bound ones, and which side is `own`.
  bool key(const piece& p, std::size_t member, std::uint32_t bound, std::uint32_t& own, std::uint32_t& other) const {
    const node& n = from_->nodes[p.node];
    if (n.kind != node_kind::binary || n.op != operation::equal) return false;
    for (int side = 0; side < 2; ++side) {
      own = n.parts[static_cast<std::size_t>(side)];
      other = n.parts[static_cast<std::size_t>(1 - side)];
      const std::uint32_t others = members_in(other);
      if (members_in(own) == 1u << member && others != 0 && (others & ~bound) == 0) return true;
    }
    return false;
  }

  bool tied(std::size_t member, std::uint32_t bound) const {
    std::uint32_t own = 0, other = 0;
    for (const piece& p : pieces_)
      if (!p.used && key(p, member, bound, own, other)) return true;
    return false;
  }

  join_step step(std::size_t member, std::uint32_t bound) {
    join_step out;
    out.member = static_cast<std::uint32_t>(member);
    expression_compiler expressions(*out_, *from_);
    base::pod_vector<std::uint32_t> filter, rest;
    for (piece& p : pieces_) {
      if (p.used || (p.members & ~(bound | 1u << member)) != 0) continue;
      std::uint32_t own = 0, other = 0;
      p.used = true;
      if ((p.members & ~(1u << member)) == 0) {
        filter.push_back(p.node);
      } else if (key(p, member, bound, own, other)) {
        out.own.push_back(program());
        expressions.compile(own, *names_, out.own.back());
        out.others.push_back(program());
        expressions.compile(other, *names_, out.others.back());
      } else {
        rest.push_back(p.node);
      }
    }
    expressions.compile_all(filter, *names_, out.filter);
    expressions.compile_all(rest, *names_, out.rest);
    return out;
  }

  knowledge* out_;
  const syntax* from_;
  const scope* names_;
  const base::pod_vector<std::uint32_t>* types_;
  base::pod_vector<piece> pieces_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
