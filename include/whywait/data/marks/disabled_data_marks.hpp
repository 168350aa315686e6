#ifndef WHYWAIT_DATA_MARKS_DISABLED_DATA_MARKS_HPP
#define WHYWAIT_DATA_MARKS_DISABLED_DATA_MARKS_HPP

#include <whywait/data/marks/range.hpp>

#include <stdint.h>

// The same names for builds with WHYWAIT_DISABLE; all of them do nothing.
#ifdef WHYWAIT_DISABLE

#define WHYWAIT_DETAIL_NOTHING __attribute__((always_inline))

namespace whywait {
inline namespace v0_off {

/// See data/marks/data_marks.hpp; holds nothing.
struct loop {
  WHYWAIT_DETAIL_NOTHING loop(const char*) noexcept {}
};

/// See data/marks/data_marks.hpp; registers nothing.
class registered_array {
 public:
  WHYWAIT_DETAIL_NOTHING registered_array() noexcept {}
  template <class T>
  WHYWAIT_DETAIL_NOTHING registered_array(const char*, const T*, const shape&, const char* = nullptr, uint32_t = 0) noexcept {}
  WHYWAIT_DETAIL_NOTHING registered_array(registered_array&&) noexcept {}
  WHYWAIT_DETAIL_NOTHING registered_array& operator=(registered_array&&) noexcept { return *this; }
  WHYWAIT_DETAIL_NOTHING ~registered_array() {}
  template <class T>
  WHYWAIT_DETAIL_NOTHING static registered_array sampled(const char*, const T*, const shape&, const char* = nullptr,
                                                         uint32_t = 0) noexcept {
    return registered_array();
  }
  WHYWAIT_DETAIL_NOTHING void end() noexcept {}
  WHYWAIT_DETAIL_NOTHING uint32_t number() const noexcept { return 0; }
};

template <class... Ranges>
WHYWAIT_DETAIL_NOTHING inline void reads(const loop&, Ranges...) noexcept {}
template <class... Ranges>
WHYWAIT_DETAIL_NOTHING inline void writes(const loop&, Ranges...) noexcept {}
template <class... Ranges>
WHYWAIT_DETAIL_NOTHING inline void iterations(const loop&, Ranges...) noexcept {}
WHYWAIT_DETAIL_NOTHING inline void packs(const void*, const data_range&) noexcept {}
WHYWAIT_DETAIL_NOTHING inline void unpacks(const void*, const data_range&) noexcept {}
WHYWAIT_DETAIL_NOTHING inline void synchronise(const char*, const char* = nullptr, uint32_t = 0) noexcept {}
WHYWAIT_DETAIL_NOTHING inline void synchronise_all(const char*, const char* = nullptr, uint32_t = 0) noexcept {}

}  // namespace v0_off
}  // namespace whywait

#undef WHYWAIT_DETAIL_NOTHING

#endif  // WHYWAIT_DISABLE

#endif
