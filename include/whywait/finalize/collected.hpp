#ifndef WHYWAIT_FINALIZE_COLLECTED_HPP
#define WHYWAIT_FINALIZE_COLLECTED_HPP

#include <whywait/core/chunked_view.hpp>
#include <whywait/core/overhead.hpp>
#include <whywait/core/path_order.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/mpi/call_sites.hpp>
#include <whywait/mpi/shared_clock.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// The records of one thread, as views into its buffers, which live as long as the process.
struct collected_location {
  core::chunked_view<const core::sync_record> records;
  core::chunked_view<const core::path_step> steps;
  core::chunked_view<const std::int32_t> needs;
  core::chunked_view<const core::order_segment> order;      ///< with WHYWAIT_PATH=order
  core::chunked_view<const core::order_node> order_nodes;
  const mpi::call_site_table* sites = nullptr;     ///< resolves sync_record::site; null if the thread never called MPI
  /// Sums of dropped steps per block (core::site_table::capacity entries), or null.
  const core::path_step* folded = nullptr;
  std::vector<core::call_overhead> call_overheads;  ///< current recording cost of its calls, by core::mpi_call
  core::mark_overhead mark_overheads{};             ///< recording cost of its marks
  std::uint64_t lost_records = 0;
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_before = 0;  ///< dropped records and steps of earlier epochs
  std::uint64_t carried = 0;      ///< number of leading `records` from earlier epochs
  std::uint64_t mismatched_ends = 0;
};

/// A communicator, in the form of explain::communicator.
struct collected_communicator {
  core::stable_key id = 0;
  std::int32_t size = 0;
  std::int32_t rank = 0;
  bool inter = false;
  std::vector<std::int32_t> world;  ///< world ranks of the members; empty means the identity
};

/// All records of one process, as plain tables. process_history converts them into an explain::rank_history.
struct collected_process {
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  std::int32_t node = -1;  ///< Machine of the process, numbered identically on all ranks (node_of); -1 if unknown.
  mpi::shared_clock clock;
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;   ///< end of recording; before MPI_Finalize if memory ran out
  std::uint64_t last_ticks = 0;  ///< end of the run, or now; the totals extend to it
  bool closed = false;           ///< memory ran out; events after `end_ticks` are in totals only
  std::vector<collected_location> locations;          ///< by index
  std::vector<collected_communicator> communicators;  ///< by index: 0 world, 1 self
  std::uint64_t calls = 0;         ///< observed MPI calls
  std::uint64_t failed_polls = 0;  ///< tests and probes among `calls` that found nothing
  std::uint64_t lost_records = 0;
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_orders = 0;   ///< segments whose order did not fit into memory
  std::uint64_t closings = 0;      ///< number of earlier epochs in which memory ran out
  std::uint64_t first_closed_ticks = 0;  ///< time at which memory first ran out; 0 if never

  /// The epoch of the records in shared time without pauses; `clock` skips pauses (finalize/epochs.hpp).
  struct part {
    /// Whether all ranks met at the begin and at the end of the epoch.
    bool continued = false, continues = false;
    std::int64_t begin_ns = 0, end_ns = 0, before_ns = 0;
    std::uint32_t posted_before = 0;
  };
  part epoch;
  bool in_part = false;            ///< whether `epoch` is valid; otherwise the records cover the whole run
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
