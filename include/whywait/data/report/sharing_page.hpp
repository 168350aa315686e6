#ifndef WHYWAIT_DATA_REPORT_SHARING_PAGE_HPP
#define WHYWAIT_DATA_REPORT_SHARING_PAGE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/report/communication_result.hpp>
#include <whywait/data/report/sharing_table.hpp>
#include <whywait/report/page/page_parts.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace data {
namespace detail {

/// The graph of figure 3 of the Carnival paper: misses on a circle, arrows as thick as they are frequent.
inline void sharing_graph(reports::html_writer& out, const sharing_entry& s, const base::pod_vector<std::size_t>& shown) {
  constexpr double pi = 3.14159265358979, radius = 88, middle_x = 220, middle_y = 125, node = 15;
  const auto count = static_cast<double>(shown.size());
  const auto x = [&](std::size_t k) { return middle_x + 1.55 * radius * std::sin(2 * pi * static_cast<double>(k) / count); };
  const auto y = [&](std::size_t k) { return middle_y - radius * std::cos(2 * pi * static_cast<double>(k) / count); };
  const auto put = [&out](double v) { out.put("$ ", static_cast<std::int64_t>(std::lround(v))); };
  out.put(
      "<svg class=\"graph\" viewBox=\"0 0 440 250\" width=\"440\" height=\"250\" role=\"img\" aria-label=\"Misses and how "
      "often one follows on another\">");
  for (const sharing_transition& t : s.transitions) {
    const auto place = [&](std::int64_t n) {
      return static_cast<std::size_t>(std::find(shown.begin(), shown.end(), static_cast<std::size_t>(n)) - shown.begin());
    };
    const std::size_t from = place(t.from), to = place(t.to);
    if (from == shown.size() || to == shown.size() || t.count == 0) continue;
    out.put("<path class=\"edge\" marker-end=\"url(#tip)\" stroke-width=\"$\" d=\"M", 1 + std::lround(4 * t.share));
    if (from == to) {  // a loop outside of the circle
      const double side = x(from) >= middle_x ? 1 : -1;
      put(x(from) + side * node * 0.8);
      put(y(from) - node * 0.7);
      out.put("c");
      put(side * 30);
      put(-22);
      put(side * 30);
      put(34);
      put(side * 3);
      put(node * 1.3);
    } else {
      const double dx = x(to) - x(from), dy = y(to) - y(from), length = std::hypot(dx, dy), bend = 0.16;
      put(x(from) + dx / length * node);
      put(y(from) + dy / length * node);
      out.put("Q");
      put((x(from) + x(to)) / 2 - dy * bend);
      put((y(from) + y(to)) / 2 + dx * bend);
      put(x(to) - (dx / length - dy / length * bend) * (node + 3));
      put(y(to) - (dy / length + dx / length * bend) * (node + 3));
    }
    out.put("\"/>");
  }
  for (std::size_t k = 0; k != shown.size(); ++k) {
    out.put("<circle class=\"node\" r=\"15\" cx=\"");
    put(x(k));
    out.put("\" cy=\"");
    put(y(k));
    out.put("\"/><text text-anchor=\"middle\" dy=\".35em\" x=\"");
    put(x(k));
    out.put("\" y=\"");
    put(y(k));
    out.put("\">$</text>", static_cast<std::int64_t>(k + 1));
  }
  out.put("</svg>");
}

inline void sharing_nodes(reports::html_writer& out, const sharing_entry& s, const base::pod_vector<std::size_t>& shown) {
  out.put(
      "<div class=\"scroll\"><table class=\"nodes\"><thead><tr><th scope=\"col\">#</th><th scope=\"col\">asked for at "
      "(R)</th><th scope=\"col\">made invalid by (I)</th><th scope=\"col\">written at (W)</th><th scope=\"col\">read "
      "by</th><th scope=\"col\">written by</th></tr></thead><tbody>");
  for (std::size_t k = 0; k != shown.size(); ++k) {
    const sharing_miss& n = s.nodes[shown[k]];
    out.put("<tr><th scope=\"row\">$</th><td>$</td><td>$</td><td>", static_cast<std::int64_t>(k + 1), n.request,
            n.invalidation.empty() ? "first use" : n.invalidation);
    for (std::size_t w = 0; w != n.writes.size(); ++w) out.put("$$", reports::as_markup(w == 0 ? "" : "<br>"), n.writes[w]);
    out.put("</td><td>$</td><td>$</td></tr>", n.readers.empty() ? std::string() : who_text(s.who, n.readers),
            n.writers.empty() ? std::string() : who_text(s.who, n.writers));
  }
  out.put("</tbody></table></div>");
}

inline void sharing_matrix(reports::html_writer& out, const sharing_entry& s, const base::pod_vector<std::size_t>& shown) {
  out.put("<div class=\"scroll\"><table class=\"matrix\"><thead><tr><td></td>");
  for (std::size_t k = 0; k != shown.size(); ++k) out.put("<th scope=\"col\">$</th>", static_cast<std::int64_t>(k + 1));
  out.put("</tr></thead><tbody>");
  for (std::size_t row = 0; row != shown.size() + 1; ++row) {
    const auto from = static_cast<std::int64_t>(row == 0 ? 0 : shown[row - 1]);
    out.put("<tr><th scope=\"row\">");
    if (row == 0) out.put("first use");
    else out.put("$", static_cast<std::int64_t>(row));
    out.put("</th>");
    for (const std::size_t to : shown) {
      const sharing_transition* found = nullptr;
      for (const sharing_transition& t : s.transitions)
        if (t.from == from && t.to == static_cast<std::int64_t>(to) && t.count != 0) found = &t;
      out.put("<td class=\"l$\">", found != nullptr ? std::min<std::int64_t>(8, 1 + std::lround(7 * found->share)) : 0);
      if (found != nullptr) out.put("$", reports::as_figure(found->share, base::fixed(found->share, 2)));
      out.put("</td>");
    }
    out.put("</tr>");
  }
  out.put("</tbody></table></div>");
}

}  // namespace detail

