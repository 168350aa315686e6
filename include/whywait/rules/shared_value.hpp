#ifndef WHYWAIT_RULES_SHARED_VALUE_HPP
#define WHYWAIT_RULES_SHARED_VALUE_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/detail/distinct_rows.hpp>
#include <whywait/rules/event_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Whether values of composite events are to be added up once per composite event, or once per combination of the
/// shared members that they depend on. A value that depends on shared members only, such as the duration of a wait that
/// many sends share, would otherwise count once for each event that shares them. O(members) per event.
class shared_value {
 public:
  /// `value` is an expression over events of type `type`. `own_row`: the row of the running program that holds the
  /// event's own parameters; other rows hold its members, in order, from `first_member`.
  shared_value(const event_store& store, std::uint32_t type, const program& value, std::size_t own_row,
               std::size_t first_member)
      : store_(store), type_(type), seen_(most_leaves) {
    if (store.rules().types[type].source == event_source::composite) trace(type, value, own_row, first_member, {}, 0);
    once_ = !mixed_ && !leaves_.empty() && leaves_.size() <= most_leaves;
  }

  /// How often the value of one event counts: `weight`, or for a value that depends on shared members only the number of
  /// real events of these the first time and 0 later. `group` separates sums.
  double times(std::uint32_t row, double weight, std::uint32_t group = 0) {
    if (!once_) return weight;
    std::uint64_t key[most_leaves] = {};
    double real = 0;
    for (std::size_t l = 0; l < leaves_.size(); ++l) {
      std::uint32_t type = type_, at = row;
      for (std::size_t step = 0; step < leaves_[l].depth; ++step) {
        const std::uint32_t member = leaves_[l].path[step];
        const event_table& table = store_.table(type);
        at = table.members[at * table.members_width + member];
        type = store_.rules().types[type].members[member].second;
      }
      key[l] = (std::uint64_t(group) << 32) | at;
      real = l == 0 ? store_.table(type).weight(at) : std::min(real, store_.table(type).weight(at));
    }
    const std::uint32_t before = seen_.size();
    return seen_.number_of(key) == before ? real : 0;
  }

 private:
  static constexpr std::size_t most_depth = 6, most_leaves = 4;
  struct leaf {
    std::uint32_t path[most_depth] = {};
    std::size_t depth = 0;
    bool shared = false;
  };

  void trace(std::uint32_t type, const program& value, std::size_t own_row, std::size_t first_member, const leaf& at,
             int depth) {
    const event_type& t = store_.rules().types[type];
    if (depth > 32 || at.depth == most_depth) {
      mixed_ = true;
      return;
    }
    const composite_rule& rule = rule_of(type);
    for (const instruction& i : value.steps) {
      if (i.what != op::load || mixed_) continue;
      if (i.row == own_row) {
        trace(type, rule.values[i.column], t.members.size(), 0, at, depth + 1);
        continue;
      }
      const auto member = static_cast<std::uint32_t>(i.row - first_member);
      leaf next = at;
      next.path[next.depth++] = member;
      next.shared = next.shared || rule.shared[member] != 0;
      const std::uint32_t inner = t.members[member].second;
      const event_type& of = store_.rules().types[inner];
      if (of.source == event_source::composite) {
        trace(inner, rule_of(inner).values[i.column], of.members.size(), 0, next, depth + 1);
        continue;
      }
      mixed_ = mixed_ || !next.shared;
      const auto same = [&next](const leaf& l) {
        return l.depth == next.depth && std::equal(l.path, l.path + l.depth, next.path);
      };
      if (!base::any_of(leaves_, same)) leaves_.push_back(next);
    }
  }
  const composite_rule& rule_of(std::uint32_t type) const noexcept {
    const composite_rule* rule = store_.rules().composites.begin();
    while (rule->type != type) ++rule;
    return *rule;
  }

  const event_store& store_;
  std::uint32_t type_;
  bool mixed_ = false;  ///< depends on a member that is not shared
  bool once_ = false;
  base::pod_vector<leaf> leaves_;
  detail::distinct_rows seen_;  ///< combinations that were counted
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
