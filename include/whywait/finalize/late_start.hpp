#ifndef WHYWAIT_FINALIZE_LATE_START_HPP
#define WHYWAIT_FINALIZE_LATE_START_HPP

#include <whywait/finalize/team.hpp>
#include <whywait/mpi/process_state.hpp>
#include <whywait/report/model.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <unistd.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace finalize {

namespace detail {

/// When this process began, as CLOCK_BOOTTIME in seconds, to a hundredth; negative if the system does not tell
/// (Linux: field 22 of /proc/self/stat).
inline double begin_of_process() noexcept {
  std::FILE* const file = std::fopen("/proc/self/stat", "r");
  if (file == nullptr) return -1;
  char text[1024];
  text[std::fread(text, 1, sizeof text - 1, file)] = '\0';
  std::fclose(file);
  const char* const name_end = std::strrchr(text, ')');  // the name of the program may contain anything
  unsigned long long ticks = 0;
  if (name_end == nullptr ||
      std::sscanf(name_end + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) !=
          1)
    return -1;
  return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace detail

/// The rank that called MPI_Init last, counted from the begin of its process, and for how long another one waited there for
/// it: the shorter of what its process ran longer before the call and what its call took less. The same on all ranks.
/// Collective.
inline reports::late_start late_start_of(const mpi::state& process, const finalize::team& all) {
  const double began = detail::begin_of_process();
  const bool known = began >= 0 && process.init_called_ns != 0;
  const double age = known ? static_cast<double>(process.init_called_ns) * 1e-9 - began : 0;
  const double inside = static_cast<double>(process.init_ns) * 1e-9;
  struct {
    double seconds;
    int rank;
  } last{age, all.rank()};
  all.all_reduce(&last, 1, MPI_DOUBLE_INT, MPI_MAXLOC);
  double most[4] = {-age, inside, last.rank == all.rank() ? inside : 0, known ? 0.0 : 1.0};
  all.all_reduce(most, 4, MPI_DOUBLE, MPI_MAX);
  if (most[3] != 0) return {};
  return {last.rank, last.seconds, std::max(0.0, std::min(last.seconds + most[0], most[1] - most[2]))};
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
