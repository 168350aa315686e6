#ifndef WHYWAIT_MPI_BINDINGS_HPP
#define WHYWAIT_MPI_BINDINGS_HPP

#include <whywait/core/module.hpp>
#include <whywait/core/warning.hpp>
#include <whywait/mpi/binding_frames.hpp>
#include <whywait/mpi/python_places.hpp>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The libraries through which other languages call MPI. The Fortran libraries of MPI translate constants, handles and
/// descriptors and call the C functions then, some of them under their names for tools: PMPI_Send, where a wrapper of MPI_Send
/// sees nothing (Open MPI: all three bindings; MPICH: `use mpi_f08`). `connect` makes these calls end in the wrapper, by changing
/// the addresses in the table of imported functions of the library, as the loader would do. So there is one wrapper per MPI
/// function, no call counts twice, and calls from C cost nothing more. In the same way the extension modules of Python that call
/// MPI report the Python code (python_places.hpp).
class bindings {
 public:
  /// Examines all loaded modules. When the program starts and in MPI_Init: a library may have been loaded later. False and one line
  /// on standard error if a preloaded whywait has brought another MPI library into the program: handles would be mixed up.
  __attribute__((cold, visibility("hidden"))) static bool connect() noexcept {
    found_modules all;
    dl_iterate_phdr(&list_module, &all);
    if (all.library[1] != nullptr) {
      static bool warned = false;
      if (!warned && core::first_of_the_launch())
        core::warn(
            "two MPI libraries are loaded, ", all.library[0], " and ", all.library[1],
            ": nothing is recorded, and the program may crash; preload the libwhywait_mpi.so for the MPI of the program");
      warned = true;
      return false;
    }
    for (uint32_t i = 0; i != all.count; ++i) {
      const module& m = all.modules[i];
      if (!m.is_python) {
        if (known_bindings.add(m.code_begin, m.code_end, false)) redirect(m, &wrapper_of);
      } else if (known_python.find_interpreter() && calls_mpi(m) && known_bindings.add(m.code_begin, m.code_end, true)) {
        redirect(m, &python_function);
      }
    }
    return true;
  }

 private:
  struct module {
    uintptr_t base, code_begin, code_end;
    uintptr_t constant_begin, constant_end;  // read-only after relocation
    const ElfW(Dyn) * dynamic;
    bool is_python;
  };
  struct found_modules {
    module modules[256];
    uint32_t count = 0;
    const char* library[2] = {nullptr, nullptr};  // the C functions of MPI
  };

  // libmpi_mpifh, libmpi_usempif08, libmpi_usempi_ignore_tkr (Open MPI); libmpichfort, libmpifort (MPICH and its relatives)
  __attribute__((visibility("hidden"))) static bool is_fortran(const char* path) noexcept {
    const char* const slash = strrchr(path, '/');
    const char* const name = slash != nullptr ? slash + 1 : path;
    return strncmp(name, "libmpi", 6) == 0 &&
           (strstr(name, "fort") != nullptr || strstr(name, "mpifh") != nullptr || strstr(name, "usempi") != nullptr);
  }

