#ifndef WHYWAIT_REPORT_PAGE_PAGE_WAITS_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_WAITS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/page/page_parts.hpp>
#include <whywait/report/page/page_wait.hpp>
#include <whywait/report/page/treemap.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// The waits of one operation.
struct operation_group {
  const base::place* operation = nullptr;
  double seconds = 0;
  base::pod_vector<std::size_t> waits;  ///< indices in result::waits
};

inline base::vector<operation_group> by_operation(const base::vector<wait_entry>& waits) {
  base::vector<operation_group> groups;
  for (std::size_t w = 0; w != waits.size(); ++w) {
    if (waits[w].seconds <= 0) continue;
    std::size_t at = 0;
    while (at != groups.size() && !(*groups[at].operation == waits[w].operation)) ++at;
    if (at == groups.size()) {
      groups.emplace_back();
      groups.back().operation = &waits[w].operation;
    }
    groups[at].seconds += waits[w].seconds;
    groups[at].waits.push_back(w);
  }
  base::small_stable_sort(groups, [](const operation_group& a, const operation_group& b) { return a.seconds > b.seconds; });
  return groups;
}

inline void place_tile(html_writer& out, const map_tile& t) {
  out.put(" style=\"left:$;top:$;width:$;height:$\"", as_width(t.x), as_width(t.y), as_width(t.width), as_width(t.height));
}

/// How many of the elements, which descend, get a tile of their own: at most `most`, and at least 1 % of all.
template <class Size>
std::size_t tiles_of(std::size_t count, std::size_t most, const Size& size) {
  double all = 0;
  for (std::size_t i = 0; i != count; ++i) all += size(i);
  std::size_t own = 0;
  while (own != count && own != most && size(own) >= 0.01 * all) ++own;
  return own + 1 == count ? count : own;  // a rest of one is not joined
}

/// The sizes of the first `own` elements, and of the rest as one.
template <class Size>
base::pod_vector<double> tile_sizes(std::size_t count, std::size_t own, const Size& size) {
  base::pod_vector<double> sizes;
  for (std::size_t i = 0; i != count; ++i) {
    if (i <= own) sizes.push_back(size(i));
    else sizes.back() += size(i);
  }
  return sizes;
}

inline void operation_tile(const page_context& p, const operation_group& g, const map_tile& room) {
  const auto seconds_of = [&](std::size_t i) { return p.r.waits[g.waits[i]].seconds; };
  const std::size_t most = tiles_of(g.waits.size(), 12, seconds_of);
  html_writer& out = p.out;
  out.put("<div class=\"op\"");
  place_tile(out, room);
  const std::string name = call_text(*g.operation);
  out.put("><p title=\"$\">$ <b>$</b></p><div>", name, name, base::duration(g.seconds));
  const base::pod_vector<double> sizes = tile_sizes(g.waits.size(), most, seconds_of);
  // tiles are as square as the room is after its heading, about 2.2 times as wide as high on a screen
  const double wide = room.width * 2.2, high = std::max(room.height - 0.06, room.height * 0.5);
  base::pod_vector<map_tile> tiles = squarified(sizes, {0, 0, wide, high});
  for (std::size_t i = 0; i != tiles.size(); ++i) {
    const map_tile t{tiles[i].x / wide, tiles[i].y / high, tiles[i].width / wide, tiles[i].height / high};
    if (i == most) {
      out.put("<a class=\"tile more\" href=\"#all-waits\"");
      place_tile(out, t);
      const std::string rest = std::to_string(g.waits.size() - most) + " more";
      out.put(" aria-label=\"$\"><span>$</span></a>", rest, rest);
      continue;
    }
    const wait_entry& w = p.r.waits[g.waits[i]];
    const std::string words = pattern_words(w.pattern);
    out.put("<a class=\"tile $\" href=\"#w$\"", as_markup(family_of(w.pattern)), static_cast<std::int64_t>(g.waits[i]));
    place_tile(out, t);
    out.put(" aria-label=\"$\"><span><b>$</b>$<small>$",
            words + ", " + name + ", waiting for " + call_text(w.cause) + ": " + base::duration(w.seconds), words,
            as_time(w.seconds), base::percent(p.share_of_waiting(w.seconds)));
    if (!w.residual.empty()) out.put("<br>$", base::shorten_middle(w.residual[0].block, 40));
    out.put("</small></span></a>");
  }
  out.put("</div></div>");
}

