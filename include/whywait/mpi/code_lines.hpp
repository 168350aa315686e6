#ifndef WHYWAIT_MPI_CODE_LINES_HPP
#define WHYWAIT_MPI_CODE_LINES_HPP

#include <whywait/core/code_source.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/report/code_blocks.hpp>
#include <whywait/report/code_filter.hpp>
#include <whywait/sync/mpi/collect.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The blocks of code that ran in this process, one number each.
[[gnu::cold]] inline std::vector<std::uint32_t> code_that_ran(const sync::mpi::collected_process& all) {
  std::vector<std::uint32_t> ran;
  std::vector<bool> known;
  for (const sync::mpi::collected_location& l : all.locations) {
    for (std::uint64_t i = 0; i != l.steps.size(); ++i) {
      const std::uint32_t block = l.steps[i].block;
      if (block < core::site_table::capacity) continue;
      const std::size_t at = block - core::site_table::capacity;
      if (at >= known.size()) known.resize(at + 1);
      if (!known[at]) ran.push_back(block);
      known[at] = true;
    }
  }
  return ran;
}

/// Whether some rank cannot name its blocks; on rank 0 why, of the lowest of them. Collective over `comm`.
[[gnu::cold]] inline bool any_problem(const report::code_blocks& own, MPI_Comm comm, std::string& why) {
  int rank = 0, ranks = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  int first = own.problem().empty() ? ranks : rank;
  PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == ranks) return false;
  char text[512] = "";
  constexpr int tag = 32;
  if (rank == first) own.problem().copy(text, sizeof text - 1);
  if (first != 0 && rank == first) PMPI_Send(text, sizeof text, MPI_CHAR, 0, tag, comm);
  if (first != 0 && rank == 0) PMPI_Recv(text, sizeof text, MPI_CHAR, first, tag, comm, MPI_STATUS_IGNORE);
  why = text;
  return true;
}

/// The patterns that rank 0 was given. Collective over `comm`.
[[gnu::cold]] inline report::code_filter common_filter(const core::settings& own, MPI_Comm comm) {
  std::string patterns = own.coverage != nullptr ? own.coverage : "";
  int size = static_cast<int>(patterns.size());
  PMPI_Bcast(&size, 1, MPI_INT, 0, comm);
  patterns.resize(static_cast<std::size_t>(size));
  PMPI_Bcast(&patterns[0], size, MPI_CHAR, 0, comm);
  return report::code_filter(patterns);
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
