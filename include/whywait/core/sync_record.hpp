#ifndef WHYWAIT_CORE_SYNC_RECORD_HPP
#define WHYWAIT_CORE_SYNC_RECORD_HPP

#include <whywait/core/mpi_calls.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Facts about a record that do not fit a number. Bits may be combined.
namespace sync_flag {
enum : uint16_t {
  posts_send = 1u << 0,     ///< a send was initiated here (blocking, nonblocking, started, part of Sendrecv)
  posts_receive = 1u << 1,  ///< a receive was posted here
  any_source = 1u << 2,     ///< posted with MPI_ANY_SOURCE; `peer` holds the real source once complete
  any_tag = 1u << 3,        ///< posted with MPI_ANY_TAG; `tag` holds the real tag once complete
  complete = 1u << 4,       ///< the posted operation was seen to complete: `completion` is valid
  cancelled = 1u << 5,      ///< completed by cancellation: matches nothing
  proc_null = 1u << 6,      ///< the peer is MPI_PROC_NULL: synchronises no ranks
  contributes = 1u << 7,    ///< collective: this rank sends more than zero bytes to others
  consumes = 1u << 8,       ///< collective: this rank receives more than zero bytes from others
  found_nothing = 1u << 7,  ///< polls: ended without finding anything; the bit of `contributes`
  of_others = 1u << 8,      ///< polls: only of requests that no wrapper created; the bit of `consumes`
  sparse = 1u << 9,  ///< Alltoallv/w: needs only some ranks: `peer` entries from `tag` in the location's needs
  matched = 1u << 10,  ///< Mrecv, Imrecv, Mprobe: `posting` is the ordinal taken at the matched probe
  ambiguous = 1u << 11,  ///< the source or the order could not be known (freed wildcard, Startall twins)
  failed = 1u << 12,  ///< MPI returned an error
  synchronous = 1u << 13,  ///< Ssend family: completes only when the receive has begun
  resolved = 1u << 14,  ///< a wildcard whose `peer` and `tag` are known although no call has completed it yet
  met = 1u << 15  ///< carried over from an earlier epoch, where its message was matched
};
}

/// Tags of the postings of calls of the role `epoch`. A window has a communicator of its own, so that no message has them.
namespace epoch_tag {
enum : int32_t {
  post,           ///< from the target (MPI_Win_post) to the origin (MPI_Win_start)
  done,           ///< from the origin (MPI_Win_complete) to the target (MPI_Win_wait)
  last_operation  ///< the same, but it began with the last operation on the target before MPI_Win_complete
};
}

/// What one MPI call left behind, one cache line, plain data. Written by its own location only, except
/// `completion`, `completed_by`, `peer`, `tag` and the flags of a posting that another thread completes.
///
/// A *posting* record (posts_send, posts_receive) has the time when a message operation was initiated; `completion`
/// is the number of the record of the completing call. A blocking send or receive is its own completion.
/// MPI_Sendrecv leaves three records with the same `begin`: two postings of no duration, then the call itself. Calls of the role
/// `epoch` leave a posting of no duration for each member of the group in the same way, two if they end an epoch. For calls of the
/// role `lock` and `transfer`, `peer` is the target (-1: all); `tag` of MPI_Win_lock is 1 if the lock is exclusive.
/// Polls (MPI_Test*, MPI_Iprobe, ...) that follow one another directly are one record from the first entry to the last
/// leave, and so are MPI_Compare_and_swap and other operations that read one place of a window again; `completed_by` is how long they
/// were in MPI, in 256 ticks, and `completion` how many they are if they found nothing, else how often the thread slept between them.
struct sync_record {
  uint64_t begin;  ///< enter of the call, clock ticks
  uint64_t duration;  ///< leave minus enter, clock ticks
  uint64_t bytes;  ///< payload of the message, or what this rank contributes to the collective
  uint32_t overhead;  ///< ticks whywait itself spent since the previous record (saturating)
  uint32_t site;  ///< call site: index in the location's call sites
  uint32_t steps;  ///< how many path steps the location had recorded when this call began
  uint32_t posting;  ///< order in which this process handed operations to MPI, from 1; 0: not a posting
  uint32_t completion;  ///< index of the record whose call completed this posting
  uint32_t completed_by;  ///< location (index in the process) that owns that record
  int32_t peer;  ///< rank in `comm`: destination, source or root; -1: none
  int32_t tag;
  uint32_t comm;  ///< index in the process's communicators
  mpi_call call;
  uint16_t flags;  ///< sync_flag bits

