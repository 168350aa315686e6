#ifndef WHYWAIT_RULES_FINDING_HPP
#define WHYWAIT_RULES_FINDING_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// An action named by a finding: a call with its place, or the text alone.
struct action {
  std::string call;    ///< "MPI_Send"
  std::string region;  ///< innermost region, "calculate"
  std::string file;
  int line = 0;
  std::string text;    ///< "MPI_Send in calculate (jacobi.cpp:88)"

  bool operator<(const action& o) const {
    if (const int c = call.compare(o.call)) return c < 0;
    if (const int c = region.compare(o.region)) return c < 0;
    if (const int c = file.compare(o.file)) return c < 0;
    return line != o.line ? line < o.line : text < o.text;
  }

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  action() = default;
  action(std::string call_name, std::string region_name, std::string file_name, int line_number, std::string words)
      : call(std::move(call_name)),
        region(std::move(region_name)),
        file(std::move(file_name)),
        line(line_number),
        text(std::move(words)) {}
  [[gnu::noinline]] action(const action&) = default;
  [[gnu::noinline]] action(action&&) = default;
  [[gnu::noinline]] action& operator=(const action&) = default;
  [[gnu::noinline]] action& operator=(action&&) = default;
  [[gnu::noinline]] ~action() = default;
};

/// A problem found: all events with the same actions for which one problem rule held.
struct finding {
  std::string problem;      ///< name given by the rule
  std::string description;
  std::string advice;
  std::string verdict;      ///< what would shorten the run: "rank 3 is late in solve: balancing it"; may be empty
  std::string root;         ///< the cause in the words of the rule; findings of one cause are one
  base::vector<action> actions;  ///< calls and places that cause it, at most 8
  double seconds = 0;       ///< sum of the rule's duration
  double saving = 0;        ///< upper bound of the saving in wall time, at most `seconds`
  double share = 0;         ///< share of the time of all locations; 0: unknown
  double instances = 0;     ///< events for which the rule held
  std::int64_t wait = -1;   ///< number of the wait that it explains; -1: none or several
  bool matters = true;      ///< whether it reaches the threshold
  bool saves = true;        ///< whether `saving` is worth reporting
  bool predicted = false;   ///< `saving` is a prediction for the changed run, not an upper bound
  bool at_least = false;    ///< the changed run saves more than `saving`
  bool of_pattern = false;  ///< it describes the pattern of the wait, not its cause
  std::uint32_t rule = 0;   ///< index in knowledge::problems

  // Out of line, because many cold places copy and move it and each would compile its own copy.
  finding() = default;
  [[gnu::noinline]] finding(const finding&) = default;
  [[gnu::noinline]] finding(finding&&) = default;
  [[gnu::noinline]] finding& operator=(const finding&) = default;
  [[gnu::noinline]] finding& operator=(finding&&) = default;
  [[gnu::noinline]] ~finding() = default;
};

/// Findings about one wait of an outcome.
struct wait_advice {
  bool known = false;         ///< whether an active problem is declared for its pattern
  base::vector<finding> list;  ///< most saving first
};

/// What the kernel took from the ranks: time in which their own code was ready to run and had no processor. A smaller effect is no
/// evidence against the code.
struct processor_noise {
  struct share {
    std::int32_t rank;
    std::int64_t ns;
  };
  /// Above this part of the run an effect counts in any case: ranks that share processors do not stop to be uneven.
  static constexpr double most_of_run = 0.1;

  std::int64_t all_ns = 0;  ///< of all ranks
  base::pod_vector<share> ranks;  ///< of the ranks that take longest in some block

  /// In seconds; at most a part of the run.
  static double least_effect(std::int64_t ns, double run_seconds) noexcept {
    return std::min(static_cast<double>(ns) * 1e-9, most_of_run * run_seconds);
  }
  std::int64_t of(std::int32_t rank) const noexcept {
    for (const share& s : ranks)
      if (s.rank == rank) return s.ns;
    return 0;
  }
  void add(std::int32_t rank, std::int64_t ns) {
    if (rank >= 0 && ns > 0 && of(rank) == 0) ranks.push_back({rank, ns});
  }
};

/// The result of all rules for one run.
struct evaluation {
  base::vector<wait_advice> waits;  ///< one per entry of outcome::waits, in order; empty: no rules ran
  base::vector<finding> problems;  ///< findings that belong to no single wait, largest saving first
  base::vector<std::string> messages;  ///< run-time errors of rules, ready to print
  processor_noise noise;
  std::int64_t most_divided_ns = INT64_MAX;  ///< program_facts::most_divided_ns
  std::int64_t processors =
      0;  ///< of the machine with the most ranks for each, or that threads may use; 0: not known, or code sleeps
  /// The thread with the most time in a block.
  struct most_code {
    core::stable_key block;
    std::int32_t rank;
    std::int32_t thread;
    std::int64_t above_mean_ns;  ///< its time in all code, above the mean of all ranks
    double asleep;  ///< code_use::asleep
    bool sleeps;  ///< code_use::sleeps
    double lacking;  ///< code_use::lacking
  };
  base::pod_vector<most_code> code;  ///< sorted by block

  const most_code* most_in(core::stable_key block) const noexcept {
    for (const most_code& c : code)
      if (c.block == block) return &c;
    return nullptr;
  }
};

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
