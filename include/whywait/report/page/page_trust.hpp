#ifndef WHYWAIT_REPORT_PAGE_PAGE_TRUST_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_TRUST_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/units.hpp>
#include <whywait/report/page/page_parts.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Waits of threads for each other, by lock.
inline void page_locks(const page_context& p) {
  base::pod_vector<std::size_t> locks;
  for (std::size_t i = 0; i != p.r.waits.size(); ++i)
    if (std::string(family_of(p.r.waits[i].pattern)) == "thread") locks.push_back(i);
  if (locks.empty()) return;
  html_writer& out = p.out;
  const double most = p.r.waits[locks[0]].seconds;
  p.section("locks", "Locks and other waits of threads", "Where threads of one process waited for each other.");
  out.put(
      "<div class=\"scroll\"><table class=\"locks\"><thead><tr><th scope=\"col\">kind</th><th scope=\"col\">waiting at</th><th "
      "scope=\"col\">released at</th><th scope=\"col\">waiting</th><th scope=\"col\">waits</th><th "
      "scope=\"col\">longest</th></tr></thead><tbody>");
  for (const std::size_t i : locks) {
    const wait_entry& w = p.r.waits[i];
    out.put("<tr><th scope=\"row\"><a href=\"#w$\">$</a></th><td>", static_cast<std::int64_t>(i), pattern_words(w.pattern));
    p.call(w.operation);
    out.put("</td><td>");
    p.call(w.cause);
    out.put(
        "</td><td class=\"n\">$<span class=\"track\" aria-hidden=\"true\"><i class=\"bar\" "
        "style=\"width:$\"></i></span></td><td class=\"n\">$</td><td class=\"n\">$</td></tr>",
        as_time(w.seconds), as_width(most > 0 ? w.seconds / most : 0), as_count(w.count), as_time(w.longest_seconds));
  }
  out.put("</tbody></table></div>");
  p.end_section();
}

namespace detail {

inline void unknown_time(const page_context& p) {
  const not_understood& n = p.r.not_understood;
  html_writer& out = p.out;
  if (base::ranks_are_threads() && n.seconds <= 0) return;
  out.put(
      "<h3>Not understood</h3><p><b>$</b> of $, $$", as_time(n.seconds), base::rank_time(),
      as_figure(understood_by(p.r, false), base::percent(understood_by(p.r, false))),
      as_markup(
          n.calls.empty()
              ? ", is MPI time that is neither an explained wait nor plausible transfer.</p>"
              : ", is MPI time that is neither an explained wait nor plausible transfer, or unmarked code between polls:</p>"));
  if (!n.calls.empty()) {
    const double most = n.calls[0].seconds;
    out.put(
        "<div class=\"scroll\"><table class=\"unknown\"><thead><tr><th scope=\"col\">call</th><th scope=\"col\">time</th><th "
        "scope=\"col\">calls</th></tr></thead><tbody>");
    for (const place_total& c : n.calls) {
      out.put("<tr><th scope=\"row\">");
      p.call(c.where);
      out.put(
          "</th><td class=\"n\">$<span class=\"track\" aria-hidden=\"true\"><i class=\"rest\" "
          "style=\"width:$\"></i></span></td><td class=\"n\">$</td></tr>",
          as_time(c.seconds), as_width(most > 0 ? c.seconds / most : 0), as_count(c.visits));
    }
    out.put("</tbody></table></div>");
  }
  if (n.scheduler_seconds > 0)
    out.put("<p class=\"how\">Not included: $ of calls that took long now and then, while other threads had the processor.</p>",
            as_time(n.scheduler_seconds));
}

inline void cost_of_measuring(const page_context& p) {
  const overhead_section& o = p.r.ledger.overhead;
  html_writer& out = p.out;
  if (p.r.ledger.seconds <= 0) return;
  out.put("<h3>Cost of measuring</h3><p>");
  if (o.calibrated) {
    out.put(
        "It made the run longer by at most <b>$</b>, give or take $; without it the run would have taken $. Summed over $, it "
        "took "
        "$, and without it they would have waited $.",
        as_time(o.bound_seconds), as_time(o.error_seconds), as_time(o.without_seconds), base::rank_nouns(), as_time(o.seconds),
        as_time(o.waiting_without_seconds));
  } else {
    out.put("The cost of calls is not known for this run.");
  }
  if (o.pause_seconds > 0)
    out.put(" Pauses of $, in which the run so far was explained, are no part of the run.", as_time(o.pause_seconds));
  if (o.inversions > 0) out.put(" $ calls would have taken another message first without measuring.", as_count(o.inversions));
  out.put("</p>");
}

inline void last_words(const page_context& p) {
  if (p.r.last_words.empty()) return;
  html_writer& out = p.out;
  p.section("end", "How each rank ended", "What each thread did last.");
  out.put(
      "<div class=\"scroll\"><table class=\"ends\"><thead><tr><th scope=\"col\">rank</th><th scope=\"col\">end</th><th "
      "scope=\"col\">last seen</th><th scope=\"col\">inside</th><th scope=\"col\">waiting for</th></tr></thead><tbody>");
  for (const thread_end& t : p.r.last_words) {
    out.put("<tr><th scope=\"row\">");
    if (t.rank < 0) out.put("process $", t.pid);
    else out.put("$", t.rank);
    if (t.thread != 0) out.put(" thread $", t.thread);
    out.put("</th><td>$</td><td class=\"n\">$</td><td>", t.end, as_time(t.seconds));
    if (t.inside) p.call(t.call);
    else if (!t.regions.empty()) out.put("<code>$</code>", t.regions);
    out.put("</td><td>$</td></tr>", t.whom);
  }
  out.put("</tbody></table></div>");
  p.end_section();
}

}  // namespace detail

