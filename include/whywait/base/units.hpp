#ifndef WHYWAIT_BASE_UNITS_HPP
#define WHYWAIT_BASE_UNITS_HPP

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

// Numbers as all reports and messages print them: three significant digits, SI units for time, binary units for memory,
// "1,234,567", "12 %". Independent of the locale.

namespace whywait {
inline namespace v0 {
namespace base {

/// Nanoseconds to seconds, correctly rounded: 17200000000 becomes the double that prints as 17.2.
inline double seconds_of(std::int64_t ns) noexcept { return static_cast<double>(ns) / 1e9; }

/// A number with a fixed count of decimals. "unknown" for NaN and infinity.
inline std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "unknown";
  char buffer[400];  // the longest double has 309 digits before its point
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, decimals);
  std::string text(buffer, end.ptr);
  if (text[0] == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);  // no "-0.0"
  return text;
}

namespace detail {

/// Decimals that show `digits` (2 or 3) significant digits of a number of at least 1.
inline int decimals_for(double size, int digits) noexcept {
  const int whole = size >= (digits >= 3 ? 99.95 : 9.95) ? digits : size >= 9.995 || digits < 3 ? digits - 1 : 1;
  return digits - whole;
}

}  // namespace detail

/// A plain number with three significant digits; integers below 10^15 are exact: "1930", "18.9", "0.0012", "1.23e+20".
inline std::string number(double value) {
  const double size = std::fabs(value);
  if (size < 1e15 && value == std::floor(value)) return base::fixed(value, 0);
  if (size >= 1e15 || size < 1e-4) {
    if (!std::isfinite(value)) return "unknown";
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 3);
    return std::string(digits, end.ptr);
  }
  int decimals = size >= 0.9995 ? detail::decimals_for(size, 3) : 3;
  for (double s = size * 10; size < 0.9995 && s < 0.9995; s *= 10) ++decimals;
  return base::fixed(value, decimals);
}

/// A unit and precision for durations of similar size, so that a column can be compared by eye.
struct duration_scale {
  double per_second = 1.0;  ///< units per second
  const char* unit = "s";
  int decimals = 0;

  /// "18.9 s"; a negative duration keeps its minus sign.
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
  if (size >= 9999.5) scale = {1.0 / 3600, "h", 0};
  else if (size >= ulp) scale = {1.0, "s", 0};
  else if (size >= ulp * 1e-3) scale = {1e3, "ms", 0};
  else if (size >= ulp * 1e-6) scale = {1e6, "us", 0};
  else return {1e9, "ns", 0};  // clocks do not resolve parts of a nanosecond
  scale.decimals = detail::decimals_for(size * scale.per_second, digits);
  return scale;
}

/// "18.9 s", "1.90 ms", "0 s"; with two digits "1.9 ms".
inline std::string duration(double seconds, int digits = 3) { return scale_for(seconds, digits)(seconds); }

namespace detail {

inline std::string memory(double bytes) {
  if (std::fabs(bytes) < 1024) return base::number(bytes) + (bytes == 1 ? " byte" : " bytes");
  static const char* const units[] = {" KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  double value = bytes / 1024;
  for (; std::fabs(value) >= 1023.5 && unit != 3; ++unit) value /= 1024;
  return base::number(value) + units[unit];
}

}  // namespace detail

/// "64 bytes", "1.50 KiB", "12 MiB".
template <class Number>
std::string memory(Number bytes) {
  return detail::memory(static_cast<double>(bytes));
}

/// A share of 1 in percent: "31 %", "3.1 %", "0.4 %", "under 0.1 %", "0 %"; with a minus sign below 0.
inline std::string percent(double share) {
  const double value = share * 100;
  if (value < 0) return value > -0.05 ? "0 %" : "-" + base::percent(-share);
  if (value > 0 && value < 0.05) return "under 0.1 %";
  return fixed(value, value >= 9.95 || value == 0 ? 0 : 1) + (std::isfinite(share) ? " %" : "");
}

/// "12,345", from ten million on "12.3 million", then "4.57 billion".
inline std::string count(std::int64_t n) {
  if (n > -10000000 && n < 10000000) {
    std::string out = std::to_string(n);
    for (std::size_t at = out.size(); at > 3 + (n < 0 ? 1u : 0u);) out.insert(at -= 3, 1, ',');
    return out;
  }
  const bool billions = n >= 999500000 || n <= -999500000;
  const double value = static_cast<double>(n) / (billions ? 1e9 : 1e6);
  return fixed(value, detail::decimals_for(std::fabs(value), 3)) + (billions ? " billion" : " million");
}

/// "1 visit", "1,200 visits"; irregular plurals are given.
inline std::string counted(std::int64_t n, const char* one, const char* many = nullptr) {
  std::string text = base::count(n) + " ";
  if (n == 1) return text + one;
  return many != nullptr ? text + many : text + one + "s";
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
