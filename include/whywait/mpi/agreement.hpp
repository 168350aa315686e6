#ifndef WHYWAIT_MPI_AGREEMENT_HPP
#define WHYWAIT_MPI_AGREEMENT_HPP

#include <whywait/core/warning.hpp>
#include <whywait/mpi/announcement.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What the ranks agree on in MPI_Init before they do anything together: whether all of them have whywait and record.
class start_agreement {
 public:
  /// Before MPI_Init.
  void announce() noexcept { here_.make(); }
  /// After `announce`, for an agreement that may never be made. Others may still look for the file of this process.
  void withdraw_at_exit() noexcept {
    left_over() = here_;
    static_cast<void>(atexit([] { left_over().withdraw(); }));
  }

  /// After MPI_Init. False: not all ranks record, and none of them may wait for the others; one line on standard error states it.
  /// `no_memory`: that is why this rank does not. `level`: the thread level of this rank, then the highest of all ranks. Collective
  /// over `world`, a communicator of all ranks, if all of them have whywait.
  bool all_record(MPI_Comm world, bool enabled, bool no_memory, int& level) noexcept {
    int rank = 0, ranks = 1;
    world_ = world;
    PMPI_Comm_rank(world_, &rank);
    PMPI_Comm_size(world_, &ranks);
    const int missing = here_.is_known() ? here_.missing() : 0;
    if (missing != 0) {
      char text[80];
      snprintf(text, sizeof text, "%d of the %d", missing, here_.local_ranks());
      if (enabled && here_.is_first())
        core::warn(text,
                   " ranks on this machine run a program without whywait; no rank records and there is no report; put "
                   "whywait into all programs of the job");
      withdraw_at_exit();
      return false;
    }
    // the first rank that is on, or without memory, warns for all
    int on[3] = {enabled ? 1 : 0, -level, enabled || no_memory ? rank : ranks};
    const bool agreed = here_.is_known() && here_.local_ranks() == ranks ? agree(on) : agree_in_time(on);
    if (!agreed) {
      if (enabled && here_.is_first())
        core::warn(
            "some ranks did not answer in MPI_Init, they run a program without whywait; no rank records and there is no "
            "report; put whywait into all programs of the job");
      withdraw_at_exit();
      return false;
    }
    here_.withdraw();
    level = -on[1];
    if (on[0] == 0 && on[2] == rank) say_who_is_off(enabled, no_memory, ranks);
    else if (on[0] == 0) count_off(enabled);
    return on[0] != 0;
  }

 private:
  static constexpr int timeout_seconds = 30;

  bool agree(int (&on)[3]) const noexcept {
    return PMPI_Allreduce(MPI_IN_PLACE, on, 3, MPI_INT, MPI_MIN, world_) == MPI_SUCCESS;
  }
  // Ranks of other machines may have no whywait. If so the operation never ends; what it may write to must stay.
  bool agree_in_time(int (&on)[3]) const noexcept {
    static int kept[3];
    for (int i = 0; i < 3; ++i) kept[i] = on[i];
    MPI_Request request = MPI_REQUEST_NULL;
    if (PMPI_Iallreduce(MPI_IN_PLACE, kept, 3, MPI_INT, MPI_MIN, world_, &request) != MPI_SUCCESS) return false;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const time_t until = now.tv_sec + timeout_seconds;
    for (int over = 0; PMPI_Test(&request, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS;) {
      if (over != 0) {
        for (int i = 0; i < 3; ++i) on[i] = kept[i];
        return true;
      }
      clock_gettime(CLOCK_MONOTONIC, &now);
      if (now.tv_sec >= until) return false;
      sched_yield();
    }
    return false;
  }

  // Counts the ranks that are switched off only now, because that costs another operation.
  int count_off(bool enabled) const noexcept {
    int off = enabled ? 0 : 1;
    PMPI_Allreduce(MPI_IN_PLACE, &off, 1, MPI_INT, MPI_SUM, world_);
    return off;
  }
  void say_who_is_off(bool enabled, bool no_memory, int ranks) const noexcept {
    const int off = count_off(enabled);
    char text[80];
    snprintf(text, sizeof text, "switched off on %d of %d ranks", off, ranks);
    if (no_memory)
      core::warn(text,
                 ": memory or address space does not suffice (ulimit -v); no rank records and there is no report; raise the "
                 "limit");
    else if (off < ranks)
      core::warn(text, " (WHYWAIT_ENABLE=0 in their environment, or no memory); no rank records and there is no report");
  }

  static announcement& left_over() noexcept {
    static announcement file;
    return file;
  }

  announcement here_;
  MPI_Comm world_ = MPI_COMM_WORLD;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
