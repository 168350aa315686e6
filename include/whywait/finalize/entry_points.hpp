#ifndef WHYWAIT_FINALIZE_ENTRY_POINTS_HPP
#define WHYWAIT_FINALIZE_ENTRY_POINTS_HPP

#include <whywait/mpi/mpi_header.hpp>
#include <whywait/report/model.hpp>

namespace whywait {
inline namespace v0 {
namespace finalize {

#ifndef WHYWAIT_DISABLE

/// Why the program waited so far, for the program itself: complete on rank 0 of MPI_COMM_WORLD, elsewhere without waits
/// and names. Collective over `comm`, which must hold all ranks of MPI_COMM_WORLD, like MPI_Barrier, as which it is
/// recorded; ends an epoch, so that what is under way goes on and the memory of all records is free again. The time it
/// takes (about that of the report at the end) is taken out of every later explanation. From one thread, while no other
/// thread is in MPI. Nothing is thrown: where nothing can be said `run.warnings` says why, the same on all ranks.
report::result explain(MPI_Comm comm);

#else

/// Switched off: nothing is known.
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
