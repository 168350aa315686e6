#ifndef WHYWAIT_FINALIZE_ENTRY_POINTS_HPP
#define WHYWAIT_FINALIZE_ENTRY_POINTS_HPP

#include <whywait/mpi/mpi_header.hpp>
#include <whywait/report/model.hpp>

namespace whywait {
inline namespace v0 {
namespace finalize {

#ifndef WHYWAIT_DISABLE

/// Explains to the program itself why it waited so far. The result is complete on rank 0 of MPI_COMM_WORLD and has no
/// waits and no names elsewhere. Collective over `comm`, which must contain all ranks of MPI_COMM_WORLD. The call
/// synchronises and is recorded like MPI_Barrier. It ends an epoch: pending operations continue and the memory of all
/// records is released. Later explanations exclude the time of this call, which is about that of the final report. Call
/// it from one thread while no other thread is in MPI. Throws nothing; if there is no result, `run.warnings` gives the
/// reason, identical on all ranks.
report::result explain(MPI_Comm comm);

#else

/// Disabled build: returns an empty result with a warning.
template <class Communicator>
report::result explain(const Communicator&) {
  report::result nothing;
  nothing.run.warnings.push_back("whywait is disabled (WHYWAIT_DISABLE); no result");
  return nothing;
}

#endif

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
