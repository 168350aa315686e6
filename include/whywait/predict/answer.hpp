#ifndef WHYWAIT_PREDICT_ANSWER_HPP
#define WHYWAIT_PREDICT_ANSWER_HPP

#include <whywait/predict/change.hpp>
#include <whywait/predict/supersteps.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace predict {

/// What one engine says.
struct engine_answer {
  std::string engine;  ///< "replay", "algebra" or "chain"
  bool answered = false;
  std::string refusal;            ///< why not
  double baseline_seconds = 0.0;  ///< its prediction of the unchanged program
  double baseline_error = 0.0;    ///< baseline over measured, minus 1
  double seconds = 0.0;           ///< measured * predicted(new) / predicted(unchanged)
};

/// The answer to one question; one row of the report's "prediction".
struct answer {
  std::string question;  ///< in the notation of parse_questions
  bool answered = false;
  std::string refusal;  ///< why there is no answer
  std::string engine;   ///< whose answer `seconds` is
  double measured_seconds = 0.0;
  double seconds = 0.0;      ///< predicted time of the changed program
  double low_seconds = 0.0;  ///< interval: sampling, spread among the engines and baseline error added up
  double high_seconds = 0.0;
  double baseline_error = 0.0;  ///< of `engine` on the unchanged program, relative
  double sampling = 0.0;        ///< half widths, relative: between two runs, and among the engines
  double spread = 0.0;
  std::vector<engine_answer> engines;
  std::vector<std::string> notes;  ///< assumptions and doubts, one sentence each
};

/// How `ask` works.
struct ask_options {
  std::uint64_t seed = 1;
  int resamples = 400;               ///< bootstrap over the steps of the run
  int copies = 5;                    ///< shuffled logs for more ranks, averaged
  double most_baseline_error = 0.1;  ///< an engine that misses the unchanged program by more is not used
  double resolution = 0.005;         ///< the interval is at least this wide on each side: clocks and sleep
};

namespace detail {

/// 95 % half width, relative, of the difference between two runs of so many steps: resampled steps (Efron 1979)
/// stand for one run; the other one varies as much, hence the root of 2.
inline double run_to_run(const std::vector<double>& steps, int resamples, std::uint64_t seed) {
  random_source random(seed);
  const std::uint32_t n = static_cast<std::uint32_t>(steps.size());
  double all = 0.0;
  for (const double t : steps) all += t;
  std::vector<double> apart;
  for (int k = 0; k != resamples; ++k) {
    double sum = 0.0;
    for (std::uint32_t i = 0; i != n; ++i) sum += steps[random.below(n)];
    apart.push_back(std::fabs(sum / all - 1.0));
  }
  std::sort(apart.begin(), apart.end());
  return apart.empty() || !(all > 0.0) ? 0.0 : std::sqrt(2.0) * apart[apart.size() - 1 - apart.size() / 20];
}

inline std::vector<double> step_lengths(const replayed& r) {
  std::vector<double> lengths;
  double before = 0.0;
  for (const double end : r.step_end) {
    lengths.push_back(end - before);
    before = end;
  }
  lengths.push_back(std::max(0.0, r.seconds - before));
  return lengths;
}

class questioner {
 public:
  questioner(const run_log& log, const ask_options& options) : log_(log), options_(options) {
    before_ = replay(log);
    steps_ = find_supersteps(log);
    measured_ = log.measured_seconds > 0.0 ? log.measured_seconds : before_.seconds;
  }

  answer ask(const question& q) {
    answer a;
    a.question = q.text();
    a.measured_seconds = measured_;
    a.notes = log_.doubts;
    if (!(measured_ > 0.0)) return refuse(a, "the run took no time");
    run_log changed;
    std::string why_not;
    if (!change(log_, q, changed, why_not, options_.seed)) return refuse(a, why_not);
    a.engines.push_back(by_replay(q, changed, a));
    by_steps(changed, a);
    const engine_answer* best = nullptr;
    for (const engine_answer& e : a.engines)
      if (e.answered && (best == nullptr || better(q, e, *best))) best = &e;
    if (best == nullptr)
      return refuse(a, "no engine reproduces the unchanged program within " +
                           std::to_string(std::lround(options_.most_baseline_error * 100)) + " %");
    a.answered = true;
    a.engine = best->engine;
    a.seconds = best->seconds;
    a.baseline_error = best->baseline_error;
    for (const engine_answer& e : a.engines)
      if (e.answered) a.spread = std::max(a.spread, std::fabs(e.seconds / a.seconds - 1.0));
    const double half = a.sampling + a.spread + std::fabs(a.baseline_error) + options_.resolution;
    a.low_seconds = std::max(0.0, a.seconds * (1.0 - half));
    a.high_seconds = a.seconds * (1.0 + half);
    assumptions(q, a);
    return a;
  }

