#ifndef WHYWAIT_REPORT_MODEL_HPP
#define WHYWAIT_REPORT_MODEL_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/named_block.hpp>
#include <whywait/report/run_ledger.hpp>
#include <whywait/report/section.hpp>
#include <whywait/report/thread_end.hpp>
#include <whywait/whatif/answer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace report {

/// Facts about the run, free of MPI. The umbrella fills those of the first group before `assemble`, which fills the
/// second from the outcome.
struct run_facts {
  std::int64_t ranks = 1;
  std::string mpi;                  ///< version of the MPI library in its own words
  std::int64_t mpi_calls = 0;       ///< calls seen on all ranks; 0 means that interception did not work
  std::int64_t dropped_events = 0;  ///< records lost for lack of memory
  std::int64_t epochs = 1;          ///< parts in which the run was explained, for lack of memory or by wish
  std::int64_t first_comers = 0;    ///< answers to whoever asked first: at another speed others would have got them
  std::string clock;                ///< "tsc", "clock_gettime": what the times were read from
  double clock_error_seconds = 0;   ///< estimated error between clocks of two ranks; NaN: unknown
  bool partial = false;             ///< the program did not come to its end: only a part is known
  base::vector<std::pair<std::string, std::string>> settings;  ///< WHYWAIT_* variables as they were set
  base::vector<std::string> warnings;  ///< one sentence each: mismatched regions, memory limit reached, ...

  std::int64_t locations = 0;         ///< threads of ranks that recorded
  double seconds = 0;                 ///< of the longest location; what the umbrella says, if that is more than was recorded
  double unseen_seconds = 0;          ///< part of that about which nothing below is: memory had ended, the analysis failed
  double location_seconds = 0;        ///< sum of recorded time over the locations ("rank time")
  double waiting_seconds = 0;         ///< sum of all waits
  double unexplained_seconds = 0;     ///< waiting without a cause: remainders of the waits listed, waits too short to list
  double undescribed_seconds = 0;     ///< waits that no rule describes: their rule was removed. Not listed
  std::int64_t undescribed_waits = 0;
  std::int64_t unmatched = 0;         ///< messages without a partner
  std::int64_t clock_violations = 0;  ///< causes that came after their wait had ended
};

/// Time that one location waited, or made others wait. rank -1: all locations that are not listed.
struct location_seconds {
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  double seconds = 0;
};

/// One block of an explanation: what the late side ran more (or less, negative) than the waiting side.
struct residual_entry : named_block, explain::residual_sums {
  double seconds() const noexcept { return base::seconds_of(total_ns); }
  double visits_seconds() const noexcept { return base::seconds_of(visits_ns); }
  double speed_seconds() const noexcept { return base::seconds_of(speed_ns); }
  double inherited_seconds() const noexcept { return base::seconds_of(inherited_ns); }
  double causer_seconds() const noexcept { return base::seconds_of(causer_ns); }
  double waiter_seconds() const noexcept { return base::seconds_of(waiter_ns); }
};

/// A problem that a rule found: what to do about it, and an upper bound of what that may save.
struct advice_entry {
  std::string problem;      ///< the name its rule gives it: "late_sender"
  std::string text;         ///< what to do
  double saving_seconds = 0;
  std::string description;  ///< what is wrong
  double seconds = 0;       ///< what it costs, as its rule says
  base::vector<std::string> actions = {};  ///< the calls or blocks that led to it: "MPI_Send in calculate (jacobi.cpp:96)"
};

/// One side of a row of a picture.
struct picture_cell {
  std::int64_t count = 1;   ///< visits in a row, in each round of the loops around it
  double seconds = 0;       ///< of all of them, with what is inside
  bool continued = false;   ///< it had begun before
  bool unfinished = false;  ///< it went on afterwards
};

/// A row of a picture: what both sides ran at this place, or one of them.
struct picture_row {
  std::string kind;  ///< loop, region, waiting, step, call, unmarked, unordered (explain::ran)
  std::string name;  ///< of a region or step
  base::place where;
  std::int64_t depth = 0;  ///< how many loops and regions are around it
  std::optional<picture_cell> waiter, causer;
};

/// The longest wait of an entry, side by side: what the waiter and the causer ran since both were last in step.
struct picture {
  location_seconds waiter, causer;  ///< seconds: how long the waiter waited, how long the causer took
  bool cut = false;                 ///< the beginning, or an order, was not kept
  base::vector<picture_row> rows;
};

/// All waits with the same pattern, operation and cause whose explanation has the same shape.
/// sum of residual seconds + unexplained_seconds = seconds (to rounding).
struct wait_entry {
  std::string pattern;            ///< the schema's word: "late_sender"
  std::string quality = "exact";  ///< exact, bounded, order_suspect, hidden_tree
  double seconds = 0;
  double longest_seconds = 0;  ///< the longest single wait
  std::int64_t count = 0;
  bool wrong_order = false;  ///< some of the messages were received in another order than they were sent
  std::int64_t wrong_order_count = 0;
  double wrong_order_seconds = 0;
  base::place operation;                                 ///< the call that waited
  base::place cause;                                     ///< the call that came late
  std::optional<double> compensated_seconds;       ///< without the cost of measuring; nothing: not computed
  std::string compensated_quality;                 ///< how sure that is; empty: not computed
  std::optional<double> saving_seconds;            ///< the run is shorter by this if its first block takes half the time
  double unexplained_seconds = 0;                  ///< remainder; holds the terms that were too small to list
  double indirect_seconds = 0;                     ///< sum of the inherited parts
  base::vector<residual_entry> residual;            ///< largest first
  base::vector<location_seconds> waiters, causers;  ///< most first
  base::vector<advice_entry> advice;
  std::optional<picture> longest;                  ///< with WHYWAIT_PATH=order, of the most costly waits

  // Copied and moved in many places, none of them hot: out of line, or each of them would be compiled there.
  wait_entry() = default;
  [[gnu::noinline]] wait_entry(const wait_entry&) = default;
  [[gnu::noinline]] wait_entry(wait_entry&&) = default;
  [[gnu::noinline]] wait_entry& operator=(const wait_entry&) = default;
  [[gnu::noinline]] wait_entry& operator=(wait_entry&&) = default;
  [[gnu::noinline]] ~wait_entry() = default;
};

/// The answers to WHYWAIT_WHATIF.
struct prediction_section {
  double measured_seconds = 0;  ///< of the run, or of the part of it that was asked about
  bool whole_run = true;
  std::optional<double> unchanged_error;  ///< of the replay of the unchanged run, relative; nothing: not replayed
  base::vector<whatif::answer> answers;
};

/// Everything a report says; docs/schema.json is its written form. Sections without content are written empty.
struct result {
  run_facts run;
  base::vector<wait_entry> waits;  ///< most costly first
  base::vector<advice_entry> problems;  ///< those that belong to no single wait; most saving first
  run_ledger ledger;  ///< efficiencies, cost of measuring, critical path, delay costs
  std::shared_ptr<const section> communication;  ///< a communication_section, of a program that registered data; else null
  prediction_section prediction;
  base::vector<place_total> unseen;  ///< what ran while memory had ended (run.unseen_seconds), most time first; else empty
  base::vector<thread_end> last_words;  ///< of a program that did not come to its end; else empty
};

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
