#ifndef WHYWAIT_RECORD_SLOW_PATH_HPP
#define WHYWAIT_RECORD_SLOW_PATH_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/mark_site.hpp>
#include <whywait/record/marks.hpp>
#include <whywait/record/path_recorder.hpp>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace record {
namespace detail {

/// Characters of a name without a null character at its end; more are cut off.
inline constexpr size_t most_of_a_name = 500;

/// The number of a place, from the site table at its first visit.
inline uint32_t number_of(site& place) noexcept {
  const uint32_t known = place.known_id();
  if (__builtin_expect(known != 0, 1)) return known;
  const uint32_t found = core::the_registry()->sites.intern(place.kind, place.name, place.file, place.line);
  place.set_id(found);
  return found;
}
inline uint32_t number_of(marked_place what) noexcept {
  return what < core::site_table::capacity ? static_cast<uint32_t>(what) : number_of(*reinterpret_cast<site*>(what));
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
  const uint32_t known = place.known_id();
  return __builtin_expect(known != 0, 1) ? known : number_by(at, [&] { return number_of(place); });
}
inline uint32_t number_of(location& at, site_kind kind, const char* name, const char* file, uint32_t line) noexcept {
  return number_by(at, [&] { return at.names.find(core::the_registry()->sites, kind, name, file, line); });
}
inline uint32_t number_of(location& at, const dynamic_name& name) noexcept {
  if (name.size == dynamic_name::terminated || name.text == nullptr)
    return number_of(at, name.kind, name.text, name.file, name.line);
  char copy[most_of_a_name + 1];
  const size_t size = name.size < most_of_a_name ? name.size : most_of_a_name;
  memcpy(copy, name.text, size);
  copy[size] = '\0';
  return number_of(at, name.kind, copy, name.file, name.line);
}

// --- Each mark in any mode: the clock that was chosen, any depth.

__attribute__((visibility("hidden"))) inline opened enter_slowly(location& at, uint32_t number) noexcept {
  if (number == 0) return not_recorded;
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
/// Whether whywait::begin has opened the region at a level. Levels beyond what is kept share one entry.
inline void note_begun(location& at, uint32_t level, bool begun) noexcept {
  at.begun[level < path_recorder::max_depth ? level : path_recorder::max_depth] = begun;
}
/// Counts each region of whywait::begin that is still open as a mismatch, once. For the end of the run: by the thread
/// itself, or after its end.
inline void count_open_begins(location& at) noexcept {
  const uint32_t depth = at.path.depth() < path_recorder::max_depth ? at.path.depth() : path_recorder::max_depth;
  for (uint32_t level = 0; level < depth; ++level) {
    if (at.begun[level] == 0) continue;
    at.begun[level] = 0;
    count_mismatch(at, mismatch::fault::never_ended, at.path.open_region(level));
  }
}
/// Leaves every region deeper than `depth`.
inline void leave_to(location& at, uint32_t depth) noexcept {
  while (at.path.depth() > depth) {
    leave_slowly(at);
    note_begun(at, at.path.depth(), false);
  }
}
/// Whether the region entered at `depth` is the innermost; what was forgotten in it is ended, and counted.
inline bool repair(location& at, uint32_t depth, marked_place place) noexcept {
  if (__builtin_expect(at.path.depth() == depth, 1)) return true;
  count_mismatch(at, at.path.depth() > depth ? mismatch::fault::not_ended : mismatch::fault::ended_twice, number_of(place));
  leave_to(at, depth);
  return at.path.depth() == depth;
}

// --- The slow paths of the marks in region.hpp. marks.hpp selects them.

// A visit that was counted in `nowhere` or in a decoy stays there, where it is never read. Two threads that take from
// the same number could make it negative, as if the block were listed.
inline void take_back(location* at, path_entry* counted) noexcept {
  if (counted != nullptr && at != nullptr && at->path.holds(counted)) counted->take_back();
}
/// The location of the calling thread before this mark; null if this is its first.
inline location* known_location() noexcept {
  path_head* const at = here();
  return at != nullptr ? at->owner : nullptr;
}

__attribute__((visibility("hidden"))) inline opened begin_mark(site& place, path_entry* counted) noexcept {
  take_back(known_location(), counted);
  location* const at = this_location();
  return at != nullptr ? enter_slowly(*at, number_of(*at, place)) : not_recorded;
}
__attribute__((visibility("hidden"))) inline void end_mark(path_head& head, path_frame* entered, marked_place place) noexcept {
  location& at = *head.owner;
  if (repair(at, at.path.depth_of(reinterpret_cast<uintptr_t>(entered)), place)) leave_slowly(at);
}
__attribute__((visibility("hidden"))) inline void list_outer(path_head& at) noexcept { at.owner->path.touch_outer(); }
__attribute__((visibility("hidden"))) inline void next_of_mark(path_head& head, path_frame* entered, marked_place from,
                                                               site& place, path_entry* counted) noexcept {
  location& at = *head.owner;
  take_back(&at, counted);
  if (repair(at, at.path.depth_of(reinterpret_cast<uintptr_t>(entered)), from)) next_slowly(at, number_of(at, place));
}
__attribute__((visibility("hidden"))) inline void next_mark(site& place, path_entry* counted) noexcept {
  take_back(known_location(), counted);
  location* const at = this_location();
  if (at == nullptr) return;
  const uint32_t number = number_of(*at, place);
  if (at->path.depth() == 0 && number != 0) count_mismatch(*at, mismatch::fault::nothing_before, number);
  next_slowly(*at, number);
}
__attribute__((visibility("hidden"))) inline void visit_mark(site& place, path_entry* counted) noexcept {
  take_back(known_location(), counted);
  if (location* const at = this_location()) visit_slowly(*at, number_of(*at, place));
}
__attribute__((visibility("hidden"))) inline void work_mark(uint64_t units) noexcept {
  if (location* const at = this_location()) at->path.work(units);
}

// --- Names that are known only at run time

__attribute__((visibility("hidden"))) inline opened begin_named(const dynamic_name& name, bool scoped,
                                                                uint32_t& number) noexcept {
  location* const at = this_location();
  if (at == nullptr) return not_recorded;
  number = number_of(*at, name);
  const opened entered = enter_slowly(*at, number);
  if (!scoped && number != 0) note_begun(*at, at->path.depth() - 1, true);
  return entered;
}
inline bool is_called(const char* known, const dynamic_name& name) noexcept {
  if (name.text == nullptr) return *known == '\0';
  if (name.size == dynamic_name::terminated) return strcmp(known, name.text) == 0;
  const size_t size = name.size < most_of_a_name ? name.size : most_of_a_name;
  return strncmp(known, name.text, size) == 0 && strlen(known) <= size;
}
__attribute__((visibility("hidden"))) inline void end_named(const dynamic_name& name) noexcept {
  location* const at = this_location();
  if (at == nullptr) return;
  const core::site_table& sites = core::the_registry()->sites;
  const uint32_t depth = at->path.depth();
  uint32_t level = depth;
  while (level > 0 && !is_called(sites[at->path.open_region(level - 1)].name, name)) --level;
  if (__builtin_expect(level == 0 || level != depth, 0)) {
    count_mismatch(*at, level == 0 ? mismatch::fault::never_begun : mismatch::fault::wrong_order, number_of(*at, name));
    if (level == 0) return;
  }
  leave_to(*at, level - 1);
}
__attribute__((visibility("hidden"))) inline void visit_named(const dynamic_name& name) noexcept {
  if (location* const at = this_location()) visit_slowly(*at, number_of(*at, name));
}

__attribute__((visibility("hidden"))) inline void next_named(const dynamic_name& name) noexcept {
  location* const at = this_location();
  if (at == nullptr) return;
  const uint32_t number = number_of(*at, name);
  if (at->path.depth() == 0 && number != 0) count_mismatch(*at, mismatch::fault::nothing_before, number);
  next_slowly(*at, number);
}
__attribute__((visibility("hidden"))) inline void mark_plainly(uint32_t which, const char* name, size_t size, const char* file,
                                                               uint32_t line, uint64_t units) noexcept {
  const auto what = static_cast<plain_mark>(which);
  const site_kind kind = what == plain_mark::wait    ? site_kind::waiting
                         : what == plain_mark::visit ? site_kind::step
                                                     : site_kind::region;
  const dynamic_name called{kind, name, size, file, line};
  uint32_t number = 0;
  switch (what) {
    case plain_mark::begin:
    case plain_mark::wait: static_cast<void>(begin_named(called, false, number)); break;
    case plain_mark::end: end_named(called); break;
    case plain_mark::next: next_named(called); break;
    case plain_mark::visit: visit_named(called); break;
    case plain_mark::work: work_mark(units); break;
  }
}

}  // namespace detail
}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
