#ifndef WHYWAIT_MPI_KERNEL_COUNTS_HPP
#define WHYWAIT_MPI_KERNEL_COUNTS_HPP

#include <whywait/core/clock.hpp>

#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// What the kernel counted of the thread that started MPI while it ran code outside MPI: time without a processor, time in the
/// kernel, page faults. The counts are read after long calls and after long stretches of code, where long means 512 times a
/// reading, about 1 ms. Code that lost its processor for long is long itself, so that no such time is missed, and readings
/// take at most 0.4 % of the run. What short stretches do in the kernel is not counted. Owned by one thread.
class kernel_counts {
 public:
  struct counts {
    int64_t delay_ns;   ///< ready to run without a processor (schedstat); 0 where Linux does not count it
    int64_t system_ns;  ///< in the kernel; Linux samples it with its timer (4 ms at 250 Hz), so that only the sum is right
    int64_t faults;     ///< page faults
  };

  /// Opens the counts of the calling thread, until the process ends. Without it nothing is ever long.
  void start() noexcept {
    file_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    uint64_t least = ~uint64_t(0);
    for (int i = 0; i < 4; ++i) {
      const uint64_t begin = core::cycle_clock::now();
      last_ = read();
      const uint64_t ticks = core::cycle_clock::now() - begin;
      if (ticks < least) least = ticks;
    }
    long_ticks_ = 512 * least;
  }
  bool is_long(uint64_t ticks) const noexcept { return ticks > long_ticks_; }

  /// Code ends: what was counted since the last reading is its own.
  __attribute__((noinline, cold)) void end_code() noexcept {
    const counts before = last_;
    last_ = read();
    add(own_.delay_ns, last_.delay_ns, before.delay_ns);
    add(own_.system_ns, last_.system_ns, before.system_ns);
    add(own_.faults, last_.faults, before.faults);
  }
  /// A long call, or a pause, ends: what was counted in it is not the code's.
  __attribute__((noinline, cold)) void end_call() noexcept { last_ = read(); }

  /// Up to the last call.
  const counts& own() const noexcept { return own_; }

 private:
  static void add(int64_t& sum, int64_t now, int64_t before) noexcept { sum += now > before ? now - before : 0; }

  // About 2 us.
  counts read() const noexcept {
    counts out = last_;  // what cannot be read did not change
    rusage used;
    if (getrusage(RUSAGE_THREAD, &used) == 0) {
      out.system_ns = int64_t(used.ru_stime.tv_sec) * 1000000000 + int64_t(used.ru_stime.tv_usec) * 1000;
      out.faults = int64_t(used.ru_minflt) + int64_t(used.ru_majflt);
    }
    char text[96];  // "<ns on a processor> <ns ready without one> <times>"
    const ssize_t size = file_ < 0 ? 0 : pread(file_, text, sizeof text, 0);
    ssize_t i = 0;
    while (i < size && text[i] != ' ') ++i;
    if (++i >= size) return out;
    out.delay_ns = 0;
    for (; i < size && text[i] >= '0' && text[i] <= '9'; ++i) out.delay_ns = 10 * out.delay_ns + (text[i] - '0');
    return out;
  }

  uint64_t long_ticks_ = ~uint64_t(0);
  counts last_ = {};
  counts own_ = {};
  int file_ = -1;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
