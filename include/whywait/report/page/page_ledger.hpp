#ifndef WHYWAIT_REPORT_PAGE_PAGE_LEDGER_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_LEDGER_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/report/page/page_parts.hpp>
#include <whywait/report/prediction_text.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace reports {

/// The critical path: a bar of its blocks and a table.
inline void page_critical_path(const page_context& p) {
  const run_ledger& ledger = p.r.ledger;
  if (ledger.critical_path.empty() || ledger.seconds <= 0) return;
  html_writer& out = p.out;
  constexpr std::size_t first = 8;
  p.section("path", "Critical path",
            "The code that makes the run as long as it is: only less of it makes the run shorter. <em>Above mean</em> is what "
            "exceeds the mean of all " +
                std::string(base::rank_nouns()) +
                "; <em>twice as fast</em> is the wall time saved if the block took half the time everywhere.");
  out.put("<div class=\"stack path\" aria-hidden=\"true\">");
  for (std::size_t i = 0; i != std::min(first, ledger.critical_path.size()); ++i)
    out.put("<i class=\"$\" style=\"width:$\"></i>", as_markup(i % 2 == 0 ? "code" : "code odd"),
            as_width(ledger.critical_path[i].seconds / ledger.seconds));
  out.put("</div>");
  const auto table = [&](std::size_t from, std::size_t to) {
    out.put(
        "<div class=\"scroll\"><table class=\"path\"><thead><tr><th scope=\"col\">code</th><th scope=\"col\">on the "
        "path</th><th scope=\"col\">above mean</th><th scope=\"col\">twice as fast</th></tr></thead><tbody>");
    for (std::size_t i = from; i != to; ++i) {
      const critical_entry& e = ledger.critical_path[i];
      out.put("<tr><th scope=\"row\">");
      p.block(e);
      out.put(
          "</th><td class=\"n\">$<span class=\"track\" aria-hidden=\"true\"><i class=\"code\" style=\"width:$\"></i><i "
          "class=\"late\" style=\"width:$\"></i></span></td><td class=\"n\">$</td><td class=\"n\">",
          as_time(e.seconds), as_width(std::max(0.0, e.seconds - e.imbalance_seconds) / ledger.seconds),
          as_width(e.imbalance_seconds / ledger.seconds), as_time(e.imbalance_seconds));
      if (e.saving_seconds && *e.saving_seconds > 0) out.put("saves $", as_time(*e.saving_seconds));
      out.put("</td></tr>");
    }
    out.put("</tbody></table></div>");
  };
  const std::size_t all = ledger.critical_path.size();
  table(0, std::min(first, all));
  if (all > first) {
    out.put("<details><summary>$ more</summary>", static_cast<std::int64_t>(all - first));
    table(first, all);
    out.put("</details>");
  }
  if (is_weakened(p.r)) out.put("<p class=\"how\">$.</p>", rests_on(p.r));
  p.end_section();
}

