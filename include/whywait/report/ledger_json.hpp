#ifndef WHYWAIT_REPORT_LEDGER_JSON_HPP
#define WHYWAIT_REPORT_LEDGER_JSON_HPP

#include <whywait/report/json_place.hpp>
#include <whywait/report/not_understood.hpp>
#include <whywait/report/run_ledger.hpp>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

template <class Writer>
void write_range(Writer& out, const char* name, const efficiency_ranges::range& r) {
  out.key(name).begin_array();
  out.value(r.least).value(r.most);
  out.end_array();
}

/// Writes the members critical_path, efficiency, overhead, delay_costs and delay_sums; empty without clocks.
template <class Writer>
void write_ledger(Writer& out, const run_ledger& r, const efficiency_ranges* limits) {
  out.key("critical_path").begin_array();
  for (const critical_entry& e : r.critical_path) {
    write_block(out, e);
    out.member("seconds", e.seconds).member("imbalance_seconds", e.imbalance_seconds).member("visits", e.visits);
    if (e.saving_seconds) out.member("saving_seconds", *e.saving_seconds);
    out.end_object();
  }
  out.end_array().key("efficiency").begin_object();
  const explain::efficiencies& x = r.efficiency;
  if (x.parallel > 0) {
    out.member("parallel", x.parallel).member("load_balance", x.load_balance).member("communication", x.communication);
    out.member("serialisation", x.serialisation).member("transfer", x.transfer);
    if (x.files > 0 && x.files < 1) out.member("files", x.files);
    if (limits != nullptr) {
      write_range(out, "parallel_range", limits->parallel);
      write_range(out, "load_balance_range", limits->load_balance);
      write_range(out, "serialisation_range", limits->serialisation);
      write_range(out, "transfer_range", limits->transfer);
    }
    if (x.balance_between_nodes > 0)
      out.member("balance_in_nodes", x.balance_in_nodes).member("balance_between_nodes", x.balance_between_nodes);
    if (x.transfer_between_nodes > 0)
      out.member("transfer_in_nodes", x.transfer_in_nodes).member("transfer_between_nodes", x.transfer_between_nodes);
  }
  out.end_object().key("overhead").begin_object();
  if (r.seconds > 0) {
    const overhead_section& o = r.overhead;
    out.member("calibrated", o.calibrated).member("seconds", o.seconds).member("bound_seconds", o.bound_seconds);
    out.member("run_seconds", r.seconds).member("without_seconds", o.without_seconds);
    out.member("waiting_without_seconds", o.waiting_without_seconds).member("error_seconds", o.error_seconds);
    out.member("pause_seconds", o.pause_seconds).member("poll_seconds", o.poll_seconds).member("inversions", o.inversions);
  }
  out.end_object().key("delay_costs").begin_array();
  for (const delay_entry& e : r.delay_costs) {
    write_block(out, e);
    out.member("short_seconds", e.short_seconds).member("long_seconds", e.long_seconds).end_object();
  }
  out.end_array().key("delay_sums").begin_object();
  if (r.seconds > 0) {
    const delay_sums& d = r.delays;
    out.member("direct_seconds", d.direct_seconds).member("indirect_seconds", d.indirect_seconds);
    out.member("propagating_seconds", d.propagating_seconds).member("terminal_seconds", d.terminal_seconds);
    out.member("nobody_seconds", d.nobody_seconds);
  }
  out.end_object();
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
