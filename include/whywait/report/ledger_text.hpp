#ifndef WHYWAIT_REPORT_LEDGER_TEXT_HPP
#define WHYWAIT_REPORT_LEDGER_TEXT_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/trust.hpp>

#include <cmath>
#include <cstddef>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// " × files 80 %" if calls on files make the run longer.
inline std::string files_text(const explain::efficiencies& e) {
  return e.files > 0 && e.files < 0.995 ? " × files " + base::percent(e.files) : std::string();
}

/// "efficiency 51 % = load balance 64 % × serialisation 88 % × transfer 91 %", the names of POP.
inline std::string efficiency_text(const explain::efficiencies& e) {
  const auto nodes = [](double within, double between) {
    if (!(between > 0 && between < 0.995)) return std::string();
    return " (in nodes " + base::percent(within) + " × between them " + base::percent(between) + ")";
  };
  return "efficiency " + base::percent(e.parallel) + " = load balance " + base::percent(e.load_balance) +
         nodes(e.balance_in_nodes, e.balance_between_nodes) + " × serialisation " + base::percent(e.serialisation) +
         files_text(e) + " × transfer " + base::percent(e.transfer) + nodes(e.transfer_in_nodes, e.transfer_between_nodes);
}

/// The same with limits: "transfer 61-93 %".
inline std::string efficiency_text(const explain::efficiencies& e, const efficiency_ranges& limits) {
  const auto words = [](const efficiency_ranges::range& r) {
    const std::string low = base::percent(r.least), high = base::percent(r.most);
    return low == high ? low : low.substr(0, low.find(' ')) + "-" + high;
  };
  return "efficiency " + words(limits.parallel) + " = load balance " + words(limits.load_balance) + " × serialisation " +
         words(limits.serialisation) + files_text(e) + " × transfer " + words(limits.transfer);
}

/// The efficiency of the run, or of the part of it that is explained.
inline std::string efficiency_words(const result& r) {
  const explain::efficiencies& e = r.ledger.efficiency;
  std::string text = is_weakened(r) ? efficiency_text(e, ranges_of(e, r.not_understood, r.ledger.seconds)) : efficiency_text(e);
  if (r.run.partly_explained()) text.insert(text.find(' '), " of what is explained:");
  return text;
}

/// The cost of measuring; empty if the cost of calls was not calibrated.
inline std::string overhead_text(const run_ledger& r) {
  const overhead_section& o = r.overhead;
  if (!o.calibrated || !(r.seconds > 0)) return {};
  const double most = o.most_seconds();
  const std::string bound = base::joined({"at most ", base::duration(most, 2), " (", base::percent(most / r.seconds), ")"});
  std::string parts;
  if (o.poll_seconds > 0.001 * r.seconds)
    parts += ", " + base::duration(o.poll_seconds, 2) + " of it in tests that found nothing";
  if (o.pause_seconds > 0.001 * r.seconds)
    parts +=
        base::joined({"; besides, the program stood still for ", base::duration(o.pause_seconds, 2), " in ",
                      base::counted(o.pauses, "pause"), " in which the run so far was explained: they are not part of the ",
                      base::duration(r.seconds), " of the run"});
  if (most < 0.01 * r.seconds) return "measuring made the run longer by " + bound + parts;
  std::string text = base::joined({"without measuring the run would have taken ", base::duration(o.without_seconds), " (± ",
                                   base::duration(o.error_seconds, 2), "), with ", base::duration(o.waiting_without_seconds),
                                   " of waiting: measuring took ", base::duration(o.seconds, 2), " on all ", base::rank_nouns(),
                                   " and made the run longer by ", bound, parts});
  if (o.inversions > 0)
    text += "; without it another message would have arrived first in " + base::counted(o.inversions, "call");
  return text;
}

/// Blocks whose share of the waiting differs between Scalasca's proportional delay costs and the explanations.
inline std::string delay_text(const run_ledger& r, const base::vector<wait_entry>& waits) {
  double all = 0;
  for (const delay_entry& d : r.delay_costs) all += d.short_seconds + d.long_seconds;
  std::string list;
  bool differ = false;
  for (const delay_entry& d : r.delay_costs) {
    const double cost = d.short_seconds + d.long_seconds;
    double explained = 0;
    for (const wait_entry& w : waits)
      for (const residual_entry& t : w.residual)
        if (t.total_ns > 0 && t.block == d.block && t.where.line == d.where.line && t.where.file == d.where.file)
          explained += t.seconds();
    differ = differ || std::fabs(cost - explained) > 0.1 * all;
    if (cost < 0.1 * all) continue;
    list += (list.empty() ? "" : ", ") + base::printable(d.block) + " " + base::duration(cost);
    if (d.long_seconds > 0.1 * cost) list += " (" + base::duration(d.long_seconds, 2) + " of it through others)";
  }
  if (!differ || list.empty()) return {};
  return "the same waiting by proportion (delay costs): " + list;
}

/// The blocks of the critical path: their time, the part above the mean of all locations, and the saving if they took
/// half the time. Empty without clocks.
inline std::string critical_path_text(const run_ledger& r, std::size_t columns) {
  constexpr std::size_t most_blocks = 5, label_columns = 34;
  const std::string margin(4, ' '), deeper(6, ' ');
  const base::duration_scale scale = base::scale_for(r.seconds);
  const auto line = [&](const std::string& label, const std::string& time, const std::string& above, const std::string& saved) {
    const std::string text = base::pad_right(label, deeper.size() + label_columns) + base::pad_left(time, 10) +
                             base::pad_left(above, 12) + base::pad_left(saved, 10);
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string out;
  double covered = 0;
  std::size_t shown = 0;
  for (const critical_entry& e : r.critical_path) {
    if (shown == most_blocks || e.seconds < 0.03 * r.seconds) break;
    base::vector<std::string> label = label_of(e, label_columns, columns - deeper.size());
    for (std::string& l : label) l.insert(0, deeper);
    if (base::display_width(label.back()) > deeper.size() + label_columns) label.push_back({});
    for (std::size_t i = 0; i + 1 < label.size(); ++i) out += label[i] + "\n";
    out += line(label.back(), scale(e.seconds), e.imbalance_seconds > 0.05 * e.seconds ? scale(e.imbalance_seconds) : "",
                !e.saving_seconds       ? ""
                : *e.saving_seconds > 0 ? scale(*e.saving_seconds)
                                        : "0 s");
    covered += e.seconds;
    ++shown;
  }
  if (shown == 0) return {};
  if (r.seconds - covered > 0.01 * r.seconds) out += line(deeper + "other code", scale(r.seconds - covered), "", "");
  return "\n" + line(margin + "critical path", scale(r.seconds), "above mean", "x2 saves") + out;
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
