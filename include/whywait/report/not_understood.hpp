#ifndef WHYWAIT_REPORT_NOT_UNDERSTOOD_HPP
#define WHYWAIT_REPORT_NOT_UNDERSTOOD_HPP

#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/report/thread_end.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace report {

/// Time that one location waited, made others wait, or spent otherwise. Rank -1 stands for all locations that are not listed.
struct location_seconds {
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  double seconds = 0;
};

/// Ranks that share processors. What they do in the meantime, in and outside MPI, takes longer than it would alone.
struct processor_sharing {
  double seconds = 0;           ///< main threads were ready to run and had no processor; sum over the ranks
  std::int64_t ranks = 0;       ///< on the machine with the most ranks per processor
  std::int64_t processors = 0;  ///< of that machine
};

/// MPI time that is neither an explained wait nor plausible transfer (docs/method.md 4.13).
struct not_understood {
  double seconds = 0;            ///< sum over the ranks
  double scheduler_seconds = 0;  ///< excluded: the scheduler may have taken it
  double polling_seconds = 0;    ///< part spent polling requests that no wrapper created; it looks like time of the program
  base::vector<place_total> calls;       ///< call sites with the most of it; `visits`: calls
  base::vector<location_seconds> ranks;  ///< by rank
  processor_sharing sharing;
};

/// From this share of rank time on it is shown and weakens what is drawn from the run.
constexpr double least_not_understood = 0.01;

/// The share of rank time; 0 without a run.
inline double share_of(const not_understood& n, double location_seconds) noexcept {
  return location_seconds > 0 ? std::min(1.0, n.seconds / location_seconds) : 0;
}

/// "MPI_Win_fence (win.cpp:12), ...": at most three call sites.
inline std::string calls_text(const not_understood& n) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i != std::min(most, n.calls.size()); ++i) {
    const std::string code = code_text(n.calls[i].where);
    text += (i == 0 ? "" : ", ") + base::printable(n.calls[i].where.call) + (code.empty() ? "" : " (" + code + ")");
  }
  return n.calls.size() > most ? text + ", ..." : text;
}

/// Limits of the efficiencies: time that is not understood may be waiting instead of transfer, and polling looks like work.
struct efficiency_ranges {
  struct range {
    double least, most;
  };
  range parallel, load_balance, serialisation, transfer;
};
inline efficiency_ranges ranges_of(const explain::efficiencies& e, const not_understood& n, double run_seconds) noexcept {
  double longest = 0;
  for (const location_seconds& l : n.ranks) longest = std::max(longest, l.seconds);
  const double more = run_seconds > 0 ? longest / run_seconds : 0;
  const double most = e.transfer < 1 ? std::min(1.0, e.transfer + more) : e.transfer;
  const double all = run_seconds * static_cast<double>(n.ranks.size());
  const double least = std::max(0.0, e.parallel - (all > 0 ? n.polling_seconds / all : 0));
  return {{least, e.parallel},
          {e.parallel > 0 ? e.load_balance * least / e.parallel : 0, e.load_balance},
          {most > 0 ? e.serialisation * e.transfer / most : e.serialisation, e.serialisation},
          {e.transfer, most}};
}

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