  __attribute__((cold, visibility("hidden"))) static int list_module(dl_phdr_info* info, size_t, void* list) noexcept {
    found_modules& all = *static_cast<found_modules*>(list);
    const char* const slash = strrchr(info->dlpi_name, '/');
    const char* const name = slash != nullptr ? slash + 1 : info->dlpi_name;
    if (strncmp(name, "libmpi.so.", 10) == 0 || strncmp(name, "libmpich.so.", 12) == 0)
      all.library[all.library[0] != nullptr ? 1 : 0] = info->dlpi_name;
    const bool is_python = strstr(name, ".cpython-") != nullptr || strstr(name, ".abi3.so") != nullptr;  // extension modules
    if ((!is_fortran(name) && !is_python) || all.count == sizeof all.modules / sizeof *all.modules) return 0;
    module m{info->dlpi_addr, 0, 0, 0, 0, nullptr, is_python};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      const uintptr_t begin = info->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
      if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
        if (m.code_begin == 0 || begin < m.code_begin) m.code_begin = begin;
        if (end > m.code_end) m.code_end = end;
      } else if (header.p_type == PT_GNU_RELRO) {
        m.constant_begin = begin;
        m.constant_end = end;
      } else if (header.p_type == PT_DYNAMIC) {
        m.dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
      }
    }
    if (m.dynamic != nullptr && m.code_begin != 0) all.modules[all.count++] = m;
    return 0;
  }

  /// The functions that a module imports, as names and places of their addresses.
  class imports {
   public:
    explicit imports(const module& m) noexcept : base_(m.base) {
      const auto at = [&](uintptr_t address) { return address < base_ ? address + base_ : address; };
      bool has_addends = true;
      for (const ElfW(Dyn)* entry = m.dynamic; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_STRTAB) names_ = reinterpret_cast<const char*>(at(entry->d_un.d_ptr));
        else if (entry->d_tag == DT_SYMTAB) symbols_ = reinterpret_cast<const ElfW(Sym)*>(at(entry->d_un.d_ptr));
        else if (entry->d_tag == DT_JMPREL) tables_[0] = reinterpret_cast<const ElfW(Rela)*>(at(entry->d_un.d_ptr));
        else if (entry->d_tag == DT_PLTRELSZ) counts_[0] = entry->d_un.d_val / sizeof(ElfW(Rela));
        else if (entry->d_tag == DT_RELA) tables_[1] = reinterpret_cast<const ElfW(Rela)*>(at(entry->d_un.d_ptr));
        else if (entry->d_tag == DT_RELASZ) counts_[1] = entry->d_un.d_val / sizeof(ElfW(Rela));
        else if (entry->d_tag == DT_PLTREL) has_addends = entry->d_un.d_val == DT_RELA;
      }
      if (names_ == nullptr || symbols_ == nullptr || !has_addends) tables_[0] = tables_[1] = nullptr;
    }

    /// Calls use(name, place) for each.
    template <class Use>
    void each(Use&& use) const noexcept {
      for (int t = 0; t != 2; ++t)
        for (size_t i = 0; tables_[t] != nullptr && i != counts_[t]; ++i)
          if (is_import(tables_[t][i]))
            use(names_ + symbols_[symbol_of(tables_[t][i])].st_name, base_ + tables_[t][i].r_offset);
    }

   private:
    uintptr_t base_;
    const char* names_ = nullptr;
    const ElfW(Sym) * symbols_ = nullptr;
    const ElfW(Rela) * tables_[2] = {nullptr, nullptr};
    size_t counts_[2] = {0, 0};
  };

  /// Replaces each import for which `wanted(name)` is not null.
  template <class Wanted>
  __attribute__((cold)) static void redirect(const module& m, Wanted&& wanted) noexcept {
    const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t constant_begin = m.constant_begin & ~(page - 1), constant_end = m.constant_end & ~(page - 1);
    void* const constant = reinterpret_cast<void*>(constant_begin);
    const size_t constant_bytes = constant_end > constant_begin ? constant_end - constant_begin : 0;
    bool writable = false;
    imports(m).each([&](const char* name, uintptr_t place) {
      void* const replacement = wanted(name);
      if (replacement == nullptr) return;
      if (place - constant_begin < constant_bytes && !writable) {
        if (mprotect(constant, constant_bytes, PROT_READ | PROT_WRITE) != 0) return;
        writable = true;
      }
      __atomic_store_n(reinterpret_cast<void**>(place), replacement, __ATOMIC_RELEASE);
    });
    if (writable) mprotect(constant, constant_bytes, PROT_READ);
  }

  __attribute__((visibility("hidden"))) static void* wrapper_of(const char* name) noexcept {
    return strncmp(name, "PMPI_", 5) == 0 ? own_function(name + 1) : nullptr;
  }
  __attribute__((visibility("hidden"))) static void* python_function(const char* name) noexcept {
    if (strcmp(name, "PyEval_SaveThread") == 0) return reinterpret_cast<void*>(&save_python_thread);
    if (strcmp(name, "PyEval_RestoreThread") == 0) return reinterpret_cast<void*>(&restore_python_thread);
    return nullptr;
  }
  static bool calls_mpi(const module& m) noexcept {
    bool calls = false;
    imports(m).each([&](const char* name, uintptr_t) { calls = calls || strncmp(name, "MPI_", 4) == 0; });
    return calls;
  }

  static size_t symbol_of(const ElfW(Rela) & r) noexcept {
#if __SIZEOF_POINTER__ == 8
    return ELF64_R_SYM(r.r_info);
#else
    return ELF32_R_SYM(r.r_info);
#endif
  }
  /// Whether the place holds nothing but the address of a function of another module.
  static bool is_import(const ElfW(Rela) & r) noexcept {
#if defined(__x86_64__) && defined(__LP64__)
    return ELF64_R_TYPE(r.r_info) == R_X86_64_JUMP_SLOT || ELF64_R_TYPE(r.r_info) == R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
    return ELF64_R_TYPE(r.r_info) == R_AARCH64_JUMP_SLOT || ELF64_R_TYPE(r.r_info) == R_AARCH64_GLOB_DAT;
#else
    static_cast<void>(r);
    return false;
#endif
  }

  /// The function of this name that calls from other modules reach, if this module defines it; else null. So another module
  /// with wrappers of its own, or a tool in front of this one, keeps its calls.
  __attribute__((visibility("hidden"))) static void* own_function(const char* name) noexcept {
    void* const function = dlsym(RTLD_DEFAULT, name);
    Dl_info there{}, here{};
    if (function == nullptr || dladdr(function, &there) == 0 || dladdr(&whywait_v0_module, &here) == 0) return nullptr;
    return there.dli_fbase == here.dli_fbase ? function : nullptr;
  }
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
