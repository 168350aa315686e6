#ifndef WHYWAIT_MPI_CLOCK_SYNC_HPP
#define WHYWAIT_MPI_CLOCK_SYNC_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/kept_layout.hpp>
#include <whywait/core/shared_clock.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/mpi/clock_start.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// Maps the clocks of all ranks to that of rank 0, measured at the start and at the end, linear in between
/// (mpi.md 7; what Score-P and Scalasca do). Ranks of one node read one counter if it is invariant and the
/// kernel is the same (boot id), and readings of all fit together: they share the map of the lowest of them, so their difference is exactly 0;
/// its error is that of one reading. Every other clock is compared with rank 0 by 10 ping-pongs, of which the
/// fastest counts. Serial over nodes. Uses PMPI_ only. Clock: now() and invariant(), static.
template <class Clock>
class clock_sync {
 public:
  static constexpr int rounds = 10;

  /// Collective over `comm`, where rank 0 is the reference. One call when recording begins.
  void start(MPI_Comm comm) noexcept {
    first_ = measure(comm);
    struct {
      uint64_t own, reference, bracket;
    } pair = {first_.own, first_.reference, first_.bracket};
    PMPI_Bcast(&pair, static_cast<int>(sizeof pair), MPI_BYTE, 0, first_.sharers);  // all that read the leader's clock
    first_.own = pair.own;
    first_.reference = pair.reference;
    first_.bracket = pair.bracket;
    previous_ = first_;
  }

  /// What `start` found.
  clock_start compared() const noexcept { return {first_.own, first_.reference, first_.bracket, first_.same_as_reference}; }

  /// Collective over the same ranks, later; returns this rank's map. May be called several times: each map is linear
  /// from the call before (the first from `start`) to this one.
  core::shared_clock finish(MPI_Comm comm) noexcept {
    const sample last = measure(comm);
    // rank 0 provides the rate of its own counter; time 0 is its first reading
    struct {
      double rate;
      uint64_t origin;
    } reference = {core::clock_anchor::rate(first_.anchor, last.anchor), first_.anchor.ticks};
    PMPI_Bcast(&reference, static_cast<int>(sizeof reference), MPI_BYTE, 0, comm);
    const auto reference_ns = [&](uint64_t ticks) {
      return static_cast<double>(static_cast<int64_t>(ticks - reference.origin)) * reference.rate;
    };
    core::shared_clock map;
    if (first_.same_as_reference) {
      map.origin = reference.origin;
      map.ns_per_tick = reference.rate;
      map.error_ns = static_cast<double>(first_.anchor.error_ticks) / 2 * reference.rate;
    } else {
      map.origin = previous_.own;
      map.offset_ns = reference_ns(previous_.reference);
      const double own_ticks = static_cast<double>(static_cast<int64_t>(last.own - previous_.own));
      map.ns_per_tick = own_ticks > 0 ? (reference_ns(last.reference) - map.offset_ns) / own_ticks : reference.rate;
      const uint64_t widest = previous_.bracket > last.bracket ? previous_.bracket : last.bracket;
      map.error_ns = static_cast<double>(widest) / 2 * map.ns_per_tick;
    }
    // the leader of each clock sends the map to all ranks that read the clock
    PMPI_Bcast(&map, static_cast<int>(sizeof map), MPI_BYTE, 0, first_.sharers);
    previous_ = last;
    free(last.sharers);
    return map;
  }

  /// Frees what `start` made. Collective.
  void release() noexcept {
    free(first_.sharers);
    first_.sharers = MPI_COMM_NULL;
  }

  /// Whether this rank reads the same counter as rank 0; valid after `start`.
  bool same_as_reference() const noexcept { return first_.same_as_reference; }

 private:
  struct sample {
    MPI_Comm sharers = MPI_COMM_NULL;  // ranks that read the same counter
    bool same_as_reference = false;
    uint64_t own = 0;  // own ticks and rank 0's ticks at one instant
    uint64_t reference = 0;
    uint64_t bracket = 0;  // of own ticks, in which that instant lies
    core::clock_anchor anchor{0, 0, 0};
  };

  sample measure(MPI_Comm comm) noexcept {
    sample s;
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    s.sharers = find_sharers(comm, rank);
    int sharer = 0;
    PMPI_Comm_rank(s.sharers, &sharer);
    int with_reference = rank == 0;
    PMPI_Bcast(&with_reference, 1, MPI_INT, 0, s.sharers);
    s.same_as_reference = with_reference != 0;
    s.anchor = core::clock_anchor::take<Clock>();
    const int compared = sharer == 0 && !s.same_as_reference ? 1 : 0;
    int all = 0;
    PMPI_Reduce(&compared, &all, 1, MPI_INT, MPI_SUM, 0, comm);
    if (rank == 0) serve(comm, all);
    else if (compared != 0) compare(comm, s);
    return s;
  }

