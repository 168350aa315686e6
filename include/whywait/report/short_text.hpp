#ifndef WHYWAIT_REPORT_SHORT_TEXT_HPP
#define WHYWAIT_REPORT_SHORT_TEXT_HPP

#include <whywait/base/ranks.hpp>
#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/findings.hpp>
#include <whywait/report/headline.hpp>
#include <whywait/report/ledger_text.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/printing.hpp>
#include <whywait/report/trust.hpp>
#include <whywait/report/verdict_entry.hpp>
#include <whywait/report/words.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// Writes the short report: at most three findings, and never more than 25 lines where lines have 80 columns. Where it would be
/// longer it leaves out more, step by step, and at last each text is cut to one line.
class short_writer {
 public:
  short_writer(const result& r, const text_options& o) : r_(r), o_(o) {}

  std::string operator()() {
    for (tight_ = 0;; ++tight_) {
      part all = write();
      if (all.lines <= most_lines || tight_ == tightest) return std::move(all.text);
    }
  }

 private:
  static constexpr std::size_t most_lines = 25, columns = 80, most_findings = 3;
  static constexpr double least_part = 0.1;  ///< of the waiting, and of a finding

  /// A text, and its lines where lines have 80 columns, so that the content does not depend on the terminal.
  struct part {
    std::string text;
    std::size_t lines = 0;

    void add(const part& p) {
      text += p.text;
      lines += p.lines;
    }
    void blank() {
      text += "\n";
      ++lines;
    }
  };

  // What is left out where the report is too long: each step is one value of tight_.
  static constexpr int tightest = 7;
  std::size_t most_causes() const noexcept { return tight_ >= 1 ? 1 : 2; }
  std::size_t most_of_text() const noexcept { return tight_ >= 6 ? 1 : tight_ >= 2 ? 2 : unlimited; }
  std::size_t most_of_advice() const noexcept { return tight_ >= 6 ? 1 : tight_ >= 3 ? 3 : unlimited; }
  std::size_t most_verdicts() const noexcept { return tight_ >= 5 ? 1 : tight_ >= 3 ? 2 : unlimited; }
  std::size_t most_of_verdict() const noexcept { return tight_ >= 6 ? 2 : unlimited; }
  std::size_t most_answers() const noexcept { return most_verdicts(); }
  std::size_t most_warnings() const noexcept { return tight_ >= 4 ? 1 : 2; }
  std::size_t most_remarks() const noexcept { return tight_ >= 7 ? 2 : unlimited; }
  bool has_data() const noexcept { return tight_ < 7; }
  static constexpr std::size_t unlimited = std::size_t(-1);

  part write() const {
    part all;
    add(all, headline(r_, is_quiet(r_, o_) ? 0 : waiting_share(r_.run)), "", o_.bold());
    if (r_.run.mpi_calls <= 0 && !r_.run.threads_only) {
      add(all, no_calls_words(), "  ", o_.red());
      warnings(all, tight_ >= 4 ? 1 : 8);
      return all;
    }
    if (r_.run.partial) add(all, partial_words(r_.last_words), "  ");
    if (shares_processors(r_)) add(all, sharing_words(r_), "  ", o_.red());
    std::size_t verdicts = 0;
    for (const verdict_entry& v : r_.verdict)
      if (verdicts++ < most_verdicts()) add_verdict(all, v);
    const bool quiet = is_quiet(r_, o_);
    if (quiet) add(all, quiet_words(r_, o_), "  ", nothing_worth_changing(r_, o_) ? o_.green() : "");
    else add(all, no_verdict_words(r_), "  ");
    add(all, is_weakened(r_) ? unknown_words(r_) : std::string(), "  ", o_.red());
    add(all, unrecorded_words(r_), "  ", o_.red());
    std::size_t remarked = 0;
    for (const std::string& words : remarks(r_))
      if (remarked++ < most_remarks()) add(all, words, "  ", o_.bold());
    add(all, efficiency(quiet), "  ");
    const base::vector<wait_group> groups = group_shapes(r_.waits);
    const base::vector<finding> found = findings_of(r_, groups);
    const part end = footer(groups.size(), quiet);
    if (!quiet || !found.empty()) findings(all, found, quiet, most_lines - std::min(most_lines, all.lines + 1 + end.lines));
    all.add(end);
    return all;
  }

