#ifndef WHYWAIT_RECORD_DATA_OFF_HPP
#define WHYWAIT_RECORD_DATA_OFF_HPP

#include <whywait/record/data/range.hpp>

#include <stdint.h>

// With WHYWAIT_DISABLE: the same names, and nothing behind them.
#ifdef WHYWAIT_DISABLE

#define WHYWAIT_DETAIL_NOTHING __attribute__((always_inline))

namespace whywait {
inline namespace v0_off {

/// See record/data/marks.hpp; holds nothing.
struct loop {
  WHYWAIT_DETAIL_NOTHING loop(const char*) noexcept {}
};

/// See record/data/marks.hpp; registers nothing.
class data {
 public:
  WHYWAIT_DETAIL_NOTHING data() noexcept {}
  template <class T>
  WHYWAIT_DETAIL_NOTHING data(const char*, const T*, const shape&, const char* = nullptr, uint32_t = 0) noexcept {}
  WHYWAIT_DETAIL_NOTHING data(data&&) noexcept {}
  WHYWAIT_DETAIL_NOTHING data& operator=(data&&) noexcept { return *this; }
  WHYWAIT_DETAIL_NOTHING ~data() {}
  template <class T>
  WHYWAIT_DETAIL_NOTHING static data sampled(const char*, const T*, const shape&, const char* = nullptr, uint32_t = 0) noexcept {
    return data();
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
