#ifndef WHYWAIT_RULES_GATHERER_HPP
#define WHYWAIT_RULES_GATHERER_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/rules/detail/distinct_rows.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/shared_value.hpp>
#include <whywait/rules/trouble.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Constructs the events of one rule that gathers: all events of its member type that pass the condition and have equal
/// keys form one event. Linear. An event stores only its first members (event_type::gathered_members).
class gatherer {
 public:
  gatherer(event_store& store, const composite_rule& rule, trouble& log)
      : store_(store), rule_(rule), log_(log), numbers_(rule.keys.size()) {}

  void build() {
    const event_type& type = store_.rules().types[rule_.type];
    const event_table& from = store_.table(type.members[0].second);
    const std::size_t aggregates = rule_.aggregates.size();
    base::pod_vector<double> values(aggregates), key(rule_.keys.size());
    base::vector<shared_value> sums;
    for (const aggregate& a : rule_.aggregates)
      sums.emplace_back(store_, type.members[0].second, a.value, std::size_t(0), std::size_t(1));
    for (std::uint32_t row = 0; row < from.rows; ++row) {
      const double* const rows[] = {from.row(row)};
      if (!log_.holds(rule_.steps[0].filter, rows, nullptr, store_.texts())) continue;
      bool good = true;
      for (std::size_t k = 0; k < rule_.keys.size() && good; ++k) {
        good = log_.value(rule_.keys[k], rows, nullptr, store_.texts(), key[k]);
        key[k] += 0.0;  // -0 and 0 are equal
      }
      for (std::size_t a = 0; a < aggregates && good; ++a)
        if (!rule_.aggregates[a].value.empty())
          good = log_.value(rule_.aggregates[a].value, rows, nullptr, store_.texts(), values[a]);
      if (!good) continue;
      const std::uint32_t number = numbers_.number_of(key.data());
      if (number == groups_.size()) {
        groups_.emplace_back();
        totals_.resize(totals_.size() + aggregates);
      }
      add(number, row, from.weight(row), values);
      for (std::size_t a = 0; a < aggregates; ++a)
        if (rule_.aggregates[a].kind == aggregate_kind::sum)
          totals_[number * aggregates + a] += sums[a].times(row, from.weight(row), number) * values[a];
    }
    for (std::uint32_t g = 0; g < groups_.size(); ++g) emit(from, g);
  }

 private:
  struct group {
    double weight = 0;
    std::uint32_t members[event_type::gathered_members];
    std::uint32_t member_count = 0;
  };

  void add(std::uint32_t number, std::uint32_t row, double weight, const base::pod_vector<double>& values) {
    group& g = groups_[number];
    const bool first = g.weight == 0;
    g.weight += weight;
    if (g.member_count < event_type::gathered_members) g.members[g.member_count++] = row;
    for (std::size_t a = 0; a < values.size(); ++a) {
      double& t = totals_[number * values.size() + a];
      switch (rule_.aggregates[a].kind) {
        case aggregate_kind::count: t += weight; break;
        case aggregate_kind::sum: break;  // added by the caller
        case aggregate_kind::mean: t += weight * values[a]; break;
        case aggregate_kind::least: t = first || values[a] < t ? values[a] : t; break;
        case aggregate_kind::most: t = first || values[a] > t ? values[a] : t; break;
        case aggregate_kind::distinct: {
          const double seen[] = {static_cast<double>(number), static_cast<double>(a), values[a] + 0.0};
          const std::uint32_t before = seen_.size();
          if (seen_.number_of(seen) == before) t += 1;
          break;
        }
      }
    }
  }

  void emit(const event_table& from, std::uint32_t number) {
    const group& g = groups_[number];
    const std::size_t aggregates = rule_.aggregates.size();
    base::pod_vector<double> extras(aggregates);
    for (std::size_t a = 0; a < aggregates; ++a) {
      extras[a] = totals_[number * aggregates + a];
      if (rule_.aggregates[a].kind == aggregate_kind::mean) extras[a] /= g.weight;
      if (!std::isfinite(extras[a])) {
        log_.report(code::overflow, rule_.aggregates[a].value.where, "this is too large to add up");
        return;
      }
    }
    event_table& out = store_.table(rule_.type);
    if (!store_.take_room(out)) {
      if (number + 1 == groups_.size())
        log_.report(code::too_many_events, rule_.steps[0].filter.where, "too many composite events: this rule stopped here");
      return;
    }
    const std::size_t begin = out.cells.size();
    out.cells.resize(begin + out.width);
    const double* const rows[] = {from.row(g.members[0]), out.cells.data() + begin};
    for (std::size_t v = 0; v < rule_.values.size(); ++v) {
      double value = 0;
      if (!log_.value(rule_.values[v], rows, extras.data(), store_.texts(), value)) {
        out.cells.resize(begin);
        return;
      }
      out.cells[begin + v] = value;
    }
    for (std::uint32_t m = 0; m < event_type::gathered_members; ++m)
      out.members.push_back(m < g.member_count ? g.members[m] : event_table::none);
    ++out.rows;
  }

  event_store& store_;
  const composite_rule& rule_;
  trouble& log_;
  detail::distinct_rows numbers_;  ///< indices in `groups_` by keys
  base::pod_vector<group> groups_;
  base::pod_vector<double> totals_;
  detail::distinct_rows seen_{3};  ///< values of distinct() by aggregate and group
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
