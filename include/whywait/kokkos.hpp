#ifndef WHYWAIT_KOKKOS_HPP
#define WHYWAIT_KOKKOS_HPP

/// Hooks of Kokkos Tools: kernels, fences and profiling regions of a Kokkos program become regions, without a change of the
/// program. Compile one file with this include to a shared library and name it in KOKKOS_TOOLS_LIBS:
///
///     echo '#include <whywait/kokkos.hpp>' > hooks.cpp
///     c++ -std=c++17 -O2 -shared -fPIC -I include hooks.cpp -o libwhywait_kokkos.so
///     KOKKOS_TOOLS_LIBS=$PWD/libwhywait_kokkos.so mpirun -n 4 ./app       # app is observed by whywait
///
/// In one file only, because it defines functions. Kernels of an asynchronous device are as long as their launch; the time until
/// they are done is in the fence that follows. Names are those that the program gives.

#include <whywait/record.hpp>

#include <stdint.h>

#include <string>
#include <vector>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace kokkos {

/// The regions that a thread has begun and not ended; Kokkos does not repeat the name at the end.
inline std::vector<std::string>& open_regions() {
  thread_local std::vector<std::string> open;
  return open;
}
inline void begin(const char* name) {
  open_regions().emplace_back(name != nullptr && *name != '\0' ? name : "(unnamed)");
  whywait::begin(open_regions().back(), "kokkos", 0);
}
inline void end() {
  if (open_regions().empty()) return;
  whywait::end(open_regions().back(), "kokkos", 0);
  open_regions().pop_back();
}

}  // namespace kokkos
}  // namespace v0
}  // namespace whywait

extern "C" {
#define WHYWAIT_KOKKOS_KERNEL(KIND)                                                                            \
  __attribute__((visibility("default"))) void kokkosp_begin_##KIND(const char* name, uint32_t, uint64_t* id) { \
    if (id != nullptr) *id = 0;                                                                                \
    whywait::kokkos::begin(name);                                                                              \
  }                                                                                                            \
  __attribute__((visibility("default"))) void kokkosp_end_##KIND(uint64_t) { whywait::kokkos::end(); }
WHYWAIT_KOKKOS_KERNEL(parallel_for)
WHYWAIT_KOKKOS_KERNEL(parallel_reduce)
WHYWAIT_KOKKOS_KERNEL(parallel_scan)
WHYWAIT_KOKKOS_KERNEL(fence)
#undef WHYWAIT_KOKKOS_KERNEL

__attribute__((visibility("default"))) void kokkosp_push_profile_region(const char* name) { whywait::kokkos::begin(name); }
__attribute__((visibility("default"))) void kokkosp_pop_profile_region() { whywait::kokkos::end(); }
}

#endif  // WHYWAIT_DISABLE

#endif