  // The line feed at the end follows the colour reset.
  void add(part& to, const std::string& text, const std::string& margin, const char* colour = "",
           std::size_t deeper = 0) const {
    add(to, text, margin, colour, deeper, most_of_text());
  }
  // What it saves is never left out, and what to do ("balancing it") if that is short.
  void add_verdict(part& to, const verdict_entry& v) const {
    const std::string text = base::printable(v.claim) + sentence(r_, v).substr(v.claim.size());
    const std::size_t claim = base::printable(v.claim).size(), action = text.rfind(": ", claim);
    const bool is_short = action != std::string::npos && claim - action <= columns / 2;
    add(to, text, "  ", o_.bold(), 0, most_of_verdict(), text.substr(is_short ? action : claim));
  }
  void add(part& to, const std::string& text, const std::string& margin, const char* colour, std::size_t deeper,
           std::size_t most, const std::string& end = {}) const {
    if (text.empty()) return;
    const std::string rest(base::display_width(margin) + deeper, ' '), words = shortened(text, margin, rest, most, end);
    std::string lines = base::wrap(words, o_.columns, margin, rest);
    if (*colour != '\0') {
      lines.pop_back();
      lines = colour + lines + o_.off() + "\n";
    }
    to.text += lines;
    to.lines += lines_of(base::wrap(words, columns, margin, rest));
  }
  // Lines of a terminal: a word that is longer than a line continues in the next one.
  static std::size_t lines_of(const std::string& block) {
    std::size_t lines = 0;
    for (std::size_t at = 0; at < block.size();) {
      const std::size_t end = std::min(block.find('\n', at), block.size());
      const std::size_t width = base::display_width(std::string_view(block).substr(at, end - at));
      lines += std::max<std::size_t>(1, (width + columns - 1) / columns);
      at = end + 1;
    }
    return lines;
  }
  // The beginning of a text and its `end`, in at most `most` lines.
  static std::string shortened(const std::string& text, const std::string& margin, const std::string& rest, std::size_t most,
                               const std::string& end) {
    if (most == unlimited || lines_of(base::wrap(text, columns, margin, rest)) <= most) return text;
    std::string kept(base::first_columns(text, most * columns));
    const auto one_character = [&kept] {
      while (kept.size() > 1 && (static_cast<unsigned char>(kept.back()) & 0xc0u) == 0x80u) kept.pop_back();
      kept.pop_back();
    };
    while (!kept.empty() && lines_of(base::wrap(kept + " ..." + end, columns, margin, rest)) > most) {
      const std::size_t space = kept.find_last_of(' ');
      const std::size_t word = space == std::string::npos ? 0 : space + 1;
      if (base::display_width(std::string_view(kept).substr(word)) > columns / 2) one_character();
      else kept.resize(word == 0 ? 0 : space);
    }
    return kept + " ..." + end;
  }

  std::string efficiency(bool quiet) const {
    const explain::efficiencies& e = r_.ledger.efficiency;
    if (r_.run.locations <= 1 || !(e.parallel > 0) || r_.run.unrecorded.matter() || (quiet && nothing_worth_changing(r_, o_)))
      return {};
    return efficiency_words(r_);
  }

  void findings(part& to, const base::vector<finding>& all, bool quiet, std::size_t left) const {
    std::size_t shown = 0;
    for (const finding& f : all) {
      if (shown == most_findings) break;
      const bool large = f.problem != nullptr ? worth_a_finding(f) : !quiet && f.seconds >= least_part * r_.run.waiting_seconds;
      if (!large) continue;
      part one;
      for (const bool with_advice : {true, false}) {  // the first has its advice
        one = f.problem != nullptr ? problem(f, shown + 1) : waits(f, shown + 1, with_advice);
        if (shown == 0 || 1 + one.lines <= left) break;
      }
      if (shown != 0 && 1 + one.lines > left) break;
      left -= std::min(left, 1 + one.lines);
      to.blank();
      one.text = colour_of(one.text);
      to.add(one);
      ++shown;
    }
    if (shown != 0) to.blank();
  }
  bool worth_a_finding(const finding& f) const noexcept {
    return f.problem->saving_seconds >= least_share * r_.run.explained_seconds() ||
           f.seconds >= least_part * r_.run.location_seconds;
  }
  std::string colour_of(const std::string& text) const {
    const std::size_t at = text.find("\n    try: ");
    if (*o_.off() == '\0' || at == std::string::npos) return text;
    return text.substr(0, at + 1) + o_.green() + text.substr(at + 1, text.size() - at - 2) + o_.off() + "\n";
  }

