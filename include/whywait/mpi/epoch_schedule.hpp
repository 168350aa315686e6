#ifndef WHYWAIT_MPI_EPOCH_SCHEDULE_HPP
#define WHYWAIT_MPI_EPOCH_SCHEDULE_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// At which of the operations where all processes meet they compare how full their memory is, and when an epoch ends.
/// A function of values that are equal on all of them, so all decide alike without further messages (overhead 4.4 a). Zeroed memory is
/// the schedule of a program that begins. One thread at a time.
struct epoch_schedule {
  /// An epoch ends before records take more than this part of WHYWAIT_MEMORY: explaining them takes about as much again.
  static constexpr uint32_t most_ppm = 400000;
  static constexpr uint64_t longest = 128;  ///< operations between two comparisons

  uint64_t meetings;  ///< since the last epoch
  uint64_t waits;  ///< how many of them until the next comparison, less one
  uint64_t epochs;  ///< that have ended

  /// One more: whether to compare now. About 1 ns.
  bool meet() noexcept {
    ++meetings;
    if (waits == 0) return true;
    --waits;
    return false;
  }

  /// An epoch ends.
  void end() noexcept {
    meetings = waits = 0;
    ++epochs;
  }

  /// After a comparison: whether the epoch is to end. `ppm`: of the fullest process; `now`: whatever that is.
  bool ends(uint32_t ppm, bool now) noexcept {
    const uint64_t each = ppm / meetings + 1;  // of one meeting
    if (now || ppm + 2 * each > most_ppm) {
      end();
      return true;
    }
    const uint64_t room = (most_ppm - ppm) / (2 * each);  // half of what is left
    const uint64_t twice = meetings < longest ? meetings : longest;
    waits = room < twice ? room : twice;
    if (waits != 0) --waits;
    return false;
  }
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
