#ifndef WHYWAIT_REPORT_PAGE_PAGE_WAIT_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_WAIT_HPP

#include <whywait/base/units.hpp>
#include <whywait/report/json.hpp>
#include <whywait/report/page/page_parts.hpp>
#include <whywait/report/page/page_picture.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// The scales of the bars of one explanation.
struct path_scale {
  double side = 0, difference = 0;

  explicit path_scale(const wait_entry& w) {
    for (const residual_entry& r : w.residual) {
      side = std::fmax(side, std::fmax(r.causer_seconds(), r.waiter_seconds()));
      difference = std::fmax(difference, std::fabs(r.visits_seconds()) + std::fabs(r.speed_seconds()));
    }
    difference = std::fmax(difference, std::fabs(w.unexplained_seconds));
  }
};

/// What one side ran of a block: the part that both ran is pale.
inline void side_cell(const page_context& p, const residual_entry& r, const path_scale& scale, bool late) {
  html_writer& out = p.out;
  const double mine = late ? r.causer_seconds() : r.waiter_seconds(), other = late ? r.waiter_seconds() : r.causer_seconds();
  const std::int64_t visits = late ? r.causer_visits : r.waiter_visits, work = late ? r.causer_work : r.waiter_work;
  out.put("$", as_markup(late ? "<td class=\"side late\">" : "<td class=\"side waiter\">"));
  if (visits == 0 && mine == 0 && work == 0) {
    out.put("<span class=\"none\">did not run it</span></td>");
    return;
  }
  if (r.kind != "step" || mine != 0) {
    const double both = std::fmin(mine, other);
    out.put(
        "<span class=\"track\" aria-hidden=\"true\"><i class=\"both\" style=\"width:$\"></i><i class=\"own\" "
        "style=\"width:$\"></i></span>$",
        as_width(scale.side > 0 ? both / scale.side : 0), as_width(scale.side > 0 ? (mine - both) / scale.side : 0),
        as_time(mine));
  }
  out.put(" <small>$$", as_count(visits), as_markup(r.kind == "call" ? " calls" : visits == 1 ? " visit" : " visits"));
  if (work != 0) out.put(", $ units", as_count(work));
  out.put("</small></td>");
}

/// The difference, divided into more visits and slower visits.
inline void difference_cell(const page_context& p, const residual_entry& r, const path_scale& scale, const remark_parts& with) {
  html_writer& out = p.out;
  const auto part = [&](const char* name, double seconds) {
    if (seconds != 0)
      out.put("<i class=\"$\" style=\"width:$\"></i>", as_markup(name),
              as_width(scale.difference > 0 ? std::fabs(seconds) / scale.difference : 0));
  };
  out.put("<td class=\"diff\">");
  if (r.kind != "step" || r.seconds() != 0) {
    out.put("<b>$</b>$", as_figure(r.seconds(), (r.seconds() >= 0 ? "+" : "") + base::duration(r.seconds())),
            as_markup(r.seconds() >= 0 ? "<span class=\"track\" aria-hidden=\"true\">"
                                       : "<span class=\"track less\" aria-hidden=\"true\">"));
    part("visits", r.visits_seconds());
    part("speed", r.speed_seconds());
    out.put("</span>");
  }
  out.put(" <small>$</small></td>", remark(r, with));
}

inline void residual_row(const page_context& p, const residual_entry& r, const path_scale& scale, const remark_parts& with) {
  html_writer& out = p.out;
  out.put("$", as_markup(r.kind == "step" ? "<tr class=\"step\">" : "<tr>"));
  side_cell(p, r, scale, false);
  out.put("<th scope=\"row\">");
  p.block(r);
  if (!r.within.empty()) out.put(" <small>in <code>$</code></small>", r.within);
  out.put("</th>");
  side_cell(p, r, scale, true);
  difference_cell(p, r, scale, with);
  out.put("</tr>");
}

/// The two columns of Carnival's figure: what the waiting side ran, what the late side ran.
inline void two_columns(const page_context& p, const wait_entry& w) {
  html_writer& out = p.out;
  const path_scale scale(w);
  out.put(
      "<div class=\"scroll\"><table class=\"paths\"><caption>What both sides ran since they were last in step, where it "
      "differs");
  if (w.count != 1) out.put("; all $ waits together", as_count(w.count));
  out.put(
      "</caption><thead><tr><th scope=\"col\" class=\"waiter\">$ <small>waited</small></th><th "
      "scope=\"col\">code</th><th scope=\"col\" class=\"late\">$ <small>came late</small></th><th scope=\"col\">late side "
      "more</th></tr></thead><tbody>",
      words_for(w.waiters).text, words_for(w.causers).text);
  bool lead_named = false;
  for (const residual_entry& r : w.residual) {
    residual_row(p, r, scale, {!lead_named, true, false, false, &w});
    lead_named = lead_named || r.lead_visits != 0;
  }
  if (w.unexplained_seconds != 0) {
    out.put(
        "<tr><td class=\"side\"></td><th scope=\"row\">unexplained</th><td class=\"side\"></td><td "
        "class=\"diff\"><b>$</b></td></tr>",
        as_figure(w.unexplained_seconds, (w.unexplained_seconds >= 0 ? "+" : "") + base::duration(w.unexplained_seconds)));
  }
  out.put(
      "</tbody></table></div><ul class=\"legend\"><li><i class=\"both\"></i>ran by both, cancels</li><li><i "
      "class=\"own\"></i>only this side, or longer</li><li><i class=\"visits\"></i>more visits</li><li><i "
      "class=\"speed\"></i>slower visits</li></ul>");
}

