#ifndef WHYWAIT_MPI_CLOCK_SYNC_HPP
#define WHYWAIT_MPI_CLOCK_SYNC_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/kept_layout.hpp>
#include <whywait/core/shared_clock.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/mpi/clock_start.hpp>
#include <whywait/mpi/complete.hpp>
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
    broadcast(&pair, static_cast<int>(sizeof pair), MPI_BYTE, 0, first_.sharers);  // all that read the leader's clock
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
    sample last = measure(comm);
    // rank 0 provides the rate of its own counter; time 0 is its first reading
    struct {
      double rate;
      uint64_t origin;
    } reference = {core::clock_anchor::rate(first_.anchor, last.anchor), first_.anchor.ticks};
    broadcast(&reference, static_cast<int>(sizeof reference), MPI_BYTE, 0, comm);
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
    broadcast(&map, static_cast<int>(sizeof map), MPI_BYTE, 0, first_.sharers);
    free(last);
    previous_ = last;
    return map;
  }

  /// Frees what `start` made. Collective.
  void release() noexcept { free(first_); }

  /// Whether this rank reads the same counter as rank 0; valid after `start`.
  bool same_as_reference() const noexcept { return first_.same_as_reference; }

 private:
  // Collectives in which ranks that share processors wait without spinning.
  static void broadcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    if (PMPI_Ibcast(data, count, type, root, comm, &request) == MPI_SUCCESS) complete(request);
  }
  static bool reduce(void* data, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    return PMPI_Iallreduce(MPI_IN_PLACE, data, count, type, op, comm, &request) == MPI_SUCCESS &&
           complete(request) == MPI_SUCCESS;
  }

  struct sample {
    MPI_Comm sharers = MPI_COMM_NULL;  // ranks that read the same counter; the given communicator if all do
    bool made = false;  // of sharers: to be freed
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
    s.sharers = without_strangers(have_one_kernel(comm) ? comm : find_sharers(comm, rank), comm);
    s.made = s.sharers != comm && s.sharers != MPI_COMM_SELF;
    int sharer = 0;
    PMPI_Comm_rank(s.sharers, &sharer);
    int with_reference = rank == 0;
    broadcast(&with_reference, 1, MPI_INT, 0, s.sharers);
    s.same_as_reference = with_reference != 0;
    s.anchor = core::clock_anchor::take<Clock>();
    const int compared = sharer == 0 && !s.same_as_reference ? 1 : 0;
    int all = compared;
    reduce(&all, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0) serve(comm, all);
    else if (compared != 0) compare(comm, s);
    return s;
  }

  // Whether the counters of all ranks are invariant and of one kernel. Most jobs of more ranks than processors have one
  // machine, and there a split takes long, because few MPI libraries let ranks that wait yield the processor.
  static bool have_one_kernel(MPI_Comm comm) noexcept {
    const core::stable_key boot = Clock::invariant() ? core::boot_key() : 0;
    int64_t most[2] = {static_cast<int64_t>(boot), static_cast<int64_t>(~boot)};
    return reduce(most, 2, MPI_INT64_T, MPI_MAX, comm) && boot != 0 && most[0] == ~most[1];
  }
  // Splits by node, then by kernel. Where MPI has no communicators left, all ranks of a group fail together.
  static MPI_Comm find_sharers(MPI_Comm comm, int rank) noexcept {
    MPI_Comm node = MPI_COMM_NULL, sharers = MPI_COMM_NULL;
    if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node) != MPI_SUCCESS || node == MPI_COMM_NULL)
      return MPI_COMM_SELF;
    PMPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    const core::stable_key boot = Clock::invariant() ? core::boot_key() : 0;
    core::stable_key leaders = boot;
    broadcast(&leaders, 1, MPI_UINT64_T, 0, node);
    int in_node = 0;
    PMPI_Comm_rank(node, &in_node);
    const bool shares = boot != 0 && boot == leaders;
    if (PMPI_Comm_split(node, shares ? 0 : in_node + 1, rank, &sharers) != MPI_SUCCESS || sharers == MPI_COMM_NULL)
      sharers = MPI_COMM_SELF;
    PMPI_Comm_free(&node);
    return sharers;
  }
  // Processes of one kernel may have clocks that differ (time namespaces of containers, a virtual machine that moved). The
  // leader's reading lies between two readings of each member; a member for which it does not gets a group of its own.
  static MPI_Comm without_strangers(MPI_Comm sharers, MPI_Comm given) noexcept {
    int member = 0, members = 1;
    PMPI_Comm_size(sharers, &members);
    if (members == 1) return sharers;
    PMPI_Comm_set_errhandler(sharers, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(sharers, &member);
    const uint64_t before = Clock::now();
    MPI_Request barrier = MPI_REQUEST_NULL;
    if (PMPI_Ibarrier(sharers, &barrier) == MPI_SUCCESS) complete(barrier);
    uint64_t leaders = Clock::now();
    broadcast(&leaders, 1, MPI_UINT64_T, 0, sharers);
    const uint64_t after = Clock::now();
    const bool fits = leaders + reading_slack >= before && leaders <= after + reading_slack;
    int all_fit = fits || member == 0 ? 1 : 0;
    const int own_group = all_fit != 0 ? 0 : member;
    reduce(&all_fit, 1, MPI_INT, MPI_MIN, sharers);
    if (all_fit != 0) return sharers;
    MPI_Comm rest = MPI_COMM_NULL;
    if (PMPI_Comm_split(sharers, own_group, member, &rest) != MPI_SUCCESS || rest == MPI_COMM_NULL) rest = MPI_COMM_SELF;
    if (sharers != given) PMPI_Comm_free(&sharers);
    return rest;
  }
  static void free(sample& s) noexcept {
    if (s.made) PMPI_Comm_free(&s.sharers);
    s.made = false;
    s.sharers = MPI_COMM_NULL;
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
