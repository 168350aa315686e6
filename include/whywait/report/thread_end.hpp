#ifndef WHYWAIT_REPORT_THREAD_END_HPP
#define WHYWAIT_REPORT_THREAD_END_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/units.hpp>
#include <whywait/base/vector.hpp>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Totals of one marked place.
struct place_total {
  base::place where;
  std::int64_t visits = 0;
  double seconds = 0;  ///< exclusive
  std::int64_t work = 0;
};

/// The last activity of a thread whose process could not report, read from its crash file. Times count from MPI_Init,
/// without MPI from the begin of recording.
struct thread_end {
  std::int32_t rank = -1;  ///< -1: no MPI
  std::int32_t thread = 0;
  std::int64_t pid = 0;
  std::string end;      ///< end of the process: "SIGTERM"; "ended without MPI_Finalize, ..." if none was recorded
  double seconds = 0;   ///< time of the last record
  bool inside = false;  ///< in an MPI call that did not return; the next three members describe it
  base::place call;
  std::string whom;  ///< "from rank 3 (tag 7)"
  double since_seconds = 0;
  /// In the call that did not return.
  double open_seconds() const noexcept { return inside && seconds > since_seconds ? seconds - since_seconds : 0; }
  std::string regions;  ///< open regions: "main/exchange"
  std::int64_t mpi_calls = 0;
  std::int64_t records = 0;         ///< number of records of MPI calls
  std::int64_t torn_events = 0;     ///< incompletely written events
  std::int64_t lost_events = 0;     ///< events that are missing or damaged
  base::vector<place_total> blocks;  ///< most time first

  // Out of line, because several cold places copy and move it and each would compile its own copy.
  thread_end() = default;
  [[gnu::noinline]] thread_end(const thread_end&) = default;
  [[gnu::noinline]] thread_end(thread_end&&) = default;
  [[gnu::noinline]] thread_end& operator=(const thread_end&) = default;
  [[gnu::noinline]] thread_end& operator=(thread_end&&) = default;
  [[gnu::noinline]] ~thread_end() = default;
};

/// "SIGTERM"; "a signal" if it is not one of those that usually end programs.
inline const char* name_of_signal(int signal) noexcept {
  switch (signal) {
    case SIGTERM: return "SIGTERM";
    case SIGINT: return "SIGINT";
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    case SIGABRT: return "SIGABRT";
    default: return "a signal";
  }
}

/// One paragraph per thread: its last activity and the blocks with most of its time.
inline std::string text_of(const base::vector<thread_end>& threads) {
  std::string out;
  for (const thread_end& t : threads) {
    out += t.rank >= 0 ? "  rank " + std::to_string(t.rank) : "  process " + std::to_string(t.pid);
    if (t.thread != 0) out += " thread " + std::to_string(t.thread);
    out += base::joined({": ", t.end, ", last seen after ", base::duration(t.seconds)});
    if (t.inside) {
      out += ", in " + call_text(t.call);
      if (t.open_seconds() > 0) out += " for " + base::duration(t.open_seconds());
      out += base::joined({" (entered after ", base::duration(t.since_seconds), ")"});
      if (!t.whom.empty()) out += " " + t.whom;
    }
    out += "\n";
    if (!t.regions.empty() && !t.inside) out += "      in " + base::printable(t.regions) + "\n";
    std::string most;
    for (std::size_t i = 0; i < t.blocks.size() && i < 3; ++i)
      most += base::joined({i == 0 ? "      " : ", ", base::printable(t.blocks[i].where.name), " ",
                            base::duration(t.blocks[i].seconds), " (", base::counted(t.blocks[i].visits, "visit"), ")"});
    if (!most.empty()) out += most + "\n";
    if (t.torn_events + t.lost_events != 0)
      out += base::joined(
          {"      ", base::counted(t.torn_events, "event"), " torn, ", base::counted(t.lost_events, "event"), " lost\n"});
  }
  return out;
}

/// Of a program that did not finish: what its report covers, and what not.
inline std::string partial_words(const base::vector<thread_end>& threads) {
  double open = 0;
  const thread_end* longest = nullptr;
  for (const thread_end& t : threads) {
    open += t.open_seconds();
    if (t.open_seconds() > (longest != nullptr ? longest->open_seconds() : 0)) longest = &t;
  }
  const std::string covers = "The program did not finish; the report covers what was recorded until its end";
  if (longest == nullptr) return covers + ".";
  return base::joined({covers, ", without ", base::duration(open), " in calls that had not returned, most of it in ",
                       brief_call_text(longest->call), "."});
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
