#ifndef WHYWAIT_REPORT_PAGE_PAGE_MAPS_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_MAPS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/explain/rank_rows.hpp>
#include <whywait/report/maps_json.hpp>
#include <whywait/report/page/page_parts.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

constexpr int heat_levels = 8;

/// The level of a share: 0 stays empty, and any time at all is level 1.
inline int heat_level(double share) noexcept {
  return share <= 0 ? 0 : std::min(heat_levels, 1 + static_cast<int>(share * heat_levels));
}

/// Cells of a grid as one path per level; neighbours in a row are joined.
template <class Level>
void heat_svg(html_writer& out, std::size_t columns, std::size_t rows, const Level& level, const std::string& label) {
  out.put("<svg viewBox=\"0 0 $ $\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"$\">",
          static_cast<std::int64_t>(columns), static_cast<std::int64_t>(rows), label);
  for (int l = 1; l <= heat_levels; ++l) {
    bool any = false;
    for (std::size_t y = 0; y != rows; ++y)
      for (std::size_t x = 0; x != columns;) {
        std::size_t end = x;
        while (end != columns && level(x, y) == l && level(end, y) == l) ++end;
        if (end == x) {
          ++x;
          continue;
        }
        if (!any) out.put("<path class=\"l$\" d=\"", l);
        any = true;
        out.put("M$ $h$v1h-$z", static_cast<std::int64_t>(x), static_cast<std::int64_t>(y), static_cast<std::int64_t>(end - x),
                static_cast<std::int64_t>(end - x));
        x = end;
      }
    if (any) out.put("\"/>");
  }
  out.put("</svg>");
}

inline void heat_scale(html_writer& out, const char* least, const char* most) {
  out.put("<p class=\"scale\">$<svg viewBox=\"0 0 8 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">", as_markup(least));
  for (int l = 1; l <= heat_levels; ++l) out.put("<path class=\"l$\" d=\"M$ 0h1v1h-1z\"/>", l, l - 1);
  out.put("</svg>$</p>", as_markup(most));
}

/// The time inside calls that is not waiting.
inline const char* calls_words() noexcept {
  return base::ranks_are_threads() ? "inside primitives, not waiting for a thread" : "inside MPI, not waiting";
}

/// Labels of the rows beside a map: at most nine.
inline void row_axis(html_writer& out, const explain::rank_rows& rows) {
  const std::int32_t count = rows.count(), step = std::max(1, (count + 7) / 8);
  out.put("<div class=\"yaxis\" aria-hidden=\"true\">");
  for (std::int32_t row = 0; row < count; row += step) {
    out.put("<span style=\"top:$\">$</span>", as_width((row + 0.5) / count), rows.first_rank(row));
  }
  out.put("</div>");
}

inline void time_axis(html_writer& out, double seconds) {
  out.put("<div class=\"xaxis\" aria-hidden=\"true\">");
  const base::duration_scale scale = base::scale_for(seconds);
  for (int i = 0; i <= 4; ++i) out.put("<span>$</span>", i == 0 ? std::string("0") : scale(seconds * i / 4));
  out.put("</div>");
}

/// The choice between several maps: radio buttons, which need no script.
inline void map_choice(html_writer& out, const char* group, std::size_t number, const std::string& label) {
  const std::string id = group + std::to_string(number);
  out.put("<input type=\"radio\" name=\"$\" id=\"$$<label for=\"$\">$</label>", as_markup(group), as_markup(id),
          as_markup(number == 0 ? "\" checked>" : "\">"), as_markup(id), as_markup(label));
}

inline double sum_of_series(const explain::run_maps& m, std::size_t series) {
  double sum = 0;
  for (std::size_t row = 0; row != m.rows(); ++row) {
    const explain::time_bins& bins = m.at(static_cast<std::int32_t>(row), series);
    for (std::size_t i = 0; i != bins.size(); ++i) sum += base::seconds_of(bins[i]);
  }
  return sum;
}

}  // namespace detail

