#ifndef WHYWAIT_THREAD_FUTEX_HPP
#define WHYWAIT_THREAD_FUTEX_HPP

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace whywait {
#ifdef WHYWAIT_DISABLE
inline namespace v0_off {
#else
inline namespace v0 {
#endif
namespace threads {

/// Sleeps while `word` has this value, at most until an instant of CLOCK_MONOTONIC (or CLOCK_REALTIME); null: without limit.
/// Returns ETIMEDOUT, or 0 after a wake-up, also a spurious one, and if the value is another one.
inline int futex_wait(const uint32_t* word, uint32_t value, const timespec* until = nullptr, bool real_time = false) noexcept {
  const int what = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | (real_time ? FUTEX_CLOCK_REALTIME : 0);
  const int kept_errno = errno;
  const long result = syscall(SYS_futex, word, what, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
  const bool timed_out = result != 0 && errno == ETIMEDOUT;
  errno = kept_errno;
  return timed_out ? ETIMEDOUT : 0;
}
/// Wakes up to `count` threads that sleep on `word`, which may have been freed meanwhile.
inline void futex_wake(const uint32_t* word, int count = INT_MAX) noexcept {
  const int kept_errno = errno;
  syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, nullptr, nullptr, 0);
  errno = kept_errno;
}

}  // namespace threads
}  // inline namespace
}  // namespace whywait

#endif
