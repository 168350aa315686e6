#ifndef WHYWAIT_FINALIZE_EXIT_STATUS_HPP
#define WHYWAIT_FINALIZE_EXIT_STATUS_HPP

#include <whywait/core/warning.hpp>

#include <sys/types.h>
#include <unistd.h>
#include <cstdlib>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// Ends the process of rank 0 with a status of its own when the conditions of WHYWAIT_FAIL hold. MPI_Finalize returns as ever, and
/// all of the program after it runs; only the status of a program that ends well is replaced.
class exit_status {
 public:
  static constexpr int failed = 3;

  /// From now on a process that ends well has the status 3, until `passed`. Once per process.
  static void expect_check() noexcept {
    if (on_exit(&at_exit, nullptr) == 0) expected_in() = ::getpid();
  }
  static void passed() noexcept { expected_in() = 0; }
  static void has_reason() noexcept { told() = true; }

 private:
  static pid_t& expected_in() noexcept {
    static pid_t process = 0;
    return process;
  }
  static bool& told() noexcept {
    static bool has = false;
    return has;
  }
  static void at_exit(int status, void*) noexcept {
    if (status != 0 || expected_in() != ::getpid()) return;  // also in a child of fork
    expected_in() = 0;
    if (!told()) core::warn("WHYWAIT_FAIL was not checked, because the run was not explained; this process ends with status 3");
    std::exit(failed);  // glibc runs the remaining handlers, with the new status
  }
};

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