  static std::string number_of(std::size_t n) { return base::pad_left(std::to_string(n), 2) + "  "; }

  part problem(const finding& f, std::size_t number) const {
    const advice_entry& a = *f.problem;
    part out;
    add(out, base::printable(pattern_words(a.problem)) + ": " + base::printable(a.description), number_of(number));
    advice(out, f);
    return out;
  }

  part waits(const finding& f, std::size_t number, bool with_advice) const {
    const wait_entry& w = f.sum;
    part out;
    std::string head = pattern_words(f.patterns[0]);
    if (f.patterns.size() == 2) head += " and " + pattern_words(f.patterns[1]);
    else if (f.patterns.size() > 2) head += " and " + base::counted(count(f.patterns.size() - 1), "other pattern");
    head += base::joined(
        {": ", who_waited(w), ", ", base::percent(w.seconds / r_.run.location_seconds), " of ", base::rank_time()});
    head += few_words(w, base::counted(w.count, "wait"));
    add(out, head, number_of(number));
    std::string where = "in " + call_text(w.operation);
    const std::string cause = call_text(w.cause);
    if (cause != call_text(w.operation)) where += " <- " + cause;
    if (f.places.size() > 1) where += ", and in " + base::counted(count(f.places.size() - 1), "other call");
    add(out, where, "    ", "", 2);
    rows(out, f);
    const std::string trust = w.quality == "order_suspect" || w.quality == "hidden_tree" ? quality_words(w.quality) : "";
    add(out, trust, "    ", "", 2);
    if (with_advice) advice(out, f);
    return out;
  }

  // What made the late side late: the rows of at least a tenth, at most two. Where the waiting side ran other code, all rows together
  // are longer than the wait: shares are of their sum then.
  void rows(part& out, const finding& f) const {
    const wait_entry& w = f.sum;
    std::size_t shown = 0;
    double late = std::max(0.0, w.unexplained_seconds);
    for (const residual_entry& r : w.residual) late += std::max(0.0, r.seconds());
    const double all = std::max(late, w.seconds);
    for (const residual_entry& r : w.residual) {
      if (shown == most_causes() || r.seconds() < least_part * w.seconds) break;
      const std::string why = remark(f, r);
      add(out, base::joined({base::percent(r.seconds() / all), " because of ", label(r), why.empty() ? "" : ": ", why}), "    ",
          "", 2);
      ++shown;
    }
    if (w.unexplained_seconds >= least_part * w.seconds)
      add(out, base::percent(w.unexplained_seconds / all) + " without a known cause", "    ", "", 2);
  }
  static std::string label(const residual_entry& r) {
    if (r.kind == "between") return "unmarked code " + between_text(r);
    if (r.kind == "call") return "time inside " + call_text(r.where);
    const std::string code = code_text(r.where);
    return base::printable(r.block) + (code.empty() ? "" : " (" + code + ")");
  }

  void advice(part& out, const finding& f) const {
    if (f.advice == nullptr || f.advice->text.empty()) return;
    const advice_entry& a = *f.advice;
    std::string saving;
    if (a.saving_seconds > 0)
      saving = base::joined({" (saves ", saving_bound_words(r_, a), " ", base::duration(a.saving_seconds, 2), ")"});
    const bool whole = most_of_advice() == unlimited;
    const std::string text = "try: " + base::printable(a.text);
    add(out, with_saving(text, saving, whole), "    ", "", 5, most_of_advice(), whole ? std::string() : saving);
  }

  static std::int64_t count(std::size_t n) noexcept { return static_cast<std::int64_t>(n); }