inline void wait_advice(const page_context& p, const wait_entry& w) {
  html_writer& out = p.out;
  for (const advice_entry& a : w.advice) {
    if (a.text.empty()) continue;
    out.put("<p class=\"try\"><b>Try</b> $", a.text);
    if (a.saving_seconds > 0) {
      out.put(" <small>saves $ $</small>", saving_bound_words(p.r, a), as_time(a.saving_seconds));
    }
    out.put("</p>");
  }
}

/// Where the late side had waited itself: links to those waits, and to waits that this one delayed.
inline void wait_links(const page_context& p, std::size_t number) {
  html_writer& out = p.out;
  const auto link = [&](std::size_t to, const wait_link& l) {
    const wait_entry& w = p.r.waits[to];
    out.put("<li>");
    if (l.wait == l.through) {
      out.put("earlier waits of the same calls");
    } else {
      out.put("<a href=\"#w$\">$</a> ", static_cast<std::int64_t>(to), pattern_words(w.pattern));
      p.call(w.operation);
    }
    out.put(": $ in $$", as_time(l.seconds), as_count(l.count), as_markup(l.count == 1 ? " wait</li>" : " waits</li>"));
  };
  for (const bool incoming : {true, false}) {
    bool any = false;
    for (const wait_link& l : p.r.maps.links) {
      if ((incoming ? l.wait : l.through) != number || (!incoming && l.wait == l.through)) continue;
      if (!any)
        out.put("$",
                as_markup(incoming ? "<div class=\"chain\"><h4>Inherited: the late side had waited itself, last in</h4><ul>"
                                   : "<div class=\"chain\"><h4>Passed on: these waits inherited it</h4><ul>"));
      any = true;
      link(incoming ? l.through : l.wait, l);
    }
    if (any) out.put("</ul></div>");
  }
}

}  // namespace detail

/// One wait with its explanation.
inline void page_wait(const page_context& p, std::size_t number) {
  html_writer& out = p.out;
  const wait_entry& w = p.r.waits[number];
  const std::string id = std::to_string(number);
  out.put(
      "<article class=\"wait\" id=\"w$\" tabindex=\"-1\" aria-labelledby=\"t$\"><h3 id=\"t$\"><span class=\"$\">$</span> $ "
      "<small>$ of the waiting, $$",
      as_markup(id), as_markup(id), as_markup(id), as_markup(family_of(w.pattern)), pattern_words(w.pattern),
      as_time(w.seconds), base::percent(p.share_of_waiting(w.seconds)), as_count(w.count),
      as_markup(w.count == 1 ? " wait" : " waits, longest "));
  if (w.count != 1) out.put("$", as_time(w.longest_seconds));
  out.put("$", few_words(w, "them"));
  out.put("</small></h3><p class=\"sites\"><span class=\"waiter\">");
  p.call(w.operation);
  out.put("</span> <span class=\"arrow\" aria-label=\"waited for\">\xe2\x86\x90</span> <span class=\"late\">");
  p.call(w.cause);
  out.put("</span></p><p>$.", sentence_of(who_waited(w)));
  if (w.wrong_order) {
    out.put(" $ received in another order than sent ($).", as_count(w.wrong_order_count), as_time(w.wrong_order_seconds));
  }
  if (w.indirect_seconds > 0.01 * w.seconds)
    out.put(" $ of this is inherited: the late side had itself waited for others.", as_time(w.indirect_seconds));
  const std::string trust = quality_words(w.quality);
  if (!trust.empty()) out.put(" <em class=\"trust\">$.</em>", trust);
  if (w.compensated_seconds && p.r.ledger.overhead.calibrated &&
      std::fabs(*w.compensated_seconds - w.seconds) > 0.01 * w.seconds)
    out.put(" Without measuring $.", as_time(*w.compensated_seconds));
  out.put("</p>");
  detail::wait_advice(p, w);
  if (!w.residual.empty()) detail::two_columns(p, w);
  else out.put("<p class=\"how\">No explanation: each of these waits was too short, or its cause came after its end.</p>");
  if (w.longest) picture_table(p, *w.longest);
  out.put("<div class=\"sides\">");
  p.shares("waiter", "Waited", w.waiters);
  p.shares("late", "Came late", w.causers);
  out.put("</div>");
  detail::wait_links(p, number);
  out.put("</article>");
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
