#ifndef WHYWAIT_BASE_NUMBER_TEXT_HPP
#define WHYWAIT_BASE_NUMBER_TEXT_HPP

#include <charconv>
#include <cmath>
#include <string>

namespace whywait {
inline namespace v0 {
namespace base {

/// Three significant digits without an exponent where that stays short: "1930", "18.9", "0.0012". No locale.
inline std::string number_text(double value) {
  char digits[400];
  const double size = std::fabs(value);
  if (size < 1e15 && value == std::floor(value)) {
    const auto end = std::to_chars(digits, digits + sizeof digits, value == 0 ? 0.0 : value, std::chars_format::fixed, 0);
    return std::string(digits, end.ptr);
  }
  if (size >= 1e15 || size < 1e-4) {
    const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 3);
    return std::string(digits, end.ptr);
  }
  int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  for (double s = size * 10; size < 0.9995 && s < 0.9995; s *= 10) ++decimals;
  const auto end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, decimals);
  return std::string(digits, end.ptr);
}

/// A duration in its own unit: "18.9 s", "1.90 ms", "0 s".
inline std::string duration_text(double seconds) {
  const double size = std::fabs(seconds);
  if (!(size > 0)) return "0 s";
  double scale = 1;
  const char* name = " s";
  if (size >= 9999.5) scale = 1.0 / 3600, name = " h";
  else if (size >= 0.9995) name = " s";
  else if (size >= 0.9995e-3) scale = 1e3, name = " ms";
  else if (size >= 0.9995e-6) scale = 1e6, name = " us";
  else scale = 1e9, name = " ns";
  const double value = std::fabs(seconds * scale);
  char digits[400];
  const int decimals = value >= 99.95 || scale >= 1e9 ? 0 : value >= 9.995 ? 1 : 2;
  const auto end = std::to_chars(digits, digits + sizeof digits, seconds * scale, std::chars_format::fixed, decimals);
  return std::string(digits, end.ptr) + name;
}

/// "64 bytes", "1.50 KiB", "12.0 MiB".
inline std::string size_text(double bytes) {
  const double size = std::fabs(bytes);
  if (size < 1024) return number_text(bytes) + (bytes == 1 ? " byte" : " bytes");
  const bool gib = size >= 1073741824.0, mib = size >= 1048576.0;
  return number_text(bytes / (gib ? 1073741824.0 : mib ? 1048576.0 : 1024.0)) + (gib ? " GiB" : mib ? " MiB" : " KiB");
}

/// A share of 1: "31 %", "3.1 %", "under 0.1 %".
inline std::string percent_text(double share) {
  const double value = share * 100;
  if (value > 0 && value < 0.05) return "under 0.1 %";
  char digits[400];
  const auto end = std::to_chars(digits, digits + sizeof digits, value == 0 ? 0.0 : value, std::chars_format::fixed,
                                 std::fabs(value) >= 9.95 || value == 0 ? 0 : 1);
  return std::string(digits, end.ptr) + " %";
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
