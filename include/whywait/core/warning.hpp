#ifndef WHYWAIT_CORE_WARNING_HPP
#define WHYWAIT_CORE_WARNING_HPP

#include <whywait/core/safe_write.hpp>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Writes one line "whywait: <the parts>" to standard error with one write(2), so lines of several ranks do
/// not mix. No allocation, errno kept, usable in signal handlers; cut at 1000 bytes. Null parts are skipped.
template <class... Parts>
[[gnu::cold]] inline void warn(Parts... parts) noexcept {
  char line[1000] = "whywait: ";
  size_t length = 9;
  const char* const texts[] = {static_cast<const char*>(parts)...};
  for (const char* text : texts)
    for (; text != nullptr && *text != '\0' && length < sizeof line - 1; ++text) line[length++] = *text;
  line[length++] = '\n';
  write_line(line, length);
}

/// Whether this is the first process of a parallel program, from the variables that Open MPI, MPICH, Slurm and
/// PMIx set before the program starts; true without a launcher. Before MPI_Init it limits warnings about all
/// processes to one process.
[[gnu::cold]] inline bool first_of_the_launch() noexcept {
  const char* const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
  for (const char* name : ranks)
    if (const char* rank = getenv(name)) return strcmp(rank, "0") == 0;
  return true;
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
