#ifndef WHYWAIT_DATA_REPORT_COMMUNICATION_PAGE_HPP
#define WHYWAIT_DATA_REPORT_COMMUNICATION_PAGE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/report/communication_result.hpp>
#include <whywait/data/report/sharing_page.hpp>
#include <whywait/report/page/page_parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace data {
namespace detail {

inline void class_rows(const reports::page_context& p, const base::vector<communication_class>& all, std::size_t first,
                       std::size_t last) {
  reports::html_writer& out = p.out;
  double most = 0;
  for (const communication_class& c : all) most = std::max(most, static_cast<double>(c.bytes));
  out.put(
      "<div class=\"scroll\"><table class=\"classes\"><thead><tr><th scope=\"col\">data</th><th scope=\"col\">from, to</th><th "
      "scope=\"col\">why it was sent</th><th scope=\"col\">bytes</th><th scope=\"col\">transfers</th><th "
      "scope=\"col\">waiting</th></tr></thead><tbody>");
  for (std::size_t i = first; i != last; ++i) {
    const communication_class& c = all[i];
    out.put("<tr><th scope=\"row\"><code>$</code>", c.data);
    if (!c.region.empty()) out.put(" <small>$</small>", c.region);
    out.put("</th><td>");
    p.call(c.from);
    out.put("<br>");
    p.call(c.to);
    out.put("</td><td>$", c.why);
    for (const communication_problem_entry& problem : c.problems) {
      out.put("<p class=\"problem\">$ <b>Try</b> $", problem.text, problem.advice);
      if (problem.saving_seconds > 0)
        out.put(" <small>saves at most $ of the calls</small>", reports::as_time(problem.saving_seconds));
      out.put("</p>");
    }
    out.put(
        "</td><td class=\"n\">$<span class=\"track\" aria-hidden=\"true\"><i class=\"bar\" "
        "style=\"width:$\"></i></span></td><td class=\"n\">$</td><td class=\"n\">$</td></tr>",
        reports::as_figure(static_cast<double>(c.bytes), base::memory(c.bytes)),
        reports::as_width(most > 0 ? static_cast<double>(c.bytes) / most : 0), reports::as_count(c.count),
        reports::as_time(c.wait_seconds));
  }
  out.put("</tbody></table></div>");
}

inline void classes_section(const reports::page_context& p, const base::vector<communication_class>& all) {
  if (all.empty()) return;
  constexpr std::size_t few = 10;
  p.section("classes", "Why data was sent", "Transfers of the same data between the same calls, with the same history.");
  class_rows(p, all, 0, std::min(few, all.size()));
  if (all.size() > few) {
    p.out.put("<details><summary>$ more</summary>", static_cast<std::int64_t>(all.size() - few));
    class_rows(p, all, few, all.size());
    p.out.put("</details>");
  }
  p.end_section();
}

inline void arrays_section(const reports::page_context& p, const base::vector<array_placement>& all) {
  if (all.empty()) return;
  reports::html_writer& out = p.out;
  p.section("arrays", "Where data is", "How arrays are distributed, and the loops that read or update them.");
  out.put(
      "<div class=\"scroll\"><table class=\"arrays\"><thead><tr><th scope=\"col\">array</th><th "
      "scope=\"col\">distribution</th><th scope=\"col\">loop</th><th scope=\"col\">schedule</th><th "
      "scope=\"col\">access</th><th scope=\"col\">remote accesses</th></tr></thead><tbody>");
  for (const array_placement& a : all) {
    for (std::size_t i = 0; i < std::max<std::size_t>(1, a.uses.size()); ++i) {
      out.put("<tr><th scope=\"row\">");
      if (i == 0) out.put("<code>$</code>", a.data);
      out.put("</th><td>");
      if (i == 0) out.put("$", a.distribution);
      out.put("</td>");
      if (a.uses.empty()) {
        out.put("<td></td><td></td><td></td><td></td></tr>");
        continue;
      }
      const loop_use& u = a.uses[i];
      out.put("<td><code>$</code>", u.loop.name);
      p.code(u.loop);
      out.put("</td><td>$</td><td>$</td><td class=\"n\">", u.schedule, u.access);
      if (u.remote_share) {
        out.put("$<span class=\"track\" aria-hidden=\"true\"><i class=\"late\" style=\"width:$\"></i></span>",
                reports::as_figure(*u.remote_share, base::percent(*u.remote_share)), reports::as_width(*u.remote_share));
      }
      out.put("</td></tr>");
      if (u.better) out.put("<tr><td></td><td colspan=\"5\"><p class=\"problem\">$</p></td></tr>", u.better->text);
    }
  }
  out.put("</tbody></table></div>");
  p.end_section();
}

}  // namespace detail

/// The sections of the page about registered data.
inline void communication_page(const reports::page_context& p, const communication& all) {
  detail::classes_section(p, all.classes);
  detail::arrays_section(p, all.arrays);
  sharing_page(p, all.sharing);
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
