#ifndef WHYWAIT_RECORD_MISMATCH_HPP
#define WHYWAIT_RECORD_MISMATCH_HPP

#include <whywait/core/site.hpp>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// A begin and an end that do not pair. Never fatal: counted, and the first of each thread kept. All places
/// are site numbers, so names, files and lines stay readable after their module is unloaded.
struct mismatch {
  enum class fault : uint8_t {
    none,
    never_begun,   ///< whywait::end(name), but no open region is called so: nothing was ended
    wrong_order,   ///< whywait::end(name), but another region is innermost: both and all between were ended
    not_ended,     ///< a scope was left while a whywait::begin in it was still open: both were ended
    ended_twice,   ///< a scope was left whose region whywait::end had already ended
    nothing_before, ///< whywait::next(place), but no region is open: only the visit was counted
    never_ended    ///< whywait::begin(name) without whywait::end(name) when the run or its thread ended
  };
  fault what;
  uint32_t ended;      ///< what was to be ended: for whywait::end the call's own place, else the scope's region
  uint32_t innermost;  ///< the innermost open region at that moment, 0: none
};

/// One line for the report without the end of line, for example
/// `whywait::end("b") at a.cpp:12, but "a" (a.cpp:10) is the innermost open region`.
/// Empty for fault::none. Cuts what does not fit; returns the length written. No allocation; usable in signal
/// handlers.
inline size_t describe(const mismatch& m, const core::site_table& sites, char* text, size_t room) noexcept {
  struct writer {
    char* text;
    size_t room;
    size_t length = 0;
    writer& operator<<(const char* part) noexcept {
      for (; *part != '\0' && length + 1 < room; ++part) text[length++] = *part;
      return *this;
    }
    void place(const core::site_info& at) noexcept {
      const char* const slash = strrchr(at.file, '/');
      char digits[12];
      char* number = digits + sizeof digits - 1;
      *number = '\0';
      uint32_t line = at.line;
      do *--number = static_cast<char>('0' + line % 10);
      while ((line /= 10) != 0);
      *this << (slash != nullptr ? slash + 1 : at.file) << ":" << number;
    }
  } out{text, room};
  if (room == 0) return 0;
  const core::site_info& ended = sites[m.ended];
  const core::site_info& inner = sites[m.innermost];
  if (m.what == mismatch::fault::never_begun || m.what == mismatch::fault::wrong_order) {
    out << "whywait::end(\"" << ended.name << "\") at ";
    out.place(ended);
    out << ", but ";
  } else if (m.what == mismatch::fault::nothing_before) {
    out << "WHYWAIT_NEXT(\"" << ended.name << "\") at ";
    out.place(ended);
    out << ", but no region is open";
  } else if (m.what == mismatch::fault::never_ended) {
    out << "whywait::begin(\"" << ended.name << "\") at ";
    out.place(ended);
    out << " has no whywait::end";
  } else if (m.what != mismatch::fault::none) {
    out << "the scope of \"" << ended.name << "\" (";
    out.place(ended);
    out << ") was left ";
  }
  switch (m.what) {
    case mismatch::fault::none:
    case mismatch::fault::nothing_before:
    case mismatch::fault::never_ended: break;
    case mismatch::fault::never_begun: out << "no region of that name is open"; break;
    case mismatch::fault::ended_twice: out << "after whywait::end ended it"; break;
    case mismatch::fault::wrong_order:
      out << "\"" << inner.name << "\" (";
      out.place(inner);
      out << ") is the innermost open region";
      break;
    case mismatch::fault::not_ended:
      out << "before \"" << inner.name << "\" (";
      out.place(inner);
      out << ") was ended";
      break;
  }
  text[out.length] = '\0';
  return out.length;
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
