#ifndef WHYWAIT_RULES_EVENT_STORE_HPP
#define WHYWAIT_RULES_EVENT_STORE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/finding.hpp>
#include <whywait/rules/knowledge.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// The events of one type; each is a row of eight-byte values.
struct event_table {
  static constexpr std::uint32_t none = 0xffffffff;
  std::size_t width = 0;         ///< values in a row
  std::size_t members_width = 0; ///< members in a row
  std::uint32_t rows = 0;
  base::pod_vector<double> cells;
  base::pod_vector<std::uint32_t> members;  ///< row of each member in the table of its type
  base::pod_vector<double> weights;         ///< number of real events per row; empty: one each
  base::pod_vector<std::uint32_t> actions;  ///< two per row, or `none`; empty: no row has actions

  const double* row(std::uint32_t index) const noexcept { return cells.data() + index * width; }
  double weight(std::uint32_t index) const noexcept { return weights.empty() ? 1.0 : weights[index]; }
};

/// The events that the rules evaluate. Not thread safe.
class event_store {
 public:
  static constexpr std::uint32_t most_rows = 1u << 26;  ///< rows of one type

  explicit event_store(const knowledge& known) : known_(&known), texts_(known.texts), tables_(known.types.size()) {
    for (std::size_t i = 0; i < tables_.size(); ++i) {
      tables_[i].width = known.types[i].columns.size();
      tables_[i].members_width = known.types[i].member_count();
    }
  }

  const knowledge& rules() const noexcept { return *known_; }
  text_pool& texts() noexcept { return texts_; }
  event_table& table(std::uint32_t type) noexcept { return tables_[type]; }
  const event_table& table(std::uint32_t type) const noexcept { return tables_[type]; }

  /// Time of all locations, the base of all shares; 0: unknown, and no threshold applies.
  double location_time = 0;
  double run_time = 0;  ///< of the longest location

  /// Memory budget of composite events in values, initially 512 MiB; it bounds rules over rules.
  std::size_t composite_cells = std::size_t(1) << 26;
  /// Charges one composite event; false if the budget is exhausted.
  bool take_room(const event_table& t) noexcept {
    const std::size_t cells = t.width + t.members_width + 1;
    if (t.rows >= most_rows || composite_cells < cells) return false;
    composite_cells -= cells;
    return true;
  }
  /// Number of events that are not composite.
  std::size_t plain_rows() const noexcept {
    std::size_t rows = 0;
    for (std::size_t i = 0; i < tables_.size(); ++i)
      if (known_->types[i].members.empty()) rows += tables_[i].rows;
    return rows;
  }

  [[gnu::noinline]] std::uint32_t add_action(action a) {
    const auto found = std::lower_bound(by_action_.begin(), by_action_.end(), a,
                                        [this](std::uint32_t x, const action& y) { return actions_[x] < y; });
    if (found != by_action_.end() && !(a < actions_[*found])) return *found;
    const auto number = static_cast<std::uint32_t>(actions_.size());
    by_action_.insert(found, number);
    actions_.push_back(std::move(a));
    return number;
  }
  const action& action_of(std::uint32_t number) const noexcept { return actions_[number]; }

  /// Adds a row of zeros and empty texts; returns event_table::none beyond `most_rows`.
  std::uint32_t add_row(std::uint32_t type) {
    event_table& t = tables_[type];
    if (t.rows >= most_rows) return event_table::none;
    t.cells.resize(t.cells.size() + t.width, 0.0);
    if (!t.weights.empty()) t.weights.push_back(1.0);
    if (!t.actions.empty()) t.actions.resize(t.actions.size() + 2, event_table::none);
    return t.rows++;
  }
  void set_weight(std::uint32_t type, std::uint32_t row, double weight) {
    event_table& t = tables_[type];
    if (t.weights.empty()) t.weights.resize(t.rows, 1.0);
    t.weights[row] = weight;
  }
  void set_actions(std::uint32_t type, std::uint32_t row, std::uint32_t first, std::uint32_t second = event_table::none) {
    event_table& t = tables_[type];
    if (t.actions.empty()) t.actions.resize(std::size_t(2) * t.rows, event_table::none);
    t.actions[std::size_t(2) * row] = first;
    t.actions[std::size_t(2) * row + 1] = second;
  }

 private:
  const knowledge* known_;
  text_pool texts_;
  base::vector<event_table> tables_;
  base::vector<action> actions_;
  base::pod_vector<std::uint32_t> by_action_;  ///< sorted
};

/// Writes one row by parameter name: `row_writer(store, "lock").set("utilisation", 0.9)`. Meant for facts, which are
/// few. Unknown types and parameters, and values of another type, are ignored, because rules may redeclare own events.
class row_writer {
 public:
  row_writer(event_store& store, std::string_view type_name) : store_(&store), type_(store.rules().find(type_name)) {
    if (type_ != knowledge::none) row_ = store.add_row(type_);
  }

  [[gnu::noinline]] row_writer& set(const char* name, double value) { return put(name, type::kind::number, value); }
  [[gnu::noinline]] row_writer& set(const char* name, bool value) { return put(name, type::kind::boolean, value ? 1.0 : 0.0); }
  [[gnu::noinline]] row_writer& set(const char* name, std::string_view value) {
    const std::uint32_t number = store_->texts().intern(value);
    return put(name, type::kind::text, number == text_pool::none ? 0 : number);
  }
  [[gnu::noinline]] row_writer& set(const char* name, const char* value) { return set(name, std::string_view(value)); }
  [[gnu::noinline]] row_writer& set(const char* name, const std::string& value) { return set(name, std::string_view(value)); }
  template <class Integer>
  row_writer& set(const char* name, Integer value) {
    return count(name, static_cast<std::int64_t>(value));
  }
  /// A number of seconds.
  [[gnu::noinline]] row_writer& time(const char* name, std::int64_t ns) {
    return put(name, type::kind::number, static_cast<double>(ns) / 1e9);
  }
  row_writer& weight(double value) {
    if (good()) store_->set_weight(type_, row_, value);
    return *this;
  }
  row_writer& actions(std::uint32_t first, std::uint32_t second = event_table::none) {
    if (good()) store_->set_actions(type_, row_, first, second);
    return *this;
  }
  bool good() const noexcept { return type_ != knowledge::none && row_ != event_table::none; }

 private:
  [[gnu::noinline]] row_writer& count(const char* name, std::int64_t value) {
    return put(name, type::kind::number, static_cast<double>(value));
  }
  [[gnu::noinline]] row_writer& put(const char* name, type::kind what, double value) {
    if (!good()) return *this;
    const event_type& t = store_->rules().types[type_];
    const std::size_t c = t.find(name);
    if (c != t.columns.size() && t.columns[c].what.is(what) && value - value == 0)  // finite
      store_->table(type_).cells[row_ * store_->table(type_).width + c] = value;
    return *this;
  }

  event_store* store_;
  std::uint32_t type_;
  std::uint32_t row_ = event_table::none;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
