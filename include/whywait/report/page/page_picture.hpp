#ifndef WHYWAIT_REPORT_PAGE_PAGE_PICTURE_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_PICTURE_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/page/page_parts.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

inline void picture_cell_html(const page_context& p, const picture_row& row, const std::optional<picture_cell>& c,
                              double longest, const char* side) {
  html_writer& out = p.out;
  out.put("<td class=\"side $\">", as_markup(side));
  if (c) {
    out.put("<div class=\"row\"><span style=\"padding-left:$em\">", std::min<std::int64_t>(row.depth, 8));
    if (c->continued) out.put("\xe2\x80\xa6 ");
    if (row.kind == "loop") {
      out.put("$ times", as_count(c->count));
    } else {
      if (c->count != 1) out.put("$ \xc3\x97 ", as_count(c->count));
      out.put("<code>");
      if (row.kind == "unmarked") out.put("unmarked code");
      else if (row.kind == "unordered") out.put("in an order not kept");
      else out.put("$", row.kind == "call" ? row.where.call : row.name);
      out.put("</code>");
      p.code(row.where);
    }
    if (c->unfinished) out.put(" \xe2\x80\xa6");
    out.put("</span>");
    if (row.kind != "step") out.put("$", as_time(c->seconds));
    out.put("</div>");
    if (row.kind != "step" && c->seconds >= 0.01 * longest)
      out.put("<span class=\"track\" aria-hidden=\"true\"><i class=\"own\" style=\"width:$\"></i></span>",
              as_width(c->seconds / longest));
  }
  out.put("</td>");
}

/// Whether a row explains anything: it differs, and is not much shorter than the longest.
inline bool rows_differ(const picture& p, const picture_row& row, double longest) noexcept {
  const auto time = [](const std::optional<picture_cell>& c) { return c ? c->seconds : 0; };
  if (row.kind != "loop" && row.kind != "step" && std::fmax(time(row.waiter), time(row.causer)) < 0.01 * longest) return false;
  return !row.waiter || !row.causer || row.waiter->count != row.causer->count ||
         std::fabs(row.waiter->seconds - row.causer->seconds) > 0.05 * p.waiter.seconds;
}

}  // namespace detail

/// The longest wait in the order of execution, what both ran at one place in one row; three or more rows that are alike or short are folded.
inline void picture_table(const page_context& p, const picture& shown) {
  html_writer& out = p.out;
  double longest = 0;
  for (const picture_row& row : shown.rows)
    for (const auto* c : {&row.waiter, &row.causer})
      if (*c) longest = std::fmax(longest, (*c)->seconds);
  const auto rank = [&](const location_seconds& l) {
    out.put("$", base::rank_text(l.rank));
    if (l.thread != 0) out.put(" thread $", l.thread);
  };
  out.put(
      "<div class=\"scroll\"><table class=\"picture\"><caption>The longest of these waits, in the order of "
      "execution</caption><thead><tr><th scope=\"col\" class=\"waiter\">");
  rank(shown.waiter);
  out.put(" <small>waited $</small></th><th scope=\"col\" class=\"late\">", as_time(shown.waiter.seconds));
  rank(shown.causer);
  out.put(" <small>came late</small></th></tr></thead>");
  for (std::size_t i = 0; i != shown.rows.size();) {
    std::size_t end = i;
    const bool differ = detail::rows_differ(shown, shown.rows[i], longest);
    while (end != shown.rows.size() && detail::rows_differ(shown, shown.rows[end], longest) == differ) ++end;
    const bool folded = !differ && end - i >= 3;
    out.put(
        "$",
        as_markup(
            folded
                ? "<tbody class=\"alike\"><tr class=\"fold\"><td colspan=\"2\"><button type=\"button\" aria-expanded=\"false\">"
                : "<tbody>"));
    if (folded) out.put("$ rows alike or short</button></td></tr>", static_cast<std::int64_t>(end - i));
    for (; i != end; ++i) {
      out.put("<tr>");
      detail::picture_cell_html(p, shown.rows[i], shown.rows[i].waiter, longest, "waiter");
      detail::picture_cell_html(p, shown.rows[i], shown.rows[i].causer, longest, "late");
      out.put("</tr>");
    }
    out.put("</tbody>");
  }
  out.put("</table></div>");
  if (shown.cut) out.put("<p class=\"how\">What ran before, or its order, was not kept.</p>");
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
