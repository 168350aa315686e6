#ifndef WHYWAIT_SYNC_MPI_NODE_HPP
#define WHYWAIT_SYNC_MPI_NODE_HPP

#include <whywait/sync/mpi/mpi_header.hpp>

#include <cstdint>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace sync {
namespace mpi {

/// The machine that this rank runs on: the lowest rank of `comm` that shares memory with it, so that it is numbered
/// alike on all ranks. -1 on all of them if MPI cannot tell one of them. Collective over `comm`, whose errors must return;
/// makes and frees a communicator (about 0.1 ms on one machine).
[[gnu::cold]] inline std::int32_t node_of(MPI_Comm comm) noexcept {
  MPI_Comm node = MPI_COMM_NULL;
  std::int32_t lowest = -1, rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) == MPI_SUCCESS &&
      node != MPI_COMM_NULL) {
    lowest = rank;  // the first there
    if (PMPI_Bcast(&lowest, 1, MPI_INT32_T, 0, node) != MPI_SUCCESS) lowest = -1;
    PMPI_Comm_free(&node);
  }
  std::int32_t worst = lowest;
  PMPI_Allreduce(&lowest, &worst, 1, MPI_INT32_T, MPI_MIN, comm);
  return worst < 0 ? -1 : lowest;
}

}  // namespace mpi
}  // namespace sync
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
