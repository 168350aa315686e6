#ifndef WHYWAIT_RECORD_PATH_HEAD_HPP
#define WHYWAIT_RECORD_PATH_HEAD_HPP

#include <whywait/core/stable_key.hpp>

#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace record {

struct location;

/// Places with a number below this are counted by the inline part of a mark. A block with a higher number takes the slow
/// path at each visit, about 3 ns more.
inline constexpr uint32_t near_blocks = 1800;

namespace detail {

// One instruction each, with any optimisation: a signal handler comes before it or after it, never within. On other
// processors what a handler adds to the very number that its thread is adding to may be lost.
inline void add(uint64_t& sum, uint64_t number) noexcept {
#if defined(__x86_64__)
  __asm__("addq %1, %0" : "+m"(sum) : "er"(number) : "cc");
#else
  sum += number;
#endif
}
inline void set(uint64_t& bits, uint64_t mask) noexcept {
#if defined(__x86_64__)
  __asm__("orq %1, %0" : "+m"(bits) : "er"(mask) : "cc");
#else
  bits |= mask;
#endif
}
/// The sum; whether the highest bit is set then.
inline bool add_to_negative(uint64_t& sum, uint64_t number) noexcept {
#if defined(__x86_64__)
  bool negative;
  __asm__("addq %2, %0" : "+m"(sum), "=@ccs"(negative) : "er"(number));
  return negative;
#else
  return static_cast<int64_t>(sum += number) < 0;
#endif
}
inline void subtract(uint64_t& sum, uint64_t number) noexcept {
#if defined(__x86_64__)
  __asm__("subq %1, %0" : "+m"(sum) : "er"(number) : "cc");
#else
  sum -= number;
#endif
}
/// The same; whether the highest bit is set then.
inline bool subtract_to_negative(uint64_t& sum, uint64_t number) noexcept {
#if defined(__x86_64__)
  bool negative;
  __asm__("subq %2, %0" : "+m"(sum), "=@ccs"(negative) : "er"(number));
  return negative;
#else
  return static_cast<int64_t>(sum -= number) < 0;
#endif
}

}  // namespace detail

/// A block of the profile. The time of a region in the open segment, without regions inside it, is `whole` + `rest`: `rest` is
/// what those regions took, and what earlier segments had, with a minus sign. `whole` is negative while the region is open.
struct path_entry {
  uint64_t visits;
  uint64_t rest;
  uint64_t work;  ///< of an untimed step: the region around its first visit
  uint64_t whole;  ///< the time of all visits with everything inside

  static constexpr uint64_t visited = uint64_t(1) << 63;  ///< in `visits`: in the list of the segment
  static constexpr uint64_t untimed = uint64_t(1) << 62;  ///< in `visits`: a step
  static constexpr uint64_t repeated = uint64_t(1) << 61;  ///< in `visits`: it was entered inside itself
  static constexpr uint64_t most_visits = repeated - 1;

  /// Counts a visit. False if it is the first of the segment: then take it back and go the slow way.
  bool arrive() noexcept { return detail::subtract_to_negative(visits, ~uint64_t(0)); }
  void take_back() noexcept { detail::subtract(visits, 1); }
  uint64_t ticks() const noexcept { return whole + rest; }
  /// A region is open while the instant of its begin is missing in `whole`: then it is less than minus the time at which the
  /// process began. Counters of two processors differ by less.
  bool is_open() const noexcept { return static_cast<int64_t>(whole) < -(int64_t(1) << 24); }
  /// Ends a visit. If the region is open still, `whole` has the time of the inner visit twice.
  void end(uint64_t now) noexcept {
    if (__builtin_expect(detail::add_to_negative(whole, now), 0)) end_inside();
  }
  __attribute__((noinline, cold)) void end_inside() noexcept {
    if (is_open()) detail::set(visits, repeated);
  }
};

/// An open region.
struct path_frame {
  path_entry* region;
  core::stable_key path;  ///< 0: not worked out yet
};

/// What the marks of a thread touch: this head, and the profile that begins behind it. A mark of a block adds to the
/// profile without a test, so a thread that is not recorded needs a profile to add to as well (location.hpp). The
/// functions are the hot path of the marks in region.hpp. The caller reads the clock and checks the preconditions.
struct path_head {
  location* owner;  ///< where the thread records; null: nowhere
  path_frame* top;
  path_frame* fast_end;  ///< what is entered from here on is entered and left the slow way

  static constexpr uint32_t max_depth = 1024;
  /// Distance of the outermost region's frame to the head in a path_recorder.
  static constexpr size_t frames_before_head = 284664;  // path_recorder.hpp asserts it

  /// Where a block lies behind the begin of the head.
  static constexpr uint32_t place_of(uint32_t block) noexcept {
    return uint32_t(sizeof(path_head)) + block * uint32_t(sizeof(path_entry));
  }
  static constexpr uint32_t block_at(uint32_t place) noexcept {
    return (place - uint32_t(sizeof(path_head))) / uint32_t(sizeof(path_entry));
  }
  path_entry* at_place(uint32_t place) noexcept {
    char* block = reinterpret_cast<char*>(this) + place;
    __asm__("" : "+r"(block));  // in one register: an address of two in what changes memory costs more
    return reinterpret_cast<path_entry*>(block);
  }
  /// Asked for by `enter`.
  bool enters_fast() const noexcept { return top < fast_end; }
  path_frame* enter(path_entry* block, uint64_t now) noexcept {
    path_frame* const outer = top;
    detail::add(outer->region->rest, now);
    detail::subtract(block->whole, now);
    top = outer + 1;  // first: what a signal handler enters lies above
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    outer[1].path = 0;
    outer[1].region = block;
    return outer + 1;
  }
  /// Asked for by `leave` and `next`.
  bool is_innermost(const path_frame* entered) const noexcept { return top == entered; }
  /// False: the region around it has to be listed (path_recorder::touch).
  bool leave(path_frame* entered, uint64_t now) noexcept {
    entered->region->end(now);
    path_entry* const outer = entered[-1].region;
    top = entered - 1;
    detail::subtract(outer->rest, now);
    return __builtin_expect(static_cast<int64_t>(outer->visits) < 0, 1);
  }
  /// The frame that `next` may be called with, null if there is none.
  path_frame* innermost() noexcept {
    const uint64_t above = reinterpret_cast<uintptr_t>(top) - (reinterpret_cast<uintptr_t>(this) - frames_before_head);
    return __builtin_expect(above < sizeof(path_frame) * (max_depth - 1), 1) ? top : nullptr;
  }
  static void next(path_frame* entered, path_entry* block, uint64_t now) noexcept {
    entered->region->end(now);
    detail::subtract(block->whole, now);
    entered->region = block;
    entered->path = 0;
  }
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
