#ifndef WHYWAIT_MODELS_WEIGHT_HPP
#define WHYWAIT_MODELS_WEIGHT_HPP

#include <cstdint>
#include <numeric>
#include <string>

namespace whywait {
inline namespace v0 {
namespace models {

namespace detail {
__extension__ typedef __int128 int128;
}

/// A probability. It is an exact fraction of 64-bit integers while that fits, otherwise a double. Therefore 1/3 + 1/3 +
/// 1/3 is 1, the probability of leaving a loop keeps all digits however small it is, and long products do not overflow.
/// Plain value, no allocation.
class weight {
 public:
  constexpr weight() noexcept = default;
  /// numerator / denominator; denominator > 0.
  weight(std::int64_t numerator, std::int64_t denominator) noexcept { *this = reduced(numerator, denominator); }
  /// A value that is only known approximately.
  static weight approximate(double value) noexcept {
    weight w;
    w.denominator_ = 0;
    w.value_ = value;
    return w;
  }

  bool exact() const noexcept { return denominator_ != 0; }
  std::int64_t numerator() const noexcept { return numerator_; }
  std::int64_t denominator() const noexcept { return denominator_; }
  double value() const noexcept {
    return exact() ? static_cast<double>(numerator_) / static_cast<double>(denominator_) : value_;
  }
  bool is_zero() const noexcept { return exact() ? numerator_ == 0 : !(value_ > 0.0 || value_ < 0.0); }
  bool is_one() const noexcept { return exact() && numerator_ == 1 && denominator_ == 1; }

  friend weight operator+(const weight& a, const weight& b) noexcept {
    if (!a.exact() || !b.exact()) return approximate(a.value() + b.value());
    // with denominators below 2^63, products need up to 126 bits and the sum one more
    const detail::int128 n = detail::int128(a.numerator_) * b.denominator_ + detail::int128(b.numerator_) * a.denominator_;
    return reduced(n, detail::int128(a.denominator_) * b.denominator_);
  }
  friend weight operator-(const weight& a, const weight& b) noexcept {
    if (!a.exact() || !b.exact()) return approximate(a.value() - b.value());
    const detail::int128 n = detail::int128(a.numerator_) * b.denominator_ - detail::int128(b.numerator_) * a.denominator_;
    return reduced(n, detail::int128(a.denominator_) * b.denominator_);
  }
  friend weight operator*(const weight& a, const weight& b) noexcept {
    if (!a.exact() || !b.exact()) return approximate(a.value() * b.value());
    return reduced(detail::int128(a.numerator_) * b.numerator_, detail::int128(a.denominator_) * b.denominator_);
  }
  /// b must not be zero.
  friend weight operator/(const weight& a, const weight& b) noexcept {
    if (!a.exact() || !b.exact()) return approximate(a.value() / b.value());
    detail::int128 n = detail::int128(a.numerator_) * b.denominator_;
    detail::int128 d = detail::int128(a.denominator_) * b.numerator_;
    if (d < 0) {
      n = -n;
      d = -d;
    }
    return reduced(n, d);
  }
  /// Exact fractions are compared as fractions, others as doubles.
  friend bool operator==(const weight& a, const weight& b) noexcept {
    if (a.exact() && b.exact()) return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
    return !(a.value() < b.value()) && !(a.value() > b.value());
  }
  friend bool operator!=(const weight& a, const weight& b) noexcept { return !(a == b); }

  /// "1/3"; decimals only if the value is inexact.
  std::string text() const {
    if (!exact()) return std::to_string(value_);
    if (denominator_ == 1) return std::to_string(numerator_);
    return std::to_string(numerator_) + '/' + std::to_string(denominator_);
  }

 private:
  static weight reduced(detail::int128 n, detail::int128 d) noexcept {
    detail::int128 a = n < 0 ? -n : n, b = d;
    while (b != 0) {
      const detail::int128 r = a % b;
      a = b;
      b = r;
    }
    if (a > 1) {
      n /= a;
      d /= a;
    }
    constexpr detail::int128 limit = INT64_MAX;
    if (n > limit || n < -limit || d > limit) return approximate(static_cast<double>(n) / static_cast<double>(d));
    weight w;
    w.numerator_ = static_cast<std::int64_t>(n);
    w.denominator_ = static_cast<std::int64_t>(d);
    return w;
  }

  std::int64_t numerator_ = 0;
  std::int64_t denominator_ = 1;  ///< 0 if inexact
  double value_ = 0.0;
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
