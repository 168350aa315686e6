#ifndef WHYWAIT_FINALIZE_EXPLAIN_NOW_HPP
#define WHYWAIT_FINALIZE_EXPLAIN_NOW_HPP

#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/finalize/analysis.hpp>
#include <whywait/finalize/entry_points.hpp>
#include <whywait/finalize/epochs.hpp>
#include <whywait/mpi/call.hpp>
#include <whywait/mpi/epoch_meeting.hpp>
#include <whywait/report/model.hpp>

#include <utility>

#if !defined(WHYWAIT_DISABLE) && !defined(WHYWAIT_OBSERVED)

namespace whywait {
inline namespace v0 {
namespace finalize {

// Weak like the wrappers, so that any number of files may define it. Files that only declare it link to this definition.
__attribute__((weak, noinline, visibility("default"))) report::result explain(MPI_Comm comm) {
  const auto refuse = [](const char* why) {
    report::result nothing;
    nothing.run.warnings.push_back(why);
    return nothing;
  };
  mpi::state* const process = mpi::the_state();
  if (process == nullptr || !process->running) return refuse("nothing is recorded; no result");
  int likeness = MPI_UNEQUAL;
  PMPI_Comm_compare(comm, MPI_COMM_WORLD, &likeness);
  if (likeness == MPI_UNEQUAL) {
    core::warn("mpi::explain needs a communicator with all ranks of MPI_COMM_WORLD; no result");
    return refuse("mpi::explain needs a communicator with all ranks of MPI_COMM_WORLD; no result");
  }
  mpi::call here(core::mpi_call::Barrier, {__builtin_return_address(0), __builtin_frame_address(0)});
  if (!here) return refuse("mpi::explain was called inside an MPI call; no result");
  here.begin();
  here.about(mpi::bits_of(MPI_COMM_WORLD), -1, -1);
  const std::uint32_t posting = process->take_posting();
  int several = here.several() ? 1 : 0;
  // The reduction synchronises, so that no rank leaves before all have arrived.
  PMPI_Allreduce(MPI_IN_PLACE, &several, 1, MPI_INT, MPI_MAX, process->tool_comm);
  here.leave();
  if (core::sync_record* r = here.store(core::sync_flag::contributes | core::sync_flag::consumes, posting)) {
    r->comm = 0;
    here.finish();
  }
  if (several != 0) return refuse("several threads call MPI; no result before MPI_Finalize");
  if (process->failed) return refuse(process->failed.text);
  if (process->delay != nullptr) process->delay->end_code();
  const rules::processor_use used = processor_use_of_process(*process);
  const mpi::meeting_point end{here.begun_at(), here.begun_at() + here.duration(), here.site()};
  report::result result;
  resolve_wildcards(*process);
  const bool explained = together(*process, "mpi::explain failed, no result: ", [&](const finalize::team&) {
    process->schedule.end();
    epoch now(*process, &end, used);
    result = analyse(*process, now);
    now.finish(here.thread(), end);
  });
  mpi::detail::go_on(here.thread());
  return explained ? result : refuse(process->failed.text);
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
