#ifndef WHYWAIT_REPORT_SYMBOLISE_HPP
#define WHYWAIT_REPORT_SYMBOLISE_HPP

#include <whywait/base/cpp_name.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/code_index.hpp>
#include <whywait/report/code_place.hpp>
#include <whywait/report/inlined_call.hpp>
#include <whywait/report/libdw.hpp>
#include <whywait/report/module_list.hpp>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Symbols of a code address. Unknown members are empty or 0.
struct code_place {
  std::string module;        ///< base name of the executable or library, the same on every rank
  std::uint64_t offset = 0;  ///< address in the file
  std::string function;      ///< complete demangled name
  std::string file;          ///< path as it was given to the compiler
  int line = 0;
  std::uint64_t begin = 0;  ///< address of the function
  std::uint32_t bytes = 0;  ///< its size

  // Out of line, as those of base::place.
  code_place() = default;
  [[gnu::noinline]] code_place(const code_place&) = default;
  [[gnu::noinline]] code_place(code_place&&) = default;
  [[gnu::noinline]] code_place& operator=(code_place&&) = default;
  [[gnu::noinline]] ~code_place() = default;
};

/// Finds function, file and line of code addresses of the running process, after the run and on the rank that owns them
/// (address space layout randomisation gives every rank other addresses). Reads debug information through elfutils'
/// libdw (Debian: libdw1) if it is there, from the files themselves or from /usr/lib/debug by build identifier, never
/// over the network; else the dynamic symbol table. First use about 1 ms plus 5 to 50 ms per module with debug
/// information, then some us per address. One thread at a time. Code of a library that was closed again gives nothing.
class symboliser {
 public:
  /// `library`: null to work without debug information.
  /// `modules`: the modules of another process, which must outlive the symboliser; null for this process.
  explicit symboliser(const char* library = "libdw.so.1", const module_list* modules = nullptr)
      : library_(library), modules_(modules) {}
  symboliser(const symboliser&) = delete;
  symboliser& operator=(const symboliser&) = delete;
  ~symboliser() {
    detail::code_index::drop(modules_read_);
    if (session_ != nullptr) dw_.end(session_);
  }

  /// Symbols of the call that returns to `return_address`; the line is that of the call instruction.
  code_place of_call(const void* return_address) {
    return look_up(return_address, reinterpret_cast<std::uintptr_t>(return_address) - 1);
  }

  /// The same, but not in a header of the C++ library or of whywait: where functions of those were inlined (std::lock_guard), the
  /// line is that of the call in the program's own code. Where they were not, the result is in such a header (is_of_library).
  code_place of_call_outside(const void* return_address) {
    code_place out = of_call(return_address);
    if (!is_of_library(out.file)) return out;
    for (const detail::inlined_calls::call& c : inlined_around(return_address, true)) {
      if (is_of_library(c.file)) continue;
      out.file = c.file;
      out.line = c.line;
      break;
    }
    return out;
  }

  /// Where the functions were called that the compiler inlined around a call, innermost first; empty: none. `code` is the result of
  /// of_call; its function becomes the innermost one. One pass over the functions of the compilation unit.
  base::vector<code_place> callers_of_inlined(const void* return_address, code_place& code) {
    base::vector<code_place> out;
    const std::string containing = code.function;
    for (const detail::inlined_calls::call& c : inlined_around(return_address, false)) {
      code_place& called = out.empty() ? code : out.back();
      // what a lambda does is known by the function around it
      if (c.function != nullptr && std::strncmp(c.function, "operator", 8) != 0) called.function = base::demangle(c.function);
      out.emplace_back();
      out.back().file = c.file;
      out.back().line = c.line;
      out.back().function = containing;
    }
    return out;
  }

  /// Symbols of the code at `address`, such as the begin of a function.
  code_place of_code(const void* address) { return look_up(address, reinterpret_cast<std::uintptr_t>(address)); }

  /// Whether debug information can be read at all. Loads the library.
  bool has_debug_information() { return open(); }