/// The run at other speeds: a slider for each block, with the answers of the virtual clocks.
inline void page_what_if(const page_context& p) {
  const maps_section& m = p.r.maps;
  const prediction_section& asked = p.r.prediction;
  const double run = p.r.ledger.seconds;
  std::size_t balances = 0;  // those that save at least 0.5 % of the run; the list is sorted
  while (balances != m.balances.size() && m.balances[balances].saving_seconds >= 0.005 * run) ++balances;
  if ((m.speeds.empty() && balances == 0 && asked.answers.empty()) || run <= 0) return;
  html_writer& out = p.out;
  p.section("whatif", "What if",
            "How long the run would have taken with one change, by the virtual clocks: the same " +
                std::string(base::ranks_are_threads() ? "events" : "messages") +
                " in the same order. One change at a time; savings do not add up.");
  if (!m.speeds.empty()) {
    out.put(
        "<div class=\"scroll\"><table class=\"speeds\"><caption>If a block took less time on all $</caption><thead><tr><th "
        "scope=\"col\">code</th><th scope=\"col\">100 %</th>",
        base::rank_nouns());
    for (std::size_t i = m.speeds[0].answers.size(); i-- != 0;)
      out.put("<th scope=\"col\">$</th>", base::percent(m.speeds[0].answers[i].factor));
    out.put("</tr></thead><tbody>");
    for (const speed_entry& s : m.speeds) {
      out.put("<tr class=\"speed\"><th scope=\"row\">");
      if (s.network)
        out.put("$", as_markup(base::ranks_are_threads() ? "all time inside primitives that is not waiting"
                               : p.r.files.seconds > 0   ? "network: time inside MPI, but for files, that is not waiting"
                                                         : "network: all time inside MPI that is not waiting"));
      else p.block(s);
      out.put("</th><td class=\"n\" data-factor=\"1\">$</td>", as_time(run));
      for (std::size_t i = s.answers.size(); i-- != 0;) {
        out.put("<td class=\"n\" data-factor=\"$\">$</td>", base::fixed(s.answers[i].factor, 2), as_time(s.answers[i].seconds));
      }
      out.put("</tr>");
    }
    out.put("</tbody></table></div>");
  }
  if (balances != 0) {
    out.put(
        "<div class=\"scroll\"><table class=\"balances\"><caption>If a block were balanced over the $ that run "
        "it</caption><thead><tr><th scope=\"col\">code</th><th scope=\"col\">most on</th><th scope=\"col\">run</th><th "
        "scope=\"col\">saves</th></tr></thead><tbody>",
        base::rank_nouns());
    for (std::size_t i = 0; i != balances; ++i) {
      const balance_entry& b = m.balances[i];
      out.put("<tr><th scope=\"row\">$", as_markup(b.unmarked ? "unmarked code, above all " : ""));
      p.block(b);
      out.put(
          "</th><td>$</td><td class=\"n\">$<span class=\"track\" aria-hidden=\"true\"><i class=\"bar\" "
          "style=\"width:$\"></i></span></td><td class=\"n\">$</td></tr>",
          base::rank_text(b.rank, b.thread), as_time(b.seconds), as_width(b.seconds / run), as_time(b.saving_seconds));
    }
    out.put("</tbody></table></div>");
  }
  if (!asked.answers.empty()) {
    out.put("<h3>WHYWAIT_WHATIF</h3><dl class=\"asked\">");
    for (const whatif::answer& a : asked.answers) {
      out.put("<div><dt>$</dt><dd>", a.question);
      if (!a.refusal.empty()) {
        out.put("no answer: $</dd></div>", a.refusal);
        continue;
      }
      const double saving = a.measured_seconds - a.seconds;
      out.put("<b>$</b> <small>$ to $</small>, $$<br><small>$</small>", as_time(a.seconds), as_time(a.low_seconds),
              as_time(a.high_seconds), as_markup(saving >= 0 ? "saves " : "costs "), base::duration(std::fabs(saving), 2),
              detail::by_whom(a));
      for (const std::string& note : a.notes) out.put("<br><small>$</small>", note);
      out.put("</dd></div>");
    }
    out.put("</dl>");
  }
  const std::string caveats = sentence_of(prediction_caveats(p.r));
  if (!caveats.empty()) out.put("<p class=\"how\">$.</p>", caveats);
  if (p.r.run.deals_work())
    out.put(
        "<p class=\"how\">Every $ is assumed to get the same work again, but $ answers went to the first one that sent a "
        "request.</p>",
        base::rank_noun(), as_count(p.r.run.first_comers));
  p.end_section();
}