 private:
  static answer refuse(answer& a, const std::string& why) {
    a.refusal = why;
    return a;
  }

  // Replay is the arbiter. For more ranks the algebra has the law of the maximum, replay only some samples of it.
  static bool better(const question&, const engine_answer& e, const engine_answer& than) {
    return e.engine == "replay" && than.engine != "replay";
  }

  engine_answer finish(const std::string& engine, double baseline, double predicted) const {
    engine_answer e;
    e.engine = engine;
    e.baseline_seconds = baseline;
    e.baseline_error = baseline / measured_ - 1.0;
    if (!(baseline > 0.0)) {
      e.refusal = "it predicts no time for the unchanged program";
    } else if (std::fabs(e.baseline_error) > options_.most_baseline_error) {
      e.refusal = "it misses the unchanged program by " + std::to_string(std::lround(e.baseline_error * 100)) + " %";
    } else {
      e.answered = true;
      e.seconds = measured_ * predicted / baseline;
    }
    return e;
  }

  engine_answer by_replay(const question& q, const run_log& changed, answer& a) const {
    const replayed after = replay(changed);
    double seconds = after.seconds;
    std::vector<double> all{after.seconds};
    if (q.what == question::kind::ranks) {
      for (int k = 1; k < options_.copies; ++k) {
        run_log other;
        std::string ignored;
        change(log_, q, other, ignored, options_.seed + static_cast<std::uint64_t>(k));
        all.push_back(replay(other).seconds);
        seconds += all.back();
      }
      seconds /= static_cast<double>(all.size());
      for (const double t : all) a.sampling = std::max(a.sampling, std::fabs(t / seconds - 1.0));
    }
    // steps of the changed program; if it has none, those of the unchanged one vary as the run does
    const std::vector<double> steps = step_lengths(after.step_end.size() >= 8 ? after : before_);
    if (steps.size() > 8)
      a.sampling += run_to_run(steps, options_.resamples, options_.seed);
    else
      a.notes.push_back("the sampling error is not included: the run has no steps to resample");
    return finish("replay", before_.seconds, seconds);
  }

  void by_steps(const run_log& changed, answer& a) const {
    engine_answer algebra, chain;
    algebra.engine = "algebra";
    chain.engine = "chain";
    const superstep_model after = find_supersteps(changed);
    if (!steps_.valid || !after.valid) {
      algebra.refusal = chain.refusal = steps_.valid ? after.why_not : steps_.why_not;
    } else {
      algebra = finish("algebra", by_algebra(steps_), by_algebra(after));
      double old_seconds = 0.0, new_seconds = 0.0;
      if (by_chain(steps_, old_seconds, chain.refusal) && by_chain(after, new_seconds, chain.refusal))
        chain = finish("chain", old_seconds, new_seconds);
    }
    a.engines.push_back(algebra);
    a.engines.push_back(chain);
  }

  void assumptions(const question& q, answer& a) const {
    switch (q.what) {
      case question::kind::block:
        break;
      case question::kind::network:
        a.notes.push_back(
            "messages and collectives become faster; time that a call needs on its own processor does not");
        break;
      case question::kind::balance: {
        a.notes.push_back(
            "every rank gets the mean work of each kind over the whole run; the low end also evens out every single "
            "step");
        if (!steps_.valid) break;
        double perfect = 0.0;
        for (const double t : steps_.perfect) perfect += t;
        a.low_seconds = std::min(a.low_seconds, measured_ * perfect / before_.seconds * (1.0 - options_.resolution));
        break;
      }
      case question::kind::ranks:
        a.notes.push_back(q.fixed_total
                              ? "the work of each rank is divided evenly among its copies; collectives grow with the "
                                "logarithm of the ranks"
                              : "each rank does as much as now; collectives grow with the logarithm of the ranks");
        a.notes.push_back("shared resources (memory, network) are assumed not to become tighter");
        break;
      case question::kind::without:
        a.notes.push_back("the program is assumed to be correct without it");
        break;
    }
  }

  const run_log& log_;
  ask_options options_;
  replayed before_;
  superstep_model steps_;
  double measured_ = 0.0;
};

}  // namespace detail

/// Answers questions to a log by replay, algebra and chain, whichever hold, each with its error on the unchanged
/// program. A question that cannot be answered says why in `refusal`. Throws P022 for a log that contradicts
/// itself. Time: some replays per question.
inline std::vector<answer> ask(const run_log& log, const std::vector<question>& questions,
                               const ask_options& options = {}) {
  detail::questioner asker(log, options);
  std::vector<answer> result;
  for (const question& q : questions) result.push_back(asker.ask(q));
  return result;
}

}  // namespace predict
}  // namespace v0
}  // namespace whywait

#endif
