#ifndef WHYWAIT_REPORT_MODEL_HPP
#define WHYWAIT_REPORT_MODEL_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/report/maps.hpp>
#include <whywait/report/mpi_time.hpp>
#include <whywait/report/named_block.hpp>
#include <whywait/report/not_understood.hpp>
#include <whywait/report/profile.hpp>
#include <whywait/report/run_ledger.hpp>
#include <whywait/report/run_origin.hpp>
#include <whywait/report/section.hpp>
#include <whywait/report/thread_end.hpp>
#include <whywait/report/verdict_entry.hpp>
#include <whywait/whatif/answer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Threads of a program without MPI that were not recorded: those of an OpenMP runtime that is not observed, or of a program that
/// interposes nothing.
struct unrecorded_threads {
  double seconds = 0;  ///< processor time that they used
  double share = 0;  ///< of the processor time of the process
  double run_seconds = 0;  ///< wall time: so little of it changes no statement; 0: not known
  bool large_teams = false;  ///< some belong to OpenMP teams that are too large

  /// Whether a statement about the recorded threads may be wrong for the program.
  bool matter() const noexcept { return large_teams || (share >= 0.1 && seconds >= 0.005 && seconds >= 0.02 * run_seconds); }
};

/// The rank that called MPI_Init last.
struct late_start {
  std::int64_t rank = -1;  ///< -1: not known
  double seconds = 0;  ///< from the begin of its process to that call, to a hundredth
  double wait_seconds = 0;  ///< how long another rank waited in MPI_Init for it, which is no part of the run

  bool matters(double run_seconds) const noexcept { return wait_seconds >= 0.5 && wait_seconds >= 0.1 * run_seconds; }
};

/// A share with its error; unknown if both are 0.
struct share_range {
  double low = 0, high = 0;  ///< 0 to 1
};

/// Facts about the run, independent of MPI. The caller sets the first group; `assemble` sets the second from the
/// outcome.
struct run_facts {
  run_origin origin;
  std::int64_t ranks = 1;
  std::string mpi;  ///< version text of the MPI library
  std::int64_t mpi_calls = 0;  ///< calls seen on all ranks; 0 means that interception did not work
  bool openmp_unseen = false;  ///< waits of OpenMP that are not observed count as code
  bool threads_only = false;  ///< one process without MPI: what is called a rank everywhere is one of its threads
  std::int64_t primitives = 0;  ///< thread primitives seen that waited, or ended a wait
  std::int64_t interposed_calls = 0;  ///< calls of pthread functions that were seen; 0: they were not interposed
  std::int64_t short_waits = 0;  ///< waits for threads that were too short to be recorded
  double short_wait_seconds = 0;  ///< their time; no part of waiting_seconds
  double least_wait_seconds = 0;  ///< shorter waits for threads are not recorded
  std::int64_t dropped_events = 0;  ///< records dropped because the buffer was full
  std::int64_t epochs = 1;  ///< number of epochs that were explained separately
  double pause_seconds = 0;  ///< wall time of the pauses between epochs
  double poll_seconds = 0;  ///< most of one rank: the cost of tests and probes that found nothing
  double compare_seconds = 0;  ///< most of one rank: comparing how full the memory of all ranks is
  std::int64_t first_comers = 0;  ///< wildcard receives served in order of arrival
  /// Whether a rank deals work to the ranks that ask first: more than a few such receives, which each run makes once or twice.
  bool deals_work() const noexcept { return first_comers > 2 * ranks; }
  std::string clock;  ///< source of time stamps: "tsc", "clock_gettime"
  double clock_error_seconds = 0;  ///< estimated error between clocks of two ranks; NaN: unknown
  base::vector<std::string> not_counted;  ///< what the machine does not count of code: "instructions", "cycles", ...
  std::string not_counted_why;  ///< the error of the system for that; empty: it has no such counter
  bool partial = false;  ///< the program did not finish; the report covers only a part
  base::vector<std::pair<std::string, std::string>> settings;  ///< WHYWAIT_* variables as they were set
  base::vector<std::string> warnings;  ///< one sentence each: mismatched regions, memory limit reached, ...

  late_start late;
  unrecorded_threads unrecorded;
  std::int64_t other_threads = 0;  ///< threads with marks that never called MPI
  double other_thread_seconds = 0;  ///< their time in marked work; no part of rank time

