#ifndef WHYWAIT_WHATIF_ASK_HPP
#define WHYWAIT_WHATIF_ASK_HPP

#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/whatif/answer.hpp>
#include <whywait/whatif/change.hpp>
#include <whywait/whatif/replay.hpp>
#include <whywait/whatif/supersteps.hpp>
#include <whywait/whatif/variation.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace whatif {

/// An additional model. It predicts the time of the unchanged and the changed program, or returns false and the reason.
struct engine {
  const char* name;
  bool (*predict)(const models::run_log& unchanged, const models::run_log& changed, double& before, double& after,
                  std::string& why_not);
};

/// An answer from a model that saw the run itself. It is preferred; the engines check it.
struct outside_answer {
  std::size_t question = 0;  ///< index in the list of questions
  std::string engine;
  double before_seconds = 0.0;  ///< its time of the unchanged run; covers the whole run even if the log does not
  double after_seconds = 0.0;   ///< its time of the changed run
};

/// Options of `ask`.
struct ask_options {
  std::uint64_t seed = 1;
  int resamples = 24;                ///< at most: replays with other variation, for the difference between two runs
  int copies = 5;                    ///< number of shuffled logs that are averaged for questions about more ranks
  double most_baseline_error = 0.1;  ///< engines with a larger error on the unchanged program are rejected
  double most_spread = 0.25;         ///< a larger difference between engines refuses the answer
  double resolution = 0.005;         ///< minimum half width of the interval, for the resolution of clocks and sleep
  /// Most of one rank: share of the run that is not understood, in calls with or without a record (docs/method.md 4.13).
  double not_understood = 0.0;
  double shared_processors = 0.0;    ///< share of rank time in which work was ready to run and had no processor
  double crowded_seconds = 0.0;      ///< by which transfers of a changed run may take longer on shared processors
  base::vector<engine> engines = {};  ///< used in addition to replay, algebra and chain
  base::vector<outside_answer> outside = {};
};

namespace detail {

class answer_builder {
 public:
  answer_builder(const models::run_log& log, const ask_options& options) : log_(log), options_(options) {
    before_ = replay(log).seconds;
    before_late_ = replay(log, lateness::as_recorded).seconds;
    before_understood_ = replay(log, lateness::understood).seconds;
    steps_ = find_supersteps(log);
    measured_ = log.measured_seconds > 0.0 ? log.measured_seconds : before_;
    if (measured_ > 0.0) varies_ = run_to_run(log);
  }

  answer ask(const question& q, std::size_t index) {
    answer a;
    a.question = q.text();
    const outside_answer* outside = nullptr;
    for (const outside_answer& o : options_.outside)
      if (o.question == index && o.before_seconds > 0.0) outside = &o;
    a.measured_seconds = outside != nullptr ? outside->before_seconds : measured_;
    a.notes = log_.doubts;
    if (!(measured_ > 0.0)) return refuse(a, "the run took no time");
    if (!log_.open.empty()) return refuse(a, log_.open);
    if (options_.shared_processors > options_.most_spread)
      return refuse(a, "the ranks worked on shared processors: for " + base::percent(options_.shared_processors) +
                           " of the time their work was ready and had none, which changes with the program");
    models::run_log changed;
    std::string why_not;
    if (!change(log_, q, changed, why_not, options_.seed)) return refuse(a, why_not);
    try {
      by_replay(q, changed, a);
    } catch (const models::prediction_error&) {
      // only a program composed of changed parts can deadlock
      return refuse(a, "the program as imagined would wait for itself for ever");
    }
    by_steps(changed, a);
    for (const engine& e : options_.engines) by_engine(e, changed, a);
    if (outside != nullptr) {
      engine_answer e;
      e.engine = outside->engine;
      e.answered = true;
      e.baseline_seconds = outside->before_seconds;
      e.seconds = outside->after_seconds;
      a.engines.push_back(std::move(e));
    }
    // The other engines take the times of the same log: they are no better than replay.
    const engine_answer* const best = outside != nullptr ? &a.engines.back() : &a.engines.front();
    if (!best->answered) return refuse(a, best->refusal);
    a.engine = best->engine;
    a.seconds = best->seconds;
    a.baseline_error = best->baseline_error;
    a.rests_on = std::max(0.0, 1.0 - std::max(std::fabs(a.engines.front().baseline_error), options_.not_understood));
    if (1.0 - a.rests_on > options_.most_spread)
      return refuse(a, "only " + base::percent(a.rests_on) + " of the run is understood");
    for (const engine_answer& e : a.engines)
      if (e.answered && a.seconds > 0.0) a.spread = std::max(a.spread, std::fabs(e.seconds / a.seconds - 1.0));
    if (a.spread > options_.most_spread)
      return refuse(a, "the models disagree by " + std::to_string(std::lround(a.spread * 100)) + " %");
    a.answered = true;
    limits(a);
    assumptions(q, a);
    return a;
  }

