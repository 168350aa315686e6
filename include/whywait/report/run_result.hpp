#ifndef WHYWAIT_REPORT_RUN_RESULT_HPP
#define WHYWAIT_REPORT_RUN_RESULT_HPP

#include <whywait/core/version.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {

/// Prints a result. The implementation belongs to the module that made the result.
class result_printer {
 public:
  virtual ~result_printer() = default;
  virtual std::string text(bool full, std::size_t columns) const = 0;
  virtual std::string json() const = 0;
  /// Returns an empty text, or what went wrong.
  virtual std::string write_json(const std::string& path) const = 0;
  virtual std::string write_page(const std::string& path) const = 0;
};

/// The explanation of a run up to one instant.
///
/// *Units.* All times are in seconds. Times of the run, of regions and all savings are wall time. Waiting is rank time: it is
/// summed over the ranks, so that it may exceed the time of the run. Shares and efficiencies are between 0 and 1.
///
/// *Ownership.* A result owns what it holds. It can be copied, stored and read by any thread, also after the run has gone on.
///
/// *Ranks.* A result of `mpi::explain` is the same on all ranks, but for `text`, `json` and what writes files, which work on rank 0.
///
/// *Stability.* Members are added, but not renamed or removed, until the next major version.
struct result {
  /// A place in the program. Members that are unknown are empty or 0.
  struct place {
    std::string text;  ///< as reports name it: "MPI_Recv in exchange (halo.cpp:142)", "relax (uneven.cpp:8)"
    std::string call;  ///< "MPI_Recv"; empty for regions and steps
    std::string name;  ///< of a region or step
    std::string region;  ///< path of the enclosing regions, "main/exchange"
    std::string function;  ///< complete, demangled
    std::string file;  ///< as it was given to the compiler
    int line = 0;
    std::string caller;  ///< where the function of the call was called, if calls from several places would read the same
  };

  /// A part that belongs to one location: a thread of a rank. Rank -1 stands for all locations that are not listed.
  struct location {
    int rank = 0;
    int thread = 0;
    double seconds = 0;
  };

  /// What the late side of a wait ran more, or less, than the waiting side since both were last in step.
  struct cause {
    std::string block;  ///< name of a region or step; of other code a phrase, "between MPI_Recv ... and MPI_Send ..."
    std::string kind;  ///< region, step, waiting, between (unmarked code between two calls), call, startup, other
    place where;
    double seconds = 0;  ///< part of the wait; negative: the waiting side ran more. = visits_seconds + speed_seconds
    double visits_seconds = 0;  ///< because of more visits, or more units of work
    double speed_seconds = 0;  ///< because each visit, or unit of work, took longer
    double inherited_seconds = 0;  ///< part of it ran on ranks for which the late side had itself waited
    /// Why each visit took longer: all but memory_seconds sum to speed_seconds.
    struct slower_parts {
      double preempted_seconds = 0;  ///< ready to run without a processor
      double blocked_seconds = 0;  ///< asleep, or waiting for something that is not observed, as a file
      double kernel_seconds = 0;  ///< page faults and system calls
      double instructions_seconds = 0;  ///< more instructions
      double cycles_seconds = 0;  ///< more cycles for each instruction
      double frequency_seconds = 0;  ///< fewer cycles in each second
      double not_counted_seconds = 0;  ///< the rest
      double memory_seconds = 0;  ///< of cycles_seconds: more of them were stalled on memory
      std::int64_t more_page_faults = 0;
      std::int64_t more_migrations = 0;  ///< to another processor, at most one in a millisecond
      bool counted = false;  ///< instructions and cycles were counted on both sides
    } slower;
    std::int64_t late_visits = 0, waiting_visits = 0;  ///< of both sides
    std::int64_t late_work = 0, waiting_work = 0;  ///< units of WHYWAIT_WORK
    std::string remark;  ///< "1,200 more visits", "same visits, each 1.9 ms slower"
  };

  struct advice {
    std::string problem;  ///< name of the rule: "uneven_work"
    std::string text;  ///< what to try
    std::string description;  ///< what was found
    double saving_seconds = 0;  ///< of the run; at most, or as predicted
    bool predicted = false;  ///< the saving is that of a predicted run, not an upper bound
    bool at_least = false;  ///< it saves more than `saving_seconds`
  };

  /// All waits of one pattern at one call because of one late call. Causes and unexplained_seconds sum to `seconds`.
  struct wait {
    std::string pattern;  ///< "late_sender"; docs/concepts.md lists them
    std::string quality;  ///< exact, bounded, order_suspect or hidden_tree: how far the explanation can be trusted
    double seconds = 0;  ///< rank time
    double longest_seconds = 0;  ///< of one wait; 0: unknown (`since`)
    std::int64_t count = 0;
    place operation;  ///< the call that waited
    place late_call;  ///< the call that came late
    double unexplained_seconds = 0;  ///< without a known cause
    double inherited_seconds = 0;  ///< the late side had itself waited for others
    std::vector<result::cause> causes;  ///< largest first
    std::vector<location> waiters, late;  ///< most first
    std::vector<result::advice> advice;  ///< largest saving first
  };

