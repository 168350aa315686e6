#ifndef WHYWAIT_REPORT_INLINED_CALL_HPP
#define WHYWAIT_REPORT_INLINED_CALL_HPP

#include <whywait/report/libdw.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Whether a source file is a header of the C++ library, or of whywait's thread primitives. From the folders in its path.
inline bool is_of_library(const std::string& file) {
  for (const char* const folder : {"/include/c++/", "/bits/std_", "/bits/gthr", "/whywait/thread/", "/whywait/thread.hpp"})
    if (file.find(folder) != std::string::npos) return true;
  return file.compare(0, 15, "whywait/thread/") == 0 || file.compare(0, 18, "whywait/thread.hpp") == 0;
}

namespace detail {

/// Replaces a line of inlined library code at `address` by that of the call in the program's code. `unit`: contains the address.
/// Changes nothing if all of it is library code.
inline void leave_inlined(const libdw& dw, dwarf_die* unit, std::uint64_t address, std::string& file, int& line) {
  constexpr int inlined_subroutine = 0x1d;  // DW_TAG_inlined_subroutine
  constexpr unsigned call_file = 0x58, call_line = 0x59;  // DW_AT_call_file, DW_AT_call_line
  dwarf_die *innermost = nullptr, *scopes = nullptr;
  // The scopes around an inlined function are those of its definition; those of its entry are the calls.
  const int found = dw.getscopes(unit, address, &innermost);
  const int count = found > 0 ? dw.getscopes_die(&innermost[0], &scopes) : 0;
  std::free(innermost);
  dwarf_files* files = nullptr;
  std::size_t file_count = 0;
  if (count > 0 && dw.getsrcfiles(unit, &files, &file_count) == 0) {
    const auto number = [&](dwarf_die& of, unsigned name) {
      dwarf_attribute read;
      std::uint64_t value = 0;
      dwarf_attribute* const a = dw.attr(&of, name, &read);
      return a != nullptr && dw.formudata(a, &value) == 0 ? value : 0;
    };
    for (int i = 0; i != count; ++i) {  // from the inside to the outside
      if (dw.tag(&scopes[i]) != inlined_subroutine) continue;
      const std::uint64_t from = number(scopes[i], call_file), at = number(scopes[i], call_line);
      const char* const name =
          from < file_count ? dw.filesrc(files, static_cast<std::size_t>(from), nullptr, nullptr) : nullptr;
      if (name == nullptr || at == 0 || is_of_library(name)) continue;
      file = name;
      line = static_cast<int>(at);
      break;
    }
  }
  std::free(scopes);
}

}  // namespace detail

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
