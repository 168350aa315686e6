#ifndef WHYWAIT_RECORD_MARK_SITE_HPP
#define WHYWAIT_RECORD_MARK_SITE_HPP

#include <whywait/core/site_kind.hpp>
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
  uint16_t number;  ///< in the site table of the process; 0 until the first visit
  uint32_t line;
  const char* name;
  const char* file;
  uint32_t place;  ///< of its block in a profile; that of block 0 until the first visit and beyond record::near_blocks

  constexpr site(site_kind what, const char* called, const char* in = __builtin_FILE(), uint32_t at = __builtin_LINE()) noexcept
      : kind(what), number(0), line(at), name(called), file(in), place(record::path_head::place_of(0)) {}

  uint32_t known_place() const noexcept { return __atomic_load_n(&place, __ATOMIC_RELAXED); }
  /// 0 until the first visit.
  uint32_t known_id() const noexcept { return __atomic_load_n(&number, __ATOMIC_RELAXED); }
  /// The recorder's: from now on this is the number.
  void set_id(uint32_t id) noexcept {
    __atomic_store_n(&number, static_cast<uint16_t>(id), __ATOMIC_RELAXED);
    if (id < record::near_blocks) __atomic_store_n(&place, record::path_head::place_of(id), __ATOMIC_RELAXED);
  }
};

namespace record {
namespace detail {

/// Whether the text of a macro's argument is a string literal.
constexpr bool is_literal(const char* text) noexcept {
  if (text[0] == 'u' && text[1] == '8') text += 2;
  if (text[0] == 'R') ++text;
  return text[0] == '"';
}

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
