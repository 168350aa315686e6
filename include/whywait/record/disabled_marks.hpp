#ifndef WHYWAIT_RECORD_DISABLED_MARKS_HPP
#define WHYWAIT_RECORD_DISABLED_MARKS_HPP

#include <whywait/core/site_kind.hpp>

#include <stdint.h>

// With WHYWAIT_DISABLE every mark is still declared and compiles to nothing. The namespace differs, so that linking files
// with and without WHYWAIT_DISABLE fails where whywait's types are part of an interface.
#ifdef WHYWAIT_DISABLE

#define WHYWAIT_DETAIL_NOTHING __attribute__((always_inline))

namespace whywait {
inline namespace v0_off {

using core::site_kind;

/// See record/region.hpp; holds nothing.
struct site {
  constexpr site(site_kind, const char*, const char* = nullptr, uint32_t = 0) noexcept {}
};

/// See record/region.hpp; does nothing.
class [[nodiscard]] region {
 public:
  WHYWAIT_DETAIL_NOTHING explicit region(site&) noexcept {}
  WHYWAIT_DETAIL_NOTHING explicit region(const char*, const char* = nullptr, uint32_t = 0) noexcept {}
  template <class Text>
  WHYWAIT_DETAIL_NOTHING explicit region(const Text&, const char* = nullptr, uint32_t = 0) noexcept {}
  WHYWAIT_DETAIL_NOTHING ~region() {}
  region(const region&) = delete;
  region& operator=(const region&) = delete;
  WHYWAIT_DETAIL_NOTHING void next(site&) noexcept {}
};

/// See record/region.hpp; does nothing.
class [[nodiscard]] waiting {
 public:
  WHYWAIT_DETAIL_NOTHING explicit waiting(const char*, const char* = nullptr, uint32_t = 0) noexcept {}
  template <class Text>
  WHYWAIT_DETAIL_NOTHING explicit waiting(const Text&, const char* = nullptr, uint32_t = 0) noexcept {}
  WHYWAIT_DETAIL_NOTHING ~waiting() {}
  waiting(const waiting&) = delete;
  waiting& operator=(const waiting&) = delete;
  WHYWAIT_DETAIL_NOTHING void next(site&) noexcept {}
};

WHYWAIT_DETAIL_NOTHING inline void next(site&) noexcept {}
WHYWAIT_DETAIL_NOTHING inline void begin(const char*, const char* = nullptr, uint32_t = 0) noexcept {}
template <class Text>
WHYWAIT_DETAIL_NOTHING inline void begin(const Text&, const char* = nullptr, uint32_t = 0) noexcept {}
WHYWAIT_DETAIL_NOTHING inline void end(const char*, const char* = nullptr, uint32_t = 0) noexcept {}
template <class Text>
WHYWAIT_DETAIL_NOTHING inline void end(const Text&, const char* = nullptr, uint32_t = 0) noexcept {}
WHYWAIT_DETAIL_NOTHING inline void visit(site&) noexcept {}
WHYWAIT_DETAIL_NOTHING inline void visit(const char*, const char* = nullptr, uint32_t = 0) noexcept {}
template <class Text>
WHYWAIT_DETAIL_NOTHING inline void visit(const Text&, const char* = nullptr, uint32_t = 0) noexcept {}
template <class Number>
WHYWAIT_DETAIL_NOTHING inline void work(Number) noexcept {}

}  // namespace v0_off
}  // namespace whywait

#undef WHYWAIT_DETAIL_NOTHING

#endif  // WHYWAIT_DISABLE

#endif
