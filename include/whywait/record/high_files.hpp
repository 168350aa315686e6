#ifndef WHYWAIT_RECORD_HIGH_FILES_HPP
#define WHYWAIT_RECORD_HIGH_FILES_HPP

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// Gives a file that a recorder has just opened a number that the program does not need: from half of the limit on (at most 1024),
/// so that the program still receives the lowest numbers, and at most a quarter of what it may open, so that it does not run out.
/// Returns the new number; negative, with errno: `file` is negative, or the quarter is in use, and then it is closed.
/// Four system calls.
inline int high_file(int file) noexcept {
  if (file < 0) return file;
  rlimit limit;
  const bool known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
  const rlim_t all = known && limit.rlim_cur < 16384 ? limit.rlim_cur : 16384;
  const rlim_t first = all / 2 < 1024 ? all / 2 : 1024;
  long moved = syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, static_cast<long>(first));
  syscall(SYS_close, file);
  if (moved >= 0 && static_cast<rlim_t>(moved) >= first + all / 4) {
    syscall(SYS_close, moved);
    moved = -1;
  }
  if (moved < 0) errno = EMFILE;
  return static_cast<int>(moved);
}

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