 private:
  static answer refuse(answer& a, const std::string& why) {
    a.refusal = why;
    return a;
  }

  /// `explained`: what the engine explains of the run; the rest it only repeats.
  engine_answer finish(const answer& a, const std::string& engine, double baseline, double explained, double predicted) const {
    engine_answer e;
    e.engine = engine;
    e.baseline_seconds = baseline;
    e.baseline_error = explained / measured_ - 1.0;
    if (!(baseline > 0.0)) {
      e.refusal = "it predicts no time for the unchanged program";
    } else if (std::fabs(e.baseline_error) > options_.most_baseline_error) {
      e.refusal = "what is understood of the program as it is takes " + base::percent(explained / measured_) +
                  " of the measured time, which is not within " + base::percent(options_.most_baseline_error);
    } else {
      e.answered = true;
      e.seconds = a.measured_seconds * predicted / baseline;
    }
    return e;
  }

  // Two runs of one program differ by about as much, although neither shows it.
  static constexpr double repeatability = 0.025;

  // The answers of all models span the interval: the engines, and replay with other views of what it cannot know. It is
  // widened by the difference between two runs, and by the share of the run that no model explains.
  void limits(answer& a) const {
    double low = least_, high = most_;
    for (const engine_answer& e : a.engines)
      if (e.answered && a.seconds > 0.0) {
        low = std::min(low, e.seconds / a.seconds);
        high = std::max(high, e.seconds / a.seconds);
      }
    // What is not understood is a time: the changed run may also have none of it, or twice as much.
    const double unknown = (1.0 - a.rests_on) * std::min(1.0, a.measured_seconds / a.seconds);
    const double half = std::max(repeatability, a.sampling + unknown + options_.shared_processors + options_.resolution);
    a.low_seconds = std::max(0.0, a.seconds * low * (1.0 - half));
    a.high_seconds = a.seconds * high * (1.0 + half) + options_.crowded_seconds;
  }

  void by_replay(const question& q, const models::run_log& changed, answer& a) {
    const double main = replay(changed).seconds;
    least_ = most_ = 1.0;
    also_possible(main, replay(changed, lateness::understood).seconds, before_understood_);
    double seconds = main;
    models::run_log other;
    std::string ignored;
    if (q.what == question::kind::ranks) {
      // different seeds shuffle the work differently
      for (int k = 1; k < options_.copies; ++k) {
        change(log_, q, other, ignored, options_.seed + static_cast<std::uint64_t>(k));
        seconds += replay(other).seconds;
      }
      seconds /= std::max(1, options_.copies);
      // What ranks that are not there exchange was taken from others: half of it is uncertain.
      a.sampling += 0.5 * without_network(changed, main);
    } else if (q.what == question::kind::balance && !q.each_step) {
      other = log_;
      balancer(log_).totals(other, true);
      also_possible(main, replay(other).seconds, before_);
    }
    if (log_.may_wait_from < 1e300) waiting_sends(q, main);
    // Interruptions may come however fast the code is, and a call may be as late after a shorter wait.
    if (change(variation(log_).with_interruptions(), q, other, ignored, options_.seed)) {
      also_possible(main, replay(other, lateness::as_recorded).seconds, before_late_);
      const double after = run_to_run(other);
      a.sampling += std::sqrt(varies_ * varies_ + after * after);
    }
    a.engines.push_back(finish(a, "replay", before_, before_understood_, seconds));
  }

  /// Another view of the run gives other times of the unchanged and the changed program.
  void also_possible(double main, double after, double before) {
    if (!(main > 0.0 && before > 0.0 && before_ > 0.0)) return;
    const double by = after / before / (main / before_);
    least_ = std::min(least_, by);
    most_ = std::max(most_, by);
  }

  /// All sends wait for their receivers whose size leaves that open.
  void waiting_sends(const question& q, double main) {
    models::run_log waiting = log_, other;
    for (models::message_edge& m : waiting.messages) m.rendezvous = m.rendezvous || m.bytes >= log_.may_wait_from;
    std::string ignored;
    try {
      if (change(waiting, q, other, ignored, options_.seed))
        also_possible(main, replay(other).seconds, replay(waiting).seconds);
    } catch (const models::prediction_error&) {
      // a program that sends around a circle cannot have sent so
    }
  }

