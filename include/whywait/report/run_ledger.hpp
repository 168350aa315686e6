#ifndef WHYWAIT_REPORT_RUN_LEDGER_HPP
#define WHYWAIT_REPORT_RUN_LEDGER_HPP

#include <whywait/base/vector.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/report/named_block.hpp>

#include <cstdint>
#include <optional>

namespace whywait {
inline namespace v0 {
namespace report {

/// A block of the critical path.
struct critical_entry : named_block {
  double seconds = 0;            ///< in it on the critical path
  double imbalance_seconds = 0;  ///< what is more than the mean of all locations
  std::int64_t visits = 0;
  std::optional<double> saving_seconds;  ///< the run is shorter by this if it takes half the time; nothing: not asked
};

/// A block and the waiting that its delays cost, by proportion (Boehme et al., ACM TOPC 2016).
struct delay_entry : named_block {
  double short_seconds = 0;  ///< waits for the one who ran it
  double long_seconds = 0;   ///< waits for those who had waited for that one, and so on
};

/// What measuring cost. Without calibration only what the records themselves say: pauses for memory.
struct overhead_section {
  bool calibrated = false;            ///< the cost of each call was measured
  double seconds = 0;                 ///< spent measuring, on all locations
  double bound_seconds = 0;           ///< of it on the critical path: the run became longer by no more
  double without_seconds = 0;         ///< the run without it
  double waiting_without_seconds = 0; ///< all waiting without it
  double error_seconds = 0;           ///< by how much bound_seconds and without_seconds may be wrong
  std::int64_t inversions = 0;        ///< wildcard receives that would have taken another message first
};

/// All explained waiting, divided three times: by what the causer did, by what followed, and what nobody is charged for.
struct delay_sums {
  double direct_seconds = 0;       ///< because the causer computed longer
  double indirect_seconds = 0;     ///< because the causer had waited itself
  double propagating_seconds = 0;  ///< waits that made others wait later
  double terminal_seconds = 0;     ///< waits that nobody waited for
  double nobody_seconds = 0;       ///< no difference was found
};

/// What the virtual clocks say about the run as a whole.
struct run_ledger {
  double seconds = 0;  ///< from the first begin to the last end; 0: there were no clocks, and nothing below is known
  explain::efficiencies efficiency;
  overhead_section overhead;
  base::vector<critical_entry> critical_path;  ///< largest first; all add up to `seconds`
  base::vector<delay_entry> delay_costs;       ///< most costly first
  delay_sums delays;
};

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