// `most`: how many of the operations have a box of their own.
inline void map_of_waits(const page_context& p, const base::vector<operation_group>& groups, std::size_t most) {
  const auto seconds_of = [&](std::size_t i) { return groups[i].seconds; };
  const base::pod_vector<double> sizes = tile_sizes(groups.size(), most, seconds_of);
  const base::pod_vector<map_tile> tiles = squarified(sizes, {0, 0, 2.2, 1});
  p.out.put("<div class=\"map\" role=\"group\" aria-label=\"Waiting by operation\">");
  for (std::size_t i = 0; i != tiles.size(); ++i) {
    const map_tile t{tiles[i].x / 2.2, tiles[i].y, tiles[i].width / 2.2, tiles[i].height};
    if (i < most) {
      operation_tile(p, groups[i], t);
      continue;
    }
    p.out.put("<a class=\"op tile more\" href=\"#all-waits\"");
    place_tile(p.out, t);
    const std::string rest = std::to_string(groups.size() - most) + " more operations";
    p.out.put(" aria-label=\"$\"><span>$</span></a>", rest, rest);
  }
  p.out.put("</div>");
}

inline void wait_row(const page_context& p, std::size_t i, double most) {
  html_writer& out = p.out;
  const wait_entry& w = p.r.waits[i];
  const auto number = static_cast<std::int64_t>(i);
  if (i < most_explained)
    out.put("<tr><td class=\"n\">$</td><th scope=\"row\"><a href=\"#w$\">$</a></th><td>", number + 1, number,
            pattern_words(w.pattern));
  else  // links to this wait lead here
    out.put("<tr id=\"w$\" tabindex=\"-1\"><td class=\"n\">$</td><th scope=\"row\">$</th><td>", number, number + 1,
            pattern_words(w.pattern));
  p.call(w.operation);
  out.put("<br><span class=\"late\">");
  p.call(w.cause);
  out.put(
      "</span></td><td class=\"n\">$<span class=\"track\" aria-hidden=\"true\"><i class=\"bar\" "
      "style=\"width:$\"></i></span></td><td class=\"n\">$</td><td class=\"n\">$</td><td class=\"n\">$</td></tr>",
      as_time(w.seconds), as_width(most > 0 ? w.seconds / most : 0), base::percent(p.share_of_waiting(w.seconds)),
      as_count(w.count), as_time(w.longest_seconds));
}

inline void wait_table(const page_context& p, std::size_t first, std::size_t last, const char* title) {
  const double most = p.r.waits.empty() ? 0 : p.r.waits[0].seconds;
  p.out.put(
      "<div class=\"scroll\"><table class=\"waits\"><caption>$</caption><thead><tr><th scope=\"col\">#</th><th "
      "scope=\"col\">pattern</th><th scope=\"col\">waiting call, late call</th><th scope=\"col\">waiting</th><th "
      "scope=\"col\">share</th><th scope=\"col\">waits</th><th scope=\"col\">longest</th></tr></thead><tbody>",
      as_markup(title));
  for (std::size_t i = first; i != last; ++i) wait_row(p, i, most);
  p.out.put("</tbody></table></div>");
}

}  // namespace detail

/// Waiting by operation as a map, the waits with their explanations, and a table of all.
inline void page_waits(const page_context& p) {
  if (p.r.waits.empty()) return;
  constexpr std::size_t first = 8;
  const std::size_t all = p.r.waits.size();
  const base::vector<detail::operation_group> groups = detail::by_operation(p.r.waits);
  const std::size_t boxes = detail::tiles_of(groups.size(), 24, [&](std::size_t i) { return groups[i].seconds; });
  const std::string what = " to see what the late side ran and the waiting side did not.";
  if (boxes == 0) {  // the map would be one box
    p.section("waits", "Why it waited",
              "Each of the " + base::count(static_cast<std::int64_t>(groups.size())) +
                  " operations that waited has less than 1 % of the waiting, too little for a map. Choose a wait in the table" +
                  what);
  } else {
    p.section("waits", "Why it waited",
              "Area is time, summed over " + std::string(base::rank_nouns()) +
                  ". Each box is an operation that waited, each tile in it a reason; choose a tile" + what);
    detail::map_of_waits(p, groups, boxes);
  }
  p.out.put("<div class=\"chosen\" id=\"chosen\">");
  for (std::size_t i = 0; i != std::min(all, most_explained); ++i) page_wait(p, i);
  p.out.put("</div><div id=\"all-waits\">");
  detail::wait_table(p, 0, std::min(first, all), "All waits, most costly first");
  if (all > first) {
    p.out.put("<details><summary>$ more</summary>", static_cast<std::int64_t>(all - first));
    if (all > most_explained)
      p.out.put("<p class=\"how\">The first $ are explained above, all of them in the JSON file.</p>",
                static_cast<std::int64_t>(most_explained));
    detail::wait_table(p, first, all, "Further waits");
    p.out.put("</details>");
  }
  p.out.put("</div>");
  p.end_section();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