/// Ranks by time: where each row of ranks waited, was inside MPI, ran each block.
inline void page_time_map(const page_context& p) {
  const explain::run_maps& m = p.r.maps.run;
  const std::size_t bins = detail::bins_of(m);
  if (m.ranks == 0 || bins == 0) return;
  html_writer& out = p.out;
  const explain::rank_rows rows(m.ranks);
  const std::string noun = base::rank_noun(), nouns = base::rank_nouns();
  std::string how = "Each row is a " + noun + ", from left to right the run. Colour is the share of time.";
  if (rows.each() > 1)
    how = "Each row is a group of " + base::counted(rows.each(), ("consecutive " + noun).c_str()) +
          ", from left to right the run. Colour is the share of their time. More than 64 " + nouns +
          " are grouped, all groups of the same size.";
  p.section("time", "When and where", how);
  out.put("<div class=\"maps\" data-map=\"time\">");
  struct series_name {
    std::size_t series;
    std::string label;
  };
  base::vector<series_name> all, shown;
  all.push_back({explain::run_maps::waiting, "waiting"});
  for (std::size_t b = 0; b != p.r.maps.blocks.size(); ++b) {
    const named_block& block = p.r.maps.blocks[b];
    all.push_back({explain::run_maps::first_block + b, html_text(base::shorten_middle(block.block, 48))});
  }
  all.push_back({explain::run_maps::other, "other code"});
  all.push_back({explain::run_maps::calls, detail::calls_words()});
  for (const series_name& s : all)
    if (detail::sum_of_series(m, s.series) > 0) shown.push_back(s);
  if (shown.empty()) shown.push_back(all[0]);
  std::size_t number = 0;
  for (const series_name& s : shown) {
    const double sum = detail::sum_of_series(m, s.series);
    detail::map_choice(out, "m", number++,
                       s.label + " <small>" + html_text(base::percent(p.share_of_rank_time(sum))) + "</small>");
  }
  const double bin_seconds = base::seconds_of(m.width_ns), length = bin_seconds * static_cast<double>(bins);
  out.put("<div class=\"grid\">");
  detail::row_axis(out, rows);
  out.put(
      "<div class=\"stacked\" tabindex=\"0\" role=\"group\" aria-label=\"Map; arrow keys move a cursor\" style=\"height:$px\">",
      std::max<std::int64_t>(64, std::min<std::int64_t>(384, rows.count() * 22)));
  number = 0;
  for (const series_name& s : shown) {
    out.put("<div class=\"pane\" id=\"p$\" data-kind=\"$\" data-series=\"$\">", static_cast<std::int64_t>(number++),
            as_markup(s.series == explain::run_maps::waiting ? "waiting"
                      : s.series == explain::run_maps::calls ? "calls"
                                                             : "code"),
            static_cast<std::int64_t>(s.series));
    const auto level = [&](std::size_t x, std::size_t y) {
      const auto row = static_cast<std::int32_t>(y);
      const double room = bin_seconds * static_cast<double>(rows.last_rank(row) - rows.first_rank(row) + 1);
      const double share = base::seconds_of(m.at(row, s.series)[x]) / room;
      return share < 0.005 ? 0 : detail::heat_level(share);
    };
    detail::heat_svg(out, bins, m.rows(), level, "share of time by " + noun + " and time");
    out.put("</div>");
  }
  out.put("</div>");
  detail::time_axis(out, length);
  out.put("</div>");
  detail::heat_scale(out, "little", "all of the time");
  out.put("<output class=\"readout\" aria-live=\"polite\"></output></div>");
  p.end_section();
}

