#ifndef WHYWAIT_RULES_EVALUATOR_HPP
#define WHYWAIT_RULES_EVALUATOR_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/builder.hpp>
#include <whywait/rules/detail/distinct_rows.hpp>
#include <whywait/rules/gatherer.hpp>
#include <whywait/rules/shared_value.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The findings of the rules, largest saving first, and the run-time errors of the rules.
struct findings {
  base::vector<finding> list;
  base::pod_vector<trouble::entry> troubles;
};

/// Constructs all composite events of `store`, then evaluates the problem rules. O(events). The store must not contain
/// composite events.
class evaluator {
 public:
  explicit evaluator(event_store& store) : store_(store), rules_(store.rules()) { wait_type_ = rules_.find("wait"); }

  findings evaluate() {
    for (const composite_rule& rule : rules_.composites) {
      if (rules_.types[rule.type].source == event_source::gathered) gatherer(store_, rule, log_).build();
      else builder(store_, rule, log_).build();
    }
    for (std::uint32_t p = 0; p < rules_.problems.size(); ++p) look_for(p);
    join_lost_time();
    findings out;
    base::small_stable_sort(sums_, [](const sum& a, const sum& b) { return a.of < b.of; });
    out.list.reserve(sums_.size());
    for (const sum& total : sums_) out.list.push_back(render(total.of, total));
    base::small_stable_sort(out.list, [](const finding& a, const finding& b) {
      if (a.saving != b.saving) return a.saving > b.saving;
      if (a.seconds != b.seconds) return a.seconds > b.seconds;
      return a.rule != b.rule ? a.rule < b.rule : a.wait < b.wait;
    });
    out.troubles = log_.take();
    return out;
  }

 private:
  static constexpr std::size_t most_actions = 8;

  /// The identity of a finding: rule, wait and actions.
  struct origin {
    std::int64_t wait = -1;
    std::uint32_t rule = 0;
    std::uint32_t count = 0;
    std::uint32_t actions[most_actions] = {};

    void add(std::uint32_t action) {
      if (action == event_table::none || count == most_actions) return;
      for (std::uint32_t i = 0; i < count; ++i)
        if (actions[i] == action) return;
      actions[count++] = action;
    }
    bool operator<(const origin& o) const noexcept {
      if (rule != o.rule) return rule < o.rule;
      if (wait != o.wait) return wait < o.wait;
      if (count != o.count) return count < o.count;
      std::size_t i = 0;
      while (i + 1 != most_actions && actions[i] == o.actions[i]) ++i;
      return actions[i] < o.actions[i];
    }
    bool operator==(const origin& o) const noexcept { return std::memcmp(this, &o, sizeof o) == 0; }
  };
  static_assert(sizeof(origin) == 16 + 4 * most_actions, "without holes: compared as bytes");
  struct sum {
    origin of;
    double seconds = 0, saving = 0, instances = 0;
    double longest = -1;
    std::uint32_t row = 0;  ///< the longest instance, whose values the templates show
  };

  // When an own event took time: to the instant at which it was made.
  struct lost_time {
    double begin, end;  ///< seconds
    std::uint32_t sum;

    bool operator<(const lost_time& o) const noexcept { return sum != o.sum ? sum < o.sum : begin < o.begin; }
  };

  base::pod_vector<const double*>& rows_of(const event_type& type, std::uint32_t type_index, std::uint32_t row) {
    const event_table& table = store_.table(type_index);
    rows_.assign(1, table.row(row));
    for (std::size_t m = 0; m < type.members.size(); ++m)
      rows_.push_back(store_.table(type.members[m].second).row(table.members[row * table.members_width + m]));
    return rows_;
  }

  void look_for(std::uint32_t index) {
    const problem_rule& rule = rules_.problems[index];
    const event_type& type = rules_.types[rule.type];
    const event_table& table = store_.table(rule.type);
    shared_value seconds_of(store_, rule.type, rule.duration, 0, 1);
    const std::size_t time = type.source == event_source::own ? type.find("time") : type.columns.size();
    origin last;
    std::uint32_t number = detail::distinct_rows::none;
    for (std::uint32_t row = 0; row < table.rows; ++row) {
      const double* const* const rows = rows_of(type, rule.type, row).data();
      if (!log_.holds(rule.when, rows, nullptr, store_.texts())) continue;
      double duration = 0, saving = 0;
      if (!log_.value(rule.duration, rows, nullptr, store_.texts(), duration)) continue;
      if (rule.saving.empty()) saving = duration;
      else if (!log_.value(rule.saving, rows, nullptr, store_.texts(), saving)) continue;
      if (duration < 0) continue;  // a problem takes time; a negative duration is no finding
      const double weight = seconds_of.times(row, table.weight(row));
      if (weight == 0) continue;
      origin from;
      from.rule = index;
      descend(rule.type, row, from, 0);
      if (from.wait == several) from.wait = -1;
      if (number == detail::distinct_rows::none || !(from == last)) {
        if (sums_.size() >= most_findings && !origins_.has(&from)) continue;
        number = origins_.number_of(&from);
        if (number == sums_.size()) sums_.push_back({from});
        last = from;
      }
      sum& all = sums_[number];
      all.seconds += weight * duration;
      saving = std::max(0.0, rule.root.empty() ? std::min(saving, duration) : saving);
      all.saving += weight * saving;
      if (time < type.columns.size() && rows[0][time] != 0) lost_.push_back({rows[0][time] - saving, rows[0][time], number});
      all.instances += weight;
      if (duration > all.longest) {
        all.longest = duration;
        all.row = row;
      }
    }
  }

