#ifndef WHYWAIT_RECORD_REGION_HPP
#define WHYWAIT_RECORD_REGION_HPP

#include <whywait/core/clock.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/mark_site.hpp>
#include <whywait/record/path_recorder.hpp>
#include <whywait/record/slow_path.hpp>

#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {

/// Times a scope. Two clock readings, about 16 to 20 ns, no allocation; nothing if recording is off. The object
/// must die on the thread that made it.
class region {
 public:
  __attribute__((always_inline)) explicit region(site& place) noexcept : opened_(begin(place)), place_(record::detail::place_of(place)) {}
  /// A region whose name is known only at run time and copied at its first use; costs about 10 ns more.
  explicit region(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept
      : region(site_kind::region, name, file, line) {}
  __attribute__((always_inline)) ~region() {
    record::path_head* const at = opened_.where;
    if (__builtin_expect_with_probability(at->is_innermost(opened_.entered), 1, 1.0)) {
      if (!at->leave(opened_.entered, core::plain_counter::now())) record::detail::end_first(*at);
    } else if (record::detail::is_recorded(opened_.entered)) {
      record::detail::end_slowly(*at->owner, opened_.entered, place_);
    }
  }
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Ends this region here and begins `place` for the rest of the scope, with one clock reading (about 9 ns):
  /// for consecutive phases. The same place again is one more visit, about 1 ns.
  void next(site& place) noexcept {
    record::path_head* const at = opened_.where;
    if (__builtin_expect(!at->is_innermost(opened_.entered), 0)) {
      if (record::detail::is_recorded(opened_.entered))
        record::detail::next_slowly(*at->owner, opened_.entered, place_, place);
    } else {
      record::path_entry* const following = at->at_place(place.known_place());
      if (__builtin_expect(!following->arrive(), 0))
        record::detail::next_first(*at, place, following);
      else if (opened_.entered->region != following)
        record::path_head::next(opened_.entered, following, core::plain_counter::now());
    }
    place_ = record::detail::place_of(place);
  }

 protected:
  region(site_kind kind, const char* name, const char* file, uint32_t line) noexcept : place_(0) {
    uint32_t number = 0;
    opened_ = record::detail::begin_named(kind, name, file, line, number);
    place_ = number;
  }

 private:
  static __attribute__((always_inline)) record::detail::opened begin(site& place) noexcept {
    record::path_head* const at = record::detail::here;
    if (__builtin_expect_with_probability(!at->enters_fast(), 0, 1.0))
      return record::detail::begin_slowly(place);
    record::path_entry* const block = at->at_place(place.known_place());
    if (__builtin_expect(!block->arrive(), 0)) return record::detail::begin_first(place, block);
    return {at, at->enter(block, core::plain_counter::now())};
  }

  record::detail::opened opened_;
  record::detail::marked_place place_;
};

/// A scope that waits for something whywait cannot see (a spin on a flag, a socket, a file lock), named at run
/// time: timed like a region, and never blamed as work.
class waiting : public region {
 public:
  explicit waiting(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept
      : region(site_kind::waiting, name, file, line) {}
};

/// Ends the innermost region and begins `place` in its stead, with one clock reading (about 9 ns): for consecutive
/// phases and for the iterations of a loop. What the innermost region would have ended ends `place`. The same place
/// again is one more visit, about 1 ns. Outside any region only the visit is counted; that is reported.
__attribute__((always_inline)) inline void next(site& place) noexcept {
  record::path_head* const at = record::detail::here;
  record::path_frame* const innermost = at->innermost();
  if (__builtin_expect(innermost == nullptr, 0)) return record::detail::next_slowly(place);
  record::path_entry* const following = at->at_place(place.known_place());
  if (__builtin_expect(!following->arrive(), 0)) return record::detail::next_first(*at, place, following);
  if (innermost->region != following)
    record::path_head::next(innermost, following, core::plain_counter::now());
}

/// Begins an unscoped region; `end` with the same name ends it. For code that cannot use a scope (callbacks,
/// other languages). The name is copied at its first use. Costs about 10 ns more than a region.
inline void begin(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  uint32_t number = 0;
  record::detail::begin_named(site_kind::region, name, file, line, number);
}

/// Ends the innermost region, which must be called `name`. If it is another one, everything up to the
/// nearest open region of that name is ended, or nothing if there is none; either is counted and reported.
inline void end(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  record::location* const here = record::this_location();
  if (here == nullptr) return;
  if (name == nullptr) name = "";
  const core::site_table& sites = core::the_registry()->sites;
  const uint32_t depth = here->path.depth();
  uint32_t level = depth;
  while (level > 0 && strcmp(sites[here->path.open_region(level - 1)].name, name) != 0) --level;
  if (__builtin_expect(level == 0 || level != depth, 0)) {
    using record::mismatch;
    record::detail::count_mismatch(*here, level == 0 ? mismatch::fault::never_begun : mismatch::fault::wrong_order,
                                   record::detail::number_of(*here, site_kind::region, name, file, line));
    if (level == 0) return;
  }
  record::detail::leave_to(*here, level - 1);
}

/// Counts one visit of an untimed step of the path. About 0.3 ns.
__attribute__((always_inline)) inline void visit(site& place) noexcept {
  record::path_entry* const block = record::detail::here->at_place(place.known_place());
  if (__builtin_expect(!block->arrive(), 0)) record::detail::visit_slowly(place, block);
}

/// The same for a name known only at run time; costs about 10 ns.
inline void visit(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::location* at = record::this_location())
    record::detail::visit_slowly(*at, record::detail::number_of(*at, site_kind::step, name, file, line));
}

/// Adds work units (cells, particles, bytes) to the innermost region: then "slower" means slower per unit.
/// About 0.5 ns. Any arithmetic type; what is not positive counts as nothing.
template <class Number>
inline void work(Number units) noexcept {
  const uint64_t counted = units > Number(0) ? static_cast<uint64_t>(units) : 0;
  record::path_frame* const innermost = record::detail::here->top;
  if (__builtin_expect(record::detail::is_frame(innermost), 1)) record::detail::add(innermost->region->work, counted);
  else if (record::location* const at = record::this_location()) at->path.work(counted);
}

}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
