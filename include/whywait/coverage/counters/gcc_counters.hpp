#ifndef WHYWAIT_COVERAGE_COUNTERS_GCC_COUNTERS_HPP
#define WHYWAIT_COVERAGE_COUNTERS_GCC_COUNTERS_HPP

#include <whywait/core/warning.hpp>
#include <whywait/coverage/counters/arcs.hpp>
#include <whywait/coverage/counters/attributes.hpp>

#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

#if !defined(WHYWAIT_DISABLE) && !defined(__clang__)

// Structures that g++ 10 to 13 emits for each object file under -fprofile-arcs (gcc/gcov-io.h, libgcc/libgcov.h).
struct gcov_info;

namespace whywait {
inline namespace v0 {
namespace coverage {
namespace detail {

struct gcov_counters {
  uint32_t count;
  int64_t* values;
};
struct gcov_function {
  const gcov_info* key;  // identifies the object file whose copy of an inline function the linker kept
  uint32_t ident, lines_checksum, flow_checksum;
  gcov_counters counters[1];  // one for each kind with an entry in `merge`
};
constexpr unsigned gcov_kinds = 8;
struct gcov_object {
  uint32_t version;
  gcov_object* next;
  uint32_t stamp;
#if __GNUC__ >= 12
  uint32_t checksum;
#endif
  const char* data_file;
  void (*merge[gcov_kinds])(int64_t*, uint32_t);
  uint32_t function_count;
  const gcov_function* const* functions;
};

// The version has four letters. 'B', '2' are the tens and ones of the compiler version, here 12.
WHYWAIT_NO_COVERAGE __attribute__((cold)) inline bool understood(uint32_t version) noexcept {
  const unsigned compiler = ((version >> 24) - 'A') * 10 + ((version >> 16) & 0xff) - '0';
  if (compiler == __GNUC__ && compiler >= 10 && compiler <= 13) return true;
  core::warn(
      "unsupported g++ coverage counters; the blocks of this file are not counted; "
      "compile all files with one version from 10 to 13");
  return false;
}

WHYWAIT_NO_COVERAGE __attribute__((cold)) inline void add_object(const gcov_info* info) noexcept {
  const gcov_object* const object = reinterpret_cast<const gcov_object*>(info);
  if (!understood(object->version)) return;
  if (object->merge[0] == nullptr) return;  // arcs are the first kind
  const auto counts = [info](const gcov_function* f) noexcept { return f != nullptr && f->key == info; };
  uint32_t kept = 0, counters = 0;
  for (uint32_t f = 0; f < object->function_count; ++f) {
    if (!counts(object->functions[f])) continue;
    ++kept;
    counters += object->functions[f]->counters[0].count;
  }
  arcs_of_object made;
  if (!made.open(kept, counters, object->data_file, object->stamp)) return;
  for (uint32_t f = 0; f < object->function_count; ++f) {
    const gcov_function* const from = object->functions[f];
    if (counts(from)) made.add(from->ident, from->flow_checksum, from->counters[0].count, from->counters[0].values);
  }
  made.close();
}

}  // namespace detail
}  // namespace coverage
}  // namespace v0
}  // namespace whywait

// Replaces libgcov. The object files of this module register their counters before any other constructor runs. No data
// files are written, and no library needs to be linked.
extern "C" {
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void __gcov_init(gcov_info* object) {
  whywait::coverage::detail::add_object(object);
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void __gcov_exit() {}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) void __gcov_merge_add(int64_t*, unsigned) {}
// Replacements that g++ inserts for fork(), execv(), execvp() and execve() in instrumented code.
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) pid_t __gcov_fork() { return fork(); }
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) int __gcov_execv(const char* path,
                                                                                             char* const* arguments) {
  return execv(path, arguments);
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) int __gcov_execvp(const char* file,
                                                                                              char* const* arguments) {
  return execvp(file, arguments);
}
WHYWAIT_NO_COVERAGE __attribute__((weak, visibility("hidden"), used, cold)) int __gcov_execve(const char* path,
                                                                                              char* const* arguments,
                                                                                              char* const* environment) {
  return execve(path, arguments, environment);
}
}

#endif

#endif
