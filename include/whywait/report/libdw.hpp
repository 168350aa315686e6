#ifndef WHYWAIT_REPORT_LIBDW_HPP
#define WHYWAIT_REPORT_LIBDW_HPP

#include <dlfcn.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace reports {
namespace detail {

struct dwfl;  // opaque types of elfutils' libdwfl
struct dwfl_module;
struct dwfl_line;
struct dwarf_line;
struct dwarf_files;

/// Dwarf_Die and Dwarf_Attribute of elfutils/libdw.h.
struct dwarf_die {
  void* address;
  void* unit;
  void* abbreviation;
  long padding;
};
struct dwarf_attribute {
  unsigned code, form;
  unsigned char* value;
  void* unit;
};

/// Elf64_Sym of elf.h. libdw also gives it for 32-bit modules.
struct elf_symbol {
  std::uint32_t name;
  unsigned char info, other;
  std::uint16_t section;
  std::uint64_t value, size;
};

/// Dwfl_Callbacks of elfutils/libdwfl.h (unchanged since ELFUTILS_0.122).
struct dwfl_callbacks {
  void (*find_elf)();
  void (*find_debuginfo)();
  void (*section_address)();
  char** debuginfo_path;
};

/// The functions of libdw.so.1 that are used. The library is loaded when a report is made; users need not link it.
struct libdw {
  using any_function = void (*)();
  dwfl* (*begin)(const dwfl_callbacks*) = nullptr;
  void (*end)(dwfl*) = nullptr;
  int (*linux_proc_report)(dwfl*, pid_t) = nullptr;
  void (*report_begin)(dwfl*) = nullptr;
  dwfl_module* (*report_elf)(dwfl*, const char* name, const char* file, int descriptor, std::uint64_t base,
                             bool add_p_vaddr) = nullptr;
  int (*report_end)(dwfl*, any_function removed, void* argument) = nullptr;
  dwfl_module* (*addrmodule)(dwfl*, std::uint64_t address) = nullptr;
  dwfl_line* (*module_getsrc)(dwfl_module*, std::uint64_t address) = nullptr;
  const char* (*lineinfo)(dwfl_line*, std::uint64_t*, int* line, int*, std::uint64_t*, std::uint64_t*) = nullptr;
  const char* (*module_addrname)(dwfl_module*, std::uint64_t address) = nullptr;
  dwarf_die* (*module_nextcu)(dwfl_module*, dwarf_die* last, std::uint64_t* bias) = nullptr;
  int (*module_getsymtab)(dwfl_module*) = nullptr;
  const char* (*module_getsym_info)(dwfl_module*, int number, elf_symbol*, std::uint64_t* address, std::uint32_t* section,
                                    void** elf, std::uint64_t* bias) = nullptr;
  std::ptrdiff_t (*ranges)(dwarf_die*, std::ptrdiff_t offset, std::uint64_t* base, std::uint64_t* begin,
                           std::uint64_t* end) = nullptr;
  int (*haspc)(dwarf_die*, std::uint64_t address) = nullptr;
  dwarf_line* (*getsrc_die)(dwarf_die*, std::uint64_t address) = nullptr;
  int (*lineno)(dwarf_line*, int* line) = nullptr;
  const char* (*linesrc)(dwarf_line*, std::uint64_t*, std::uint64_t*) = nullptr;
  int (*child)(dwarf_die*, dwarf_die* result) = nullptr;
  int (*siblingof)(dwarf_die*, dwarf_die* result) = nullptr;
  int (*tag)(dwarf_die*) = nullptr;
  dwarf_attribute* (*attr)(dwarf_die*, unsigned name, dwarf_attribute* result) = nullptr;
  dwarf_attribute* (*attr_integrate)(dwarf_die*, unsigned name, dwarf_attribute* result) = nullptr;
  const char* (*formstring)(dwarf_attribute*) = nullptr;
  int (*formudata)(dwarf_attribute*, std::uint64_t* result) = nullptr;
  int (*getsrcfiles)(dwarf_die* unit, dwarf_files**, std::size_t* count) = nullptr;
  const char* (*filesrc)(dwarf_files*, std::size_t number, std::uint64_t*, std::uint64_t*) = nullptr;
  any_function find_elf = nullptr, find_debuginfo = nullptr, section_address = nullptr;

  /// False if the library or one of its functions is missing.
  bool load(const char* library) noexcept {
    // NODELETE: the library has thread-local data with destructors; unloading it at exit would gain nothing.
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) return false;
    const bool complete =
        find(handle, "dwfl_begin", begin) && find(handle, "dwfl_end", end) &&
        find(handle, "dwfl_linux_proc_report", linux_proc_report) && find(handle, "dwfl_report_begin", report_begin) &&
        find(handle, "dwfl_report_elf", report_elf) && find(handle, "dwfl_report_end", report_end) &&
        find(handle, "dwfl_addrmodule", addrmodule) && find(handle, "dwfl_module_getsrc", module_getsrc) &&
        find(handle, "dwfl_lineinfo", lineinfo) && find(handle, "dwfl_module_addrname", module_addrname) &&
        find(handle, "dwfl_module_getsymtab", module_getsymtab) &&
        find(handle, "dwfl_module_getsym_info", module_getsym_info) && find(handle, "dwarf_ranges", ranges) &&
        find(handle, "dwfl_module_nextcu", module_nextcu) && find(handle, "dwarf_haspc", haspc) &&
        find(handle, "dwarf_getsrc_die", getsrc_die) && find(handle, "dwarf_lineno", lineno) &&
        find(handle, "dwarf_linesrc", linesrc) && find(handle, "dwarf_child", child) &&
        find(handle, "dwarf_siblingof", siblingof) && find(handle, "dwarf_tag", tag) && find(handle, "dwarf_attr", attr) &&
        find(handle, "dwarf_attr_integrate", attr_integrate) && find(handle, "dwarf_formstring", formstring) &&
        find(handle, "dwarf_formudata", formudata) && find(handle, "dwarf_getsrcfiles", getsrcfiles) &&
        find(handle, "dwarf_filesrc", filesrc) && find(handle, "dwfl_linux_proc_find_elf", find_elf) &&
        find(handle, "dwfl_build_id_find_debuginfo", find_debuginfo) &&
        find(handle, "dwfl_offline_section_address", section_address);
    ::dlclose(handle);
    return complete;
  }

 private:
  template <class Function>
  static bool find(void* handle, const char* name, Function*& function) noexcept {
    function = reinterpret_cast<Function*>(::dlsym(handle, name));
    return function != nullptr;
  }
};

}  // namespace detail

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
