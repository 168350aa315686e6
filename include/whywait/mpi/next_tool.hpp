#ifndef WHYWAIT_MPI_NEXT_TOOL_HPP
#define WHYWAIT_MPI_NEXT_TOOL_HPP

#include <whywait/core/module.hpp>
#include <whywait/core/mpi_calls.hpp>

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The functions of another MPI tool that comes after this module in the order of symbol lookup, by core::mpi_call. Null: the
/// wrapper calls the MPI library. Written once, in MPI_Init, before other threads may call MPI.
__attribute__((visibility("hidden"))) inline void* next_functions[static_cast<size_t>(core::mpi_call::count_)];
/// Whether any of them is to be called: one load for all wrappers.
__attribute__((visibility("hidden"))) inline bool passes_on = false;

/// Calls the function of the tool behind this module, if there is one, else the MPI library. Costs one load and one branch that
/// is predicted. Calls of whywait itself use PMPI_ directly, so that tools see the calls of the program only.
#define WHYWAIT_MPI_NEXT(name, arguments)                                                                    \
  (__builtin_expect(::whywait::mpi::passes_on, 0) &&                                                         \
           ::whywait::mpi::next_functions[static_cast<size_t>(::whywait::core::mpi_call::name)] != nullptr   \
       ? reinterpret_cast<decltype(&PMPI_##name)>(                                                           \
             ::whywait::mpi::next_functions[static_cast<size_t>(::whywait::core::mpi_call::name)]) arguments \
       : PMPI_##name arguments)

/// Finds MPI tools that share the process: a library or program that defines MPI functions, and is neither MPI itself nor whywait.
class other_tools {
 public:
  /// Fills next_functions. Returns the path of the tool behind this module, or null. Cost: a symbol lookup for each MPI call
  /// with a wrapper, together about 0.1 ms.
  __attribute__((cold, visibility("hidden"))) static const char* find_next() noexcept {
    const module mpi = module_of(dlsym(RTLD_DEFAULT, "PMPI_Init"));
    if (mpi.begin == 0) return nullptr;
    const char* name = nullptr;
    module last = mpi;
    bool is_tool = false;
    for (size_t i = 1; i < static_cast<size_t>(core::mpi_call::count_); ++i) {
      void* const function = dlsym(RTLD_NEXT, core::name_of(static_cast<core::mpi_call>(i)));
      if (function == nullptr) continue;
      if (!last.contains(function)) {
        last = module_of(function);
        is_tool = last.begin != 0 && last.begin != mpi.begin && !has_whywait(last);
      }
      if (!is_tool) continue;
      next_functions[i] = function;
      passes_on = true;
      name = last.name;
    }
    return name;
  }

  /// The path of the tool whose MPI_Init the program calls in place of the wrapper, or null.
  __attribute__((cold, visibility("hidden"))) static const char* in_front() noexcept {
    void* const called = dlsym(RTLD_DEFAULT, "MPI_Init");
    const module mpi = module_of(dlsym(RTLD_DEFAULT, "PMPI_Init")), first = module_of(called);
    return mpi.begin != 0 && first.begin != 0 && first.begin != mpi.begin && !has_whywait(first) ? first.name : nullptr;
  }

 private:
  struct module {
    uintptr_t begin, end;
    const char* name;
    bool contains(const void* code) const noexcept { return reinterpret_cast<uintptr_t>(code) - begin < end - begin; }
  };
  struct module_search {
    const void* code;
    module found;
  };

  // dladdr would compare each address with all symbols of the library
  __attribute__((cold, visibility("hidden"))) static module module_of(const void* code) noexcept {
    module_search search{code, {0, 0, nullptr}};
    if (code != nullptr) dl_iterate_phdr(&compare, &search);
    return search.found;
  }
  __attribute__((cold, visibility("hidden"))) static int compare(dl_phdr_info* info, size_t, void* search) noexcept {
    module_search& s = *static_cast<module_search*>(search);
    module all{~uintptr_t(0), 0, *info->dlpi_name != 0 ? info->dlpi_name : "the executable"};
    bool has_code = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type != PT_LOAD) continue;
      const module part{info->dlpi_addr + header.p_vaddr, info->dlpi_addr + header.p_vaddr + header.p_memsz, nullptr};
      has_code = has_code || part.contains(s.code);
      if (part.begin < all.begin) all.begin = part.begin;
      if (part.end > all.end) all.end = part.end;
    }
    if (has_code) s.found = all;
    return has_code ? 1 : 0;
  }

  struct card_in_module : core::card_search {
    const module* where;
    bool found;
  };
  /// Wrappers of another copy of whywait pass a call on to this one's next function, which would be themselves.
  __attribute__((cold, visibility("hidden"))) static bool has_whywait(const module& where) noexcept {
    card_in_module search{{[](core::card_search& self, core::module_card& card) noexcept {
                            card_in_module& s = static_cast<card_in_module&>(self);
                            return s.found = s.where->contains(&card);
                          }},
                          &where,
                          false};
    search.run();
    return search.found;
  }
};

/// Keeps calls of wrappers from the tool behind this module while it lives. Inside MPI_Init only: no other thread calls MPI.
class __attribute__((visibility("hidden"))) without_next_tool {
 public:
  __attribute__((cold)) without_next_tool() noexcept : passed_on_(passes_on) { passes_on = false; }
  __attribute__((cold)) ~without_next_tool() { passes_on = passed_on_; }
  without_next_tool(const without_next_tool&) = delete;
  without_next_tool& operator=(const without_next_tool&) = delete;

 private:
  const bool passed_on_;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