  // Answers to questions, data, the quality of the report, warnings, and where the rest is.
  part footer(std::size_t kinds, bool quiet) const {
    part out;
    std::size_t answers = 0;
    for (const whatif::answer& a : r_.prediction.answers)
      if (answers++ < most_answers()) add(out, answer_words(a), "  ", "", 2);
    if (r_.communication != nullptr && has_data()) {
      out.text += r_.communication->brief(o_.columns);
      out.lines += lines_of(r_.communication->brief(columns));
    }
    std::string rest = quality();
    if (kinds > most_findings && !quiet)
      rest += "; " + base::counted(count(kinds), "kind of wait", "kinds of waits") + " in all";
    if (r_.verdict.size() > most_verdicts())
      rest += "; " + base::counted(count(r_.verdict.size() - most_verdicts()), "more verdict");
    if (answers > most_answers()) rest += "; " + base::counted(count(answers - most_answers()), "more answer");
    if (!quiet || !r_.profile.regions.empty() || tight_ != 0) rest += "; more: WHYWAIT_REPORT=full";
    add(out, rest, "  ", o_.faint(), 2, unlimited);  // at most five lines; the last names the full report
    warnings(out, most_warnings());
    return out;
  }
  void warnings(part& to, std::size_t most) const {
    const std::size_t all = r_.run.warnings.size();
    for (std::size_t i = 0; i != std::min(most, all); ++i)
      add(to, "warning: " + base::printable(r_.run.warnings[i]), "  ", o_.red(), 2);
    if (all > most) add(to, base::counted(count(all - most), "more warning"), "  ", o_.red(), 2);
  }

  std::string answer_words(const whatif::answer& a) const {
    const std::string question = "what if " + base::printable(a.question) + ": ";
    if (!a.refusal.empty()) return question + "no answer: " + base::printable(a.refusal);
    const double saving = a.measured_seconds - a.seconds;
    std::string words = base::joined({question, base::duration(a.seconds), " (", base::duration(a.low_seconds), " to ",
                                      base::duration(a.high_seconds), "), ", saving >= 0 ? "saves " : "costs ",
                                      base::duration(std::fabs(saving), 2)});
    if (!r_.prediction.whole_run && a.measured_seconds < 0.98 * r_.run.explained_seconds())
      words += " of the first " + base::duration(a.measured_seconds) + " of the run";
    return words;
  }

  // One line: on what the report rests.
  std::string quality() const {
    const run_facts& run = r_.run;
    std::string out = run.threads_only
                          ? base::counted(run.primitives, "wait or release of a thread", "waits and releases of threads")
                          : base::counted(run.mpi_calls, "MPI call");
    if (run.epochs > 1) out += " in " + base::counted(run.epochs, "epoch");
    if (run.waiting_seconds > 0)
      out += base::joined(
          {", ", base::percent(std::max(run.unexplained_seconds, 0.0) / run.waiting_seconds), " of the waiting unexplained"});
    if (run.undescribed_waits > 0)
      out += base::joined({", ", base::counted(run.undescribed_waits, "wait"), " not described by any rule"});
    if (run.dropped_events > 0) out += base::joined({", ", base::counted(run.dropped_events, "event"), " dropped"});
    if (run.unmatched > 0) out += base::joined({", ", base::counted(run.unmatched, "message"), " unmatched"});
    if (run.clock_violations > 0) out += ", " + base::counted(run.clock_violations, "clock violation");
    if (!run.threads_only && !(run.clock_error_seconds < 1e-5))
      out += ", clock error " +
             (std::isfinite(run.clock_error_seconds) ? base::duration(run.clock_error_seconds, 2) : std::string("unknown"));
    double open = 0;  // seconds
    for (const wait_entry& w : r_.waits)
      for (const residual_entry& t : w.residual) open += base::seconds_of(t.slower.not_counted_ns);
    if (tight_ == 0 && open > 0.1 * run.waiting_seconds && !run.not_counted.empty())
      out += ", not counted on this machine: " + list_of_not_counted(run);
    const overhead_section& o = r_.ledger.overhead;
    if (o.calibrated && r_.ledger.seconds > 0) {
      const double most = o.most_seconds();
      out += base::joined(
          {", measuring took at most ", base::duration(most, 2), " (", base::percent(most / r_.ledger.seconds), ")"});
    }
    if (run.pause_seconds > 0.1 * run.seconds)
      out +=
          base::joined({", pauses of epochs another ", base::duration(run.pause_seconds, 2), " (WHYWAIT_PAUSES limits them)"});
    return out;
  }

  const result& r_;
  const text_options& o_;
  int tight_ = 0;
};

}  // namespace detail

/// The short report as UTF-8 text.
inline std::string short_text_of(const result& r, const text_options& options = {}) {
  return detail::short_writer(r, options)();
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
