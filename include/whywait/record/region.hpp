#ifndef WHYWAIT_RECORD_REGION_HPP
#define WHYWAIT_RECORD_REGION_HPP

#include <whywait/core/site.hpp>
#include <whywait/record/location.hpp>

#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {

/// A marked place in the source, for code that marks without macros: give it static storage duration.
/// Its number is found at the first visit.
struct site {
  core::site_kind kind;
  const char* name;
  const char* file;
  uint32_t line;
  uint32_t number;  ///< 0 until the first visit

  constexpr site(core::site_kind what, const char* called, const char* in = __builtin_FILE(),
                 uint32_t at = __builtin_LINE()) noexcept
      : kind(what), name(called), file(in), line(at), number(0) {}

  uint32_t id() noexcept {
    const uint32_t known = __atomic_load_n(&number, __ATOMIC_RELAXED);
    return __builtin_expect(known != 0, 1) ? known : look_up();
  }

 private:
  __attribute__((noinline, cold)) uint32_t look_up() noexcept {
    const uint32_t found = core::the_registry()->sites.intern(kind, name, file, line);
    __atomic_store_n(&number, found, __ATOMIC_RELAXED);
    return found;
  }
};

/// Times a scope. Two clock readings, about 16 ns, no allocation; nothing if recording is off. The object
/// must die on the thread that made it.
class region {
 public:
  explicit region(site& place) noexcept : location_(record::this_location()) {
    if (location_ != nullptr) location_->path.enter(place.id());
  }
  /// A region whose name is known only at run time; about 20 ns more (the name is looked up).
  explicit region(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept
      : location_(record::this_location()) {
    if (location_ != nullptr)
      location_->path.enter(core::the_registry()->sites.intern(core::site_kind::region, name, file, line));
  }
  ~region() {
    if (location_ != nullptr) location_->path.leave();
  }
  region(const region&) = delete;
  region& operator=(const region&) = delete;

 private:
  record::location* const location_;
};

/// Begins an unscoped region; `end` with the same name ends it. For code that cannot use a scope (callbacks,
/// other languages). About 35 ns.
inline void begin(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::location* here = record::this_location())
    here->path.enter(core::the_registry()->sites.intern(core::site_kind::region, name, file, line));
}

/// Ends the innermost region, which must be called `name`. If it is another one, everything up to the
/// nearest open region of that name is ended, or nothing if there is none; either is counted and reported.
inline void end(const char* name) noexcept {
  record::location* const here = record::this_location();
  if (here == nullptr) return;
  const core::site_table& sites = core::the_registry()->sites;
  uint32_t level = here->path.depth();
  while (level > 0 && strcmp(sites[here->path.open_region(level - 1)].name, name) != 0) --level;
  if (level != here->path.depth() || level == 0) ++here->mismatched_ends;
  if (level == 0) return;
  while (here->path.depth() >= level) here->path.leave();
}

/// Counts one visit of an untimed step of the path. About 1 ns.
inline void visit(site& place) noexcept {
  if (record::location* here = record::this_location()) here->path.visit(place.id());
}

/// Adds work units (cells, particles, bytes) to the innermost region: then "slower" means slower per unit.
inline void work(uint64_t units) noexcept {
  if (record::location* here = record::this_location()) here->path.work(units);
}

}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
