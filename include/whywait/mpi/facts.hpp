#ifndef WHYWAIT_MPI_FACTS_HPP
#define WHYWAIT_MPI_FACTS_HPP

#include <whywait/core/clock.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/mismatch.hpp>
#include <whywait/report/model.hpp>
#include <whywait/report/units.hpp>
#include <whywait/sync/mpi/collect.hpp>

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

namespace detail {

[[gnu::cold]] inline std::string library_version() {
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
[[gnu::cold]] inline std::string first_mismatch(const sync::mpi::state& process, MPI_Comm comm) {
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

// "64M", as it was asked for.
[[gnu::cold]] inline std::string bytes_text(std::uint64_t bytes) {
  return bytes % (1u << 20) == 0 ? std::to_string(bytes >> 20) + "M" : std::to_string(bytes);
}

}  // namespace detail

/// Receives from any source whose sender was answered next: who does what is decided by who asks first.
[[gnu::cold]] inline std::uint64_t answered_first_comers(const sync::mpi::collected_location& l) {
  std::uint64_t answered = 0;
  std::int32_t asked = -1;
  for (std::uint64_t i = 0; i < l.records.size(); ++i) {
    const core::sync_record& r = l.records[i];
    const bool sends = r.has(core::sync_flag::posts_send), takes = r.has(core::sync_flag::posts_receive);
    if (sends == takes || r.peer < 0) continue;
    if (sends) answered += r.peer == asked ? 1 : 0;
    asked = takes && r.has(core::sync_flag::any_source) ? r.peer : -1;
  }
  return answered;
}

/// Facts about the run that the explanation does not know: complete on rank 0. `first_comers`: answered by this rank since
/// the run began. Collective over `comm`.
[[gnu::cold]] inline report::run_facts gather_facts(const sync::mpi::state& process,
                                                    const sync::mpi::collected_process& all,
                                                    std::uint64_t first_comers, MPI_Comm comm) {
  struct {
    std::uint64_t calls, lost, mismatches, full, unordered, first_comers, several;
  } counts = {all.calls,        all.lost_records + all.lost_steps, 0, all.first_closed_ticks != 0 ? 1u : 0u,
              all.lost_orders, first_comers, __atomic_load_n(&process.several, __ATOMIC_ACQUIRE) ? 1u : 0u};
  for (const sync::mpi::collected_location& l : all.locations) counts.mismatches += l.mismatched_ends;
  PMPI_Allreduce(MPI_IN_PLACE, &counts, 7, MPI_UINT64_T, MPI_SUM, comm);
  double worst_error_ns = all.clock.error_ns;
  PMPI_Allreduce(MPI_IN_PLACE, &worst_error_ns, 1, MPI_DOUBLE, MPI_MAX, comm);
  // when it was first, whether it is so to the end
  double full_ns[2] = {all.first_closed_ticks != 0 ? all.clock(all.first_closed_ticks) - all.clock(all.begin_ticks) : 1e300,
                       all.closed ? 0.0 : 1.0};
  PMPI_Allreduce(MPI_IN_PLACE, full_ns, 2, MPI_DOUBLE, MPI_MIN, comm);

  report::run_facts facts;
  facts.ranks = process.size;
  facts.mpi = detail::library_version();
  facts.mpi_calls = static_cast<std::int64_t>(counts.calls);
  facts.dropped_events = static_cast<std::int64_t>(counts.lost);
  facts.epochs = static_cast<std::int64_t>(process.schedule.epochs) + (process.running ? 0 : 1);
  facts.first_comers = static_cast<std::int64_t>(counts.first_comers);
  facts.clock = core::cycle_clock::used() != core::clock_source::monotonic ? "cycle counter" : "CLOCK_MONOTONIC";
  facts.clock_error_seconds = worst_error_ns * 1e-9;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string text = *variable;
    const std::size_t equals = text.find('=');
    if (text.compare(0, 8, "WHYWAIT_") == 0 && equals != std::string::npos)
      facts.settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  if (counts.full != 0)
    facts.warnings.push_back("the memory for records was used up on " + std::to_string(counts.full) + " of " +
                             std::to_string(process.size) + " ranks, first after " +
                             report::duration(full_ns[0] * 1e-9) +
                             (full_ns[1] < 1 ? ": later waits are not explained"
                                             : ": waits from then until all ranks met are not explained") +
                             "; give more than WHYWAIT_MEMORY=" +
                             detail::bytes_text(process.registry->config.memory_bytes) +
                             (counts.several != 0 ? ", for where several threads call MPI memory is used but once" : ""));
  if (counts.unordered != 0)
    facts.warnings.push_back("the memory for the order of paths (WHYWAIT_PATH=order) was used up: " +
                             report::counted(static_cast<std::int64_t>(counts.unordered), "interval") +
                             " between MPI calls have counts only; give more than WHYWAIT_MEMORY=" +
                             detail::bytes_text(process.registry->config.memory_bytes));
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
