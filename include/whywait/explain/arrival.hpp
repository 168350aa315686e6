#ifndef WHYWAIT_EXPLAIN_ARRIVAL_HPP
#define WHYWAIT_EXPLAIN_ARRIVAL_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/explanation.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// An instant that may decide a wait of another rank: the beginning of one record.
struct endpoint {
  std::int64_t begin_ns = 0;
  core::stable_key site = 0;
  std::uint32_t record = 0;
  std::uint16_t location = 0;
  std::uint16_t flags = 0;
};

namespace endpoint_flag {
enum : std::uint16_t {
  ambiguous = 1u << 0,    ///< its position on the channel is not certain
  partial = 1u << 1,      ///< its rank lost records
  late_only = 1u << 2,    ///< a send that only a receive posted later can have blocked
  synchronous = 1u << 3,  ///< a send that was certainly not buffered
  wildcard = 1u << 4,     ///< received from any source
  start = 1u << 6,        ///< posted by MPI_Win_start
  operation = 1u << 5     ///< the last operation on a window before the epoch ended (core::epoch_tag::last_operation)
};

// The bits above hold the size of the own message of a match, as the number of binary digits; 0: unknown.
constexpr unsigned size_shift = 8;
/// Every MPI library sends smaller messages without waiting for their receive.
constexpr std::uint64_t always_buffered_bytes = 2048;

inline std::uint16_t size_of(std::uint64_t bytes) noexcept {
  return bytes < always_buffered_bytes
             ? std::uint16_t(0)
             : static_cast<std::uint16_t>(static_cast<unsigned>(64 - __builtin_clzll(bytes)) << size_shift);
}
}  // namespace endpoint_flag

/// A message from one of its two sides: the call that completed it here, and an instant that this call needed there.
struct message_match {
  static constexpr std::uint32_t nowhere = 0xffffffffu;  ///< the partner's record, in an earlier epoch

  endpoint partner;
  std::uint32_t record = 0;    ///< the record here that completed the operation
  std::int32_t rank = 0;       ///< the partner's world rank
  std::uint16_t location = 0;  ///< the location here that completed it
  bool receiving = true;       ///< this side received the message; otherwise it sent it
  bool progress = false;       ///< the partner was needed again after both sides were posted (progress_book.hpp)
};

namespace arrival_flag {
enum : std::uint16_t {
  adopt = 1u << 0,        ///< the causer's path is requested and taken over
  all = 1u << 1,          ///< all members were synchronised
  last = 1u << 2,         ///< this location itself came last
  wrong_order = 1u << 3,  ///< late sender whose message was received before one that was sent earlier
  paused = 1u << 6,       ///< the waiter had called MPI_Pcontrol(0): not counted
  relay = 1u << 5,        ///< collective: not needed by definition, but by the tree that the library uses
  violation = 1u << 4,    ///< the cause came after the waiter had left: the clocks disagree
  based = 1u << 7,        ///< explained by what the causer ran from its record `base_record` on
  begins = 1u << 8,       ///< no wait: the thread did not exist before. It takes over the path of its creator
  other_ready = 1u << 9   ///< a message that is received, or waited for, later had been sent for at least half of the wait
};
}

constexpr std::uint16_t all_of_wait = 0xffff;  ///< of `arrival::ready`

/// One cause of waiting of a record: the record of another location whose beginning it needed. A record that waited for
/// several instants one after the other has several, in this order; then each takes over the path of its causer.
struct arrival {
  std::int64_t need_ns = 0;   ///< beginning of the last needed participant, or of the first if any of them suffices
  core::stable_key site = 0;  ///< call site of the causer
  std::uint32_t record = 0;   ///< the record here that waits
  std::uint32_t causer_record = 0;
  std::int32_t causer_rank = 0;
  std::uint16_t causer_location = 0;
  pattern why = pattern::late_sender;
  quality trust = quality::exact;
  std::uint16_t flags = 0;
  /// The part of the wait, of `all_of_wait`, that the code after later receives would fill, of messages that had come.
  std::uint16_t ready = 0;
  std::uint32_t base_record = 0;  ///< with arrival_flag::based

  bool has(unsigned flag) const noexcept { return (flags & flag) != 0; }
};

/// Whether the waiting location takes over the path of the causer.
inline bool takes_over(const arrival& a) noexcept { return a.has(arrival_flag::adopt) && !a.has(arrival_flag::last); }

/// How many snapshots serve the earlier causes of the same record as `arrivals[at]`.
inline std::uint32_t snapshots_before(const base::pod_vector<arrival>& arrivals, std::size_t at) noexcept {
  std::uint32_t count = 0;
  for (std::size_t a = at; a != 0 && arrivals[a - 1].record == arrivals[at].record; --a)
    count += takes_over(arrivals[a - 1]) ? 1 : 0;
  return count;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
