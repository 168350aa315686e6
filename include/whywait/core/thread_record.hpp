#ifndef WHYWAIT_CORE_THREAD_RECORD_HPP
#define WHYWAIT_CORE_THREAD_RECORD_HPP

#include <whywait/core/sync_record.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

// Records of thread primitives (thread_calls.hpp) are sync_records with these fields:
//
//   bytes                      the object, as its address
//   completion, completed_by   with sync_flag::complete: the record that ended the wait, and its location. For a release: the
//                              release of the same lock before it that left a record
//   peer                       release: how many records before this one the holder took the lock; -1: it left none
//                              meet, arrive: how many threads take part
//   tag                        meet, arrive: number of the phase

/// Facts about a record of a thread primitive, as bits of sync_record::flags with another meaning for other calls.
namespace thread_flag {
enum : uint16_t {
  caused = sync_flag::complete,        ///< `completion` and `completed_by` name a record
  timed_out = sync_flag::failed,       ///< the wait ended without what it waited for
  merged = sync_flag::ambiguous,       ///< release: several short holds in a row, of which only this end is recorded
  overtaken =
      sync_flag::found_nothing,  ///< for the explanation: part of a wait for a read-write lock, of a holder that came later
  in_vain = sync_flag::found_nothing,  ///< await_notify: the predicate was still false after the previous wait of the thread
  missed = sync_flag::of_others,  ///< await_notify: timed out, but its predicate had become true: the notification was lost
  based = sync_flag::resolved  ///< for the explanation: `tag` is the causer's record at which the wait began
};
}

/// Names one record of the process in one word, while it runs; 0: none.
struct record_name {
  uint32_t record;
  uint16_t location;
  uint16_t epoch;  ///< records of earlier epochs are gone

  static uint64_t pack(uint64_t record, uint32_t location, uint32_t epoch) noexcept {
    if (record >= 0xffffffffu || location > 0xffffu) return 0;
    return (record + 1) | uint64_t(location) << 32 | uint64_t(epoch & 0xffffu) << 48;
  }
  static record_name unpack(uint64_t packed) noexcept {
    return {static_cast<uint32_t>(packed) - 1, static_cast<uint16_t>(packed >> 32), static_cast<uint16_t>(packed >> 48)};
  }
};

/// Where another thread was in its path at an instant: the holder of a lock when a thread began to wait for it. The steps of
/// its open segment so far follow in the waiter's `cut_steps`.
struct thread_cut {
  uint64_t ticks;
  uint32_t waiter;  ///< record of the location that looked: the wait
  uint32_t record;  ///< number of records of the other location then
  uint32_t segment;  ///< number of its steps then
  uint32_t steps;  ///< steps seen of its open segment
  uint16_t location;  ///< the other one
  uint16_t whole;  ///< 0: its segment changed meanwhile, or was too long: no steps
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
