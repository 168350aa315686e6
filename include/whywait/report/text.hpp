#ifndef WHYWAIT_REPORT_TEXT_HPP
#define WHYWAIT_REPORT_TEXT_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/ranks.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/safe_write.hpp>
#include <whywait/report/grouping.hpp>
#include <whywait/report/headline.hpp>
#include <whywait/report/ledger_text.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/output_file.hpp>
#include <whywait/report/picture_text.hpp>
#include <whywait/report/prediction_text.hpp>
#include <whywait/report/printing.hpp>
#include <whywait/report/profile_text.hpp>
#include <whywait/report/short_text.hpp>
#include <whywait/report/terminal.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

namespace detail {

/// Writes the text report piece by piece.
class text_writer {
 public:
  text_writer(const result& r, const text_options& o) : r_(r), o_(o) {}

  std::string operator()() {
    const run_facts& run = r_.run;
    std::string head = headline(r_);
    if (run.mpi_calls <= 0 && !run.threads_only) {
      paragraph(head, "", o_.bold());
      paragraph(no_calls_words(), "  ", o_.red());
      warnings();
      return std::move(out_);
    }
    const bool quiet = is_quiet(r_, o_), partly = run.partly_explained();
    if (!quiet)
      head += " · " + base::percent(waiting_share(run)) + " of " + (partly ? std::string("that") : base::rank_time()) +
              " is waiting (" + base::duration(run.waiting_seconds) + ")";
    paragraph(head, "", o_.bold());
    if (run.partial) paragraph(partial_words(r_.last_words), "  ");
    if (shares_processors(r_)) paragraph(sharing_words(r_), "  ", o_.red(), 2);
    for (const verdict_entry& v : r_.verdict) paragraph(base::printable(sentence(r_, v)), "  ", o_.bold());
    if (!quiet) paragraph(no_verdict_words(r_), "  ");
    if (is_weakened(r_)) paragraph(unknown_words(r_), "  ", o_.red(), 2);
    if (run.unrecorded.matter()) paragraph(unrecorded_words(r_), "  ", o_.red(), 2);
    for (const std::string& words : remarks(r_)) paragraph(words, "  ", o_.bold(), 2);
    const bool parallel = run.locations > 1 && !run.unrecorded.matter() && r_.ledger.efficiency.parallel > 0;
    if (quiet) {
      if (parallel && (r_.ledger.efficiency.parallel < least_efficiency || is_weakened(r_))) efficiency();
      balanced();
    } else {
      const base::vector<wait_group> groups = group_shapes(r_.waits);
      std::size_t shown = 0;
      double covered = 0;
      patterns(groups);
      if (parallel) efficiency();
      for (; shown < groups.size() && shown < o_.most_waits; ++shown) {
        if (shown > 0 && covered >= o_.cover * run.waiting_seconds &&
            groups[shown].sum.seconds < o_.quiet_below * run.location_seconds)
          break;
        wait(groups[shown], shown + 1);
        covered += groups[shown].sum.seconds;
      }
      rest(groups.size() - shown, shown > 0, covered);
    }
    problems();
    if (!quiet) ledger();
    out_ += regions_text(r_.profile, o_.columns);
    out_ += messages_text(r_.profile, o_.columns);
    if (r_.communication != nullptr) out_ += r_.communication->text(o_.columns);
    const std::string predicted = prediction_text(r_.prediction, o_.columns);
    out_ += predicted;
    if (!predicted.empty()) paragraph(prediction_caveats(r_), margin());
    footer();
    return std::move(out_);
  }

 private:
  std::string bold(const std::string& text) const { return o_.bold() + text + o_.off(); }

  /// Wrapped text in one colour; further lines are indented by `deeper` more columns.
  void paragraph(const std::string& text, const std::string& margin, const char* colour = "", std::size_t deeper = 0) {
    std::string lines = text.empty() ? text : base::wrap(text, o_.columns, margin, margin + std::string(deeper, ' '));
    if (*colour == '\0') {
      out_ += lines;
      return;
    }
    lines.pop_back();  // the line feed follows the colour reset
    out_ += colour + lines + o_.off() + "\n";
  }

  void balanced() {
    paragraph(quiet_words(r_, o_), "  ", nothing_worth_changing(r_, o_) ? o_.green() : "");
    if (r_.waits.empty() || r_.run.unseen_seconds > 0.1 * r_.run.seconds) return;
    if (r_.run.ranks == 1 && r_.run.waiting_seconds <= 0) return;
    const wait_entry& w = r_.waits.front();
    paragraph(base::joined({"(most: ", pattern_words(w.pattern), ", ", base::duration(w.seconds), " in all, ",
                            call_text(w.operation, "in", 60), ")"}),
              "  ");
  }

