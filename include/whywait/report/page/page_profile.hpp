#ifndef WHYWAIT_REPORT_PAGE_PAGE_PROFILE_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_PROFILE_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/page/page_parts.hpp>
#include <whywait/report/profile_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

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
      "</th><td class=\"n\">$</td><td class=\"n\">$</td><td class=\"n\">$</td><td class=\"n\">$ <small>$</small><span "
      "class=\"track\" aria-hidden=\"true\"><i class=\"code\" style=\"width:$\"></i></span></td><td class=\"n\">$</td>",
      as_count(r.visits), as_time(r.min_seconds), as_time(r.ranks > 0 ? r.seconds / static_cast<double>(r.ranks) : 0),
      as_time(r.max_seconds), base::rank_text(r.max_rank), as_width(longest > 0 ? r.max_seconds / longest : 0),
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

/// What all calls of one size class sent, by operation.
struct size_row {
  std::int64_t least_bytes = 0;
  std::int64_t end_bytes = 1;           ///< the first size of the next row
  std::int64_t counts[3] = {0, 0, 0};  ///< as in operations_of_sizes
  std::int64_t bytes = 0;
  std::int64_t count() const noexcept { return counts[0] + counts[1] + counts[2]; }
};
constexpr struct {
  const char *operation, *style, *words;
} operations_of_sizes[] = {{"send", "message", "messages"},
                           {"collective", "collective", "collective calls"},
                           {"transfer", "window", "one-sided transfers"}};

/// The size classes of all call sites, ascending; empty ones between them are one row.
inline base::vector<size_row> rows_of_sizes(const profile& all) {
  base::vector<size_row> rows;
  for (const traffic_entry& t : all.messages)
    for (std::size_t o = 0; o != 3; ++o) {
      if (std::string_view(t.operation) != operations_of_sizes[o].operation) continue;
      for (const size_class& s : t.sizes) {
        std::size_t at = 0;
        while (at != rows.size() && rows[at].least_bytes < s.least_bytes) ++at;
        if (at == rows.size() || rows[at].least_bytes != s.least_bytes) {
          size_row row;
          row.least_bytes = s.least_bytes;
          row.end_bytes = std::max<std::int64_t>(1, 2 * s.least_bytes);
          rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(at), row);
        }
        rows[at].counts[o] += s.count;
        rows[at].bytes += s.bytes;
      }
    }
  for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
    if (rows[i].end_bytes == rows[i + 1].least_bytes) continue;
    size_row row;
    row.least_bytes = rows[i].end_bytes;
    row.end_bytes = rows[i + 1].least_bytes;
    rows.insert(rows.begin() + static_cast<std::ptrdiff_t>(i + 1), row);
  }
  return rows;
}

/// "512 bytes", "2 KiB" of a power of two.
inline std::string power_words(std::int64_t bytes) {
  static const char* const units[] = {" KiB", " MiB", " GiB", " TiB"};
  if (bytes < 1024) return base::memory(bytes);
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit != 3; ++unit) bytes /= 1024;
  return std::to_string(bytes) + units[unit];
}

/// How many messages of which size were sent, and the bytes in them.
inline void size_histogram(const page_context& p) {
  const base::vector<size_row> rows = rows_of_sizes(p.r.profile);
  if (rows.empty()) return;
  html_writer& out = p.out;
  double most = 1, most_bytes = 1;
  bool used[3] = {false, false, false};
  for (const size_row& r : rows) {
    most = std::max(most, static_cast<double>(r.count()));
    most_bytes = std::max(most_bytes, static_cast<double>(r.bytes));
    for (std::size_t o = 0; o != 3; ++o) used[o] = used[o] || r.counts[o] > 0;
  }
  out.put("<h3>By size</h3><ul class=\"legend\">");
  for (std::size_t o = 0; o != 3; ++o)
    if (used[o])
      out.put("<li><i class=\"$\"></i>$</li>", as_markup(operations_of_sizes[o].style),
              as_markup(operations_of_sizes[o].words));
  out.put(
      "</ul><div class=\"scroll\"><table class=\"sizes\"><thead><tr><th scope=\"col\">each</th><th scope=\"col\">count</th><th "
      "scope=\"col\"></th><th scope=\"col\">bytes</th><th scope=\"col\"></th></tr></thead><tbody>");
  for (const size_row& r : rows) {
    out.put("<tr><th scope=\"row\">$</th><td class=\"n\">$</td><td><span class=\"track\">",
            r.end_bytes < 3 && r.end_bytes - r.least_bytes == 1
                ? power_words(r.least_bytes)
                : power_words(r.least_bytes) + " to " + power_words(r.end_bytes),
            base::count(r.count()));
    for (std::size_t o = 0; o != 3; ++o)
      if (r.counts[o] > 0)
        out.put("<i class=\"$\" style=\"width:$\"></i>", as_markup(operations_of_sizes[o].style),
                as_width(static_cast<double>(r.counts[o]) / most));
    out.put(
        "</span></td><td class=\"n\">$</td><td><span class=\"track\"><i class=\"rest\" style=\"width:$\"></i></span></td></tr>",
        base::memory(static_cast<double>(r.bytes)), as_width(static_cast<double>(r.bytes) / most_bytes));
  }
  out.put("</tbody></table></div>");
}

}  // namespace detail

/// Regions and messages in figures.
inline void page_profile(const page_context& p) {
  const profile& all = p.r.profile;
  html_writer& out = p.out;
  if (!all.regions.empty()) {
    double longest = 0;
    for (const region_entry& r : all.regions) longest = std::max(longest, r.max_seconds);
    p.section("regions", "Regions",
              "Each marked region from its begin to its end with everything inside: visits and time of all " +
                  std::string(base::rank_nouns()) +
                  " that ran it. Parallel efficiency is load balance \xc3\x97 communication efficiency, as TALP defines them.");
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
    detail::size_histogram(p);
    p.end_section();
  }
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
