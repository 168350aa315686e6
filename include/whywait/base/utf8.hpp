#ifndef WHYWAIT_BASE_UTF8_HPP
#define WHYWAIT_BASE_UTF8_HPP

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace base {

/// Bytes of the code point at `at`, 0 if the bytes there are no UTF-8 (RFC 3629: no overlong forms, no surrogates).
inline std::size_t utf8_length(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  if (length == 0 || text.size() - at < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0u) != 0x80) return 0;
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

/// How many code points, a byte that is no UTF-8 counting as one: the column in which an editor shows it.
inline std::size_t columns_in(std::string_view text) noexcept {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size(); ++columns) {
    const std::size_t length = utf8_length(text, at);
    at += length != 0 ? length : 1;
  }
  return columns;
}

/// Fit for a terminal: control characters become blanks, bytes that are no UTF-8 become '?'.
inline std::string clean(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const auto first = static_cast<unsigned char>(text[at]);
    if (length == 0) out += '?';
    else if (first < 0x20 || first == 0x7f || (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0)) out += ' ';
    else out.append(text, at, length);
    at += length != 0 ? length : 1;
  }
  return out;
}

/// Pieces of a text one behind the other. Messages are put together here, not where they are said: each `+` of texts is
/// code, and code for when it throws.
inline std::string joined(std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (const std::string_view piece : pieces) out += piece;
  return out;
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