  /// Shares of several kinds of waits: "late sender 32 %, late receiver 1.5 % of rank time".
  void patterns(const base::vector<wait_group>& groups) {
    struct pattern_sum {
      const std::string* pattern;
      double seconds;
    };
    base::pod_vector<pattern_sum> sums;
    for (const wait_group& g : groups) {
      std::size_t same = 0;
      while (same != sums.size() && *sums[same].pattern != g.sum.pattern) ++same;
      if (same == sums.size()) sums.push_back({&g.sum.pattern, g.sum.seconds});
      else sums[same].seconds += g.sum.seconds;
    }
    base::small_stable_sort(sums, [](const pattern_sum& a, const pattern_sum& b) { return a.seconds > b.seconds; });
    std::string text;
    int several = 0;
    for (const auto& [pattern, seconds] : sums)
      if (seconds >= 0.1 * o_.quiet_below * r_.run.location_seconds)
        text += base::joined(
            {several++ == 0 ? "" : ", ", pattern_words(*pattern), " ", base::percent(seconds / r_.run.location_seconds)});
    if (several > 1) paragraph(text + " of " + base::rank_time(), "  ");
  }

  void wait(const wait_group& group, std::size_t number) {
    const wait_entry& w = group.sum;
    const base::duration_scale scale = base::scale_for(w.seconds);
    const std::string head = pattern_words(w.pattern) + "  " + base::duration(w.seconds);
    std::string facts =
        r_.run.waiting_seconds > 0 ? base::percent(w.seconds / r_.run.waiting_seconds) + " of the waiting, " : "";
    facts += base::counted(w.count, "wait");
    if (w.count > 1) facts += ", longest " + base::duration(w.longest_seconds, 2);
    facts += few_words(w, "them");
    if (r_.ledger.overhead.calibrated && w.compensated_seconds &&
        std::fabs(*w.compensated_seconds - w.seconds) > 0.01 * w.seconds)
      facts += ", " + base::duration(*w.compensated_seconds) + " without measuring";
    const bool one_line = 4 + base::display_width(head) + 2 + base::display_width(facts) <= o_.columns;
    out_ += "\n" + base::pad_left(std::to_string(number), 2) + "  " + bold(head) + (one_line ? "  " : "\n" + margin()) + facts +
            "\n";
    places(w);
    paragraph(who_waited(w), margin());
    if (w.wrong_order)
      paragraph((w.wrong_order_count == w.count ? "all" : base::counted(w.wrong_order_count, "message")) +
                    " received in another order than sent (" + base::duration(w.wrong_order_seconds) + ")",
                margin());
    blocks(w, scale);
    if (w.longest) out_ += picture_text(*w.longest, o_.columns, margin());
    if (w.indirect_seconds > 0.01 * w.seconds)
      paragraph(scale_or_own(scale, w.indirect_seconds) + " of this is inherited: the late side had itself waited for others",
                margin());
    if (group.largest_seconds < 0.8 * w.seconds)
      paragraph(base::counted(static_cast<std::int64_t>(group.shapes), "shape") + " of explanations added up; the largest is " +
                    base::percent(group.largest_seconds / w.seconds) + " (the JSON file has them apart)",
                margin());
    const std::string trust = quality_words(w.quality);
    if (!trust.empty()) paragraph(trust, margin());
    for (const advice_entry& a : w.advice) {
      // the rules of the pattern and of wrong order repeat the lines above
      if (a.problem != w.pattern && a.problem != "wrong_order" && !a.description.empty())
        paragraph(base::printable(pattern_words(a.problem)) + ": " + base::printable(a.description), margin());
      advice(a, scale);
    }
  }

  void advice(const advice_entry& a, const base::duration_scale& scale) {
    if (a.text.empty()) return;
    const std::string saving = a.saving_seconds > 0 ? saving_words(a, scale) : std::string();
    paragraph("try: " + with_saving(base::printable(a.text), saving), margin(), o_.green(), 5);
  }

  std::string saving_words(const advice_entry& a, const base::duration_scale& scale) const {
    return base::joined({" (saves ", saving_bound_words(r_, a), " ", scale_or_own(scale, a.saving_seconds), ")"});
  }