  // Splits by node, then by kernel, then gives every rank whose clock cannot be shared a group of its own. Where MPI has
  // no communicators left, all ranks of a group fail together.
  static MPI_Comm find_sharers(MPI_Comm comm, int rank) noexcept {
    MPI_Comm node = MPI_COMM_NULL, sharers = MPI_COMM_NULL;
    if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) != MPI_SUCCESS || node == MPI_COMM_NULL)
      return MPI_COMM_SELF;
    PMPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    const core::stable_key boot = Clock::invariant() ? core::boot_key() : 0;
    core::stable_key leaders = boot;
    PMPI_Bcast(&leaders, 1, MPI_UINT64_T, 0, node);
    int in_node = 0;
    PMPI_Comm_rank(node, &in_node);
    const bool shares = boot != 0 && boot == leaders;
    if (PMPI_Comm_split(node, shares ? 0 : in_node + 1, rank, &sharers) != MPI_SUCCESS || sharers == MPI_COMM_NULL)
      sharers = MPI_COMM_SELF;
    PMPI_Comm_free(&node);
    return without_strangers(sharers);
  }
  // Processes of one kernel may have clocks that differ (time namespaces of containers, a virtual machine that moved). The
  // leader's reading lies between two readings of each member; a member for which it does not gets a group of its own.
  static MPI_Comm without_strangers(MPI_Comm sharers) noexcept {
    int member = 0, members = 1;
    PMPI_Comm_size(sharers, &members);
    if (members == 1) return sharers;
    PMPI_Comm_set_errhandler(sharers, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(sharers, &member);
    const uint64_t before = Clock::now();
    PMPI_Barrier(sharers);
    uint64_t leaders = Clock::now();
    PMPI_Bcast(&leaders, 1, MPI_UINT64_T, 0, sharers);
    const uint64_t after = Clock::now();
    const bool fits = leaders + reading_slack >= before && leaders <= after + reading_slack;
    int all_fit = fits || member == 0 ? 1 : 0;
    const int own_group = all_fit != 0 ? 0 : member;
    PMPI_Allreduce(MPI_IN_PLACE, &all_fit, 1, MPI_INT, MPI_MIN, sharers);
    if (all_fit != 0) return sharers;
    MPI_Comm rest = MPI_COMM_NULL;
    if (PMPI_Comm_split(sharers, own_group, member, &rest) != MPI_SUCCESS || rest == MPI_COMM_NULL) rest = MPI_COMM_SELF;
    PMPI_Comm_free(&sharers);
    return rest;
  }
  static void free(MPI_Comm sharers) noexcept {
    if (sharers != MPI_COMM_NULL && sharers != MPI_COMM_SELF) PMPI_Comm_free(&sharers);
  }

  static void serve(MPI_Comm comm, int count) noexcept {
    for (; count > 0; --count) {
      int peer = MPI_ANY_SOURCE;  // the first message selects the peer of all rounds
      for (int i = 0; i < rounds; ++i) {
        uint64_t now = 0;
        MPI_Status status;
        PMPI_Recv(&now, 1, MPI_UINT64_T, peer, tag, comm, &status);
        now = Clock::now();
        peer = status.MPI_SOURCE;
        PMPI_Send(&now, 1, MPI_UINT64_T, peer, tag, comm);
      }
    }
  }

  static void compare(MPI_Comm comm, sample& s) noexcept {
    s.bracket = ~uint64_t(0);
    for (int i = 0; i < rounds; ++i) {
      uint64_t reference = 0;
      const uint64_t before = Clock::now();
      PMPI_Send(&before, 1, MPI_UINT64_T, 0, tag, comm);
      PMPI_Recv(&reference, 1, MPI_UINT64_T, 0, tag, comm, MPI_STATUS_IGNORE);
      const uint64_t after = Clock::now();
      if (after - before >= s.bracket) continue;
      s.bracket = after - before;
      s.own = before + s.bracket / 2;
      s.reference = reference;
    }
  }

  static constexpr int tag = 20;
  static constexpr uint64_t reading_slack = 10000;  // ticks: readings of two processors need not be in order to the last one
  sample first_, previous_;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
