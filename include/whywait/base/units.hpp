#ifndef WHYWAIT_BASE_UNITS_HPP
#define WHYWAIT_BASE_UNITS_HPP

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace base {

/// Nanoseconds to seconds, correctly rounded: 17200000000 becomes the double that prints as 17.2.
inline double seconds_of(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }

/// A number with a fixed count of decimals, independent of the locale. "unknown" for NaN and infinity.
inline std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "unknown";
  char buffer[400];  // the longest double has 309 digits before its point
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals);
  std::string text(buffer, end.ptr);
  if (text[0] == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);  // no "-0.0"
  return text;
}

/// How to print durations of about the same size alike, so that a column can be compared by eye.
struct duration_scale {
  double per_second = 1.0;  ///< units per second
  const char* unit = "s";
  int decimals = 0;

  /// "18.9 s" without sign handling of its own: negative durations print a minus.
  std::string operator()(double seconds) const {
    if (!std::isfinite(seconds)) return "unknown";
    return fixed(seconds * per_second, decimals) + " " + unit;
  }
};

/// The scale that shows `seconds` with `digits` (2 or 3) significant digits: ns, us, ms, s, and hours above 10^4 s.
inline duration_scale scale_for(double seconds, int digits = 3) noexcept {
  const double size = std::fabs(seconds);
  const double ulp = digits >= 3 ? 0.9995 : 0.995;  // 999.9 us rounds to 1 ms, not to 1000 us
  duration_scale scale;
  if (!(size > 0)) return scale;
  if (size >= 9999.5)
    scale = {1.0 / 3600, "h", 0};
  else if (size >= ulp)
    scale = {1.0, "s", 0};
  else if (size >= ulp * 1e-3)
    scale = {1e3, "ms", 0};
  else if (size >= ulp * 1e-6)
    scale = {1e6, "us", 0};
  else
    return {1e9, "ns", 0};  // clocks know no part of a nanosecond
  const double value = size * scale.per_second;
  const int whole = value >= (digits >= 3 ? 99.95 : 9.95)  ? digits
                    : value >= (digits >= 3 ? 9.995 : 0.0) ? digits - 1
                                                           : digits - 2;
  scale.decimals = whole >= digits ? 0 : digits - whole;
  return scale;
}

/// "18.9 s", "1.90 ms", "0 s"; with two digits "1.9 ms".
inline std::string duration(double seconds, int digits = 3) { return scale_for(seconds, digits)(seconds); }

/// A share of 1 in percent: "31 %", "3.1 %", "0.4 %", "under 0.1 %", "0 %".
inline std::string percent(double share) {
  if (!std::isfinite(share)) return "unknown";
  const double value = share * 100;
  if (value <= 0) return "0 %";
  if (value < 0.05) return "under 0.1 %";
  return fixed(value, value >= 9.95 ? 0 : 1) + " %";
}

/// "12345", from ten million on "12.3 million", then "4.57 billion".
inline std::string count_of(std::int64_t n) {
  if (n > -10000000 && n < 10000000) return std::to_string(n);
  const bool billions = n >= 999500000 || n <= -999500000;
  const double value = static_cast<double>(n) / (billions ? 1e9 : 1e6);
  const double size = std::fabs(value);
  return fixed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2) + (billions ? " billion" : " million");
}

/// "1 visit", "1200 visits"; irregular plurals are given.
inline std::string counted(std::int64_t n, const char* one, const char* many = nullptr) {
  std::string text = count_of(n) + " ";
  if (n == 1) return text + one;
  return many != nullptr ? text + many : text + one + "s";
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
