#ifndef WHYWAIT_THREAD_GOMP_RUNTIME_HPP
#define WHYWAIT_THREAD_GOMP_RUNTIME_HPP

#include <whywait/core/warning.hpp>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef WHYWAIT_DISABLE

extern "C" {  // provided by the linker if a module contains gomp.hpp
extern __attribute__((weak, visibility("hidden"))) const char __start_whywait_gomp_text[], __stop_whywait_gomp_text[];
}

namespace whywait {
inline namespace v0 {
namespace threads {
namespace gomp {

/// Where GCC's runtime is loaded, if it is the one that the program's calls reach. A program under LLVM's runtime may call some of the same
/// functions, and a library that is loaded while the program runs may bring a runtime that only it can see.
__attribute__((visibility("hidden"))) inline const void* runtime_base = nullptr;  // null: not looked up
__attribute__((visibility("hidden"))) inline const char no_runtime = 0;

__attribute__((noinline, cold)) inline const void* find_runtime() noexcept {
  Dl_info info;
  const void* const next = dlsym(RTLD_NEXT, "GOMP_parallel");
  const bool is_gcc =
      next != nullptr && dladdr(next, &info) != 0 && info.dli_fname != nullptr && strstr(info.dli_fname, "libgomp") != nullptr;
  const void* const base = is_gcc ? info.dli_fbase : &no_runtime;
  __atomic_store_n(&runtime_base, base, __ATOMIC_RELAXED);
  return base;
}
/// Whether calls are observed; else they are passed on to what `function_of_caller` finds. About 1 ns.
inline bool is_observed() noexcept {
  const void* base = __atomic_load_n(&runtime_base, __ATOMIC_RELAXED);
  if (__builtin_expect(base == nullptr, 0)) base = find_runtime();
  return base != &no_runtime;
}
/// Whether the observed runtime creates the thread. False before its first call.
inline bool creates_members(const void* address) noexcept {
  const void* const base = __atomic_load_n(&runtime_base, __ATOMIC_RELAXED);
  Dl_info info;
  return base != nullptr && base != &no_runtime && dladdr(address, &info) != 0 && info.dli_fbase == base;
}

/// Where the innermost region begins of which the calling thread runs a part; null: none. Stands for a place in `is_member_code`.
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local const void* region_place = nullptr;

/// How often a thread makes atomic operations that need the runtime's lock, such as the end of a reduction of Fortran.
struct atomic_rate {
  uint64_t since_ns;
  uint32_t count;

  /// To be called by each. Whether there are more than 50,000 in a second: the lock is held for some instructions.
  bool are_frequent() noexcept {
    constexpr uint32_t some = 1024;
    constexpr uint64_t short_ns = some * uint64_t(1000000000) / 50000;
    if (++count % some != 0) return false;
    timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) return true;
    const uint64_t now_ns = static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
    const bool frequent = since_ns != 0 && now_ns - since_ns < short_ns;
    since_ns = now_ns;
    return frequent;
  }
};
__attribute__((visibility("hidden"), tls_model("initial-exec"))) inline thread_local atomic_rate recent_atomics = {};

/// Whether the address is in a function that calls those of regions and tasks: to it returns the last call of such a function if that is a
/// jump.
inline bool is_member_code(const void* address) noexcept {
  const char* const at = static_cast<const char*>(address);
  return at >= __start_whywait_gomp_text && at <= __stop_whywait_gomp_text;
}

/// A function that a caller would reach if it was not interposed. Written once.
struct function_of_address {
  uint64_t key;  // 0: unused
  void* function;  // null: not yet
};
constexpr uint32_t most_functions = 1u << 9;
__attribute__((visibility("hidden"))) inline function_of_address passed_on[most_functions];

__attribute__((noinline, cold)) inline void* find_of_caller(const char* name, const void* address) noexcept {
  const uint64_t key =
      (reinterpret_cast<uintptr_t>(address) * 0x9e3779b97f4a7c15u ^ reinterpret_cast<uintptr_t>(name) * 0xbf58476d1ce4e5b9u) |
      1;
  function_of_address* place = nullptr;
  for (uint32_t tries = 0, at = static_cast<uint32_t>(key >> 55); tries != 16 && place == nullptr; ++tries) {
    function_of_address& each = passed_on[(at + tries) % most_functions];
    uint64_t known = __atomic_load_n(&each.key, __ATOMIC_RELAXED);
    if (known == key) {
      if (void* const function = __atomic_load_n(&each.function, __ATOMIC_ACQUIRE)) return function;
      break;  // another thread looks it up
    }
    if (known == 0 && __atomic_compare_exchange_n(&each.key, &known, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      place = &each;
  }
  void* found = dlsym(RTLD_NEXT, name);
  Dl_info info = {};
  if (found == nullptr && dladdr(address, &info) != 0) {
    if (void* const module = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
      found = dlsym(module, name);
      dlclose(module);
    }
  }
  Dl_info own = {};
  if (found != nullptr && dladdr(found, &info) != 0 && dladdr(&no_runtime, &own) != 0 && info.dli_fbase == own.dli_fbase)
    found = nullptr;  // it would call itself
  if (found == nullptr) {
    core::warn("no library has ", name, ", which whywait passes on; is the OpenMP runtime linked statically?");
    abort();
  }
  // A runtime that was loaded and closed again would leave pointers to nothing here.
  dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (place != nullptr) __atomic_store_n(&place->function, found, __ATOMIC_RELEASE);
  return found;
}
/// The function `name`, a literal, of the runtime that the module of `address` was linked with. About 3 ns; 5 us for a new caller.
template <class Function>
Function* function_of_caller(const char* name, const void* address) noexcept {
  return reinterpret_cast<Function*>(find_of_caller(name, address));
}

}  // namespace gomp
}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