 private:
  [[gnu::noinline]] detail::inlined_calls inlined_around(const void* return_address, bool nested) {
    const std::uintptr_t inside = reinterpret_cast<std::uintptr_t>(return_address) - 1;
    detail::dwfl_module* const module = session_ != nullptr ? dw_.addrmodule(session_, inside) : nullptr;
    std::uint64_t bias = 0;
    detail::dwarf_die* const unit = module != nullptr ? index_of(module).unit_at(inside, bias) : nullptr;
    return {dw_, unit, inside - bias, nested};
  }
  code_place look_up(const void* address, std::uintptr_t inside) {
    code_place out;
    if (address == nullptr) return out;
    const void* const instruction = reinterpret_cast<const void*>(inside);
    const module_offset where = modules_ != nullptr ? modules_->offset_of(instruction) : module_offset_of(instruction);
    out.module = where.module;
    out.offset = where.offset + (reinterpret_cast<std::uintptr_t>(address) - inside);
    if (!(modules_ == nullptr && is_of_c_library(out.module)) && open() && has_room()) {
      if (detail::dwfl_module* const module = dw_.addrmodule(session_, inside)) {
        if (const char* const name = index_of(module).function_at(inside, out.begin, out.bytes))
          out.function = base::demangle(name);
        const char* file = nullptr;
        if (detail::dwfl_line* const line = dw_.module_getsrc(module, inside))
          file = dw_.lineinfo(line, nullptr, &out.line, nullptr, nullptr, nullptr);
        else file = search_units(module, inside, out.line);
        if (file != nullptr && out.line > 0) out.file = file;
        else out.line = 0;
      }
    }
    if (out.function.empty() && modules_ == nullptr) {
      Dl_info info{};
      if (::dladdr(instruction, &info) != 0 && info.dli_sname != nullptr) out.function = base::demangle(info.dli_sname);
    }
    return out;
  }

  /// Of this process, the exported symbols of the C library are enough: what calls main, a comparison of qsort or a thread
  /// has no line in the program. Its debug information takes 80 ms and 28 MiB where it is installed (Debian: libc6-dbg).
  static bool is_of_c_library(const std::string& module) noexcept { return module.compare(0, 8, "libc.so.") == 0; }

  /// libdw (0.188 at least) finds a unit by .debug_aranges alone, which clang does not write.
  const char* search_units(detail::dwfl_module* module, std::uint64_t address, int& line_number) {
    std::uint64_t bias = 0;
    detail::dwarf_die* const unit = index_of(module).unit_at(address, bias);
    detail::dwarf_line* const line = unit != nullptr ? dw_.getsrc_die(unit, address - bias) : nullptr;
    return line != nullptr && dw_.lineno(line, &line_number) == 0 ? dw_.linesrc(line, nullptr, nullptr) : nullptr;
  }

  detail::code_index& index_of(detail::dwfl_module* module) { return detail::code_index::of(module, modules_read_, dw_); }

  bool open() {
    if (library_ == nullptr) return session_ != nullptr;
    const char* const library = library_;
    library_ = nullptr;  // no second attempt
    if (!has_room() || !dw_.load(library)) return false;
    callbacks_ = {dw_.find_elf, dw_.find_debuginfo, dw_.section_address, nullptr};
    session_ = dw_.begin(&callbacks_);
    if (session_ == nullptr) return false;
    if (!report_modules() || dw_.report_end(session_, nullptr, nullptr) != 0) {
      dw_.end(session_);
      session_ = nullptr;
    }
    return session_ != nullptr;
  }

  /// libdw ends the process if memory is exhausted, so that it is not called where little address space is left
  /// (tests/mpi/address_space.py).
  static bool has_room() noexcept {
    constexpr std::size_t bytes = std::size_t(64) << 20;
    void* const room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) return false;
    ::munmap(room, bytes);
    return true;
  }

  bool report_modules() {
    if (modules_ == nullptr) return dw_.linux_proc_report(session_, ::getpid()) == 0;
    dw_.report_begin(session_);
    for (const loaded_module& m : modules_->all())
      if (m.file_is_same) dw_.report_elf(session_, m.path.c_str(), m.path.c_str(), -1, m.base, true);
    return true;
  }

  const char* library_;
  const module_list* modules_;
  detail::libdw dw_;
  detail::dwfl_callbacks callbacks_{};  ///< libdwfl keeps a pointer to it
  detail::dwfl* session_ = nullptr;
  detail::code_index* modules_read_ = nullptr;
};

/// Moves the symbols of an address into a place of the name table.
[[gnu::noinline]] inline void put_code(base::place& p, code_place&& code) {
  p.file = std::move(code.file);
  p.line = code.line;
  p.function = std::move(code.function);
  p.module = std::move(code.module);
  p.offset = code.offset;
}

/// A call site for the name table: the symbols of `of_call`, the name of the call and the enclosing regions.
[[gnu::noinline]] inline base::place call_place(code_place code, std::string call, std::string region) {
  base::place p;
  p.call = std::move(call);
  p.region = std::move(region);
  put_code(p, std::move(code));
  return p;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
