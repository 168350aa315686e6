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

/// Where the functions were called that the compiler inlined around `address`, innermost first, up to `most`. `unit`: contains the
/// address; null: none does. The cost is one pass over the unit's functions. With `nested`, and if none of these contains the address,
/// also over those in others that do not contain it: those that the compiler makes of parallel regions are nested in them, lambdas as
/// functions of a type, internal procedures of Fortran, and where clang was the compiler, functions in namespaces.
class inlined_calls {
 public:
  static constexpr std::size_t most = 16;  ///< std::async has ten
  struct call {
    const char* file;  ///< belongs to the session of libdw, as `function` does
    int line;
    const char* function;  ///< what was called: its mangled name, or its own without a scope; null: not known
  };

  inlined_calls(const libdw& dw, dwarf_die* unit, std::uint64_t address, bool nested)
      : dw_(dw), address_(address), nested_(nested) {
    if (unit == nullptr || dw_.getsrcfiles(unit, &files_, &file_count_) != 0 || find(unit) || nested) return;
    nested_ = true;
    find(unit);
  }
  const call* begin() const noexcept { return calls_; }
  const call* end() const noexcept { return calls_ + count_; }

 private:
  /// Whether a scope inside of `scope` contains the address.
  bool find(dwarf_die* scope, bool in_function = false) {
    enum {
      lexical_block = 0x0b,
      structure = 0x13,
      inlined_subroutine = 0x1d,
      fortran_module = 0x1e,
      subprogram = 0x2e,
      name_space = 0x39
    };  // DW_TAG_
    dwarf_die inner;
    if (dw_.child(scope, &inner) != 0) return false;
    do {
      const int tag = dw_.tag(&inner);
      const bool named = tag == fortran_module || (nested_ && (tag == name_space || (tag == structure && in_function)));
      if (tag != lexical_block && tag != inlined_subroutine && tag != subprogram && !named) continue;
      const bool contains = !named && dw_.haspc(&inner, address_) > 0;
      if (!contains && !named && (tag == inlined_subroutine || !nested_)) continue;
      if (!find(&inner, tag != name_space) && !contains) continue;
      if (tag == inlined_subroutine) add(inner);
      return true;
    } while (dw_.siblingof(&inner, &inner) == 0);
    return false;
  }
  void add(dwarf_die& scope) {
    constexpr unsigned call_file = 0x58, call_line = 0x59;  // DW_AT_
    const std::uint64_t from = number(scope, call_file), at = number(scope, call_line);
    const char* const name =
        from < file_count_ ? dw_.filesrc(files_, static_cast<std::size_t>(from), nullptr, nullptr) : nullptr;
    if (name == nullptr || at == 0 || count_ == most) return;
    constexpr unsigned own_name = 0x03, linkage_name = 0x6e;
    const char* function = text(scope, linkage_name);
    if (function == nullptr) function = text(scope, own_name);
    calls_[count_++] = {name, static_cast<int>(at), function};
  }
  const char* text(dwarf_die& of, unsigned name) const {
    dwarf_attribute read;
    dwarf_attribute* const a = dw_.attr_integrate(&of, name, &read);
    return a != nullptr ? dw_.formstring(a) : nullptr;
  }
  std::uint64_t number(dwarf_die& of, unsigned name) const {
    dwarf_attribute read;
    std::uint64_t value = 0;
    dwarf_attribute* const a = dw_.attr(&of, name, &read);
    return a != nullptr && dw_.formudata(a, &value) == 0 ? value : 0;
  }

  const libdw& dw_;
  const std::uint64_t address_;
  bool nested_;
  dwarf_files* files_ = nullptr;
  std::size_t file_count_ = 0;
  call calls_[most];
  std::size_t count_ = 0;
};

}  // namespace detail

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