  __attribute__((always_inline)) bool has(unsigned flag) const noexcept { return (flags & flag) != 0; }
};
static_assert(sizeof(sync_record) == 64, "a sync record is one cache line");

namespace detail {
__attribute__((always_inline)) inline bool found_nothing(const sync_record& r, uint64_t of) noexcept {
  return r.has(sync_flag::found_nothing) && (of >> static_cast<unsigned>(role_of(r.call)) & 1) != 0;
}
constexpr uint64_t bit_of(call_role role) noexcept { return uint64_t(1) << static_cast<unsigned>(role); }
}  // namespace detail

/// Whether a record is of operations that read one place of a window again and again.
__attribute__((always_inline)) inline bool polls_window(const sync_record& r) noexcept {
  return detail::found_nothing(r, detail::bit_of(call_role::transfer) | detail::bit_of(call_role::lock));
}
/// Whether a record is of polls that found nothing.
__attribute__((always_inline)) inline bool polled_in_vain(const sync_record& r) noexcept {
  return detail::found_nothing(r, detail::bit_of(call_role::test) | detail::bit_of(call_role::test_probe) |
                                      detail::bit_of(call_role::transfer) | detail::bit_of(call_role::lock));
}
/// Whether a record goes on with the polls of the one before, which found nothing. A window that is read for another value does not.
inline bool polls_on(const sync_record& before, const sync_record& r) noexcept {
  return polled_in_vain(before) && before.site == r.site && (!polls_window(before) || polls_window(r));
}

/// Whether unmarked code before a record and behind it is the same piece: how often polls find nothing is chance, and an anchor
/// is a place in code (explain/thread_book.hpp).
__attribute__((always_inline)) inline bool divides_no_code(const sync_record& r) noexcept {
  return r.call == mpi_call::code || polled_in_vain(r);
}

/// For how long a thread slept between the polls of a record that found something, in ticks.
inline uint64_t slept(const sync_record& r) noexcept {
  const call_role role = role_of(r.call);
  if (role != call_role::test && role != call_role::test_probe) return 0;
  const uint64_t inside = uint64_t(r.completed_by) << 8;
  return r.completion != 0 && !r.has(sync_flag::found_nothing) && inside < r.duration ? r.duration - inside : 0;
}
/// The mean of one such sleep: the thread may notice that much later what it waits for.
inline uint64_t usual_sleep(const sync_record& r) noexcept {
  const uint64_t ticks = slept(r);
  return ticks != 0 ? ticks / r.completion : 0;
}

/// The role of what happened: polls that were repeated until they found something waited like the blocking call.
/// `lasted`: the record has a duration.
inline call_role role_of(mpi_call call, bool lasted, unsigned flags) noexcept {
  const call_role role = role_of(call);
  if (role != call_role::test && role != call_role::test_probe) return role;
  if (!lasted || (flags & sync_flag::found_nothing) != 0) return role;
  if (role == call_role::test_probe) return call_role::probe;
  return call == mpi_call::Testany || call == mpi_call::Testsome ? call_role::complete_any : call_role::complete_all;
}
inline call_role role_of(const sync_record& r) noexcept { return role_of(r.call, r.duration != 0, r.flags); }

/// One entry of a segment: what one block did between two sync records of its location.
struct path_step {
  uint32_t block;  ///< site number in the process; 0: code outside any region (named by the two call sites)
  uint32_t within;  ///< for an untimed block the region around its first visit, else 0
  uint64_t visits;  ///< how often it was entered
  uint64_t ticks;  ///< exclusive time, clock ticks; 0 for untimed blocks
  uint64_t work;  ///< work units (WHYWAIT_WORK)
};
static_assert(sizeof(path_step) == 32, "two path steps share a cache line");

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
