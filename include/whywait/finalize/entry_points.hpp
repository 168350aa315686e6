#ifndef WHYWAIT_FINALIZE_ENTRY_POINTS_HPP
#define WHYWAIT_FINALIZE_ENTRY_POINTS_HPP

#include <whywait/mpi/mpi_header.hpp>
#include <whywait/report/report_now.hpp>
#include <whywait/report/run_result.hpp>

namespace whywait {
inline namespace v0 {

namespace mpi {

#ifndef WHYWAIT_DISABLE

/// Explains to the program itself why it waited so far. The result is the same on all ranks. Collective over `comm`, which
/// must contain all ranks of MPI_COMM_WORLD. The call synchronises and is recorded like MPI_Barrier. It ends an epoch: pending
/// operations continue and the memory of all records is released. Later explanations exclude the time of this call, which is
/// about that of the final report. Call it from one thread while no other thread is in MPI. Throws nothing; if there is no
/// result, `reason` gives the reason, identical on all ranks.
result explain(MPI_Comm comm);

#else

/// Disabled build: returns an empty result with a reason.
template <class Communicator>
result explain(const Communicator&) {
  result nothing;
  nothing.reason = "whywait is disabled (WHYWAIT_DISABLE); no result";
  return nothing;
}

#endif

}  // namespace mpi

}  // namespace v0
}  // namespace whywait

#endif