namespace detail {

inline void matrix(const page_context& p, const base::pod_vector<explain::row_pair>& pairs, std::size_t kind,
                   const explain::rank_rows& rows, const char* down, const char* across) {
  html_writer& out = p.out;
  const auto size = static_cast<std::size_t>(rows.count());
  base::pod_vector<double> cells(size * size, 0);
  double most = 0, least = 1e300;
  for (const explain::row_pair& r : pairs) {
    const double v = kind == 0 ? base::seconds_of(r.amount) : static_cast<double>(kind == 1 ? r.count : r.amount);
    cells[static_cast<std::size_t>(r.from) * size + static_cast<std::size_t>(r.to)] = v;
    most = std::max(most, v);
    if (v > 0) least = std::min(least, v);
  }
  // numbers of messages and bytes differ by orders of magnitude
  const auto share = [&](double v) {
    if (v <= 0 || most <= 0) return 0.0;
    if (kind == 0 || most <= least) return v / most;
    return 0.15 + 0.85 * std::log(v / least) / std::log(most / least);
  };
  const auto words = [&](double v) {
    return kind == 0 ? base::duration(v, 2) : kind == 1 ? base::count(static_cast<std::int64_t>(v)) : base::memory(v);
  };
  out.put("<p class=\"axes\">down: $; across: $</p>", as_markup(down), as_markup(across));
  if (size <= 16) {
    out.put("<div class=\"scroll\"><table class=\"matrix\"><thead><tr><td></td>");
    for (std::size_t x = 0; x != size; ++x) out.put("<th scope=\"col\">$</th>", rows.first_rank(static_cast<std::int32_t>(x)));
    out.put("</tr></thead><tbody>");
    for (std::size_t y = 0; y != size; ++y) {
      out.put("<tr><th scope=\"row\">$</th>", rows.first_rank(static_cast<std::int32_t>(y)));
      for (std::size_t x = 0; x != size; ++x) {
        const double v = cells[y * size + x];
        out.put("<td class=\"l$\">", heat_level(share(v)));
        if (v > 0) out.put("$", as_figure(v, words(v)));
        out.put("</td>");
      }
      out.put("</tr>");
    }
    out.put("</tbody></table></div>");
    return;
  }
  out.put("<div class=\"grid square\">");
  row_axis(out, rows);
  out.put(
      "<div class=\"stacked\" tabindex=\"0\" role=\"group\" aria-label=\"Matrix; arrow keys move a cursor\" data-kind=\"$\">",
      static_cast<std::int64_t>(kind));
  heat_svg(
      out, size, size, [&](std::size_t x, std::size_t y) { return heat_level(share(cells[y * size + x])); },
      std::string(base::rank_nouns()) + " by " + base::rank_nouns());
  out.put("</div></div>");
}

}  // namespace detail

/// Ranks by ranks: waits, messages, bytes.
inline void page_matrix(const page_context& p) {
  const explain::run_maps& m = p.r.maps.run;
  if (m.ranks < 2 || (m.messages.empty() && m.waits.empty())) return;
  html_writer& out = p.out;
  const explain::rank_rows rows(m.ranks);
  const std::string nouns = base::rank_nouns();
  p.section("ranks", "Which " + nouns + " waited for which",
            rows.each() > 1 ? "Rows and columns are groups of " + base::count(rows.each()) + " consecutive " + nouns +
                                  ", named by the first."
                            : "Rows and columns are " + nouns + ".");
  out.put("<div class=\"maps\" data-map=\"ranks\">");
  const bool waits = !m.waits.empty(), messages = !m.messages.empty();
  std::size_t number = 0;
  if (waits) detail::map_choice(out, "x", number++, "waiting");
  if (messages) detail::map_choice(out, "x", number++, "messages");
  if (messages) detail::map_choice(out, "x", number++, "bytes");
  out.put("<div class=\"panes\">");
  number = 0;
  const auto pane = [&] { out.put("<div class=\"pane\" id=\"q$\">", static_cast<std::int64_t>(number++)); };
  if (waits) {
    pane();
    detail::matrix(p, m.waits, 0, rows, (nouns + " that waited").c_str(), (nouns + " that came late").c_str());
    out.put("</div>");
  }
  for (const std::size_t kind : {std::size_t(1), std::size_t(2)}) {
    if (!messages) break;
    pane();
    detail::matrix(p, m.messages, kind, rows, "senders", "receivers");
    out.put("</div>");
  }
  out.put("</div><output class=\"readout\" aria-live=\"polite\"></output></div>");
  p.end_section();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
