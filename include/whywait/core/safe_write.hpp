#ifndef WHYWAIT_CORE_SAFE_WRITE_HPP
#define WHYWAIT_CORE_SAFE_WRITE_HPP

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// While it lives, writes of this thread send neither SIGPIPE nor SIGXFSZ: they fail with EPIPE or EFBIG, and the program goes on.
/// A signal that was pending before stays pending. Usable in signal handlers; errno is kept.
class write_signals_off {
 public:
  [[gnu::cold, gnu::noinline]] write_signals_off() noexcept {
    const int error = errno;
    sigset_t pending;
    sigemptyset(&off_);
    sigemptyset(&pending);
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE) == 0) sigaddset(&off_, SIGPIPE);
    if (sigismember(&pending, SIGXFSZ) == 0) sigaddset(&off_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &off_, &before_);
    errno = error;
  }
  [[gnu::cold, gnu::noinline]] ~write_signals_off() {
    const int error = errno;
    const timespec now{0, 0};
    // The system call itself: sigtimedwait may be observed (<whywait/pthread.hpp>), and threads are cancelled in it.
    while (syscall(SYS_rt_sigtimedwait, &off_, nullptr, &now, size_t(_NSIG / 8)) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  write_signals_off(const write_signals_off&) = delete;
  write_signals_off& operator=(const write_signals_off&) = delete;

 private:
  sigset_t off_, before_;
};

/// Whether descriptor 2 was closed when recording began. A file that the program opened later may have this number, so that no text
/// goes there. One for each module; the registry has that of the process.
__attribute__((visibility("hidden"))) inline bool stderr_closed = false;

[[gnu::cold]] inline bool is_stderr_closed() noexcept { return fcntl(2, F_GETFD) == -1 && errno == EBADF; }

/// Writes a line to standard error with one write(2).
[[gnu::cold, gnu::noinline]] inline void write_line(const char* line, size_t length) noexcept {
  if (stderr_closed) return;
  const write_signals_off guard;
  const int error = errno;
  const auto whole = write(2, line, length);
  (void)whole;  // a failure cannot be reported
  errno = error;
}

/// Writes text to a stream. A failure cannot be reported.
[[gnu::cold, gnu::noinline]] inline void write_text(const char* text, size_t length, FILE* stream) noexcept {
  if (stderr_closed && stream == stderr) return;
  const write_signals_off guard;
  fwrite(text, 1, length, stream);
  fflush(stream);
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
