#ifndef WHYWAIT_FINALIZE_PROCESS_RECORDS_HPP
#define WHYWAIT_FINALIZE_PROCESS_RECORDS_HPP

#include <whywait/core/rank_history.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/mpi/call_sites.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// What the recorder keeps of one thread beside its core::location_history. Pointers into memory of the recorder, which
/// lives as long as the process.
struct thread_records {
  const mpi::call_site_table* sites = nullptr;  ///< meaning of sync_record::site; null: the thread never called MPI
  const core::path_step* folded = nullptr;      ///< sums by block (core::site_table::capacity entries) of what found no memory; or null
  std::uint64_t lost_records = 0;
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_before = 0;                ///< the part of both that earlier epochs lost
  std::uint64_t mismatched_ends = 0;
};

/// Everything that one process recorded. `history` has views of the records; process_names fills in the keys that replace
/// numbers of this process (blocks, call sites, code).
struct process_records {
  core::rank_history history;
  std::vector<thread_records> threads;  ///< by index of the location, as history.locations
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;     ///< end of recording: before MPI_Finalize if memory ran out
  std::uint64_t last_ticks = 0;    ///< end of the run, or now: the end of what totals contain
  bool closed = false;             ///< memory ran out: only totals contain what followed `end_ticks`
  std::uint64_t calls = 0;         ///< MPI calls
  std::uint64_t failed_polls = 0;  ///< the part of them that were tests and probes without success
  std::uint64_t lost_records = 0;
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_orders = 0;   ///< segments whose order found no memory
  std::uint64_t closings = 0;      ///< how often memory ran out in earlier epochs
  std::uint64_t first_closed_ticks = 0;  ///< the first of these times; 0: never

  /// Lets the history span the whole run, in the time of its clock. An epoch sets its own bounds instead.
  void span_whole_run() noexcept {
    history.begin_ns = history.clock(begin_ticks);
    history.end_ns = history.clock(end_ticks);
  }
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