  std::int64_t locations = 0;  ///< threads that called MPI
  double seconds = 0;  ///< duration of the longest location, or the caller's value if that is larger
  double unseen_seconds = 0;  ///< part of `seconds` without records: buffer full, analysis failed, or WHYWAIT_PAUSES
  share_range waiting_of_all;  ///< of rank time, estimated for parts that WHYWAIT_PAUSES left out
  double location_seconds =
      0;  ///< rank time: that of the ranks, and of further threads from their first to their last MPI call
  double waiting_seconds = 0;  ///< sum of all waits
  double paused_seconds = 0;  ///< rank time after MPI_Pcontrol(0), whose waits are not counted
  double unexplained_seconds = 0;  ///< remainders of listed waits, and waits too short to list
  double undescribed_seconds = 0;  ///< time of waits without a rule, which are not listed
  std::int64_t undescribed_waits = 0;
  std::int64_t unmatched = 0;  ///< messages without a partner
  base::vector<explain::progress_fact> progress;  ///< messages that need their partner in MPI
  std::int64_t clock_violations = 0;  ///< causes recorded after the end of their wait

  /// The part of `seconds` with records: of this all savings are.
  double explained_seconds() const noexcept { return seconds - unseen_seconds; }
  /// Whether statements must say that they are about a part of the run.
  bool partly_explained() const noexcept { return unseen_seconds > 0.01 * seconds; }
};

/// Sets what the machine does not count. `offered`: a bit for each core::code_count; 0: not known. `refused`: an errno; negative:
/// perf_event_open was not called, because a filter for system calls is in force; 0: the processor has no such counter.
inline void name_not_counted(run_facts& run, std::uint32_t offered, std::int32_t refused) {
  if (offered == 0) return;
  constexpr std::pair<core::code_count, const char*> all[] = {{core::code_count::delay_ns, "time without a processor"},
                                                              {core::code_count::instructions, "instructions"},
                                                              {core::code_count::cycles, "cycles"},
                                                              {core::code_count::stalled, "stalled cycles"}};
  for (const auto& [what, name] : all)
    if ((offered >> static_cast<std::uint32_t>(what) & 1u) == 0) run.not_counted.push_back(name);
  if (refused > 0) run.not_counted_why = std::string("perf_event_open: ") + std::strerror(refused);
  if (refused < 0) run.not_counted_why = "perf_event_open is not called under a seccomp filter, which may end the process";
}

/// One block of an explanation: the additional time of the late side relative to the waiting side; may be negative.
struct residual_entry : named_block, explain::residual_sums {
  explain::slower_parts slower;  ///< divides speed_ns

  void add(const residual_entry& o) noexcept {
    residual_sums::add(o);
    slower.add(o.slower);
  }
  double seconds() const noexcept { return base::seconds_of(total_ns); }
  double visits_seconds() const noexcept { return base::seconds_of(visits_ns); }
  double speed_seconds() const noexcept { return base::seconds_of(speed_ns); }
  double inherited_seconds() const noexcept { return base::seconds_of(inherited_ns); }
  double causer_seconds() const noexcept { return base::seconds_of(causer_ns); }
  double waiter_seconds() const noexcept { return base::seconds_of(waiter_ns); }
};

/// A problem that a rule found, with advice and an upper bound of the saving.
struct advice_entry {
  std::string problem;  ///< name given by the rule: "late_sender"
  std::string text;  ///< the advice
  double saving_seconds = 0;
  std::string description;  ///< description of the problem
  double seconds = 0;  ///< cost according to the rule
  bool predicted = false;  ///< the saving is that of the changed run by the virtual clocks, not an upper bound
  base::vector<std::string> actions = {};  ///< calls or blocks that cause it: "MPI_Send in calculate (jacobi.cpp:96)"
  bool at_least = false;  ///< it saves more: what is uneven moves from rank to rank
};

/// One side of a row of a picture.
struct picture_cell {
  std::int64_t count = 1;  ///< consecutive visits in each iteration of the enclosing loops
  double seconds = 0;  ///< inclusive time of all visits
  bool continued = false;  ///< it began before the picture
  bool unfinished = false;  ///< it ended after the picture
};

/// A row of a picture: what one or both sides ran at this place.
struct picture_row {
  std::string kind;  ///< loop, region, waiting, step, call, unmarked, unordered (explain::ran)
  std::string name;  ///< name of a region or step
  base::place where;
  std::int64_t depth = 0;  ///< number of enclosing loops and regions
  std::optional<picture_cell> waiter, causer;
};

/// The longest wait of an entry, side by side: what the waiter and the causer ran since both were last in step.
struct picture {
  location_seconds waiter, causer;  ///< seconds: how long the waiter waited, how long the causer took
  bool cut = false;  ///< the begin or the order was not recorded
  base::vector<picture_row> rows;
};

