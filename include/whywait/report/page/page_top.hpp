#ifndef WHYWAIT_REPORT_PAGE_PAGE_TOP_HPP
#define WHYWAIT_REPORT_PAGE_PAGE_TOP_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/report/headline.hpp>
#include <whywait/report/page/page_maps.hpp>
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
namespace detail {

/// The first sentence of a page: the verdict, or why there is none.
inline std::string answer(const result& r) {
  const run_facts& run = r.run;
  if (run.mpi_calls <= 0 && !run.threads_only) return "No MPI calls were seen, so waits cannot be explained.";
  if (!r.verdict.empty()) {
    return sentence_of(sentence(r, r.verdict[0]) + ".");
  }
  const text_options usual;
  if (is_quiet(r, usual)) return quiet_words(r, usual);
  if (run.unseen_seconds > 0.1 * run.seconds) return hardly_seen(run, waiting_share(run));
  const std::string waiting = base::percent(waiting_share(run)) + " of " + base::rank_time() + " is waiting",
                    none = no_verdict_words(r);
  if (!none.empty()) return waiting + "; " + none + ".";
  const objection why = first_objection(r);
  return waiting + (why == objection::waiting ? "." : instead_words(why));
}

/// A line of a bar chart that compares run times.
inline void run_bar(const page_context& p, const char* name, const std::string& label, double seconds, double shown,
                    const std::string& words) {
  p.out.put("<li class=\"$\"><span>$</span><span class=\"track\"><i class=\"bar\" style=\"width:$\"></i></span>",
            as_markup(name), label, as_width(p.share_of_run(shown)));
  if (words.empty()) p.out.put("$", as_time(seconds));
  else p.out.put("<span>$</span>", words);
  p.out.put("</li>");
}

inline void verdicts(const page_context& p) {
  html_writer& out = p.out;
  const result& r = p.r;
  const std::string first = answer(r);
  constexpr std::size_t long_answer = 180;  // bytes
  out.put("<h1$>$</h1>", as_markup(first.size() > long_answer ? " class=\"long\"" : ""), first);
  if (!r.verdict.empty()) {
    const verdict_entry& v = r.verdict[0];
    const saving_range s = range_of(r, v);
    const double left = std::max(0.0, r.run.explained_seconds() - s.high);
    const std::string about = s.low < s.high ? base::duration(left) + " to " + base::duration(r.run.explained_seconds() - s.low)
                              : !v.predicted ? base::duration(left) + " at best"
                              : v.at_least   ? base::duration(left) + " or less"
                              : v.problem.empty() || !saves_more(r) ? "about " + base::duration(left)
                                                                    : base::duration(left) + " or less";
    out.put("<ul class=\"runs\" aria-label=\"Wall time\">");
    const double now = r.run.explained_seconds();
    run_bar(p, "now", r.run.partly_explained() ? "explained" : "this run", now, now, "");
    run_bar(p, "then", "without that", left, left, about);
    out.put("</ul>");
  }
  if (r.verdict.size() > 1) {
    out.put("<ol class=\"more\" start=\"2\">");
    for (std::size_t i = 1; i < r.verdict.size(); ++i) out.put("<li>$</li>", sentence(r, r.verdict[i]));
    out.put("</ol>");
  }
}

/// What weakens the report, before any number.
inline void notices(const page_context& p) {
  const result& r = p.r;
  const auto note = [&](const std::string& words) {
    if (!words.empty()) p.out.put("<p class=\"note\" role=\"note\">$</p>", sentence_of(words));
  };
  if (r.run.partial) note(partial_words(r.last_words));
  if (r.run.partly_explained()) note("Of " + base::duration(r.run.seconds) + " " + explained_words(r.run) + " explained.");
  if (shares_processors(r)) note(sharing_words(r) + ".");
  if (is_weakened(r)) {
    const std::string words = unknown_words(r);  // may end with "..."
    note(words + (!words.empty() && words.back() == '.' ? "" : "."));
  }
  if (r.run.unrecorded.matter()) note(unrecorded_words(r) + ".");
  for (const std::string& words : remarks(r)) note(words + ".");
}

struct time_part {
  std::string name, words;  ///< class of the colour; label
  double seconds;
};

/// Where rank time went: code, MPI calls, waiting by pattern.
inline void rank_time(const page_context& p) {
  const result& r = p.r;
  html_writer& out = p.out;
  if (r.run.location_seconds <= 0) return;
  base::vector<time_part> parts;
  double waiting = 0;
  for (const wait_entry& w : r.waits) {
    const std::string words = pattern_words(w.pattern);
    std::size_t at = 0;
    while (at != parts.size() && parts[at].words != words) ++at;
    if (at == parts.size()) parts.push_back({family_of(w.pattern), words, 0});
    parts[at].seconds += w.seconds;
    waiting += w.seconds;
  }
  base::small_stable_sort(parts, [](const time_part& a, const time_part& b) { return a.seconds > b.seconds; });
  constexpr std::size_t most_patterns = 4;
  double rest = std::max(0.0, r.run.waiting_seconds - waiting);
  while (parts.size() > most_patterns || (!parts.empty() && parts.back().seconds < 0.001 * r.run.location_seconds)) {
    rest += parts.back().seconds;
    parts.pop_back();
  }
  if (rest > 0.001 * r.run.location_seconds) parts.push_back({"rest", "other waits", rest});
  double calls = 0;
  const explain::run_maps& maps = r.maps.run;
  for (std::size_t row = 0; maps.ranks != 0 && row != maps.rows(); ++row) {
    const explain::time_bins& bins = maps.at(static_cast<std::int32_t>(row), explain::run_maps::calls);
    for (std::size_t i = 0; i != bins.size(); ++i) calls += base::seconds_of(bins[i]);
  }
  if (maps.ranks != 0) {
    const double files = std::min(r.files.seconds, calls);
    if (files > 0) parts.push_back({"files", "input and output", files});
    parts.push_back({"calls", calls_words(), calls - files});
  }
  parts.push_back({"code", maps.ranks != 0 ? "code of the program" : "everything else",
                   std::max(0.0, r.run.location_seconds - r.run.waiting_seconds - calls)});
  out.put("<div class=\"split\"><h3>$ <small>$$</small></h3><div class=\"stack\" aria-hidden=\"true\">",
          base::ranks_are_threads() ? "Thread time" : "Rank time",
          base::counted(r.run.locations, r.run.locations > r.run.ranks ? "thread" : base::rank_noun()) + ", together ",
          as_time(r.run.location_seconds));
  for (const time_part& t : parts)
    out.put("<i class=\"$\" style=\"width:$\"></i>", as_markup(t.name.c_str()), as_width(p.share_of_rank_time(t.seconds)));
  out.put("</div><ul class=\"legend\">");
  for (const time_part& t : parts) {
    if (t.seconds <= 0) continue;
    out.put("<li><i class=\"$\"></i>$ <b>$</b> $</li>", as_markup(t.name), t.words,
            base::percent(p.share_of_rank_time(t.seconds)), base::duration(t.seconds));
  }
  out.put("</ul></div>");
}

inline void efficiency_part(const page_context& p, const char* words, const char* meaning, double value,
                            const efficiency_ranges::range* limits) {
  html_writer& out = p.out;
  out.put("<div class=\"factor\"><dt>$</dt><dd>", as_markup(words));
  if (limits != nullptr && limits->most - limits->least > 0.005) {
    std::string least = base::percent(limits->least);
    least.resize(least.size() - 2);  // " %"
    out.put("<b>$-$</b>", least, base::percent(limits->most));
  } else out.put("<b>$</b>", as_figure(value, base::percent(value)));
  out.put(
      "<span class=\"track\" aria-hidden=\"true\"><i class=\"bar\" style=\"width:$\"></i></span><small>$</small></dd></div>",
      as_width(value), as_markup(meaning));
}

/// The efficiencies of POP as a product.
inline void efficiency(const page_context& p) {
  const explain::efficiencies& e = p.r.ledger.efficiency;
  if (p.r.run.locations < 2 || e.parallel <= 0) return;
  const efficiency_ranges ranges = ranges_of(e, p.r.not_understood, p.r.ledger.seconds);
  const bool weak = is_weakened(p.r);
  const auto limits = [&](const efficiency_ranges::range& r) { return weak ? &r : nullptr; };
  p.out.put(
      "<div class=\"eff\"><h3>Efficiency <small>100 % is best; the first is the product of the others</small></h3><dl "
      "class=\"factors\">");
  efficiency_part(
      p, "parallel efficiency",
      base::ranks_are_threads() ? "mean time outside primitives \xc3\xb7 the run" : "mean time outside MPI \xc3\xb7 the run",
      e.parallel, limits(ranges.parallel));
  efficiency_part(
      p, "load balance",
      base::ranks_are_threads() ? "mean \xc3\xb7 longest time outside primitives" : "mean \xc3\xb7 longest time outside MPI",
      e.load_balance, limits(ranges.load_balance));
  const bool files = e.files > 0 && e.files < 0.995;
  efficiency_part(
      p, "serialisation",
      files ? "longest \xc3\xb7 a run on an ideal network without files" : "longest \xc3\xb7 a run on an ideal network",
      e.serialisation, limits(ranges.serialisation));
  if (files) efficiency_part(p, "files", "a run without their cost \xc3\xb7 with it, on an ideal network", e.files, nullptr);
  efficiency_part(p, "transfer", "that run \xc3\xb7 this run", e.transfer, limits(ranges.transfer));
  p.out.put("</dl>");
  if (e.balance_between_nodes > 0 && e.transfer_between_nodes > 0 && e.transfer_in_nodes != e.transfer) {
    p.out.put("<p class=\"how\">Load balance: in nodes $, between nodes $. Transfer: in nodes $, between nodes $.</p>",
              as_figure(e.balance_in_nodes, base::percent(e.balance_in_nodes)),
              as_figure(e.balance_between_nodes, base::percent(e.balance_between_nodes)),
              as_figure(e.transfer_in_nodes, base::percent(e.transfer_in_nodes)),
              as_figure(e.transfer_between_nodes, base::percent(e.transfer_between_nodes)));
  }
  p.out.put("</div>");
}

}  // namespace detail

/// The answer: run, verdict, figures.
inline void page_top(const page_context& p) {
  html_writer& out = p.out;
  const run_facts& run = p.r.run;
  out.put("<header id=\"answer\"><p class=\"run\"><b>whywait</b>");
  const std::string program = program_name(run.origin);
  if (!program.empty()) out.put("<span>$</span>", base::shorten_middle(program, 60));
  out.put("<span>$</span>", base::counted(run.ranks, base::rank_noun()));
  if (run.locations > run.ranks) out.put("<span>$</span>", base::counted(run.locations, "thread"));
  out.put("<span>$</span>", as_time(run.seconds));
  if (run.mpi_calls > 0 || run.threads_only)
    out.put("<span>$</span>",
            base::percent(p.share_of_rank_time(run.waiting_seconds)) + " of " + base::rank_time() + " is waiting");
  if (run.origin.date.size() >= 16) out.put("<span>$ $</span>", run.origin.date.substr(0, 10), run.origin.date.substr(11, 5));
  if (run.partial) out.put("<span class=\"partial\">partial</span>");
  out.put("</p>");
  detail::verdicts(p);
  detail::notices(p);
  detail::rank_time(p);
  detail::efficiency(p);
  out.put("</header>");
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
