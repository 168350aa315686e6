#ifndef WHYWAIT_FINALIZE_PROCESS_RECORDS_HPP
#define WHYWAIT_FINALIZE_PROCESS_RECORDS_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/explain/thread_book.hpp>
#include <whywait/finalize/joined_threads.hpp>
#include <whywait/record/call_sites.hpp>

#include <cstdint>
#include <memory>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Records of one thread that are not part of core::location_history. The pointers refer to memory of the recorder,
/// which lives as long as the process.
struct thread_records {
  const record::call_site_table* sites = nullptr;  ///< resolves sync_record::site; null if the thread never called MPI
  /// sums of dropped steps by block (core::site_table::capacity entries), or null
  const core::path_step* folded = nullptr;
  std::uint64_t lost_records = 0;
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_before = 0;                ///< dropped records and steps of earlier epochs
  std::uint64_t mismatched_ends = 0;
};

/// All records of one process. `history` has views of the records; process_names adds the keys that replace
/// process-local numbers (blocks, call sites, code).
struct process_records {
  core::rank_history history;
  base::vector<thread_records> threads;  ///< by location index, like history.locations
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;     ///< end of recording; before MPI_Finalize if `closed`
  std::uint64_t last_ticks = 0;    ///< end of the run, or now; the totals extend to it
  bool closed = false;             ///< recording ended before the run; events after `end_ticks` are in totals only
  bool full = false;               ///< because memory ran out, and not for WHYWAIT_PAUSES
  std::uint64_t calls = 0;         ///< observed MPI calls
  std::uint64_t failed_polls = 0;  ///< tests and probes among `calls` that found nothing and began no record
  std::uint64_t lost_records = 0;
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_orders = 0;   ///< segments whose order did not fit into memory
  std::uint64_t closings = 0;      ///< number of earlier epochs in which memory ran out
  std::uint64_t interposed = 0;  ///< calls of pthread functions that were seen
  std::uint64_t primitives = 0;  ///< thread primitives that waited, or ended a wait
  std::uint64_t short_waits = 0, short_ticks = 0;  ///< waits for threads that were too short for a record
  std::uint64_t least_ticks = 0;  ///< shorter ones have none
  std::unique_ptr<explain::thread_book> book;  ///< records of waits for threads, as the explanation reads them; null: none
  std::unique_ptr<joined_threads> joined;  ///< threads whose work counts as that of the main thread; null: none
  std::uint64_t first_closed_ticks = 0;  ///< time at which memory first ran out; 0 if never

  /// Prepares the records of thread primitives for the explanation. `begin`: of the run, ticks; `main`: the location of the
  /// thread that began it, or thread_book::no_main.
  void rewrite_threads(std::uint64_t begin, std::uint32_t main) {
    base::pod_vector<core::location_history*> locations;
    for (core::location_history& l : history.locations) locations.push_back(&l);
    if (!explain::thread_book::needed(locations)) return;
    book.reset(new explain::thread_book(locations, begin, end_ticks, main));
    book->show();
  }

  /// Sets the bounds of the history to the whole run, in the time of its clock. Epochs set their own bounds.
  void span_whole_run() noexcept {
    history.begin_ns = history.clock(begin_ticks);
    history.end_ns = history.clock(end_ticks);
  }
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
