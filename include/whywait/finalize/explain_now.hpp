#ifndef WHYWAIT_FINALIZE_EXPLAIN_NOW_HPP
#define WHYWAIT_FINALIZE_EXPLAIN_NOW_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/replace.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/finalize/analysis.hpp>
#include <whywait/finalize/carried_records.hpp>
#include <whywait/finalize/entry_points.hpp>
#include <whywait/finalize/epochs.hpp>
#include <whywait/finalize/report_entry.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/epoch_meeting.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/plain_packet.hpp>
#include <whywait/report/plain_result.hpp>
#include <whywait/report/run_result.hpp>

#include <utility>

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Explains the run so far, at the call site `from`. The result is complete on rank 0; elsewhere it has no waits and no names.
/// `also(result)` runs on all ranks before the program goes on, as a part of the analysis.
template <class Also>
reports::result explain_at(MPI_Comm comm, const mpi::caller& from, Also&& also) {
  const auto refuse = [](const char* why) {
    reports::result nothing;
    nothing.run.warnings.push_back(why);
    return nothing;
  };
  mpi::state* const process = mpi::the_state();
  if (process == nullptr || !process->running) return refuse("nothing is recorded; no result");
  int likeness = MPI_UNEQUAL;
  PMPI_Comm_compare(comm, process->tool_comm, &likeness);
  if (likeness == MPI_UNEQUAL) {
    core::warn("mpi::explain needs a communicator with all ranks of MPI_COMM_WORLD; no result");
    return refuse("mpi::explain needs a communicator with all ranks of MPI_COMM_WORLD; no result");
  }
  mpi::call here(core::mpi_call::Barrier, from);
  if (!here) return refuse("mpi::explain was called inside an MPI call; no result");
  here.begin();
  here.about(mpi::bits_of(comm), -1, -1);
  const std::uint32_t posting = process->take_posting();
  int several = here.several() || __atomic_load_n(&process->uses_threads, __ATOMIC_ACQUIRE) ? 1 : 0;
  // The reduction synchronises, so that no rank leaves before all have arrived.
  PMPI_Allreduce(MPI_IN_PLACE, &several, 1, MPI_INT, MPI_MAX, process->tool_comm);
  here.leave();
  if (core::sync_record* r = here.store(core::sync_flag::contributes | core::sync_flag::consumes, posting)) {
    r->comm = 0;
    here.finish();
  }
  if (several != 0) return refuse("several threads call MPI or wait for each other; no result before MPI_Finalize");
  if (process->failed) return refuse(process->failed.text);
  const rules::processor_use used = processor_use_of_process(*process);
  const mpi::meeting_point end{here.begun_at(), here.begun_at() + here.duration(), here.site()};
  reports::result result;
  resolve_wildcards(*process);
  const bool explained = together(*process, "mpi::explain failed, no result: ", [&](const finalize::team& all) {
    process->schedule.end();
    epoch now(*process, &end, used);
    base::replace(result, analyse(*process, now));
    also(result, all);
    now.finish(here.thread(), end);
  });
  mpi::detail::go_on(here.thread());
  if (!explained) return refuse(process->failed.text);
  return result;
}

/// The result as programs read it, the same on all ranks.
inline whywait::result explain_plainly(MPI_Comm comm, const mpi::caller& from) {
  whywait::result plain;
  reports::result all = explain_at(comm, from, [&plain](reports::result& found, const finalize::team& ranks) {
    base::packet bytes;
    if (ranks.rank() == 0) {
      base::replace(plain, reports::plain(std::move(found)));
      bytes = reports::pack(plain);
    }
    ranks.share(bytes);
    if (ranks.rank() != 0) base::replace(plain, reports::unpack_result(bytes.data(), bytes.size()));
  });
  if (plain || all.run.warnings.empty()) return plain;
  base::replace(plain, whywait::result());
  plain.reason = all.run.warnings.front();
  plain.warnings.push_back(plain.reason);
  return plain;
}

/// record::run_facts::explain.
inline void explain_run(record::run_facts&, void* result, const void* address, const void* frame) {
  base::replace(*static_cast<whywait::result*>(result), explain_plainly(MPI_COMM_WORLD, {address, frame}));
}

/// Hook of MPI_Init: from now on the run is recorded.
inline void at_start_of_run(mpi::state& process) noexcept {
  at_recording(process);
  process.explain = &explain_run;
}

}  // namespace finalize

namespace mpi {

// Weak like the wrappers, so that any number of files may define it. Files that only declare it link to this definition.
__attribute__((weak, noinline, visibility("default"))) result explain(MPI_Comm comm) {
  return finalize::explain_plainly(comm, {__builtin_return_address(0), __builtin_frame_address(0)});
}

}  // namespace mpi

}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
