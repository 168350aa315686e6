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
#include <whywait/record/named_ranges.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

extern "C" {
#define WHYWAIT_KOKKOS_KERNEL(KIND)                                                                            \
  __attribute__((visibility("default"))) void kokkosp_begin_##KIND(const char* name, uint32_t, uint64_t* id) { \
    if (id != nullptr) *id = 0;                                                                                \
    whywait::record::named_ranges::begin(name, "kokkos");                                                      \
  }                                                                                                            \
  __attribute__((visibility("default"))) void kokkosp_end_##KIND(uint64_t) { whywait::record::named_ranges::end(); }
WHYWAIT_KOKKOS_KERNEL(parallel_for)
WHYWAIT_KOKKOS_KERNEL(parallel_reduce)
WHYWAIT_KOKKOS_KERNEL(parallel_scan)
WHYWAIT_KOKKOS_KERNEL(fence)
#undef WHYWAIT_KOKKOS_KERNEL

__attribute__((visibility("default"))) void kokkosp_push_profile_region(const char* name) {
  whywait::record::named_ranges::begin(name, "kokkos");
}
__attribute__((visibility("default"))) void kokkosp_pop_profile_region() { whywait::record::named_ranges::end(); }
}

#endif  // WHYWAIT_DISABLE

#endif