  /// What makes the run long.
  struct verdict_entry {
    std::string text;  ///< one sentence
    std::string problem;  ///< name of the rule; empty: by the virtual clocks, then block, rank and ratio hold
    std::string block;
    int rank = -1;
    int thread = 0;  ///< of `rank`, where several of its threads run `block`; 0: the main thread
    double ratio = 0;  ///< time of that thread in `block` over the mean of the others; 0: no other runs it
    double saving_seconds = 0;  ///< the run would be shorter by this
    double least_saving_seconds = 0, most_saving_seconds = 0;
  };

  /// The efficiencies of POP: parallel = load_balance * communication, communication = serialisation * files * transfer.
  struct efficiencies {
    double parallel = 0;
    double load_balance = 0;
    double communication = 0;
    std::optional<double> serialisation, transfer;  ///< empty: known for the whole run only
    std::optional<double> files = {};  ///< empty: no calls on files
  };

  /// A marked region, over all ranks that ran it. Its time is from its begin to its end, with everything inside.
  struct region {
    std::string name;
    std::string kind;  ///< "region", or "waiting" (WHYWAIT_WAIT)
    place where;
    std::int64_t visits = 0;  ///< of all ranks
    int ranks = 0;  ///< that ran it
    int threads = 1;  ///< that ran it on one rank, at most; from 2 on times are summed over the threads of a rank
    double min_seconds = 0, mean_seconds = 0, max_seconds = 0;  ///< over these ranks; of `since` the mean only
    int min_rank = 0, max_rank = 0;
    double own_seconds = 0;  ///< rank time of its own code: outside MPI and outside regions inside it
    double mpi_seconds = 0;  ///< rank time in MPI calls inside it
    std::int64_t work = 0;  ///< units of WHYWAIT_WORK
    bool recursive = false;  ///< it was entered inside itself: its times are without other regions inside it
    std::optional<efficiencies> efficiency;  ///< as TALP defines it; empty: several threads of a rank ran it, or recursive

    double mpi_share() const noexcept {
      const double all = mean_seconds * ranks;
      return all > 0 ? mpi_seconds / all : 0;
    }
  };

  /// Messages, or collective calls, of one call site by where they went.
  struct traffic {
    /// Messages of least_bytes up to, but not including, twice as many (of 0: exactly 0).
    struct size_class {
      std::int64_t least_bytes = 0;
      std::int64_t count = 0;
      std::int64_t bytes = 0;
    };
    place where;
    std::string operation;  ///< send, receive, collective, transfer (one-sided)
    std::string peers;  ///< self, node (the same machine), network, unknown; of collectives the farthest
    int ranks = 0;  ///< that called it
    std::int64_t count = 0;
    std::int64_t bytes = 0;  ///< payload; of a collective what the ranks contribute
    std::int64_t least_bytes = 0, most_bytes = 0;  ///< of one message
    double seconds = 0;  ///< rank time in these calls; of nonblocking messages without the calls that complete them
    std::vector<size_class> sizes;  ///< ascending
  };

  /// One rank.
  struct rank {
    int number = 0;
    std::string host;
    double seconds = 0;  ///< of its run
    double mpi_seconds = 0;  ///< in MPI, of the threads that call MPI
    double waiting_seconds = 0;
    double not_understood_seconds = 0;
  };

  /// A call site with time that is not understood.
  struct unknown_call {
    place where;
    std::int64_t count = 0;
    double seconds = 0;  ///< rank time
  };

  /// A block of the critical path.
  struct critical_block {
    std::string block;
    std::string kind;
    place where;
    double seconds = 0;  ///< on the critical path
    double imbalance_seconds = 0;  ///< above the mean of all ranks
    std::optional<double> saving_seconds;  ///< of the run, if the block takes half the time; empty: not asked
  };

  /// The answer to a question of WHYWAIT_WHATIF.
  struct prediction {
    std::string question;
    std::string refusal;  ///< why there is no answer; empty: there is one
    double seconds = 0;  ///< of the changed run
    double least_seconds = 0, most_seconds = 0;
    double saving_seconds = 0;
  };

  std::string reason = "nothing was explained";  ///< why there is no result; empty: there is one