  /// Problems that belong to no single wait.
  void problems() {
    const std::size_t shown = std::min(r_.problems.size(), o_.most_problems);
    for (std::size_t i = 0; i < shown; ++i) {
      const advice_entry& a = r_.problems[i];
      const base::duration_scale scale = base::scale_for(a.seconds);
      out_ += base::joined({"\n *  ", bold(base::joined({base::printable(pattern_words(a.problem)), "  ", scale(a.seconds)}))});
      if (r_.run.location_seconds > 0)
        out_ += base::joined({"  ", base::percent(a.seconds / r_.run.location_seconds), " of ", base::rank_time()});
      out_ += "\n";
      if (!a.description.empty()) paragraph(base::printable(a.description), margin());
      for (const std::string& action : a.actions)
        if (a.description.find(action) == std::string::npos) paragraph(base::printable(action), margin() + "  ", "", 2);
      advice(a, scale);
    }
    if (shown < r_.problems.size())
      paragraph(base::counted(more_of(r_.problems.size() - shown), "more problem") + " (the JSON file has all)", margin());
  }

  void efficiency() {
    const explain::efficiencies& e = r_.ledger.efficiency;
    std::string text = efficiency_words(r_);
    if (r_.run.threads_only && !is_weakened(r_) && r_.run.seconds > 0)
      text += "; on average " + base::fixed(e.parallel * r_.run.location_seconds / r_.run.seconds, 1) + " threads did not wait";
    paragraph(text, "  ", "", 2);
  }

  /// Results of the virtual clocks for the whole run.
  void ledger() {
    const std::string path = critical_path_text(r_.ledger, o_.columns);
    out_ += path;
    if (!path.empty() && r_.run.deals_work())
      paragraph("\"x2 saves\" assumes that every rank gets the same work again, but " +
                    base::counted(r_.run.first_comers, "answer") + " went to the first rank that sent a request",
                margin() + "  ");
    if (!path.empty() && is_weakened(r_)) paragraph(rests_on(r_), margin() + "  ");
    const std::string delays = delay_text(r_.ledger, r_.waits);
    if (delays.empty()) return;
    out_ += "\n";
    paragraph(delays, margin());
  }

  void places(const wait_entry& w) {
    const std::string one = call_text(w.operation) + "  <-  " + call_text(w.cause);
    const std::size_t room = o_.columns - margin().size();
    if (base::display_width(one) <= room) {
      out_ += margin() + one + "\n";
      return;
    }
    for (const std::string& line : call_lines(w.operation, room)) out_ += margin() + line + "\n";
    for (const std::string& line : call_lines(w.cause, room, "  <-  ")) out_ += margin() + line + "\n";
  }

  void blocks(const wait_entry& w, const base::duration_scale& scale) {
    base::vector<base::table_row> rows;
    double unlisted = 0;
    std::size_t timed = 0, more = 0, steps = 0, more_steps = 0;
    base::pod_vector<bool> told(w.residual.size());
    const auto untimed = [](const residual_entry& r) { return r.kind == "step" && r.total_ns == 0; };
    const auto add_step = [&](std::size_t i, bool under) {
      const residual_entry& r = w.residual[i];
      told[i] = true;
      if (steps++ >= o_.most_steps) {
        ++more_steps;
        return;
      }
      base::vector<std::string> lines = label(r);
      for (std::string& line : lines) line.insert(0, under ? 2 : 0, ' ');
      rows.push_back(
          {lines, "",
           under || r.within.empty() ? remark(r, {false}) : remark(r, {false}) + ", untimed in " + base::printable(r.within)});
    };
    bool lead_named = false;  // all blocks of one step have the same lead
    for (const residual_entry& r : w.residual) {
      if (untimed(r)) continue;
      if (timed == o_.most_blocks || (r.kind != "step" && std::fabs(r.seconds()) < o_.small_blocks * w.seconds)) {
        unlisted += r.seconds();
        ++more;
        continue;
      }
      ++timed;
      rows.push_back({label(r), amount(scale, r.seconds()), remark(r, {!lead_named, true, false, false, &w})});
      lead_named = lead_named || r.lead_visits != 0;
      std::size_t under = 0;
      for (std::size_t i = 0; i < w.residual.size(); ++i) {
        if (!untimed(w.residual[i]) || told[i] || w.residual[i].within != r.block) continue;
        if (++under <= o_.most_steps / 2) {
          add_step(i, true);
        } else {
          told[i] = true;
          ++more_steps;
        }
      }
    }
    for (std::size_t i = 0; i < w.residual.size(); ++i)  // lines of code with equal times on both sides explain nothing
      if (untimed(w.residual[i]) && !told[i] && !is_lines(w.residual[i])) add_step(i, false);
    if (more_steps > 0) rows.push_back({{base::counted(more_of(more_steps), "more step")}, "", "not timed"});
    if (more > 0 && (timed == o_.most_blocks || std::fabs(unlisted) > 0.01 * w.seconds))
      rows.push_back({{base::counted(more_of(more), timed == o_.most_blocks ? "more block" : "smaller block")},
                      amount(scale, unlisted),
                      ""});
    if (std::fabs(w.unexplained_seconds) > 0.01 * w.seconds)
      rows.push_back({{"(unexplained)"}, amount(scale, w.unexplained_seconds), ""});
    if (rows.empty()) return;
    if (!w.residual.empty())
      out_ +=
          margin() + "the late " + (words_for(w.causers).ranks.size() == 1 ? base::rank_noun() : base::rank_nouns()) + " ran\n";
    out_ += table(rows, o_.columns, margin().size() + 2, label_columns);
  }

