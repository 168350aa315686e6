#ifndef WHYWAIT_RECORD_SLOW_PATH_HPP
#define WHYWAIT_RECORD_SLOW_PATH_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/mark_site.hpp>
#include <whywait/record/path_recorder.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {
namespace detail {

/// What a region object keeps. `entered` is the frame that path_head::enter returned, or its name with the last
/// bit set: that is never the innermost frame, so it is left the slow way. Not even that is 1: it is not recorded.
struct opened {
  path_head* where;
  path_frame* entered;
};
inline bool is_recorded(const path_frame* entered) noexcept { return entered != reinterpret_cast<path_frame*>(uintptr_t(1)); }
/// The end of such a region needs no test for it: of `where` that is no frame.
inline opened not_recorded(path_head* where) noexcept {
  path_frame* none = reinterpret_cast<path_frame*>(uintptr_t(1));
  __asm__("" : "+r"(none));  // else g++ compiles the scope twice
  return {where, none};
}
__attribute__((visibility("hidden"))) inline opened not_recorded() noexcept { return not_recorded(&nowhere.head); }

/// The place of a mark, for the report of what does not pair: the address of a site, or the number of one. No class,
/// for g++ would keep that in memory.
using marked_place = uintptr_t;
inline marked_place place_of(site& place) noexcept { return reinterpret_cast<uintptr_t>(&place); }
inline uint32_t number_of(marked_place what) noexcept {
  return what < core::site_table::capacity ? static_cast<uint32_t>(what) : reinterpret_cast<site*>(what)->id();
}

/// The number of a place; 0, and the mark is lost, in a signal handler that interrupts just this: the table is locked.
template <class Look>
uint32_t number_by(location& at, Look&& look) noexcept {
  if (__builtin_expect(at.looking_up, 0)) {
    ++at.lost_marks;
    return 0;
  }
  at.looking_up = true;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  const uint32_t found = look();
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  at.looking_up = false;
  return found;
}
inline uint32_t number_of(location& at, site& place) noexcept {
  return place.known_id() != 0 ? place.id() : number_by(at, [&] { return place.id(); });
}
inline uint32_t number_of(location& at, site_kind kind, const char* name, const char* file, uint32_t line) noexcept {
  return number_by(at, [&] { return at.names.find(core::the_registry()->sites, kind, name, file, line); });
}

// --- What every mark does where it is not alone: the clock that was chosen, any depth.

__attribute__((visibility("hidden"))) inline opened enter_slowly(location& at, uint32_t number) noexcept {
  if (number == 0) return not_recorded();
  const uint64_t now = core::cycle_clock::now();
  if (at.more != nullptr) at.more->enter(at, number, now);
  const uint32_t depth = at.path.enter(number, now);
  const uintptr_t slow = at.decoy == nullptr && depth < path_recorder::max_depth ? 0 : 1;
  return {&at.path.head(), reinterpret_cast<path_frame*>(at.path.name_of(depth) | slow)};
}
inline void leave_slowly(location& at) noexcept {
  const uint64_t now = core::cycle_clock::now();
  if (at.more != nullptr) at.more->leave(at, now);
  at.path.leave(now);
}
inline void next_slowly(location& at, uint32_t number) noexcept {
  if (number == 0) return;
  const uint64_t now = core::cycle_clock::now();
  if (at.more != nullptr) at.more->next(at, number, now);
  at.path.next(number, now);
}
inline void visit_slowly(location& at, uint32_t number) noexcept {
  if (number == 0) return;
  if (at.more != nullptr) at.more->visit(at, number);
  at.path.visit(number);
}

// --- What does not pair

inline void count_mismatch(location& at, mismatch::fault what, uint32_t ended) noexcept {
  if (at.mismatched_ends++ == 0) at.first_mismatch = mismatch{what, ended, at.path.innermost()};
}
/// Leaves every region deeper than `depth`.
inline void leave_to(location& at, uint32_t depth) noexcept {
  while (at.path.depth() > depth) leave_slowly(at);
}
/// Whether the region entered at `depth` is the innermost; what was forgotten in it is ended, and counted.
inline bool repair(location& at, uint32_t depth, marked_place place) noexcept {
  if (__builtin_expect(at.path.depth() == depth, 1)) return true;
  count_mismatch(at, at.path.depth() > depth ? mismatch::fault::not_ended : mismatch::fault::ended_twice,
                 number_of(place));
  leave_to(at, depth);
  return at.path.depth() == depth;
}

// --- Where the marks of region.hpp go when they cannot go the fast way: the first mark of a thread, the first visit
// of a place in a segment, modes, depth. With `counted`: there the fast way has counted the visit already.

// What was counted nowhere stays there: nobody reads it, and two threads that take from the same number could
// make it negative, as if the block were in a list.
__attribute__((visibility("hidden"))) inline void take_back(path_head& at, path_entry* counted) noexcept {
  if (at.owner != nullptr && at.owner->path.holds(counted)) counted->take_back();
}

__attribute__((noinline, cold, visibility("hidden"))) inline opened begin_slowly(site& place) noexcept {
  if (is_off(here)) return not_recorded(here);
  location* const at = this_location();
  return at != nullptr ? enter_slowly(*at, number_of(*at, place)) : not_recorded();
}
__attribute__((noinline, cold, visibility("hidden"))) inline opened begin_first(site& place, path_entry* counted) noexcept {
  counted->take_back();
  return begin_slowly(place);
}
__attribute__((noinline, cold, visibility("hidden"))) inline void end_slowly(location& at, path_frame* entered,
                                                                           marked_place place) noexcept {
  if (repair(at, at.path.depth_of(reinterpret_cast<uintptr_t>(entered)), place)) leave_slowly(at);
}
__attribute__((noinline, cold, visibility("hidden"))) inline void end_first(path_head& at) noexcept { at.owner->path.touch_outer(); }
__attribute__((noinline, cold, visibility("hidden"))) inline void next_slowly(location& at, path_frame* entered,
                                                                            marked_place from, site& place) noexcept {
  if (repair(at, at.path.depth_of(reinterpret_cast<uintptr_t>(entered)), from)) next_slowly(at, number_of(at, place));
}
__attribute__((noinline, cold, visibility("hidden"))) inline void next_first(path_head& at, site& place, path_entry* counted) noexcept {
  counted->take_back();
  next_slowly(*at.owner, number_of(*at.owner, place));
}
__attribute__((noinline, cold, visibility("hidden"))) inline void next_slowly(site& place) noexcept {
  location* const at = this_location();
  if (at == nullptr) return;
  const uint32_t number = number_of(*at, place);
  if (at->path.depth() == 0 && number != 0) count_mismatch(*at, mismatch::fault::nothing_before, number);
  next_slowly(*at, number);
}
__attribute__((noinline, cold, visibility("hidden"))) inline void visit_slowly(site& place, path_entry* counted) noexcept {
  take_back(*here, counted);
  if (location* const at = this_location()) visit_slowly(*at, number_of(*at, place));
}

// --- Names known only at run time

__attribute__((noinline, visibility("hidden"))) inline opened begin_named(site_kind kind, const char* name, const char* file, uint32_t line,
                                                    uint32_t& number) noexcept {
  location* const at = this_location();
  return at != nullptr ? enter_slowly(*at, number = number_of(*at, kind, name, file, line)) : not_recorded();
}

}  // namespace detail
}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
