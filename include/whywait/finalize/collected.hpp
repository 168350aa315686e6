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

/// What one thread recorded. Views into its buffers, which live as long as the process.
struct collected_location {
  core::chunked_view<const core::sync_record> records;
  core::chunked_view<const core::path_step> steps;
  core::chunked_view<const std::int32_t> needs;
  core::chunked_view<const core::order_segment> order;      ///< with WHYWAIT_PATH=order
  core::chunked_view<const core::order_node> order_nodes;
  const mpi::call_site_table* sites = nullptr;     ///< meaning of sync_record::site; null: it never called MPI
  const core::path_step* folded = nullptr;    ///< per block (core::site_table::capacity entries), that for which there was no memory; or null
  std::vector<core::call_overhead> call_overheads;  ///< what recording its calls cost lately, by core::mpi_call
  core::mark_overhead mark_overheads{};             ///< what its marks cost
  std::uint64_t lost_records = 0;
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_before = 0;  ///< of both, in earlier epochs
  std::uint64_t carried = 0;      ///< the first of `records`: out of earlier epochs
  std::uint64_t mismatched_ends = 0;
};

/// A communicator, as explain::communicator wants it.
struct collected_communicator {
  core::stable_key id = 0;
  std::int32_t size = 0;
  std::int32_t rank = 0;
  bool inter = false;
  std::vector<std::int32_t> world;  ///< empty: the identity
};

/// All that one process recorded, as plain tables, from which the umbrella makes an explain::rank_history.
struct collected_process {
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  std::int32_t node = -1;  ///< machine that the process runs on, numbered alike on all ranks (node_of); -1: unknown
  mpi::shared_clock clock;
  std::uint64_t begin_ticks = 0;
  std::uint64_t end_ticks = 0;   ///< of recording: earlier than MPI_Finalize if memory ran out
  std::uint64_t last_ticks = 0;  ///< of the run, or now: of what is in totals
  bool closed = false;           ///< memory ran out: what follows `end_ticks` is in totals only
  std::vector<collected_location> locations;          ///< by index
  std::vector<collected_communicator> communicators;  ///< by index: 0 world, 1 self
  std::uint64_t calls = 0;         ///< MPI calls seen
  std::uint64_t failed_polls = 0;  ///< of those, tests and probes that found nothing
  std::uint64_t lost_records = 0;
  std::uint64_t lost_steps = 0;
  std::uint64_t lost_orders = 0;   ///< segments whose order had no memory
  std::uint64_t closings = 0;      ///< how often memory ran out in earlier epochs
  std::uint64_t first_closed_ticks = 0;  ///< when it first did; 0: never

  /// The epoch that the records are from, in shared time; without pauses, for `clock` counts none (mpi/epochs.hpp).
  struct part {
    bool continued = false, continues = false;  ///< all ranks met at its begin, and at its end
    std::int64_t begin_ns = 0, end_ns = 0, before_ns = 0;
    std::uint32_t posted_before = 0;
  };
  part epoch;
  bool in_part = false;            ///< whether `epoch` says anything; else it is the whole run
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
