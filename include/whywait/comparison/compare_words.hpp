#ifndef WHYWAIT_COMPARISON_COMPARE_WORDS_HPP
#define WHYWAIT_COMPARISON_COMPARE_WORDS_HPP

#include <whywait/base/units.hpp>
#include <whywait/comparison/changes.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {

/// The whole comparison in one word: worse, better, mixed (better, but something else is worse), changed (as good as before, but
/// waits or blocks changed), same.
inline std::string outcome_word(const changes& c) {
  if (c.worse()) return "worse";
  if (c.better()) return c.any_worse() ? "mixed" : "better";
  return c.any() ? "changed" : "same";
}

namespace detail {

/// A block in one line: "relax (uneven.cpp:8)", "between MPI_Recv in step (a.cpp:13) and MPI_Send in step (a.cpp:12)".
inline std::string block_text(const timed_block& b) {
  if (b.kind == "between") {
    const std::string begin = b.from ? base::call_text(*b.from) : "MPI_Init";
    return "the code between " + begin + " and " + base::call_text(b.where);
  }
  if (b.kind == "call") return "time inside " + base::call_text(b.where);
  const std::string code = base::code_text(b.where);
  return base::printable(b.block) + (code.empty() ? "" : " (" + code + ")");
}

/// "0.35 s more", "0.35 s less".
inline std::string more_text(double seconds) { return base::duration(std::fabs(seconds)) + (seconds < 0 ? " less" : " more"); }

/// "15 % longer", "3 times as long", "10 % shorter".
inline std::string relative_text(double before, double after) {
  if (!(before > 0)) return "longer";
  const double ratio = after / before;
  if (ratio >= 1.95) return base::fixed(ratio, ratio < 9.95 ? 1 : 0) + " times as long";
  return base::percent(std::fabs(ratio - 1)) + (ratio < 1 ? " shorter" : " longer");
}

/// How a block of the critical path became longer: "the same visits, each 3.4 ms longer", "1,200 more visits".
inline std::string visits_text(const block_change& b) {
  const double was = b.visits_before, is = b.visits_after;
  if (!(was > 0) && is > 0) return "it was not there before";
  if (was > 0 && !(is > 0)) return "it is no longer there";
  if (!(was > 0)) return {};
  const double more = is - was;
  if (std::fabs(more) > 0.02 * was && std::fabs(more) >= 0.5)
    return base::counted(std::llround(std::fabs(more)), more < 0 ? "fewer visit" : "more visit");
  const double each = b.seconds.after / is - b.seconds.before / was;
  return "the same visits, each " + base::duration(std::fabs(each), 2) + (each < 0 ? " shorter" : " longer");
}

/// How the late side changed in a block: more visits, or slower ones.
inline std::string reason_text(const block_change& b) {
  const double all = std::fabs(b.by_visits) + std::fabs(b.by_speed);
  if (!(all > 0)) return {};
  const bool less = b.seconds.change() < 0;
  if (std::fabs(b.by_visits) >= 0.8 * all) return less ? "fewer visits" : "more visits";
  if (std::fabs(b.by_speed) >= 0.8 * all) return less ? "less slow visits" : "slower visits";
  return less ? "fewer and less slow visits" : "more and slower visits";
}

inline std::string figure_words(const std::string& name) {
  if (name == "seconds") return "wall time";
  if (name == "waiting") return "waiting per rank";
  if (name == "parallel") return "efficiency";
  if (name == "load_balance") return "  load balance";
  return "  " + name;
}

inline std::string value_text(const figure& f, double value) {
  return f.is_time ? base::duration(value) : base::percent(value);
}
/// "+15 %" of a time, "-2.1 points" of an efficiency.
inline std::string change_text(const figure& f) {
  const double change = f.values.change();
  const std::string sign = change < 0 ? "-" : "+";
  if (!f.is_time) {
    const double points = std::fabs(change) * 100;
    return points < 0.05 ? "0" : sign + base::fixed(points, points < 9.95 ? 1 : 0) + " points";
  }
  if (!(f.values.before > 0)) return "";
  return sign + base::percent(std::fabs(change) / f.values.before);
}

}  // namespace detail

/// What became of the run, in one to three sentences.
inline std::vector<std::string> sentences(const changes& c) {
  using namespace detail;
  std::vector<std::string> all;
  const difference& run = c.run().values;
  if (c.run().what == change::same) {
    all.push_back("The run takes " + base::duration(run.after) + ", before " + base::duration(run.before) +
                  ": no change beyond the noise. A change of " + base::percent(c.least_seen / run.before) +
                  " would have been seen.");
  } else {
    all.push_back("The run takes " + base::duration(run.after) + " instead of " + base::duration(run.before) + ", " +
                  relative_text(run.before, run.after) + ".");
    std::string causes;
    for (const block_change& b : c.path_causes) {
      const std::string how = visits_text(b);
      causes += (causes.empty() ? "On its critical path " : "; ") + block_text(b.block) + " takes " +
                more_text(b.seconds.change()) + (how.empty() ? "" : " (" + how + ")");
    }
    if (!causes.empty()) all.push_back(causes + ".");
  }
  for (const wait_change& w : c.waits) {
    const auto more = std::find_if(w.why.begin(), w.why.end(), [](const block_change& b) { return b.seconds.change() > 0; });
    if (more == w.why.end() || !(is_worse(w.what) || w.what == change::shifted)) continue;
    const std::string whom = w.rank >= 0 ? " for rank " + std::to_string(w.rank) : "";
    const std::string where = base::call_text(w.wait.operation);
    all.push_back((is_worse(w.what) ? "Ranks wait " + more_text(w.seconds.change()) + " each in " + where + whom
                                    : "Ranks wait as long as before in " + where + ", but for another reason" +
                                          (whom.empty() ? "" : " and more" + whom)) +
                  ": the late side runs " + more_text(more->seconds.change()) + " of " + block_text(more->block) + ".");
    break;
  }
  return all;
}

/// A checked prediction as a sentence.
inline std::string saving_text(const changes& c, const saving_check& s) {
  const predicted_saving& p = s.predicted;
  if (s.question) {
    const std::string range = p.low < p.high ? " (" + base::duration(p.low) + " to " + base::duration(p.high) + ")" : "";
    return "\"" + p.text + "\": predicted " + base::duration(p.seconds) + range + ", the run now takes " +
           base::duration(s.real_seconds) + (s.within ? ": as predicted, if this is the change" : "");
  }
  const double before = c.run().values.before;
  const std::string most = p.at_most ? "up to " : "";
  std::string text = p.subject + ": predicted to save " + most + base::duration(p.seconds);
  if (!s.followed) return text + ": not done, or without effect (this reason is still there)";
  const std::string gone =
      s.left_seconds > 0 ? "this reason is left with " + base::duration(s.left_seconds) : "this reason is gone";
  if (c.run().what == change::worse) return text + ": " + gone + ", but the run takes longer";
  const auto followed =
      std::count_if(c.savings.begin(), c.savings.end(), [](const saving_check& each) { return each.followed; });
  if (followed > 1) return text + ": " + gone;  // predictions do not add up, so that no share is that of one
  text += "; " + gone + ", and the run is " + base::duration(std::fabs(s.real_seconds)) +
          (s.real_seconds < 0 ? " longer" : " shorter");
  if (s.left_seconds > 0) return text;  // another change may have done it
  const double share = p.seconds > 0 ? s.real_seconds / p.seconds : 0;
  if (p.seconds > 0.02 * before && s.real_seconds > 0) text += " (" + base::percent(share) + " of it)";
  return text;
}

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
