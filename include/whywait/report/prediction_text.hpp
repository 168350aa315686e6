#ifndef WHYWAIT_REPORT_PREDICTION_TEXT_HPP
#define WHYWAIT_REPORT_PREDICTION_TEXT_HPP

#include <whywait/base/table.hpp>
#include <whywait/base/units.hpp>
#include <whywait/report/model.hpp>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

/// "+1.3 %"; the error of a prediction keeps one decimal, so that small errors do not round to 0.
inline std::string signed_percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", share * 100);
  return text;
}

/// The engine that gave the answer and the share of the run on which it rests.
inline std::string by_whom(const whatif::answer& a) {
  char share[32];
  // rounded down: 100 % only if everything is understood
  std::snprintf(share, sizeof share, "%.1f %%", std::floor(a.rests_on * 1000) / 10);
  const std::string rests = base::joined({"; rests on the ", share, " of the run that is understood"});
  if (a.engine != "clocks") return "by " + a.engine + rests;
  for (const whatif::engine_answer& e : a.engines)
    if (e.engine == "replay")
      return "by the clocks of the critical path" +
             (e.refusal.empty() ? "; replay is " + signed_percent(e.seconds / a.seconds - 1) + " from that"
                                : ", not checked by replay: " + e.refusal) +
             rests;
  return "by the clocks of the critical path" + rests;
}

/// The section of the text report: each question with its time, interval, saving and the error of the model on the
/// unchanged program; unanswered questions with the reason. Empty without questions.
inline std::string prediction_text(const prediction_section& p, std::size_t columns) {
  if (p.answers.empty()) return {};
  std::string out =
      base::joined({"\n    what if  (", p.whole_run ? "the run took " : "the first ", base::duration(p.measured_seconds),
                    p.whole_run ? ")\n" : " of the run: the calls of the rest are not kept)\n"});
  for (const whatif::answer& a : p.answers) {
    std::string head = base::printable(a.question) + ":  ";
    if (!a.refusal.empty()) {
      out += base::wrap(head + "no answer: " + base::printable(a.refusal), columns, "      ", "        ");
      continue;
    }
    const double saving = a.measured_seconds - a.seconds;
    head +=
        base::joined({base::duration(a.seconds), "  (", base::duration(a.low_seconds), " to ", base::duration(a.high_seconds),
                      "), ", saving >= 0 ? "saves " : "costs ", base::duration(std::fabs(saving), 2)});
    out += base::wrap(head, columns, "      ", "        ");
    out += base::wrap(by_whom(a), columns, "        ", "        ");
    for (const std::string& note : a.notes) out += base::wrap(base::printable(note), columns, "        ", "        ");
  }
  return out;
}

/// Writes the member "prediction"; an empty object without questions.
template <class Writer>
void write_prediction(Writer& out, const prediction_section& p) {
  out.key("prediction").begin_object();
  if (!p.answers.empty()) {
    out.member("measured_seconds", p.measured_seconds).member("whole_run", p.whole_run);
    if (p.unchanged_error) out.member("unchanged_error", *p.unchanged_error);
    out.key("answers").begin_array();
    for (const whatif::answer& a : p.answers) {
      out.begin_object().member("question", a.question);
      if (a.refusal.empty()) {
        out.member("seconds", a.seconds).member("low_seconds", a.low_seconds).member("high_seconds", a.high_seconds);
        out.member("saving_seconds", a.measured_seconds - a.seconds);
        out.member("engine", a.engine).member("unchanged_error", a.baseline_error).member("rests_on", a.rests_on);
      } else {
        out.member("refusal", a.refusal);
      }
      out.key("engines").begin_array();
      for (const whatif::engine_answer& e : a.engines) {
        out.begin_object().member("engine", e.engine);
        if (e.refusal.empty()) out.member("seconds", e.seconds).member("unchanged_error", e.baseline_error);
        else out.member("refusal", e.refusal);
        out.end_object();
      }
      out.end_array().key("notes").begin_array();
      for (const std::string& note : a.notes) out.value(note);
      out.end_array().end_object();
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
