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

/// What clang's object files say about their counters when they are asked to write them: they call the functions
/// below (compiler-rt/lib/profile/GCDAProfiling.c), once to be counted and once to be taken.
struct told_counters {
  arcs_of_object made;
  const char* data_file;
  uint32_t stamp, functions, counters;  // of the object file that is being told
  uint32_t ident, checksum;
  bool taking;
};
// Hidden: one for each module, whose constructors run one after another.
__attribute__((visibility("hidden"))) inline told_counters told = {};

}  // namespace detail
}  // namespace coverage
}  // namespace v0
}  // namespace whywait

// In the place of clang's profile library: no data files are written, and nothing needs to be linked.
extern "C" {
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcov_init(void (*tell)(),
                                                                                                void (*)()) {
  using namespace whywait::coverage::detail;
  told = told_counters();
  tell();
  if (!told.made.open(told.functions, told.counters, told.data_file, told.stamp)) return;
  told.taking = true;
  tell();
  told.made.close();
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_start_file(
    const char* data_file, uint32_t, uint32_t stamp) {
  whywait::coverage::detail::told.data_file = data_file;
  whywait::coverage::detail::told.stamp = stamp;
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_emit_function(
    uint32_t ident, uint32_t checksum, uint32_t) {
  whywait::coverage::detail::told.ident = ident;
  whywait::coverage::detail::told.checksum = checksum;
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_emit_arcs(
    uint32_t count, uint64_t* counters) {
  using namespace whywait::coverage::detail;
  ++told.functions;
  told.counters += count;
  if (told.taking) told.made.add(told.ident, told.checksum, count, counters);
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_summary_info() {}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void llvm_gcda_end_file() {}
}

#endif

#endif