  static std::int64_t more_of(std::size_t n) noexcept { return static_cast<std::int64_t>(n); }

  base::vector<std::string> label(const residual_entry& r) const {
    return label_of(r, label_columns, o_.columns - margin().size() - 2);
  }

  static std::string scale_or_own(const base::duration_scale& scale, double seconds) {
    return std::fabs(seconds) * scale.per_second < 0.5 * std::pow(10.0, -scale.decimals) ? base::duration(seconds, 2)
                                                                                         : scale(seconds);
  }
  static std::string amount(const base::duration_scale& scale, double seconds) {
    if (seconds == 0) return "0 s";
    return (seconds > 0 ? "+" : "") + scale_or_own(scale, seconds);
  }

  void rest(std::size_t more, bool shown, double covered) {
    const double undescribed = r_.run.undescribed_seconds;
    if (undescribed > 0)
      out_ += base::joined({"\n    ", base::counted(r_.run.undescribed_waits, "wait"),
                            " not described by any rule: ", base::duration(undescribed), " (",
                            base::percent(undescribed / r_.run.waiting_seconds), " of the waiting)\n"});
    const double left = r_.run.waiting_seconds - undescribed - covered;
    if (more == 0 && !(left > 0.001 * r_.run.waiting_seconds)) return;
    const std::string what = more > 0 ? base::counted(more_of(more), shown ? "more kind of wait" : "kind of wait",
                                                      shown ? "more kinds of waits" : "kinds of waits")
                                      : std::string("other waits, each too short to explain");
    const double share = r_.run.waiting_seconds > 0 ? std::max(left, 0.0) / r_.run.waiting_seconds : 0;
    out_ += base::joined(
        {"\n    ", what, ": ", base::duration(std::max(left, 0.0)), " (", base::percent(share), " of the waiting)\n"});
  }

  void footer() {
    out_ += "\n";
    paragraph(quality_words(r_.run), "    ", o_.faint());
    const std::string not_counted = not_counted_words(r_);
    if (!not_counted.empty()) paragraph(not_counted, "    ", o_.faint());
    for (const explain::progress_fact& p : r_.run.progress) paragraph(progress_words(p), "    ", o_.faint());
    const std::string overhead = overhead_text(r_.ledger);
    if (!overhead.empty()) paragraph(overhead, "    ", o_.faint());
    warnings();
  }

  void warnings() {
    if (!r_.unseen.empty())
      paragraph(std::string("while nothing was recorded, all ") + base::rank_nouns() + " ran " + unseen_words(r_.unseen),
                "    ");
    for (const std::string& w : r_.run.warnings) paragraph("warning: " + base::printable(w), "    ", o_.red(), 9);
  }

  static const std::string& margin() {
    static const std::string& four = *new std::string(4, ' ');  // never destroyed: a report may be printed at exit
    return four;
  }

  static constexpr std::size_t label_columns = 34;
  const result& r_;
  const text_options& o_;
  std::string out_;
};

}  // namespace detail

/// The report as UTF-8 text, most costly waits first. Lines have at most `columns` where names permit.
inline std::string text_of(const result& r, const text_options& options = {}) {
  const base::rank_noun_scope noun(r.run.threads_only);
  return options.full ? detail::text_writer(r, options)() : short_text_of(r, options);
}

inline void print_text(const result& r, std::FILE* stream, text_options options) {
  const terminal shown = terminal_of(stream);
  options.columns = shown.columns != 0 ? shown.columns : text_options::unlimited;
  options.colour = shown.colour;
  std::string text = text_of(r, options);
  if (!shown.utf8) text = to_ascii(text);
  static bool printed = false;
  if (printed) text.insert(0, "\n");
  printed = true;
  core::write_text(text.data(), text.size(), stream);
}

inline std::string write_text_file(const result& r, const std::string& path) {
  text_options options;
  options.columns = text_options::unlimited;
  const std::string text = text_of(r, options);
  output_file file(path);
  file.write(text.data(), text.size());
  return file.commit();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
