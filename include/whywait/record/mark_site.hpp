#ifndef WHYWAIT_RECORD_MARK_SITE_HPP
#define WHYWAIT_RECORD_MARK_SITE_HPP

#include <whywait/core/registry.hpp>
#include <whywait/core/site.hpp>
#include <whywait/record/path_head.hpp>

#include <stdint.h>

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
  uint32_t place;  ///< of its block in a profile: path_head::place_of(id()); that of block 0 until the first visit

  constexpr site(site_kind what, const char* called, const char* in = __builtin_FILE(),
                 uint32_t at = __builtin_LINE()) noexcept
      : kind(what), name(called), file(in), line(at), place(record::path_head::place_of(0)) {}

  uint32_t known_place() const noexcept { return __atomic_load_n(&place, __ATOMIC_RELAXED); }
  /// 0 until the first visit: the block that nobody visits.
  uint32_t known_id() const noexcept { return record::path_head::block_at(known_place()); }
  uint32_t id() noexcept {
    const uint32_t known = known_id();
    return __builtin_expect(known != 0, 1) ? known : look_up();
  }

 private:
  __attribute__((noinline, cold)) uint32_t look_up() noexcept {
    core::registry* const registry = core::the_registry();
    if (registry == nullptr || !registry->config.enable) return core::site_table::overflow;  // see detail::off_here
    const uint32_t found = registry->sites.intern(kind, name, file, line);
    __atomic_store_n(&place, record::path_head::place_of(found), __ATOMIC_RELAXED);
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

}  // namespace detail
}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
