#ifndef WHYWAIT_MPI_OWN_DELAY_HPP
#define WHYWAIT_MPI_OWN_DELAY_HPP

#include <whywait/core/clock.hpp>

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// How long the thread that started MPI was ready to run outside MPI and had no processor. Linux counts how long a thread was
/// ready (schedstat). The count is read after long calls and after long stretches of code, where long means 512 times a
/// reading, about 0.5 ms. Code that lost its processor for long is long itself, so that no such time is missed, and readings
/// take at most 0.4 % of the run. Owned by one thread.
class own_delay {
 public:
  /// Opens the count of the calling thread, until the process ends. Without it nothing is ever long.
  void start() noexcept {
    file_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    uint64_t least = ~uint64_t(0);
    for (int i = 0; i < 4; ++i) {
      const uint64_t begin = core::cycle_clock::now();
      if (!read(last_ns_)) return;
      const uint64_t ticks = core::cycle_clock::now() - begin;
      if (ticks < least) least = ticks;
    }
    long_ticks_ = 512 * least;
  }
  bool is_long(uint64_t ticks) const noexcept { return ticks > long_ticks_; }

  /// Code ends: the time without a processor since the last reading was its own.
  __attribute__((noinline, cold)) void end_code() noexcept {
    const int64_t before = last_ns_;
    if (read(last_ns_) && last_ns_ > before) own_ns_ += last_ns_ - before;
  }
  /// A long call, or a pause, ends: the time without a processor in it is not counted.
  __attribute__((noinline, cold)) void end_call() noexcept { read(last_ns_); }

  /// Up to the last call.
  int64_t ns() const noexcept { return own_ns_; }

 private:
  // "<ns on a processor> <ns ready without one> <times>". About 1 us.
  bool read(int64_t& ready_ns) const noexcept {
    char text[96];
    const ssize_t size = pread(file_, text, sizeof text, 0);
    ssize_t i = 0;
    while (i < size && text[i] != ' ') ++i;
    if (++i >= size) return false;
    int64_t ns = 0;
    for (; i < size && text[i] >= '0' && text[i] <= '9'; ++i) ns = 10 * ns + (text[i] - '0');
    ready_ns = ns;
    return true;
  }

  uint64_t long_ticks_ = ~uint64_t(0);
  int64_t last_ns_ = 0;
  int64_t own_ns_ = 0;
  int file_ = -1;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
