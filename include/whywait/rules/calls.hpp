#ifndef WHYWAIT_RULES_CALLS_HPP
#define WHYWAIT_RULES_CALLS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/rules/event_store.hpp>
#include <whywait/rules/fact_types.hpp>
#include <whywait/rules/trouble.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace rules {

/// Parameters of calls for tracing rules, in the order of `call_columns()`. Texts are numbers of the store's
/// text_pool.
enum class call_field : std::uint8_t {
  function,
  region,
  file,
  bytes,
  line,
  site,
  rank,
  thread,
  peer,
  source,
  destination,
  root,
  tag,
  communicator,
  size,
  duration,  ///< mean of the calls that the event stands for
  longest,
  count,     ///< number of these calls
  count_
};

/// The parameters of one kind of call.
struct call_values {
  double values[static_cast<std::size_t>(call_field::count_)] = {};
  double& operator[](call_field f) noexcept { return values[static_cast<std::size_t>(f)]; }
};

/// Converts calls to simple events by the tracing rules. About 50 ns per event. Not thread safe.
class call_feeder {
 public:
  call_feeder(event_store& store, trouble& log)
      : store_(store), log_(log), first_(static_cast<std::size_t>(core::mpi_call::count_), none) {
    const base::vector<simple_rule>& rules = store.rules().simples;
    for (auto i = static_cast<std::uint32_t>(rules.size()); i-- > 0;)
      for (const core::mpi_call function : rules[i].functions) {
        std::uint32_t& first = first_[static_cast<std::size_t>(function)];
        uses_.push_back({i, first});
        first = static_cast<std::uint32_t>(uses_.size() - 1);
      }
  }

  /// `weight`: the number of calls that this one represents. `place`: the action that findings name.
  void feed(core::mpi_call function, const call_values& call, std::uint32_t place = event_table::none, double weight = 1) {
    if (function >= core::mpi_call::count_) return;
    for (std::uint32_t use = first_[static_cast<std::size_t>(function)]; use != none; use = uses_[use].next) {
      const simple_rule& rule = store_.rules().simples[uses_[use].rule];
      const double* const rows[] = {call.values};
      values_.resize(rule.values.size());
      bool good = true;
      for (std::size_t v = 0; v < rule.values.size() && good; ++v)
        good = log_.value(rule.values[v], rows, nullptr, store_.texts(), values_[v]);
      if (!good) continue;
      const std::uint32_t row = store_.add_row(rule.type);
      if (row == event_table::none) return;
      event_table& table = store_.table(rule.type);
      for (std::size_t v = 0; v < values_.size(); ++v) table.cells[row * table.width + v] = values_[v];
      if (weight != 1) store_.set_weight(rule.type, row, weight);
      if (place != event_table::none) store_.set_actions(rule.type, row, place);
    }
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct use_of_call {
    std::uint32_t rule, next;
  };

  event_store& store_;
  trouble& log_;
  base::pod_vector<std::uint32_t> first_;  ///< index in `uses_` by call
  base::pod_vector<use_of_call> uses_;     ///< rules of each call, in order
  base::pod_vector<double> values_;
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
