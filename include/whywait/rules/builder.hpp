#ifndef WHYWAIT_RULES_BUILDER_HPP
#define WHYWAIT_RULES_BUILDER_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/join_index.hpp>
#include <whywait/rules/trouble.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Constructs the composite events of one rule that binds one event to each member. An event bound by a member that is
/// not `shared` is used at most once; of several candidates the earliest is bound. Near-linear: candidates come from
/// hash indices, and used events leave their index. Rejected candidates are counted; beyond 2^20 + 64 per event of the
/// store the rule stops (R062), so that no rule can take quadratic time at the end of a program.
class builder {
 public:
  builder(event_store& store, const composite_rule& rule, trouble& log) : store_(store), rule_(rule), log_(log) {}

  void build() {
    const event_type& type = store_.rules().types[rule_.type];
    for (const join_step& step : rule_.steps) {
      const std::uint32_t member_type = type.members[step.member].second;
      tables_.push_back(&store_.table(member_type));
      used_.emplace_back(rule_.shared[step.member] ? 0 : tables_.back()->rows, std::uint8_t{0});
    }
    for (std::size_t s = 1; s < rule_.steps.size(); ++s) {
      if (tables_[s]->rows == 0) return;
      indices_.emplace_back(*tables_[s], rule_.steps[s], store_.texts(), log_);
    }
    rows_.assign(type.members.size() + 1, nullptr);
    chosen_.assign(rule_.steps.size(), 0);
    budget_ = (std::uint64_t(1) << 20) + 64 * std::uint64_t(store_.plain_rows());
    const join_step& first = rule_.steps[0];
    for (std::uint32_t row = 0; row < tables_[0]->rows && !stopped_; ++row) {
      bind(0, row);
      if (log_.holds(first.filter, rows_.data(), nullptr, store_.texts())) extend(1);
    }
  }

 private:
  static constexpr std::size_t nobody = ~std::size_t(0);

  void bind(std::size_t step, std::uint32_t row) {
    chosen_[step] = row;
    rows_[rule_.steps[step].member] = tables_[step]->row(row);
  }

  /// Binds the steps from `step` on. Returns the step at which the search continues: a used event cannot be bound
  /// again, so later steps are finished.
  std::size_t extend(std::size_t step) {
    if (step == rule_.steps.size()) return emit();
    const join_step& s = rule_.steps[step];
    join_index& index = indices_[step - 1];
    double keys[join_index::most_keys];
    for (std::size_t k = 0; k < s.others.size(); ++k)
      if (!log_.value(s.others[k], rows_.data(), nullptr, store_.texts(), keys[k])) return step;
    const bool consumes = !used_[step].empty();
    std::uint32_t previous = event_table::none;
    for (std::uint32_t row = index.first(keys); row != event_table::none;) {
      const std::uint32_t next = index.next(row);
      if (consumes && used_[step][row] != 0) {  // used: leaves the chain
        index.unlink(keys, previous, row);
        row = next;
        continue;
      }
      previous = row;
      if (index.same(row, keys)) {
        bind(step, row);
        if (log_.holds(s.rest, rows_.data(), nullptr, store_.texts())) {
          const std::size_t back = extend(step + 1);
          if (back < step || stopped_) return back;
        }
      }
      if (--budget_ == 0)
        return stop(code::too_many_tries,
                    "the equalities of this composite event select too little: too many candidates were tried");
      row = next;
    }
    return step;
  }

  std::size_t stop(code number, const char* why) {
    log_.report(number, rule_.values.empty() ? rule_.steps[0].filter.where : rule_.values[0].where, why);
    stopped_ = true;
    return 0;
  }

  std::size_t emit() {
    event_table& out = store_.table(rule_.type);
    if (!store_.take_room(out)) return stop(code::too_many_events, "too many composite events: this rule stopped here");
    const std::size_t begin = out.cells.size();
    out.cells.resize(begin + out.width);
    rows_.back() = out.cells.data() + begin;
    for (std::size_t v = 0; v < rule_.values.size(); ++v) {
      double value = 0;
      if (!log_.value(rule_.values[v], rows_.data(), nullptr, store_.texts(), value)) {
        out.cells.resize(begin);  // an event whose parameters cannot be computed is dropped
        return rule_.steps.size();
      }
      out.cells[begin + v] = value;
    }
    double weight = 1;
    std::size_t earliest = rule_.steps.size();
    const std::size_t members = out.members.size();
    out.members.resize(members + rule_.steps.size());
    for (std::size_t s = 0; s < rule_.steps.size(); ++s) {
      out.members[members + rule_.steps[s].member] = chosen_[s];
      if (used_[s].empty()) continue;
      used_[s][chosen_[s]] = 1;
      weight = std::max(weight, tables_[s]->weight(chosen_[s]));
      earliest = std::min(earliest, s);
    }
    // The weight of an event with only shared members is the smallest weight of its members.
    if (earliest == rule_.steps.size()) {
      weight = tables_[0]->weight(chosen_[0]);
      for (std::size_t s = 1; s < rule_.steps.size(); ++s) weight = std::min(weight, tables_[s]->weight(chosen_[s]));
    }
    if (weight != 1 || !out.weights.empty()) {
      out.weights.resize(out.rows, 1.0);
      out.weights.push_back(weight);
    }
    ++out.rows;
    return earliest;
  }

  event_store& store_;
  const composite_rule& rule_;
  trouble& log_;
  base::pod_vector<event_table*> tables_;                ///< by step
  base::vector<base::pod_vector<unsigned char>> used_;    ///< by step; empty for shared members
  base::vector<join_index> indices_;                 ///< by step - 1
  base::pod_vector<const double*> rows_;
  base::pod_vector<std::uint32_t> chosen_;
  std::uint64_t budget_ = 0;
  bool stopped_ = false;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
