#ifndef WHYWAIT_REPORT_PAGE_PAGE_PROFILE_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_PROFILE_HPP

#include <whywait/base/units.hpp>
#include <whywait/report/page/page_parts.hpp>
#include <whywait/report/profile_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

constexpr std::size_t shown_rows = 10;  ///< of a table; the others are folded

/// A table whose rows after the first ones are folded. `row(i)` writes a row.
template <class Row>
void folded_table(html_writer& out, const char* name, const char* head, std::size_t rows, const Row& row) {
  const auto part = [&](std::size_t from, std::size_t to) {
    out.put("<div class=\"scroll\"><table class=\"$\"><thead><tr>$</tr></thead><tbody>", as_markup(name), as_markup(head));
    for (std::size_t i = from; i != to; ++i) row(i);
    out.put("</tbody></table></div>");
  };
  const std::size_t first = rows <= shown_rows + 2 ? rows : shown_rows;
  part(0, first);
  if (first == rows) return;
  out.put("<details><summary>$ more</summary>", static_cast<std::int64_t>(rows - first));
  part(first, rows);
  out.put("</details>");
}

inline void region_row(const page_context& p, const region_entry& r, double longest) {
  html_writer& out = p.out;
  out.put("<tr><th scope=\"row\"><code>$</code>", r.where.name);
  p.code(r.where);
  if (r.recursive) out.put(" <small>inside itself: without other regions inside it</small>");
  if (r.threads > 1) out.put(" <small>$ threads of a rank, added up</small>", as_count(r.threads));
  out.put(
      "</th><td class=\"n\">$</td><td class=\"n\">$</td><td class=\"n\">$</td><td class=\"n\">$ <small>rank $</small><span "
      "class=\"track\" aria-hidden=\"true\"><i class=\"code\" style=\"width:$\"></i></span></td><td class=\"n\">$</td>",
      as_count(r.visits), as_time(r.min_seconds), as_time(r.ranks > 0 ? r.seconds / static_cast<double>(r.ranks) : 0),
      as_time(r.max_seconds), r.max_rank, as_width(longest > 0 ? r.max_seconds / longest : 0),
      base::percent(r.seconds > 0 ? r.mpi_seconds / r.seconds : 0));
  if (r.efficiency)
    out.put("<td class=\"n\">$ <small>= $ \xc3\x97 $</small></td></tr>",
            as_figure(r.efficiency->parallel, base::percent(r.efficiency->parallel)),
            as_figure(r.efficiency->load_balance, base::percent(r.efficiency->load_balance)),
            as_figure(r.efficiency->communication, base::percent(r.efficiency->communication)));
  else out.put("<td></td></tr>");
}

inline void message_row(const page_context& p, const traffic_entry& t) {
  html_writer& out = p.out;
  const std::string operation = t.operation;
  out.put("<tr><th scope=\"row\">");
  p.call(t.where);
  out.put("</th><td>$ $</td><td class=\"n\">$</td>",
          as_markup(operation == "receive"    ? "from"
                    : operation == "transfer" ? "moves data to or from"
                    : operation == "send"     ? "to"
                                              : "among ranks of"),
          peers_words(t.peers), as_count(t.count));
  if (operation == "receive") {  // how much was received is not known
    out.put("<td></td><td></td>");
  } else {
    out.put("<td class=\"n\"><data value=\"$\">$</data></td>", t.bytes, base::memory(static_cast<double>(t.bytes)));
    out.put("<td class=\"n\"><data value=\"$\">$</data>", t.least_bytes, base::memory(static_cast<double>(t.least_bytes)));
    if (t.most_bytes != t.least_bytes)
      out.put(" to <data value=\"$\">$</data>", t.most_bytes, base::memory(static_cast<double>(t.most_bytes)));
    out.put("</td>");
  }
  out.put("<td class=\"n\">$</td></tr>", as_time(t.seconds));
}

}  // namespace detail

/// Regions and messages in figures.
inline void page_profile(const page_context& p) {
  const profile& all = p.r.profile;
  html_writer& out = p.out;
  if (!all.regions.empty()) {
    double longest = 0;
    for (const region_entry& r : all.regions) longest = std::max(longest, r.max_seconds);
    p.section(
        "regions", "Regions",
        "Each marked region from its begin to its end with everything inside: visits of all ranks, time of the ranks that "
        "ran it. Parallel efficiency is load balance \xc3\x97 communication efficiency, as TALP defines them.");
    detail::folded_table(out, "regions",
                         "<th scope=\"col\">region</th><th scope=\"col\" class=\"n\">visits</th><th scope=\"col\" "
                         "class=\"n\">shortest</th><th scope=\"col\" class=\"n\">mean</th><th scope=\"col\" "
                         "class=\"n\">longest</th><th scope=\"col\" class=\"n\">in MPI</th><th scope=\"col\" "
                         "class=\"n\">efficiency</th>",
                         all.regions.size(), [&](std::size_t i) { detail::region_row(p, all.regions[i], longest); });
    if (all.omitted_regions > 0)
      out.put("<p class=\"how\">$ regions are left out, because there are too many names.</p>", as_count(all.omitted_regions));
    p.end_section();
  }
  if (!all.messages.empty()) {
    p.section(
        "messages", "Messages",
        "By call site and where they go. Of collectives the bytes that ranks contribute. Nonblocking messages are completed "
        "in other calls, whose time is not included.");
    detail::folded_table(out, "messages",
                         "<th scope=\"col\">call</th><th scope=\"col\">peers</th><th scope=\"col\" class=\"n\">count</th><th "
                         "scope=\"col\" class=\"n\">bytes</th><th scope=\"col\" class=\"n\">each</th><th scope=\"col\" "
                         "class=\"n\">time in the calls</th>",
                         all.messages.size(), [&](std::size_t i) { detail::message_row(p, all.messages[i]); });
    if (all.omitted_messages > 0)
      out.put("<p class=\"how\">$ call sites are left out, because there are too many.</p>", as_count(all.omitted_messages));
    p.end_section();
  }
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
