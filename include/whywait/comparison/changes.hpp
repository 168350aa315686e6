#ifndef WHYWAIT_COMPARISON_CHANGES_HPP
#define WHYWAIT_COMPARISON_CHANGES_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/comparison/compared_run.hpp>
#include <whywait/comparison/noise.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace comparison {

/// What became of a quantity. `same`: the difference is too small to matter, or may be noise. `shifted`: waits take as long as
/// before, but other code causes them.
enum class change : std::uint8_t { same, better, worse, appeared, gone, shifted };

inline const char* name_of(change c) noexcept {
  static constexpr const char* names[] = {"same", "better", "worse", "new", "gone", "shifted"};
  return names[static_cast<unsigned>(c)];
}
/// Whether it is bad news.
inline bool is_worse(change c) noexcept { return c == change::worse || c == change::appeared; }

/// A figure of the whole run.
struct figure {
  std::string name;         ///< run.seconds, waiting, parallel, load_balance, serialisation, transfer
  bool is_time = true;      ///< seconds; otherwise an efficiency
  difference values;
  change what = change::same;
};

/// Time of a block on both sides, per run. Of an explanation: what the late side ran more of it, per rank.
struct block_change {
  timed_block block;  ///< as the side after names it, unless only the side before has it
  difference seconds;
  double visits_before = 0, visits_after = 0;
  double by_visits = 0, by_speed = 0;  ///< of an explanation: parts of the change
  change what = change::same;
};

/// All waits of one pattern between the same two call sites. Seconds per rank.
struct wait_change {
  listed_wait wait;  ///< as the side after names it, unless only the side before has it; its numbers are those of one run
  difference seconds;
  double count_before = 0, count_after = 0;
  std::vector<block_change> why;  ///< blocks of which the late side ran more than before, or less, largest change first
  int rank = -1;  ///< the rank for which most of the change is, or more waiting than before; -1: none stands out
  change what = change::same;
};

/// A saving that the report before predicted, and what became of the run.
struct saving_check {
  predicted_saving predicted;  ///< mean over the runs before
  bool question = false;  ///< an answer to WHYWAIT_WHATIF: `predicted.seconds` is the time of the changed run
  bool followed = false;  ///< the report after does not give this reason, or at most half of its saving
  double left_seconds = 0;  ///< what it still saves by the report after; 0: that does not give this reason
  double real_seconds = 0;  ///< saving, or of a question the time of the run after
  bool within = false;  ///< of a question: inside the predicted interval, widened by the noise of the run
};

/// The differences between two sets of runs. The result of whywait::compare.
struct changes {
  std::size_t runs_before = 0, runs_after = 0;
  std::int64_t ranks_before = 0, ranks_after = 0;
  std::string program;
  double at_least = 0.02;
  noise_options noise;
  double least_seen = 0;  ///< the smallest difference of the wall time that would have counted, seconds
  std::vector<figure> figures;  ///< the wall time comes first
  std::vector<wait_change> waits;  ///< changed ones, largest change first
  std::vector<block_change> path;  ///< changed blocks of the critical path, largest change first
  std::vector<block_change>
      path_causes;  ///< of a changed wall time: blocks whose change makes it up, whether significant or not
  std::vector<saving_check> savings;
  std::size_t same_waits = 0;  ///< kinds of waits that did not change, or that do not matter on either side
  std::vector<std::string> notes;  ///< doubts about the comparison, one sentence each

  const figure& run() const noexcept { return figures.front(); }
  /// Seconds per rank by which the kinds of waits that changed add up to more waiting.
  double more_waiting() const noexcept {
    double sum = 0;
    for (const wait_change& w : waits) sum += w.seconds.change();
    return sum;
  }
  /// Whether the side after is worse: it takes longer; or it takes as long and has more waiting, a lower parallel efficiency, or
  /// kinds of waits whose changes add up to more. Waiting that only moved to another call is not worse, and more work on ranks
  /// that waited before is not better.
  bool worse() const noexcept { return direction() == change::worse; }
  bool better() const noexcept { return direction() == change::better; }
  change direction() const noexcept {
    if (run().what != change::same) return run().what;
    const double least = at_least * run().values.before, more = more_waiting();
    const auto of = [this](const char* name) {
      for (const figure& f : figures)
        if (f.name == name) return f.what;
      return change::same;
    };
    if (more >= least || ((of("waiting") == change::worse || of("parallel") == change::worse) && more > -least))
      return change::worse;
    const bool shorter = run().values.change() <= 0;
    return shorter && (more <= -least || of("waiting") == change::better) ? change::better : change::same;
  }
  /// Whether anything is worse, even if the run takes less time.
  bool any_worse() const noexcept {
    return base::any_of(figures, [](const figure& f) { return is_worse(f.what); }) ||
           base::any_of(waits, [](const wait_change& w) { return is_worse(w.what); }) ||
           base::any_of(path, [](const block_change& b) { return is_worse(b.what); });
  }
  bool any() const noexcept {
    return !waits.empty() || !path.empty() || base::any_of(figures, [](const figure& f) { return f.what != change::same; });
  }
};

/// What counts as a change.
struct compare_options {
  double at_least = 0.02;  ///< of the wall time (of an efficiency: points / 100); smaller differences do not matter
  noise_options noise;
};

}  // namespace comparison
}  // namespace v0
}  // namespace whywait

#endif
