#ifndef WHYWAIT_RECORD_REGION_HPP
#define WHYWAIT_RECORD_REGION_HPP

#include <whywait/core/clock.hpp>
#include <whywait/record/location.hpp>
#include <whywait/record/path_recorder.hpp>
#include <whywait/record/site.hpp>
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
  __attribute__((always_inline)) explicit region(site& place) noexcept : opened_(begin(place)), place_(place) {}
  /// A region whose name is known only at run time and copied at its first use; costs about 10 ns more.
  explicit region(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept
      : region(site_kind::region, name, file, line) {}
  __attribute__((always_inline)) ~region() {
    record::location* const at = opened_.where;
    if (__builtin_expect(at->path.is_innermost(opened_.entered), 1))
      at->path.leave_fast(opened_.entered, core::plain_counter::now());
    else
      record::detail::end_slowly(*at, opened_.entered, place_);
  }
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Ends this region here and begins `place` for the rest of the scope, with one clock reading (about 9 ns):
  /// for consecutive phases. The same place again is one more visit, about 1 ns.
  void next(site& place) noexcept {
    record::location* const at = opened_.where;
    if (__builtin_expect(!at->path.is_innermost(opened_.entered), 0)) {
      record::detail::next_slowly(*at, opened_.entered, place_, place);
    } else {
      record::path_recorder::entry* const following = at->path.at_place(place.known_place());
      if (__builtin_expect(!record::path_recorder::arrive(following), 0))
        record::detail::next_first(*at, opened_.entered, place);
      else if (opened_.entered->region != following)
        record::path_recorder::next_fast(opened_.entered, following, core::plain_counter::now());
    }
    place_ = place;
  }

 protected:
  region(site_kind kind, const char* name, const char* file, uint32_t line) noexcept : place_(0u) {
    uint32_t number = 0;
    opened_ = record::detail::begin_named(kind, name, file, line, number);
    place_ = record::detail::marked_place(number);
  }

 private:
  static __attribute__((always_inline)) record::detail::opened begin(site& place) noexcept {
    record::location* const at = record::detail::here;
    if (!record::detail::is_fast(at) || __builtin_expect(!at->path.enters_fast(), 0))
      return record::detail::begin_slowly(place);
    record::path_recorder::entry* const block = at->path.at_place(place.known_place());
    if (__builtin_expect(!record::path_recorder::arrive(block), 0)) return record::detail::begin_first(place);
    return {at, at->path.enter_fast(block, core::plain_counter::now())};
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
  record::location* const at = record::detail::here;
  if (!record::detail::is_fast(at)) return record::detail::next_slowly(place);
  record::path_recorder::frame* const innermost = at->path.innermost_fast();
  if (__builtin_expect(innermost == nullptr, 0)) return record::detail::next_slowly(place);
  record::path_recorder::entry* const following = at->path.at_place(place.known_place());
  if (__builtin_expect(!record::path_recorder::arrive(following), 0)) return record::detail::next_first(place);
  if (innermost->region != following)
    record::path_recorder::next_fast(innermost, following, core::plain_counter::now());
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

/// Counts one visit of an untimed step of the path. About 0.5 ns.
__attribute__((always_inline)) inline void visit(site& place) noexcept {
  record::location* const at = record::detail::here;
  if (!record::detail::is_fast(at)) {
    if (at != record::detail::off()) record::detail::visit_slowly(place);
    return;
  }
  if (__builtin_expect(!record::path_recorder::arrive(at->path.at_place(place.known_place())), 0))
    record::detail::visit_first(place);
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
  if (record::location* here = record::this_location())
    here->path.work(units > Number(0) ? static_cast<uint64_t>(units) : 0);
}

}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
