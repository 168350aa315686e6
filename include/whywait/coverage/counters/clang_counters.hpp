#ifndef WHYWAIT_COVERAGE_COUNTERS_CLANG_COUNTERS_HPP
#define WHYWAIT_COVERAGE_COUNTERS_CLANG_COUNTERS_HPP

#include <whywait/coverage/counters/arcs.hpp>
#include <whywait/coverage/counters/attributes.hpp>

#include <stdint.h>

#if !defined(WHYWAIT_DISABLE) && defined(__clang__)

namespace whywait {
inline namespace v0 {
namespace coverage {
namespace detail {

/// Collects the counters of clang's object files. When an object file is requested to write them, it calls the
/// functions below (compiler-rt/lib/profile/GCDAProfiling.c). The first request measures their size and the second one
/// collects them.
struct object_counters {
  arcs_of_object made;
  const char* data_file;
  uint32_t stamp, functions, counters;  // of the current object file
  uint32_t ident, checksum;
  bool taking;
};
// Hidden, so that each module has its own. The constructors of a module run sequentially.
__attribute__((visibility("hidden"))) inline object_counters current_object = {};

}  // namespace detail
}  // namespace coverage
}  // namespace v0
}  // namespace whywait

// Replaces clang's profile library. No data files are written, and no library needs to be linked.
extern "C" {
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcov_init(void (*write)(), void (*)()) {
  using namespace whywait::coverage::detail;
  current_object = object_counters();
  write();
  if (!current_object.made.open(current_object.functions, current_object.counters, current_object.data_file,
                                current_object.stamp))
    return;
  current_object.taking = true;
  write();
  current_object.made.close();
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_start_file(const char* data_file,
                                                                                                      uint32_t,
                                                                                                      uint32_t stamp) {
  whywait::coverage::detail::current_object.data_file = data_file;
  whywait::coverage::detail::current_object.stamp = stamp;
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_emit_function(uint32_t ident,
                                                                                                         uint32_t checksum,
                                                                                                         uint32_t) {
  whywait::coverage::detail::current_object.ident = ident;
  whywait::coverage::detail::current_object.checksum = checksum;
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_emit_arcs(uint32_t count,
                                                                                                     uint64_t* counters) {
  using namespace whywait::coverage::detail;
  ++current_object.functions;
  current_object.counters += count;
  if (current_object.taking) current_object.made.add(current_object.ident, current_object.checksum, count, counters);
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_summary_info() {}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_end_file() {}
}

#endif

#endif
