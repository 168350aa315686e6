#ifndef WHYWAIT_MPI_SELF_TIMING_HPP
#define WHYWAIT_MPI_SELF_TIMING_HPP

#include <whywait/core/mpi_calls.hpp>

#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// How long the wrapper of one MPI call was busy itself, in ticks; each is the distance of two readings of the clock.
struct own_ticks {
  uint32_t before;   ///< from its first instruction to the call's time stamp
  uint32_t inside;   ///< from there to when MPI had the call
  uint32_t after;    ///< from the second time stamp to the return
  uint32_t reading;  ///< nothing between the two
  uint64_t sum() const noexcept { return uint64_t(before) + inside + after; }
};

/// One of `every` calls of a kind times itself, later one of `later_every`; of each kind the last `kept` are there, so
/// that what is read is up to date. Written by its own thread. A call that times itself takes about 100 ns more, the
/// others test their counter.
struct self_timing {
  static constexpr uint32_t every = 64, later_every = 256, later = 4096, kept = 32;

  /// For multiples of `every`. Calls without a model cost as much as others; they are not timed.
  static bool wanted(core::mpi_call call, uint64_t turn) noexcept {
    return call < core::mpi_call::modelled_ && (turn <= later || turn % later_every == 0);
  }

  struct kind {
    uint64_t count;  ///< how often it was timed
    own_ticks last[kept];
    uint32_t size() const noexcept { return count < kept ? static_cast<uint32_t>(count) : kept; }
  };
  kind kinds[core::modelled_calls];

  kind& of(core::mpi_call call) noexcept { return kinds[static_cast<size_t>(call)]; }
  const kind& of(core::mpi_call call) const noexcept { return kinds[static_cast<size_t>(call)]; }

  /// What a reading of the clock took when such a call was timed last; 0: never.
  uint32_t last_reading(core::mpi_call call) const noexcept {
    const kind& k = of(call);
    return k.count != 0 ? k.last[(k.count - 1) % kept].reading : 0;
  }

  void note(core::mpi_call call, uint64_t before, uint64_t inside, uint64_t after, uint64_t reading) noexcept {
    const auto narrow = [](uint64_t t) { return t < ~uint32_t(0) ? static_cast<uint32_t>(t) : ~uint32_t(0); };
    kind& k = of(call);
    k.last[k.count % kept] = {narrow(before), narrow(inside), narrow(after), narrow(reading)};
    ++k.count;
  }
};

/// What wrappers and marks cost in a quiet moment: found out once, when MPI starts.
struct calibration {
  own_ticks calls[core::modelled_calls];  ///< the least of several medians; 0: not tried
  uint32_t spread[core::modelled_calls];  ///< largest minus least of those, of the sum
  double reading_ticks;  ///< one reading of the clock
  double region_ticks;   ///< one visit of a region
  double step_ticks;     ///< one visit of an untimed step
  double mark_spread;    ///< (median - least) / least of a region
  uint64_t yield_ticks;  ///< sched_yield() while nothing else is ready to run
  double ticks_per_us;   ///< roughly; 0: not tried
  uint64_t ticks;        ///< how long finding out took
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
