#ifndef WHYWAIT_CORE_VERSION_HPP
#define WHYWAIT_CORE_VERSION_HPP

// What whywait needs. Each umbrella includes this header first. A missing header ends the compilation, which #error does not:
// thousands of errors would follow. So the name of the header is the message.
#if __cplusplus < 201703L
#include <whywait needs C++17 or later: compile with -std=c++17>
#elif !defined(__linux__) && !defined(WHYWAIT_DISABLE)
#include <whywait needs Linux: on other systems compile with -DWHYWAIT_DISABLE>
#endif

// The one source of the version: CMake, pkg-config and the reports read it from here, and
// scripts/version.py checks that the documents agree. Semantic versioning 2.0.

/// Changes when programs must be changed.
#define WHYWAIT_VERSION_MAJOR 0
/// Changes when something was added; below 1.0 also when programs must be changed.
#define WHYWAIT_VERSION_MINOR 2
/// Changes when something was repaired.
#define WHYWAIT_VERSION_PATCH 0

namespace whywait {
inline namespace v0 {
namespace core {

/// Version of the headers this file was compiled with, for tests at compile time.
struct version_number {
  int major_part;
  int minor_part;
  int patch_part;
};

/// Compile-time constant, no cost, any thread.
constexpr version_number version() noexcept { return {WHYWAIT_VERSION_MAJOR, WHYWAIT_VERSION_MINOR, WHYWAIT_VERSION_PATCH}; }

}  // namespace core
}  // namespace v0
}  // namespace whywait

#elif WHYWAIT_VERSION_MAJOR != 0 || WHYWAIT_VERSION_MINOR != 2 || WHYWAIT_VERSION_PATCH != 0
#error "two versions of whywait meet in one file: include the headers of one version only"
#endif
