#ifndef WHYWAIT_RECORD_REGION_HPP
#define WHYWAIT_RECORD_REGION_HPP

#include <whywait/core/site.hpp>
#include <whywait/record/location.hpp>

#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {

using core::site_kind;

/// A marked place in the source, for code that marks without macros: give it static storage duration.
/// Its number is found at the first visit. Constant initialisation: usable before main.
struct site {
  site_kind kind;
  const char* name;
  const char* file;
  uint32_t line;
  uint32_t number;  ///< 0 until the first visit

  constexpr site(site_kind what, const char* called, const char* in = __builtin_FILE(),
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

namespace record {
namespace detail {

// The static of a macro. Hidden: in an inline function or template g++ would else make it unique in the process,
// and a library that has one could never be unloaded.
struct __attribute__((visibility("hidden"))) own_site : site {
  using site::site;
};

inline void count_mismatch(location& at, mismatch::fault what, uint32_t ended) noexcept {
  if (at.mismatched_ends++ == 0) at.first_mismatch = mismatch{what, ended, at.path.innermost()};
}

/// Leaves every region deeper than `depth`.
inline void leave_to(location& at, uint32_t depth) noexcept {
  while (at.path.depth() > depth) at.path.leave();
}

/// The end of a scope that entered at `depth`, when begin and end in it did not pair.
__attribute__((noinline, cold)) inline void leave_unpaired(location& at, uint32_t depth, uint32_t number) noexcept {
  count_mismatch(at, at.path.depth() > depth ? mismatch::fault::not_ended : mismatch::fault::ended_twice, number);
  leave_to(at, depth - 1);
}

inline uint32_t intern(site_kind kind, const char* name, const char* file, uint32_t line) noexcept {
  return core::the_registry()->sites.intern(kind, name, file, line);
}

}  // namespace detail
}  // namespace record

/// Times a scope. Two clock readings, about 16 to 20 ns, no allocation; nothing if recording is off. The object
/// must die on the thread that made it. Not for signal handlers.
class region {
 public:
  __attribute__((always_inline)) explicit region(site& place) noexcept : location_(record::this_location()) {
    if (location_ != nullptr) depth_ = location_->path.enter(number_ = place.id());
  }
  /// A region whose name is known only at run time and copied; costs a hash of name and file more.
  explicit region(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept
      : region(site_kind::region, name, file, line) {}
  __attribute__((always_inline)) ~region() {
    if (location_ == nullptr) return;
    if (__builtin_expect(location_->path.depth() == depth_, 1)) {
      location_->path.leave();
    } else {
      record::detail::leave_unpaired(*location_, depth_, number_);
    }
  }
  region(const region&) = delete;
  region& operator=(const region&) = delete;

  /// Ends this region here and begins `place` for the rest of the scope, with one clock reading (about 12 ns):
  /// for consecutive phases.
  void next(site& place) noexcept {
    if (location_ == nullptr) return;
    if (__builtin_expect(location_->path.depth() != depth_, 0)) {  // leave one level less than at the scope's end
      record::detail::count_mismatch(*location_,
                                     location_->path.depth() > depth_ ? record::mismatch::fault::not_ended
                                                                      : record::mismatch::fault::ended_twice,
                                     number_);
      record::detail::leave_to(*location_, depth_);
      if (location_->path.depth() < depth_) return;
    }
    location_->path.next(number_ = place.id());
  }

 protected:
  region(site_kind kind, const char* name, const char* file, uint32_t line) noexcept
      : location_(record::this_location()) {
    if (location_ != nullptr)
      depth_ = location_->path.enter(number_ = record::detail::intern(kind, name, file, line));
  }

 private:
  record::location* const location_;
  uint32_t depth_ = 0;
  uint32_t number_ = 0;
};

/// A scope that waits for something whywait cannot see (a spin on a flag, a socket, a file lock), named at run
/// time: timed like a region, and never blamed as work.
class waiting : public region {
 public:
  explicit waiting(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept
      : region(site_kind::waiting, name, file, line) {}
};

/// Begins an unscoped region; `end` with the same name ends it. For code that cannot use a scope (callbacks,
/// other languages). The name is copied at its first use. Costs a region and a hash of name and file.
inline void begin(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::location* here = record::this_location())
    here->path.enter(record::detail::intern(site_kind::region, name, file, line));
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
  if (level == 0 || level != depth) {
    using record::mismatch;
    record::detail::count_mismatch(*here, level == 0 ? mismatch::fault::never_begun : mismatch::fault::wrong_order,
                                   record::detail::intern(site_kind::region, name, file, line));
    if (level == 0) return;
  }
  record::detail::leave_to(*here, level - 1);
}

/// Counts one visit of an untimed step of the path. About 1 ns.
inline void visit(site& place) noexcept {
  if (record::location* here = record::this_location()) here->path.visit(place.id());
}

/// The same for a name known only at run time; costs a hash of name and file more.
inline void visit(const char* name, const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) noexcept {
  if (record::location* here = record::this_location())
    here->path.visit(record::detail::intern(site_kind::step, name, file, line));
}

/// Adds work units (cells, particles, bytes) to the innermost region: then "slower" means slower per unit.
/// About 1 ns. Any arithmetic type; what is not positive counts as nothing.
template <class Number>
inline void work(Number units) noexcept {
  if (record::location* here = record::this_location())
    here->path.work(units > Number(0) ? static_cast<uint64_t>(units) : 0);
}

}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
