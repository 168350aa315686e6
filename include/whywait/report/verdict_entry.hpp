#ifndef WHYWAIT_REPORT_VERDICT_ENTRY_HPP
#define WHYWAIT_REPORT_VERDICT_ENTRY_HPP

#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/report/named_block.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// One sentence about what makes the run long, in wall time: about a block, by the virtual clocks, or by a rule.
struct verdict_entry : named_block {
  std::string claim;  ///< "rank 1 takes 3.0 times as long as the others in sweep: balancing it", which `sentence` ends
  std::string problem;  ///< the rule; empty: by the virtual clocks, then `block`, `rank` and `ratio` hold
  std::int32_t rank = 0, thread = 0;  ///< the thread that spends most time in the block
  double ratio = 0;  ///< its time relative to the mean of the other threads that run the block; 0: no others, or unknown
  double saving_seconds = 0;  ///< the run would be shorter by this if the cause were removed; wall time
  bool predicted = true;      ///< by the virtual clocks; otherwise the saving is an upper bound
  bool divided = false;  ///< one thread runs the code, and the verdict is to divide it
  bool at_least = false;  ///< the imbalance moves, and evening it out saves more
  bool of_pattern = false;    ///< no cause is known beyond the pattern of the waits
  bool after = false, before = false;  ///< about all unmarked code after a call, before one
  std::string root;           ///< of the rule's finding
  core::stable_key piece = 0;  ///< the block, or the longest of those that it joins
  double asleep = 0;  ///< the part of the time in the code in which that thread was asleep or blocked; 0: not known
  double excess_seconds = 0;  ///< by the virtual clocks: the time of the rank in the block above the mean

  // Out of line, as those of named_block.
  verdict_entry() = default;
  [[gnu::noinline]] verdict_entry(const verdict_entry&) = default;
  [[gnu::noinline]] verdict_entry(verdict_entry&&) = default;
  [[gnu::noinline]] verdict_entry& operator=(const verdict_entry&) = default;
  [[gnu::noinline]] verdict_entry& operator=(verdict_entry&&) = default;
  [[gnu::noinline]] ~verdict_entry() = default;
};

namespace detail {

constexpr double least_share = 0.02;  ///< of the run, that a verdict saves
constexpr std::size_t most_verdicts = 3;

}  // namespace detail

/// From this share of rank time on, waiting has a verdict, or a line that states why there is none.
constexpr double least_waiting = 0.05;

namespace detail {

/// Unmarked code in a sentence: "between MPI_Recv (halo.cpp:20) and MPI_Send (halo.cpp:31)".
inline std::string between_text(const named_block& b) {
  const std::string begin = b.from ? base::brief_call_text(*b.from) : base::start_text();
  return ends_openly(b) ? "after " + begin : "between " + begin + " and " + base::brief_call_text(b.where);
}

}  // namespace detail
}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