/// All waits with the same pattern, operation and cause whose explanation has the same shape.
/// sum of residual seconds + unexplained_seconds = seconds (to rounding).
struct wait_entry {
  std::string pattern;  ///< the schema's word: "late_sender"
  std::string quality = "exact";  ///< exact, bounded, order_suspect, hidden_tree
  double seconds = 0;
  double longest_seconds = 0;  ///< the longest single wait
  double typical_seconds = 0;  ///< mean length of a wait, weighted with its length: of what an instant of waiting is part
  std::int64_t count = 0;
  bool wrong_order = false;  ///< some of the messages were received in another order than they were sent
  std::int64_t wrong_order_count = 0;
  double wrong_order_seconds = 0;
  base::place operation;  ///< the waiting call
  base::place cause;  ///< the late call
  std::optional<double> compensated_seconds;  ///< time without the cost of measuring; empty: not computed
  std::string compensated_quality;  ///< quality of compensated_seconds; empty: not computed
  std::optional<double> saving_seconds;  ///< saving of the run if the first block takes half the time
  double unexplained_seconds = 0;  ///< remainder, including the terms too small to list
  double indirect_seconds = 0;  ///< sum of the inherited parts
  base::vector<residual_entry> residual;  ///< largest first
  base::vector<location_seconds> waiters, causers;  ///< most first
  base::vector<advice_entry> advice;
  std::optional<picture> longest;  ///< the longest wait, with WHYWAIT_PATH=order

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  wait_entry() = default;
  [[gnu::noinline]] wait_entry(const wait_entry&) = default;
  [[gnu::noinline]] wait_entry(wait_entry&&) = default;
  [[gnu::noinline]] wait_entry& operator=(const wait_entry&) = default;
  [[gnu::noinline]] wait_entry& operator=(wait_entry&&) = default;
  [[gnu::noinline]] ~wait_entry() = default;

  /// Adds the number of the waits of another entry, and their lengths.
  [[gnu::noinline]] void add_lengths(const wait_entry& o) noexcept {
    const double squares = typical_seconds * seconds + o.typical_seconds * o.seconds;
    seconds += o.seconds;
    typical_seconds = seconds > 0 ? squares / seconds : 0;
    longest_seconds = std::max(longest_seconds, o.longest_seconds);
    count += o.count;
  }

  /// If most of the time is in at most a quarter of the waits: a bound of their number; 0: it is not, or that is not known. Let
  /// t be the typical and m the greatest length. The waits of at least t / 2 have at least t / (2m - t) of the time, because
  /// the others add at most t / 2 times their time to the sum of the squares.
  [[gnu::noinline]] std::int64_t few_waits() const noexcept {
    if (longest_seconds < 1e-4 || longest_seconds > 1.5 * typical_seconds) return 0;
    const double most = std::ceil(2 * seconds / typical_seconds);
    return 4 * most <= static_cast<double>(count) ? static_cast<std::int64_t>(most) : 0;
  }
  /// Whether the lengths of those with a block that was visited so often differ so much that their mean describes none of them: where
  /// they are equal, the typical length is the mean, where they are spread evenly up to the longest, 4/3 of it.
  [[gnu::noinline]] bool uneven(std::int64_t visits) const noexcept {
    return few_waits() != 0 || typical_seconds * static_cast<double>(std::min(count, visits)) > 1.5 * seconds;
  }
};

/// The answers to WHYWAIT_WHATIF.
struct prediction_section {
  double measured_seconds = 0;  ///< duration of the run or of the predicted part
  bool whole_run = true;
  std::optional<double> unchanged_error;  ///< relative error of the replay of the unchanged run; empty: not replayed
  base::vector<whatif::answer> answers;
};

/// The contents of a report; docs/schema.json describes its JSON form. Sections without content are written empty.
struct result {
  run_facts run;
  base::vector<verdict_entry> verdict;  ///< what makes the run long, largest saving first; at most three
  base::vector<wait_entry> waits;  ///< most costly first
  base::vector<advice_entry> problems;  ///< problems that belong to no single wait, largest saving first
  reports::not_understood not_understood;  ///< MPI time without an explanation
  reports::profile profile;  ///< regions, messages and ranks of the whole run
  mpi_time files;  ///< input and output
  /// Of threads in a program without MPI: calls that only sleep. Of ranks: all code without units of work in which their main threads
  /// were asleep or blocked, where the kernel tells, without calls. Both count as code.
  mpi_time asleep;
  mpi_time outside;  ///< of such threads: waits for something outside of the threads, and up to a time limit
  mpi_time other_worlds;  ///< waiting for processes outside of MPI_COMM_WORLD
  run_ledger ledger;  ///< efficiencies, cost of measuring, critical path, delay costs
  maps_section maps;  ///< ranks by time, ranks by ranks, propagation, other speeds; empty without WHYWAIT_OUTPUT
  std::shared_ptr<const section> communication;  ///< a communication_section if the program registered data, else null
  prediction_section prediction;
  base::vector<place_total> unseen;  ///< blocks that ran while nothing was recorded (run.unseen_seconds), largest first
  base::vector<thread_end> last_words;  ///< last activity of each thread of a program that did not finish
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