/// Shared memory: pieces that are shared alike, their graph and its table.
inline void sharing_page(const reports::page_context& p, const base::vector<sharing_entry>& all) {
  if (all.empty()) return;
  constexpr std::size_t open = 3, most_nodes = 8;
  reports::html_writer& out = p.out;
  p.section("sharing", "Shared memory",
            "Groups of pieces of arrays that are shared alike. A miss is an access without a valid copy.");
  out.put(
      "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs><marker id=\"tip\" viewBox=\"0 0 8 8\" "
      "refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path "
      "class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs></svg>");
  for (std::size_t i = 0; i != all.size(); ++i) {
    const sharing_entry& s = all[i];
    const base::pod_vector<std::size_t> shown = detail::frequent_misses(s, most_nodes);
    out.put("$<summary><code>$</code>: $, $$$$$</summary>",
            reports::as_markup(i < open && shown.size() > 1 ? "<details open>" : "<details>"), s.data, s.pattern,
            reports::as_count(s.misses), reports::as_markup(s.misses == 1 ? " miss in " : " misses in "),
            reports::as_count(s.granules), reports::as_markup(s.granules == 1 ? " piece of " : " pieces of "),
            base::memory(s.granule_bytes));
    if (!s.advice.empty()) out.put("<p class=\"problem\"><b>Try</b> $</p>", s.advice);
    if (!shown.empty()) detail::sharing_nodes(out, s, shown);
    if (shown.size() > 1) {
      out.put("<p class=\"how\">How often a miss (across) follows on writes made at another (down).</p><div class=\"pair\">");
      detail::sharing_matrix(out, s, shown);
      detail::sharing_graph(out, s, shown);
      out.put("</div>");
    }
    if (shown.size() + 1 < s.nodes.size())
      out.put("<p class=\"how\">$ rarer misses are in the JSON file.</p>",
              static_cast<std::int64_t>(s.nodes.size() - 1 - shown.size()));
    out.put("</details>");
  }
  p.end_section();
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
