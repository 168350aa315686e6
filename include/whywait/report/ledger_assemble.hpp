#ifndef WHYWAIT_REPORT_LEDGER_ASSEMBLE_HPP
#define WHYWAIT_REPORT_LEDGER_ASSEMBLE_HPP

#include <whywait/base/units.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/name_resolver.hpp>
#include <whywait/report/run_ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Time that the run would save if `block` took half the time; empty if the question was not asked.
inline std::optional<double> saving_of(const explain::outcome& found, core::stable_key block) {
  for (const explain::what_if_answer& a : found.savings)
    if (a.question.changes[0].block == block) return base::seconds_of(a.saving_ns);
  return {};
}

inline void list_critical_path(const explain::outcome& found, const name_resolver& resolve, run_ledger& out) {
  explain::critical_block others;
  for (const explain::critical_block& c : found.critical_path) {
    if (c.ns == 0) continue;  // untimed
    if (out.critical_path.size() == explain::most_listed_blocks) {
      others.ns += c.ns;
      others.imbalance_ns += c.imbalance_ns;
      others.visits += c.visits;
      continue;
    }
    out.critical_path.emplace_back();
    critical_entry& e = out.critical_path.back();
    resolve.describe(c.block, 0, e);
    e.seconds = base::seconds_of(c.ns);
    e.imbalance_seconds = base::seconds_of(c.imbalance_ns);
    e.visits = c.visits;
    e.saving_seconds = saving_of(found, c.block);
  }
  if (others.ns == 0) return;
  out.critical_path.emplace_back();
  critical_entry& e = out.critical_path.back();
  resolve.rest(e);
  e.seconds = base::seconds_of(others.ns);
  e.imbalance_seconds = base::seconds_of(others.imbalance_ns);
  e.visits = others.visits;
}

inline void list_delay_costs(const explain::delay_costs& costs, const name_resolver& resolve, run_ledger& out) {
  explain::delay_cost others;
  for (const explain::delay_cost& c : costs.blocks) {
    if (c.short_ns == 0 && c.long_ns == 0) continue;
    if (out.delay_costs.size() == explain::most_listed_blocks) {
      others.short_ns += c.short_ns;
      others.long_ns += c.long_ns;
      continue;
    }
    out.delay_costs.emplace_back();
    delay_entry& e = out.delay_costs.back();
    resolve.describe(c.block, 0, e);
    e.short_seconds = base::seconds_of(c.short_ns);
    e.long_seconds = base::seconds_of(c.long_ns);
  }
  if (others.short_ns == 0 && others.long_ns == 0) return;
  out.delay_costs.emplace_back();
  delay_entry& e = out.delay_costs.back();
  resolve.rest(e);
  e.short_seconds = base::seconds_of(others.short_ns);
  e.long_seconds = base::seconds_of(others.long_ns);
}

/// The results of the virtual clocks of an outcome, with seconds and names.
inline run_ledger ledger_of(const explain::outcome& found, const name_resolver& resolve) {
  run_ledger out;
  out.seconds = base::seconds_of(found.total_ns);
  out.efficiency = found.efficiency;
  const explain::compensation& without = found.without_overhead;
  out.overhead = {without.calibrated,
                  base::seconds_of(without.overhead_ns),
                  base::seconds_of(without.bound_ns),
                  base::seconds_of(without.total_ns),
                  base::seconds_of(without.waiting_ns),
                  base::seconds_of(without.error_ns),
                  0,
                  0,
                  without.inversions};
  list_critical_path(found, resolve, out);
  list_delay_costs(found.costs, resolve, out);
  out.delays = {base::seconds_of(found.costs.direct_ns), base::seconds_of(found.costs.indirect_ns),
                base::seconds_of(found.costs.propagating_ns), base::seconds_of(found.costs.terminal_ns),
                base::seconds_of(found.costs.nobody_ns)};
  return out;
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
