#ifndef WHYWAIT_TESTS_MPI_CHECKS_HPP
#define WHYWAIT_TESTS_MPI_CHECKS_HPP

// Checks for MPI test programs, which report the failed condition, place and rank, and access to the records.

#include <whywait/finalize/collect.hpp>
#include <whywait/mpi/wrappers.hpp>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace checks {

inline int failures = 0;

inline int world_rank() {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

inline bool that(bool holds, const char* text, const char* file, int line) {
  if (!holds && ++failures <= 20) std::fprintf(stderr, "%s:%d: rank %d: not so: %s\n", file, line, world_rank(), text);
  return holds;
}

/// The exit code of a test, after MPI_Finalize or in its place; 0 if no check failed on this rank.
inline int result() { return failures == 0 ? 0 : 1; }

namespace ww = whywait;
namespace flag = whywait::core::sync_flag;
using whywait::core::mpi_call;
using whywait::core::sync_record;

/// The records of the calling thread.
inline whywait::core::chunked_view<const sync_record> records() { return whywait::record::this_location()->syncs.view(); }
inline const sync_record& last(unsigned back = 0) {
  auto all = records();
  return all[all.size() - 1 - back];
}
inline whywait::mpi::state& process() { return *whywait::mpi::the_state(); }
inline const whywait::mpi::known_communicator& communicator(const sync_record& r) { return process().communicators[r.comm]; }

}  // namespace checks

#define CHECK(condition) checks::that(static_cast<bool>(condition), #condition, __FILE__, __LINE__)

#endif
