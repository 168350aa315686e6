#ifndef WHYWAIT_MPI_NAMING_HPP
#define WHYWAIT_MPI_NAMING_HPP

#include <whywait/core/stable_key.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/mpi/history.hpp>
#include <whywait/report/names.hpp>
#include <whywait/report/names_packet.hpp>
#include <whywait/sync/mpi/mpi_header.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {
namespace detail {

/// Every key that a reader of the outcome has to be told the name of, sorted.
[[gnu::cold]] inline std::vector<core::stable_key> keys_to_name(const explain::outcome& found) {
  std::vector<core::stable_key> keys;
  for (const explain::block_meaning& m : found.meanings) {
    keys.push_back(m.first);
    keys.push_back(m.second);
  }
  for (const explain::explanation& e : found.waits) {
    keys.push_back(e.operation);
    keys.push_back(e.cause);
    for (const explain::residual_term& t : e.residual) {
      keys.push_back(t.block);
      keys.push_back(t.within);
    }
    for (const explain::picture_side* side : {&e.picture.waiter, &e.picture.causer})
      for (const explain::picture_node& n : side->nodes) keys.push_back(n.key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace detail

/// Names for the keys of an outcome, on rank 0. Each key is looked up by the lowest rank that knows it, in its
/// own process (address space randomisation and different executables make that the only place), and only
/// what the report shows is looked up. Collective over `comm`; `found` matters on rank 0.
[[gnu::cold]] inline report::names gather_names(const explain::outcome& found, const process_history& own,
                                                MPI_Comm comm) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  std::vector<core::stable_key> keys;
  if (rank == 0) keys = detail::keys_to_name(found);
  int count = static_cast<int>(keys.size());
  PMPI_Bcast(&count, 1, MPI_INT, 0, comm);
  keys.resize(static_cast<std::size_t>(count));
  PMPI_Bcast(keys.data(), count, MPI_UINT64_T, 0, comm);

  std::vector<int> owner(keys.size(), ranks);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (own.knows(keys[i])) owner[i] = rank;
  PMPI_Allreduce(MPI_IN_PLACE, owner.data(), count, MPI_INT, MPI_MIN, comm);
  std::vector<core::stable_key> mine;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (owner[i] == rank) mine.push_back(keys[i]);
  report::names names = own.names_of(mine);

  // Few ranks own a key: they say so, and only they send.
  std::string packed = rank != 0 ? report::pack(names) : std::string();
  int size = static_cast<int>(packed.size());
  std::vector<int> sizes(rank == 0 ? static_cast<std::size_t>(ranks) : 0);
  PMPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, comm);
  constexpr int tag = 30;
  if (rank != 0) {
    if (size != 0) PMPI_Send(packed.data(), size, MPI_BYTE, 0, tag, comm);
    return names;
  }
  for (int from = 1; from < ranks; ++from) {
    if (sizes[static_cast<std::size_t>(from)] == 0) continue;
    packed.resize(static_cast<std::size_t>(sizes[static_cast<std::size_t>(from)]));
    PMPI_Recv(&packed[0], static_cast<int>(packed.size()), MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
    report::unpack(packed, names);
  }
  return names;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