  std::string program;  ///< path or name
  std::string arguments;  ///< as one line
  std::string date;  ///< begin of the run, ISO 8601
  int ranks = 0;
  int threads = 0;  ///< that call MPI, of all ranks
  int nodes = 0;  ///< machines
  double seconds = 0;  ///< of the run, wall time
  double rank_seconds = 0;  ///< rank time: summed over ranks and threads that call MPI
  double waiting_seconds = 0;  ///< rank time
  double unexplained_seconds = 0;  ///< part of the waiting without a known cause
  double not_understood_seconds = 0;  ///< rank time in MPI that is neither an explained wait nor plausible transfer
  double files_seconds = 0;  ///< rank time in calls on files, beyond waits for other ranks
  double other_worlds_seconds = 0;  ///< rank time that waited for processes outside of MPI_COMM_WORLD
  double paused_seconds = 0;  ///< rank time after MPI_Pcontrol(0), whose waits are not counted
  int other_threads = 0;  ///< threads with marks that never called MPI, of all ranks
  double other_thread_seconds = 0;  ///< their time in marked work; no part of rank time
  std::int64_t mpi_calls = 0;
  std::int64_t dropped_events = 0;  ///< records that found no memory
  std::int64_t unmatched_messages = 0;  ///< of which only one side was seen
  std::int64_t clock_violations = 0;  ///< causes that seemed to come after the end of their wait
  bool partial = false;  ///< not all of the run was recorded
  bool nothing_worth_changing = false;
  std::vector<std::string> warnings;  ///< one sentence each

  std::optional<efficiencies> efficiency;  ///< of the whole run; empty: one rank, or nothing was recorded
  std::vector<verdict_entry> verdict;  ///< largest saving first
  std::vector<wait> waits;  ///< most costly first
  std::vector<advice> problems;  ///< that belong to no single wait, largest saving first
  std::vector<region> regions;  ///< most time first
  std::vector<traffic> messages;  ///< most time first
  std::vector<rank> each_rank;  ///< by number
  std::vector<critical_block> critical_path;  ///< largest first
  std::vector<prediction> predictions;  ///< answers to WHYWAIT_WHATIF
  std::vector<unknown_call> unknown_calls;  ///< parts of not_understood_seconds, most time first

  std::shared_ptr<const result_printer> printer;  ///< null but on rank 0

  /// Whether there is a result.
  explicit operator bool() const noexcept { return reason.empty(); }

  /// The share of rank time that is waiting. 0 without a result.
  double waiting_share() const noexcept { return rank_seconds > 0 ? waiting_seconds / rank_seconds : 0; }

  /// The first region of that name; null: there is none.
  const region* find_region(std::string_view name) const noexcept {
    for (const region& r : regions)
      if (r.name == name) return &r;
    return nullptr;
  }

  /// Whether a wait happened at `site`: a call ("MPI_Allreduce"), the innermost region or a path of regions
  /// ("main/exchange"), a file with or without line ("halo.cpp", "halo.cpp:142"), or a part of the text of the place. An empty
  /// text is every site.
  static bool is_at(const wait& w, std::string_view site) noexcept {
    return site.empty() || w.operation.call == site || w.operation.region == site ||
           w.operation.text.find(site) != std::string::npos;
  }

  /// Waiting at a site, in rank time.
  double waiting_at(std::string_view site) const noexcept {
    double sum = 0;
    for (const wait& w : waits) sum += is_at(w, site) ? w.seconds : 0;
    return sum;
  }

  /// The name of the block that explains most of the waiting at a site; empty: there is no waiting, or no cause is known.
  std::string cause_of(std::string_view site = {}) const {
    std::vector<std::pair<std::string_view, double>> sums;
    for (const wait& w : waits) {
      if (!is_at(w, site)) continue;
      for (const cause& c : w.causes) {
        std::size_t i = 0;
        while (i != sums.size() && sums[i].first != c.block) ++i;
        if (i == sums.size()) sums.emplace_back(c.block, 0.0);
        sums[i].second += c.seconds;
      }
    }
    std::pair<std::string_view, double> most{{}, 0.0};
    for (const auto& s : sums)
      if (s.second > most.second) most = s;
    return std::string(most.first);
  }

  /// The part of the run after `before`, an earlier result of the same run: everything that adds up is the difference. Waits of
  /// one pattern, operation and late call are one. Verdicts, advice, the critical path and predictions are about whole runs and
  /// empty here, and so is the text. O(size of both).
  result since(const result& before) const;

  /// The report as text, in lines of at most `columns`: a short one, or all of it. Empty but on rank 0.
  std::string text(bool full = false, std::size_t columns = 80) const {
    return printer != nullptr ? printer->text(full, columns) : std::string();
  }
  /// The report as docs/schema.json describes it. Empty but on rank 0.
  std::string json() const { return printer != nullptr ? printer->json() : std::string(); }
  /// Writes the JSON file, complete or not at all. Returns an empty text, or what went wrong. Does nothing but on rank 0.
  std::string write_json(const std::string& path) const {
    return printer != nullptr ? printer->write_json(path) : std::string();
  }
  /// Writes the page in the same way. Its maps, and speeds other than x2, are there if WHYWAIT_OUTPUT is set.
  std::string write_page(const std::string& path) const {
    return printer != nullptr ? printer->write_page(path) : std::string();
  }
};

}  // namespace v0
}  // namespace whywait

#endif