  // What own events save is wall time: that in which any rank lost some.
  void join_lost_time() {
    base::small_stable_sort(lost_);
    for (std::size_t i = 0; i != lost_.size();) {
      const std::uint32_t number = lost_[i].sum;
      double all = 0, end = lost_[i].begin;
      for (; i != lost_.size() && lost_[i].sum == number; ++i) {
        all += std::max(0.0, lost_[i].end - std::max(end, lost_[i].begin));
        end = std::max(end, lost_[i].end);
      }
      sums_[number].saving = std::min(sums_[number].saving, all);
    }
  }

  static constexpr std::int64_t several = -2;
  static constexpr std::size_t most_findings = 10000;

  // Terminates because types are made of earlier types only; the depth limits shared members that form a diamond.
  void descend(std::uint32_t type_index, std::uint32_t row, origin& into, int depth) const {
    const event_table& table = store_.table(type_index);
    if (!table.actions.empty()) {
      into.add(table.actions[std::size_t(2) * row]);
      into.add(table.actions[std::size_t(2) * row + 1]);
    }
    if (type_index == wait_type_) into.wait = into.wait == -1 || into.wait == row ? static_cast<std::int64_t>(row) : several;
    const event_type& type = rules_.types[type_index];
    if (type.members.empty() || depth == 4) return;
    for (std::size_t m = 0; m < table.members_width; ++m) {
      const std::uint32_t member = table.members[row * table.members_width + m];
      const std::uint32_t member_type = type.members[type.source == event_source::gathered ? 0 : m].second;
      if (member != event_table::none) descend(member_type, member, into, depth + 1);
    }
  }

  static constexpr double least_saving = 0.01;  ///< of the run; what saves less is not worth reporting

  finding render(const origin& key, const sum& found) {
    const problem_rule& rule = rules_.problems[key.rule];
    finding out;
    out.problem = rule.name;
    out.rule = key.rule;
    out.seconds = found.seconds;
    out.saving = store_.run_time > 0 ? std::min(found.saving, store_.run_time) : found.saving;  // wall time
    out.instances = found.instances;
    out.wait = key.wait;
    const double whole = store_.location_time;
    out.share = whole > 0 ? found.seconds / whole : 0;
    // A child fires only under a parent that matters: the share of a wait is that of all its shapes.
    double parent = out.share;
    if (key.wait >= 0 && whole > 0) {
      const event_type& wait = rules_.types[wait_type_];
      const double* const row = store_.table(wait_type_).row(static_cast<std::uint32_t>(key.wait));
      parent = std::max(row[wait.find("duration")], row[wait.find("all_shapes")]) / whole;
    }
    out.matters = !(whole > 0) || parent >= (rule.threshold >= 0 ? rule.threshold : rules_.threshold);
    for (std::uint32_t i = 0; i < key.count; ++i) out.actions.push_back(action(store_.action_of(key.actions[i])));
    const double extras[] = {found.instances, found.seconds, out.share};
    const double* const* const rows = rows_of(rules_.types[rule.type], rule.type, found.row).data();
    out.description = text(rule.description, rows, extras);
    out.advice = text(rule.advice, rows, extras);
    out.verdict = text(rule.verdict, rows, extras);
    out.root = text(rule.root, rows, extras);
    const auto holds = [&](const program& condition) {
      double value = 0;
      return !condition.empty() && log_.value(condition, rows, extras, store_.texts(), value) && value != 0;
    };
    out.predicted = holds(rule.predicted);
    out.at_least = holds(rule.at_least);
    out.saves = rule.saving.empty() || found.saving >= least_saving * store_.run_time;
    return out;
  }
  std::string text(const program& p, const double* const* rows, const double* extras) {
    double number = 0;
    if (p.empty() || !log_.value(p, rows, extras, store_.texts(), number)) return {};
    return store_.texts()[number];
  }

  event_store& store_;
  const knowledge& rules_;
  trouble log_;
  std::uint32_t wait_type_;
  detail::distinct_rows origins_{sizeof(origin) / sizeof(std::uint64_t)};  ///< indices in `sums_`
  base::pod_vector<sum> sums_;
  base::pod_vector<lost_time> lost_;  ///< of own events
  base::pod_vector<const double*> rows_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
