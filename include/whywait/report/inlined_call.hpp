#ifndef WHYWAIT_REPORT_INLINED_CALL_HPP
#define WHYWAIT_REPORT_INLINED_CALL_HPP

#include <whywait/report/libdw.hpp>

#include <cstddef>
#include <cstdint>
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
/// Changes nothing if all of it is library code. Looks into functions that do not contain the address: those that the compiler makes
/// of parallel regions are nested in them, and lambdas, as functions of a type.
class inlined_call {
 public:
  inlined_call(const libdw& dw, dwarf_die* unit, std::uint64_t address, std::string& file, int& line)
      : dw_(dw), address_(address), file_(file), line_(line) {
    if (dw_.getsrcfiles(unit, &files_, &file_count_) == 0) find(unit);
  }

 private:
  /// Whether a scope inside of `scope` contains the address.
  bool find(dwarf_die* scope, bool in_function = false) {
    enum {
      lexical_block = 0x0b,
      structure = 0x13,
      inlined_subroutine = 0x1d,
      subprogram = 0x2e,
      name_space = 0x39
    };  // DW_TAG_
    dwarf_die inner;
    if (dw_.child(scope, &inner) != 0) return false;
    do {
      const int tag = dw_.tag(&inner);
      const bool named = tag == name_space || (tag == structure && in_function);
      if (tag != lexical_block && tag != inlined_subroutine && tag != subprogram && !named) continue;
      const bool contains = !named && dw_.haspc(&inner, address_) > 0;
      if (!contains && tag == inlined_subroutine) continue;
      if (!find(&inner, tag != name_space) && !contains) continue;
      if (tag == inlined_subroutine && !found_) use(inner);
      return true;
    } while (dw_.siblingof(&inner, &inner) == 0);
    return false;
  }
  void use(dwarf_die& call) {
    constexpr unsigned call_file = 0x58, call_line = 0x59;  // DW_AT_
    const std::uint64_t from = number(call, call_file), at = number(call, call_line);
    const char* const name =
        from < file_count_ ? dw_.filesrc(files_, static_cast<std::size_t>(from), nullptr, nullptr) : nullptr;
    if (name == nullptr || at == 0 || is_of_library(name)) return;
    file_ = name;
    line_ = static_cast<int>(at);
    found_ = true;
  }
  std::uint64_t number(dwarf_die& of, unsigned name) const {
    dwarf_attribute read;
    std::uint64_t value = 0;
    dwarf_attribute* const a = dw_.attr(&of, name, &read);
    return a != nullptr && dw_.formudata(a, &value) == 0 ? value : 0;
  }

  const libdw& dw_;
  const std::uint64_t address_;
  std::string& file_;
  int& line_;
  dwarf_files* files_ = nullptr;
  std::size_t file_count_ = 0;
  bool found_ = false;
};

}  // namespace detail

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
