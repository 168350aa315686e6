#ifndef WHYWAIT_WHATIF_ANSWER_HPP
#define WHYWAIT_WHATIF_ANSWER_HPP

#include <whywait/base/vector.hpp>

#include <string>

namespace whywait {
inline namespace v0 {
namespace whatif {

/// The answer of one engine.
struct engine_answer {
  std::string engine;  ///< "replay", "algebra" or "chain"
  bool answered = false;
  std::string refusal;            ///< reason if not answered
  double baseline_seconds = 0.0;  ///< its prediction of the unchanged program
  double baseline_error = 0.0;    ///< what it explains of the unchanged program over measured, minus 1
  double seconds = 0.0;           ///< measured * predicted(new) / predicted(unchanged)

  // Out of line, because these functions are cold and would otherwise be inlined at many places.
  engine_answer() = default;
  [[gnu::noinline]] engine_answer(const engine_answer&) = default;
  [[gnu::noinline]] engine_answer(engine_answer&&) = default;
  [[gnu::noinline]] engine_answer& operator=(const engine_answer&) = default;
  [[gnu::noinline]] engine_answer& operator=(engine_answer&&) = default;
  [[gnu::noinline]] ~engine_answer() = default;
};

/// The answer to one question; one row of the report's "prediction".
struct answer {
  std::string question;  ///< in the notation of parse_questions
  bool answered = false;
  std::string refusal;  ///< reason if there is no answer
  std::string engine;   ///< the engine that `seconds` is from
  double measured_seconds = 0.0;
  double seconds = 0.0;      ///< predicted time of the changed program
  /// Interval: spans the engines and other views of the run, plus sampling error and the share that is not understood.
  double low_seconds = 0.0;
  double high_seconds = 0.0;
  double baseline_error = 0.0;  ///< of `engine` on the unchanged program, relative
  double rests_on = 1.0;        ///< share of the run that is understood; the rest is in the interval
  double sampling = 0.0;        ///< relative half width between two runs; `spread` is the one among the engines
  double spread = 0.0;
  base::vector<engine_answer> engines;
  base::vector<std::string> notes;  ///< assumptions and doubts, one sentence each

  // Out of line, because these functions are cold and would otherwise be inlined at many places.
  answer() = default;
  [[gnu::noinline]] answer(const answer&) = default;
  [[gnu::noinline]] answer(answer&&) = default;
  [[gnu::noinline]] answer& operator=(const answer&) = default;
  [[gnu::noinline]] answer& operator=(answer&&) = default;
  [[gnu::noinline]] ~answer() = default;
};

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
