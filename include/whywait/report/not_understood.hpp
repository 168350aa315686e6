#ifndef WHYWAIT_REPORT_NOT_UNDERSTOOD_HPP
#define WHYWAIT_REPORT_NOT_UNDERSTOOD_HPP

#include <whywait/base/any_of.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/clock_question.hpp>
#include <whywait/report/thread_end.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Time that one location waited, made others wait, or spent otherwise. Rank -1 stands for all locations that are not listed.
struct location_seconds {
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  double seconds = 0;
};

/// Ranks that share processors. What they do in the meantime, in and outside MPI, takes longer than it would alone.
struct processor_sharing {
  double seconds = 0;           ///< main threads were held up: ready to run, without a processor; sum over the ranks
  double code_seconds = 0;      ///< part of it outside MPI
  std::int64_t ranks = 0;  ///< on the machine with the most ranks per processor
  std::int64_t processors = 0;  ///< of that machine
  double all_processors = 0;  ///< of all machines; 0: not known
};

/// MPI time that is neither an explained wait nor plausible transfer (docs/method.md 4.13).
struct not_understood {
  double seconds = 0;  ///< sum over the ranks
  double scheduler_seconds = 0;  ///< excluded: the scheduler may have taken it
  double polling_seconds = 0;  ///< part spent polling requests that no wrapper created
  double between_polls_seconds = 0;  ///< part in unmarked code between polls that found nothing: work, or a loop that waits
  base::vector<place_total> calls;  ///< call sites with the most of it; `visits`: calls
  base::vector<location_seconds> ranks;  ///< by rank
  processor_sharing sharing;

  /// Of the rank that has most, in seconds.
  double most_of_rank(std::int64_t of_ranks) const noexcept {
    double most = of_ranks > 0 ? seconds / static_cast<double>(of_ranks) : seconds;
    for (const location_seconds& l : ranks) most = std::max(most, l.seconds);
    return most;
  }
};

/// From this share of rank time on ranks that share processors are named before anything else.
constexpr double least_sharing = 0.05;
/// The same for threads: their time without a processor together, relative to the length of the run.
constexpr double least_sharing_of_run = 0.1;

/// Whether the ranks had to share processors so often that it changes what was measured.
inline bool shares_processors(const not_understood& n, double location_seconds) noexcept {
  return n.sharing.seconds >= least_sharing * location_seconds && location_seconds > 0;
}

/// From this share of rank time on it is shown and weakens what is drawn from the run.
constexpr double least_not_understood = 0.01;

/// Whether code between polls that found nothing, which may be waiting, is a part of the run that counts.
inline bool polls_matter(const not_understood& n, double location_seconds) noexcept {
  return n.between_polls_seconds >= least_not_understood * location_seconds && location_seconds > 0;
}

/// The share of rank time; 0 without a run.
inline double share_of(const not_understood& n, double location_seconds) noexcept {
  return location_seconds > 0 ? std::min(1.0, n.seconds / location_seconds) : 0;
}

/// Whether a call site polls: MPI_Test*, MPI_Iprobe, MPI_Improbe.
inline bool polls(const place_total& site) noexcept {
  const std::string& call = site.where.call;
  return call.compare(0, 8, "MPI_Test") == 0 || call == "MPI_Iprobe" || call == "MPI_Improbe";
}

enum class call_sites { all, polls, others };

/// "MPI_Win_fence (win.cpp:12), ...": at most three call sites. One line of source may have several calls, which share a name.
inline std::string calls_text(const base::vector<place_total>& calls, call_sites which = call_sites::all) {
  constexpr std::size_t most = 3;
  base::vector<std::string> named;
  std::string text;
  for (const place_total& site : calls) {
    if (which != call_sites::all && polls(site) != (which == call_sites::polls)) continue;
    std::string name = brief_call_text(site.where);
    if (base::any_of(named, [&name](const std::string& known) { return known == name; })) continue;
    if (named.size() == most) return text + ", ...";
    text += (named.empty() ? "" : ", ") + name;
    named.push_back(std::move(name));
  }
  return text;
}

/// Limits of the efficiencies: time that is not understood may be waiting instead of transfer.
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
  // Useful time that may be waiting: of the rank with the most of it, or of the others.
  const double whole = run_seconds * static_cast<double>(n.ranks.size());
  const double idle = whole > 0 ? std::min(n.between_polls_seconds / whole, e.parallel) : 0;
  const double rest = e.parallel > 0 ? (e.parallel - idle) / e.parallel : 1;
  return {{e.parallel - idle, e.parallel},
          {e.load_balance * rest, rest > e.load_balance ? e.load_balance / rest : std::max(1.0, e.load_balance)},
          {most > 0 ? e.serialisation * e.transfer / most : e.serialisation, e.serialisation},
          {e.transfer, most}};
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
