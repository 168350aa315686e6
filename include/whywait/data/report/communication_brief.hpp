#ifndef WHYWAIT_DATA_REPORT_COMMUNICATION_BRIEF_HPP
#define WHYWAIT_DATA_REPORT_COMMUNICATION_BRIEF_HPP

#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/data/report/communication_result.hpp>

#include <cstddef>
#include <string>

namespace whywait {
inline namespace v0 {
namespace data {

/// The most important thing that is known about data, in at most two paragraphs: what can be changed for the largest saving, and
/// memory that threads or ranks share badly. Empty if there is no advice.
inline std::string communication_brief(const communication& c, std::size_t columns) {
  std::string what;
  double most = -1;
  const auto suggest = [&](const std::string& text, double saving) {
    if (text.empty() || saving <= most) return;
    most = saving;
    what = text + (saving > 0 ? " (at most " + base::duration(saving, 2) + " of rank time)" : "");  // in calls of all ranks
  };
  for (const communication_class& one : c.classes)
    for (const communication_problem_entry& p : one.problems)
      suggest("`" + one.data + "`: " + p.text + "; try: " + p.advice, p.saving_seconds);
  for (const array_placement& a : c.arrays)
    for (const loop_use& u : a.uses)
      if (u.better) suggest(u.better->text, u.better->saving_seconds);
  std::string out;
  if (!what.empty()) out += base::wrap(base::printable("data: " + what), columns, "  ", "    ");
  for (const sharing_entry& s : c.sharing) {
    if (s.advice.empty() || s.misses == 0) continue;
    out += base::wrap(
        base::printable("shared memory: `" + s.data + "`: " + s.pattern + " in " + base::counted(s.granules, "piece") + ", " +
                        base::counted(s.misses, "miss", "misses") + "; try: " + s.advice),
        columns, "  ", "    ");
    break;
  }
  return out;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