  /// The share of a run of `seconds` that transfers, collectives and calls take.
  static double without_network(models::run_log log, double seconds) {
    for (models::message_edge& m : log.messages) m.seconds = 0.0;
    for (models::sync_edge& s : log.syncs) s.seconds = 0.0;
    for (auto& line : log.lines)
      for (models::activity& a : line) a.call_seconds = 0.0;
    return seconds > 0.0 ? std::max(0.0, 1.0 - replay(log).seconds / seconds) : 0.0;
  }

  /// 95 % relative half width of the time of another run that varies as this one does, from replays of such runs.
  double run_to_run(const models::run_log& log) const {
    constexpr double most_activities = 4e6;
    const variation varies(log);
    const double size = std::max(1.0, static_cast<double>(varies.size()));
    const int runs = static_cast<int>(std::min(std::max(most_activities / size, 6.0), static_cast<double>(options_.resamples)));
    models::random_source random(options_.seed);
    models::run_log other = log;
    double sum = 0.0, squares = 0.0;
    for (int k = 0; k < runs; ++k) {
      varies.again(random, other);
      const double t = replay(other).seconds / measured_;
      sum += t;
      squares += t * t;
    }
    if (runs < 2 || !(sum > 0.0)) return 0.0;
    const double variance = std::max(0.0, (squares - sum * sum / runs) / (runs - 1));
    return (1.96 + 3.0 / (runs - 1)) * std::sqrt(variance) / (sum / runs);
  }

  void by_steps(const models::run_log& changed, answer& a) const {
    const superstep_model after = find_supersteps(changed);
    for (const bool exponential : {false, true}) {
      const char* const name = exponential ? "chain" : "algebra";
      double before_seconds = 0.0, after_seconds = 0.0;
      std::string why_not = steps_.valid ? after.why_not : steps_.why_not;
      if (why_not.empty() && detail::by_steps(steps_, exponential, before_seconds, why_not) &&
          detail::by_steps(after, exponential, after_seconds, why_not))
        a.engines.push_back(finish(a, name, before_seconds, before_seconds, after_seconds));
      else a.engines.push_back(cannot(name, why_not));
    }
  }

  void by_engine(const engine& e, const models::run_log& changed, answer& a) const {
    double before = 0.0, after = 0.0;
    std::string why_not;
    try {
      a.engines.push_back(e.predict(log_, changed, before, after, why_not) ? finish(a, e.name, before, before, after)
                                                                           : cannot(e.name, why_not));
    } catch (const models::prediction_error& problem) {
      a.engines.push_back(cannot(e.name, problem.what()));
    }
  }
  static engine_answer cannot(const char* name, const std::string& why_not) {
    engine_answer e;
    e.engine = name;
    e.refusal = why_not;
    return e;
  }

  void assumptions(const question& q, answer& a) const {
    for (const question& also : q.also) assumptions(also, a);
    switch (q.what) {
      case question::kind::block: break;
      case question::kind::network:
        a.notes.push_back("all time in MPI calls except waiting becomes shorter, including the time of the MPI library itself");
        break;
      case question::kind::balance:
        a.notes.push_back(q.each_step ? "in every step each rank does the mean work of that step"
                                      : "each rank does the mean work of each kind, distributed over its steps as now");
        break;
      case question::kind::ranks:
        a.notes.push_back(q.fixed_total
                              ? "the ranks share the work, except blocks that only one rank enters; messages stay the same, "
                                "collectives grow with the logarithm of the ranks"
                              : "each rank does the same work as now; collectives grow with the logarithm of the ranks");
        a.notes.push_back("shared resources (memory, network) are assumed not to become tighter");
        break;
      case question::kind::without: a.notes.push_back("assumes that the program is correct without it"); break;
    }
  }

  const models::run_log& log_;
  ask_options options_;
  superstep_model steps_;
  double measured_ = 0.0, varies_ = 0.0;
  double before_ = 0.0, before_late_ = 0.0, before_understood_ = 0.0;  ///< replays of the unchanged log
  double least_ = 1.0, most_ = 1.0;  ///< other views of the run, as factors of the answer of replay
};

}  // namespace detail

/// Answers questions from a log by replay, algebra and chain, as far as they apply, each with its error on the
/// unchanged program. For a question without an answer, `refusal` gives the reason. Throws P022 for an inconsistent
/// log. Takes several replays per question.
inline base::vector<answer> ask(const models::run_log& log, const base::vector<question>& questions,
                                const ask_options& options = {}) {
  detail::answer_builder builder(log, options);
  base::vector<answer> result;
  for (std::size_t i = 0; i != questions.size(); ++i) result.push_back(builder.ask(questions[i], i));
  return result;
}

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