namespace detail {

inline void share_bar(const page_context& p, const char* title, double a, const char* first, double b, const char* second,
                      double c, const char* third) {
  html_writer& out = p.out;
  const double all = a + b + c;
  if (all <= 0) return;
  out.put(
      "<div class=\"split\"><h3>$</h3><div class=\"stack\" aria-hidden=\"true\"><i class=\"late\" style=\"width:$\"></i><i "
      "class=\"message\" style=\"width:$\"></i><i class=\"code\" style=\"width:$\"></i></div><ul class=\"legend\">",
      as_markup(title), as_width(a / all), as_width(b / all), as_width(c / all));
  const auto item = [&](const char* name, const char* words, double seconds) {
    if (seconds <= 0) return;
    out.put("<li><i class=\"$\"></i>$ <b>$</b> $</li>", as_markup(name), as_markup(words), base::percent(seconds / all),
            as_time(seconds));
  };
  item("late", first, a);
  item("message", second, b);
  item("code", third, c);
  out.put("</ul></div>");
}

inline void link_list(const page_context& p, std::size_t first, std::size_t last) {
  html_writer& out = p.out;
  const base::pod_vector<wait_link>& links = p.r.maps.links;
  const auto end = [&](std::size_t wait, const char* name) {
    const wait_entry& w = p.r.waits[wait];
    out.put("<a class=\"$\" href=\"#w$\"><b>$</b> $</a>", as_markup(name), static_cast<std::int64_t>(wait),
            pattern_words(w.pattern), call_text(w.operation));
  };
  out.put("<ol class=\"links\">");
  for (std::size_t i = first; i != last; ++i) {
    const wait_link& l = links[i];
    out.put("<li>");
    end(l.through, "from");
    out.put("<span class=\"flow\"><i style=\"width:$\"></i>$ <small>in $$",
            as_width(links[0].seconds > 0 ? l.seconds / links[0].seconds : 0), as_time(l.seconds), as_count(l.count),
            as_markup(l.count == 1 ? " wait</small></span>" : " waits</small></span>"));
    if (l.wait == l.through) out.put("<span class=\"to\">again in the same calls</span>");
    else end(l.wait, "to");
    out.put("</li>");
  }
  out.put("</ol>");
}

}  // namespace detail

/// How waits propagate: chains of waits, and the cost of delays.
inline void page_propagation(const page_context& p) {
  const delay_sums& d = p.r.ledger.delays;
  const base::pod_vector<wait_link>& links = p.r.maps.links;
  if (links.empty() && d.direct_seconds + d.indirect_seconds + d.nobody_seconds <= 0) return;
  html_writer& out = p.out;
  p.section("chain", "How waiting spreads",
            "A " + std::string(base::rank_noun()) +
                " that waits comes late itself, and others wait for it. An arrow leads from a wait to the waits that "
                "inherited it; its length is the "
                "inherited time.");
  std::size_t first = 0;  // those that matter
  while (first != links.size() && first != 8 && p.share_of_waiting(links[first].seconds) >= 0.01) ++first;
  if (first == 0 && !links.empty()) first = 1;
  if (first != 0) detail::link_list(p, 0, first);
  if (first != links.size()) {
    out.put("<details><summary>$ smaller</summary>", static_cast<std::int64_t>(links.size() - first));
    detail::link_list(p, first, std::min(links.size(), first + 40));
    out.put("</details>");
  }
  detail::share_bar(p, "Where waits come from <small>by proportion, as Scalasca divides them</small>", d.direct_seconds,
                    "the late side ran longer", d.indirect_seconds, "the late side had waited", d.nobody_seconds,
                    "no difference was found");
  detail::share_bar(p, "What waits lead to", d.terminal_seconds,
                    base::ranks_are_threads() ? "delayed no other thread" : "delayed no other rank", d.propagating_seconds,
                    "made others wait", 0, "");
  const base::vector<delay_entry>& costs = p.r.ledger.delay_costs;
  if (!costs.empty()) {
    const auto sum = [](const delay_entry& e) { return e.short_seconds + e.long_seconds; };
    const double most = sum(costs[0]);
    out.put(
        "<details><summary>Delay costs of $ blocks</summary><div class=\"scroll\"><table class=\"costs\"><thead><tr><th "
        "scope=\"col\">code</th><th scope=\"col\">made wait</th><th scope=\"col\">through others</th></tr></thead><tbody>",
        static_cast<std::int64_t>(costs.size()));
    for (const delay_entry& e : costs) {
      out.put("<tr><th scope=\"row\">");
      p.block(e);
      out.put(
          "</th><td class=\"n\">$<span class=\"track\" aria-hidden=\"true\"><i class=\"late\" style=\"width:$\"></i><i "
          "class=\"message\" style=\"width:$\"></i></span></td><td class=\"n\">$</td></tr>",
          as_time(e.short_seconds), as_width(most > 0 ? e.short_seconds / most : 0),
          as_width(most > 0 ? e.long_seconds / most : 0), as_time(e.long_seconds));
    }
    out.put("</tbody></table></div></details>");
  }
  p.end_section();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
