#ifndef WHYWAIT_BASE_NEAREST_HPP
#define WHYWAIT_BASE_NEAREST_HPP

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace base {

/// std::llround without its call: the nearest integer, halves away from zero. |x| below 2^63.
inline std::int64_t nearest(double x) noexcept {
  const auto whole = static_cast<std::int64_t>(x);
  const double rest = x - static_cast<double>(whole);
  return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
