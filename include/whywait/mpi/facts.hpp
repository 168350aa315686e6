#ifndef WHYWAIT_MPI_FACTS_HPP
#define WHYWAIT_MPI_FACTS_HPP

#include <whywait/core/clock.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/mismatch.hpp>
#include <whywait/report/model.hpp>
#include <whywait/sync/mpi/state.hpp>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <unistd.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What one process counted, to be added over the ranks.
struct process_counts {
  std::uint64_t calls = 0;       ///< MPI calls seen
  std::uint64_t lost = 0;        ///< records and path steps for which there was no memory
  std::uint64_t mismatches = 0;  ///< begin and end that do not pair
  std::uint64_t full = 0;        ///< 1 if memory ran out

  static process_counts of(const sync::mpi::state& process) noexcept {
    process_counts sum;
    for (const core::location_base* l = process.registry->locations; l != nullptr; l = l->next) {
      const record::location& location = static_cast<const record::location&>(*l);
      sum.mismatches += location.mismatched_ends;
      const auto* thread = static_cast<const sync::mpi::thread_state*>(location.extension[0]);
      if (thread == nullptr) continue;
      sum.lost += thread->lost_records + thread->lost_steps;
      for (std::uint64_t calls : thread->calls) sum.calls += calls;
    }
    sum.full = process.closed ? 1 : 0;
    return sum;
  }
};

namespace detail {

inline std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  PMPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  version.resize(std::min(version.find_first_of(",\n"), version.size()));
  for (char& c : version)
    if (c == '\t') c = ' ';
  return version;
}

// The first mismatched pair of the lowest rank that has one, as a sentence, on rank 0.
inline std::string first_mismatch(const sync::mpi::state& process, MPI_Comm comm) {
  constexpr int room = 300, tag = 31;
  char text[room] = "";
  for (const core::location_base* l = process.registry->locations; l != nullptr; l = l->next) {
    const record::location& location = static_cast<const record::location&>(*l);
    if (location.mismatched_ends != 0) record::describe(location.first_mismatch, process.registry->sites, text, room);
  }
  int first = text[0] != '\0' ? process.rank : INT_MAX;
  PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm);
  if (first == INT_MAX) return {};
  if (first != 0 && process.rank == first) PMPI_Send(text, room, MPI_CHAR, 0, tag, comm);
  if (first != 0 && process.rank == 0) PMPI_Recv(text, room, MPI_CHAR, first, tag, comm, MPI_STATUS_IGNORE);
  return process.rank == 0 ? text : std::string();
}

}  // namespace detail

/// Facts about the run that the explanation does not know: complete on rank 0. Collective over `comm`.
inline report::run_facts gather_facts(const sync::mpi::state& process, const sync::mpi::shared_clock& clock,
                                      MPI_Comm comm) {
  process_counts counts = process_counts::of(process);
  constexpr int fields = static_cast<int>(sizeof counts / sizeof(std::uint64_t));
  PMPI_Allreduce(MPI_IN_PLACE, &counts, fields, MPI_UINT64_T, MPI_SUM, comm);
  double worst[2] = {clock.error_ns, process.closed ? static_cast<double>(process.begin_ticks) - static_cast<double>(process.closed_ticks) : -1e300};
  worst[1] *= clock.ns_per_tick;  // minus the time until memory ran out: the largest is the earliest
  PMPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, comm);

  report::run_facts facts;
  facts.ranks = process.size;
  facts.mpi = detail::library_version();
  facts.mpi_calls = static_cast<std::int64_t>(counts.calls);
  facts.dropped_events = static_cast<std::int64_t>(counts.lost);
  facts.clock = core::cycle_clock::uses_counter() ? "cycle counter" : "CLOCK_MONOTONIC";
  facts.clock_error_seconds = worst[0] * 1e-9;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (text.compare(0, 8, "WHYWAIT_") == 0 && equals != std::string::npos)
      facts.settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (counts.full != 0)
    facts.warnings.push_back("memory for records ran out on " + std::to_string(counts.full) + " of " +
                             std::to_string(process.size) + " ranks, first after " +
                             std::to_string(-worst[1] * 1e-9).substr(0, 6) + " s: later waits are not explained (WHYWAIT_MEMORY=" +
                             std::to_string(process.registry->config.memory_bytes >> 20) + "M; give more)");
  const std::string mismatch = detail::first_mismatch(process, comm);
  if (counts.mismatches != 0)
    facts.warnings.push_back(std::to_string(counts.mismatches) +
                             (counts.mismatches == 1 ? " region does" : " regions do") +
                             " not begin and end in pairs; the first: " + mismatch);
  return facts;
}

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
