#ifndef WHYWAIT_REPORT_RUN_LEDGER_HPP
#define WHYWAIT_REPORT_RUN_LEDGER_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/report/named_block.hpp>

#include <cstdint>
#include <optional>

namespace whywait {
inline namespace v0 {
namespace reports {

/// A block of the critical path.
struct critical_entry : named_block {
  double seconds = 0;            ///< time in this block on the critical path
  double imbalance_seconds = 0;  ///< part above the mean of all locations
  std::int64_t visits = 0;
  std::optional<double> saving_seconds;  ///< saving of the run if the block takes half the time; empty: not asked
};

/// A block and its proportional delay costs (Boehme et al., ACM TOPC 2016).
struct delay_entry : named_block {
  double short_seconds = 0;  ///< waits for the location that ran it
  double long_seconds = 0;   ///< waits for locations that had themselves waited, transitively
};

/// The cost of measuring. Without calibration it consists of the recorded pauses only.
struct overhead_section {
  bool calibrated = false;            ///< the cost of each call was measured
  double seconds = 0;                 ///< measuring time of all locations
  double bound_seconds = 0;           ///< part on the critical path: upper bound of the delay of the run
  double without_seconds = 0;         ///< duration of the run without measuring
  double waiting_without_seconds = 0; ///< all waiting without measuring
  double error_seconds = 0;           ///< error of bound_seconds and without_seconds; contains poll_seconds
  double pause_seconds = 0;           ///< wall time of the pauses between epochs, in which the run so far was explained
  double poll_seconds = 0;            ///< most of one rank: tests and probes that found nothing, which leave no record
  std::int64_t inversions = 0;        ///< calls in which another message would have arrived first without measuring
  std::int64_t pauses = 0;            ///< number of pauses between epochs

  /// By how much measuring made the run longer at most.
  double most_seconds() const noexcept { return bound_seconds + error_seconds; }
};

/// All explained waiting, divided by its origin, by its effect, and the part without a cause.
struct delay_sums {
  double direct_seconds = 0;       ///< the causer computed longer
  double indirect_seconds = 0;     ///< the causer had waited itself
  double propagating_seconds = 0;  ///< waits that made others wait later
  double terminal_seconds = 0;     ///< waits that delayed no other rank
  double nobody_seconds = 0;       ///< no difference was found
};

/// Results of the virtual clocks for the whole run.
struct run_ledger {
  double seconds = 0;  ///< from the first begin to the last end; 0: no clocks ran and the other members are unset
  explain::efficiencies efficiency;
  overhead_section overhead;
  base::vector<critical_entry> critical_path;  ///< largest first; the sum is `seconds`
  base::vector<delay_entry> delay_costs;       ///< most costly first
  delay_sums delays;
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