/// How far the report can be trusted: not understood, cost of measuring, counters, settings, warnings.
inline void page_trust(const page_context& p) {
  html_writer& out = p.out;
  const run_facts& run = p.r.run;
  detail::last_words(p);
  p.section("trust", "How far to trust this", "");
  for (const std::string& w : run.warnings) out.put("<p class=\"note\" role=\"note\">Warning: $</p>", w);
  detail::unknown_time(p);
  detail::cost_of_measuring(p);
  out.put("<h3>What it rests on</h3><p>$.</p>", quality_words(run));
  if (!run.progress.empty() || run.undescribed_waits > 0) {
    out.put("<ul>");
    for (const explain::progress_fact& f : run.progress) out.put("<li>$</li>", progress_words(f));
    if (run.undescribed_waits > 0)
      out.put("<li>$ waits, $, that no rule describes, are not listed.</li>", as_count(run.undescribed_waits),
              as_time(run.undescribed_seconds));
    out.put("</ul>");
  }
  const std::string unseen = unseen_words(p.r.unseen);
  if (!unseen.empty()) out.put("<p>In the part that was not recorded ran: $.</p>", unseen);
  out.put("<h3>Run</h3><dl class=\"facts\">");
  const auto fact = [&out](const char* name, const std::string& value) {
    if (!value.empty()) out.put("<div><dt>$</dt><dd>$</dd></div>", as_markup(name), value);
  };
  const run_origin& o = run.origin;
  std::string command = o.program;
  for (const std::string& word : o.arguments) command += " " + word;
  fact("program", base::shorten_middle(command, 400));
  fact("began", o.date);
  fact(run.threads_only ? "host" : "host of rank 0", o.host);
  if (o.nodes > 0) fact("nodes", std::to_string(o.nodes));
  fact("whywait", o.version);
  fact("compiler", o.compiler);
  fact("MPI", run.mpi);
  fact("clock", run.clock);
  for (const auto& [name, value] : run.settings)
    out.put("<div><dt><code>$</code></dt><dd><code>$</code></dd></div>", name, value);
  out.put("</dl>");
  p.end_section();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
