#ifndef WHYWAIT_CORE_NEAREST_HPP
#define WHYWAIT_CORE_NEAREST_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// The nearest integer, halves away from zero, as std::llround but inline. |x| must be below 2^63.
__attribute__((always_inline)) inline int64_t nearest(double x) noexcept {
  const auto whole = static_cast<int64_t>(x);
  const double rest = x - static_cast<double>(whole);
  return whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0);
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
