#ifndef WHYWAIT_WHATIF_ASK_HPP
#define WHYWAIT_WHATIF_ASK_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/whatif/answer.hpp>
#include <whywait/whatif/change.hpp>
#include <whywait/whatif/replay.hpp>
#include <whywait/whatif/supersteps.hpp>

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
  int resamples = 400;               ///< bootstrap samples over the steps of the run
  int copies = 5;                    ///< number of shuffled logs that are averaged for questions about more ranks
  double most_baseline_error = 0.1;  ///< engines with a larger error on the unchanged program are rejected
  double most_spread = 0.25;         ///< a larger difference between engines refuses the answer
  double resolution = 0.005;         ///< minimum half width of the interval, for the resolution of clocks and sleep
  base::vector<engine> engines = {};  ///< used in addition to replay, algebra and chain
  base::vector<outside_answer> outside = {};
};

namespace detail {

/// Durations of steps and their kinds.
struct step_list {
  base::pod_vector<double> seconds;
  base::pod_vector<std::uint32_t> kind;
};

// The steps of a run, delimited by the collectives of all lines and classified by the collective that ends them. If
// there are too few, equal parts of the activities are used instead (batch means). Steps of one kind must differ by
// chance only.
inline step_list steps_of(const replayed& r) {
  step_list steps;
  const bool parts = r.step_end.size() < 8;
  const base::pod_vector<double>& ends = parts ? r.part_end : r.step_end;
  double before = 0.0;
  for (std::size_t i = 0; i != ends.size(); ++i) {
    steps.seconds.push_back(std::max(0.0, ends[i] - before));
    steps.kind.push_back(parts ? 0 : r.step_label[i]);
    before = ends[i];
  }
  return steps;
}

/// 95 % relative half width of the difference between two runs of `all` seconds. One run is simulated by resampling
/// steps within their kind (Efron 1979). The other run varies as much, which gives the factor sqrt(2).
inline double run_to_run(const step_list& steps, double all, int resamples, std::uint64_t seed) {
  models::random_source random(seed);
  base::pod_vector<std::uint32_t> order(steps.seconds.size());
  for (std::uint32_t i = 0; i != order.size(); ++i) order[i] = i;
  base::small_stable_sort(order, [&steps](std::uint32_t a, std::uint32_t b) { return steps.kind[a] < steps.kind[b]; });
  base::pod_vector<double> apart;
  for (int k = 0; k != resamples; ++k) {
    double difference = 0.0;
    for (std::size_t begin = 0, end; begin != order.size(); begin = end) {
      for (end = begin; end != order.size() && steps.kind[order[end]] == steps.kind[order[begin]];) ++end;
      const std::uint32_t n = static_cast<std::uint32_t>(end - begin);
      for (std::size_t i = begin; i != end; ++i)
        difference += steps.seconds[order[begin + random.below(n)]] - steps.seconds[order[i]];
    }
    apart.push_back(std::fabs(difference) / all);
  }
  base::small_stable_sort(apart);
  return apart.empty() || !(all > 0.0) ? 0.0 : std::sqrt(2.0) * apart[apart.size() - 1 - apart.size() / 20];
}

class answer_builder {
 public:
  answer_builder(const models::run_log& log, const ask_options& options) : log_(log), options_(options) {
    before_ = replay(log);
    disturbed_ = before_.seconds > 0.0 ? 1.0 - replay(log, false).seconds / before_.seconds : 0.0;
    steps_ = find_supersteps(log);
    measured_ = log.measured_seconds > 0.0 ? log.measured_seconds : before_.seconds;
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
    const engine_answer* best = outside != nullptr ? &a.engines.back() : nullptr;
    for (const engine_answer& e : a.engines)
      if (outside == nullptr && e.answered && (best == nullptr || better(q, e, *best))) best = &e;
    if (best == nullptr)
      return refuse(a, "no engine reproduces the unchanged program within " +
                           std::to_string(std::lround(options_.most_baseline_error * 100)) + " %");
    a.answered = true;
    a.engine = best->engine;
    a.seconds = best->seconds;
    a.baseline_error = best->baseline_error;
    for (const engine_answer& e : a.engines)
      if (e.answered && a.seconds > 0.0) a.spread = std::max(a.spread, std::fabs(e.seconds / a.seconds - 1.0));
    if (a.spread > options_.most_spread) {
      a.answered = false;
      return refuse(a, "the models disagree by " + std::to_string(std::lround(a.spread * 100)) + " %");
    }
    const double off = std::fabs(a.engines.front().baseline_error);  // error of replay
    const double half = a.sampling + disturbed_ + a.spread + off + options_.resolution;
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

  // Replay decides. For more ranks the algebra models the maximum, of which replay has only some samples.
  static bool better(const question&, const engine_answer& e, const engine_answer& than) {
    return e.engine == "replay" && than.engine != "replay";
  }

  engine_answer finish(const answer& a, const std::string& engine, double baseline, double predicted) const {
    engine_answer e;
    e.engine = engine;
    e.baseline_seconds = baseline;
    e.baseline_error = baseline / measured_ - 1.0;
    if (!(baseline > 0.0)) {
      e.refusal = "it predicts no time for the unchanged program";
    } else if (std::fabs(e.baseline_error) > options_.most_baseline_error) {
      e.refusal = "it misses the unchanged program by " + base::percent(e.baseline_error);
    } else {
      e.answered = true;
      e.seconds = a.measured_seconds * predicted / baseline;
    }
    return e;
  }

  void by_replay(const question& q, const models::run_log& changed, answer& a) const {
    const replayed after = replay(changed);
    double seconds = after.seconds;
    // different seeds shuffle the work differently
    if (q.what == question::kind::ranks && options_.copies > 1) {
      double low = seconds, high = seconds;
      for (int k = 1; k < options_.copies; ++k) {
        models::run_log other;
        std::string ignored;
        change(log_, q, other, ignored, options_.seed + static_cast<std::uint64_t>(k));
        const double t = replay(other).seconds;
        seconds += t;
        low = std::min(low, t);
        high = std::max(high, t);
      }
      seconds /= static_cast<double>(options_.copies);
      a.sampling = std::max(high / seconds - 1.0, 1.0 - low / seconds);
    }
    // Resample steps of the changed program. If it has none, steps of the unchanged one vary in the same way.
    const bool own_steps = after.step_end.size() >= 8 || !after.part_end.empty();
    const step_list steps = steps_of(own_steps ? after : before_);
    if (steps.seconds.size() >= 8)
      a.sampling += run_to_run(steps, own_steps ? after.seconds : before_.seconds, options_.resamples, options_.seed);
    else a.notes.push_back("the interval excludes the sampling error: the run has no steps to resample");
    a.engines.push_back(finish(a, "replay", before_.seconds, seconds));
  }

  void by_steps(const models::run_log& changed, answer& a) const {
    const superstep_model after = find_supersteps(changed);
    for (const bool exponential : {false, true}) {
      const char* const name = exponential ? "chain" : "algebra";
      double before_seconds = 0.0, after_seconds = 0.0;
      std::string why_not = steps_.valid ? after.why_not : steps_.why_not;
      if (why_not.empty() && detail::by_steps(steps_, exponential, before_seconds, why_not) &&
          detail::by_steps(after, exponential, after_seconds, why_not))
        a.engines.push_back(finish(a, name, before_seconds, after_seconds));
      else a.engines.push_back(cannot(name, why_not));
    }
  }

  void by_engine(const engine& e, const models::run_log& changed, answer& a) const {
    double before = 0.0, after = 0.0;
    std::string why_not;
    try {
      a.engines.push_back(e.predict(log_, changed, before, after, why_not) ? finish(a, e.name, before, after)
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
  replayed before_;
  superstep_model steps_;
  double measured_ = 0.0;
  double disturbed_ = 0.0;  // share of the run that calls lost by late completion detection, which varies between runs
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
