#ifndef WHYWAIT_RECORD_CODE_COUNTER_HPP
#define WHYWAIT_RECORD_CODE_COUNTER_HPP

#include <whywait/core/clock.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/record/processor_counters.hpp>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace record {

namespace detail {
/// How long a reading takes in this process; 0: not known yet.
__attribute__((visibility("hidden"))) inline uint64_t ticks_of_reading = 0;
}  // namespace detail

/// What the kernel and the processor counted of one thread while it ran code outside observed calls. Read at observed calls, at
/// most once in 512 times a reading (about 1 ms), and after calls of that length and at the next one, so that readings take at most
/// 0.4 % of the run.
/// Files are opened when a thread has lived for about 10 ms, and closed when it ends. Threads whose begin was not seen are first read
/// a millisecond after their first call, so that shorter ones cost nothing. What cannot be read did not change. Owned by one thread; zeroed memory is a valid start.
class code_counter {
 public:
  /// Whether a reading is due. It is at the first call.
  bool is_due(uint64_t now) const noexcept { return now >= due_; }
  bool is_long(uint64_t ticks) const noexcept { return ticks > long_ticks_; }

  /// Counts from now on. About 20 us.
  void start() noexcept {
    const kept_errno kept;
    open();
    last_ = read();
  }
  /// The thread has just begun: what it does from now on counts. Threads are created faster than they get a processor, which is not
  /// the code's. About 6 us.
  void begin_thread() noexcept {
    const kept_errno kept;
    stop();
    fresh_ = true;
    read_delay_once(last_.counts);
    read_place(last_);
  }
  /// The thread ends. Closes all files.
  void stop() noexcept {
    const kept_errno kept;
    close_files();
    *this = code_counter();
  }
  /// In the child of a fork, which must not read the counters of its parent. Writes nothing: the parent may use this memory.
  void close_files() const noexcept {
    if (state_ != reading) return;
    if (file_ >= 0 && inode_of(file_) == inode_)
      syscall(SYS_close, file_);  // else the program closed it, and has opened one of its own
    processor_.close_files(is_own_thread());
  }

  enum class outcome {
    nothing,  ///< nothing was read
    begins,  ///< what was counted before belongs to no code
    counts
  };
  /// Code ends at `now`: reads what was counted since the last reading. `ticks`: how long the code took since the last call.
  __attribute__((noinline, cold)) outcome end_code(uint64_t now, uint64_t ticks, core::code_counts& out) noexcept {
    if (state_ == unmet && due_ == 0 && !fresh_ && is_put_off(now)) return outcome::nothing;
    const kept_errno kept;
    if (state_ == reading ? !is_own_thread() : !meet(now)) return state_ == met && !fresh_ ? outcome::begins : outcome::nothing;
    const values before = last_;
    read_on();
    due_ = now + long_ticks_;
    out = last_.since(before);
    if (ticks > long_ticks_) own_.add(out);
    return outcome::counts;
  }
  /// A long call, or a pause, ended at `now`: what was counted in it is not the code's.
  __attribute__((noinline, cold)) void end_call(uint64_t now) noexcept {
    const kept_errno kept;
    if (state_ == met && fresh_) open();
    if (state_ != reading || !is_own_thread()) return;
    read_on();
    due_ = now;  // code between two long calls is read, however short it is
  }

  /// An instant in ns, without a system call. About 25 ns.
  static int64_t instant() noexcept {
    timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) == 0 ? int64_t(now.tv_sec) * 1000000000 + now.tv_nsec : 0;
  }
  /// The kernel has worked for whywait since `before`, which is no part of the code: it mapped up to `pages` pages. If that took less
  /// than a microsecond, they were there before. Owing to a processor that another thread had meanwhile, it may be too much.
  void leave_out(int64_t before, int64_t pages) noexcept {
    const int64_t ns = instant() - before;
    last_.counts[core::code_count::ran_ns] += ns;
    last_.counts[core::code_count::system_ns] += ns;
    if (ns >= 1000) last_.counts[core::code_count::faults] += pages;
  }

  /// Of long stretches of code, and what was counted shortly before them; up to the last call.
  const core::code_counts& own() const noexcept { return own_; }
  /// Whether long calls are read.
  bool reads_calls() const noexcept { return state_ == reading || (state_ == met && fresh_); }
  /// What the machine counts, a bit for each core::code_count.
  uint32_t offered() const noexcept {
    if (state_ != reading) return 0;
    return offered_ | processor_.offered();
  }
  /// The NUMA node on which the thread ran at the last reading, plus 1; 0: not known.
  uint32_t node() const noexcept { return last_.node; }
  /// Why the processor's counters cannot be read, as errno or processor_counters::filtered; 0: they can, or were not tried.
  int32_t refused() const noexcept { return processor_.refused(); }

 private:
  struct kept_errno {  // the program's
    const int was = errno;
    ~kept_errno() { errno = was; }
  };

  enum state_t : uint32_t { unmet, met, reading };
  static constexpr uint64_t readings_between = 512, readings_before = 8192;

  struct values {
    core::code_counts counts;  // from the kernel, up to `faults`
    int processor_number;
    uint32_t node;  // of its memory, plus 1; 0: not known
    processor_counters::values processor;

    core::code_counts since(const values& before) const noexcept {
      core::code_counts out{};
      for (size_t i = 0; i != static_cast<size_t>(core::code_count::moves); ++i) {
        const int64_t more = counts.values[i] - before.counts.values[i];
        out.values[i] = more > 0 ? more : 0;
      }
      out[core::code_count::moves] = processor_number != before.processor_number ? 1 : 0;
      processor.since(before.processor, out);
      return out;
    }
  };

  // At the first call of a thread: most threads that make few calls end soon. False: it is not known yet how long a reading takes.
  bool is_put_off(uint64_t now) noexcept {
    const uint64_t least = __atomic_load_n(&detail::ticks_of_reading, __ATOMIC_RELAXED);
    if (least == 0) return false;
    long_ticks_ = ~uint64_t(0);
    due_ = now + readings_between * least;
    return true;
  }
  // Before the first reading nothing is known of a thread. False: it is too young for files of its own. What the kernel counted since
  // it was met, or since it began, is counted all the same.
  bool meet(uint64_t now) noexcept {
    if (state_ == met) {
      if (now < old_ && !was_switched()) {
        due_ = now + long_ticks_;
        return false;
      }
      const core::code_counts first = last_.counts;
      open();
      last_.counts = first;
      return true;
    }
    state_ = met;
    file_ = -1;
    core::code_counts so_far = {};
    uint64_t least = ~uint64_t(0);
    for (int i = 0; i != 2; ++i) {  // another thread may have the processor during one of them
      const uint64_t begin = core::cycle_clock::now();
      read_kernel(so_far);
      const uint64_t ticks = core::cycle_clock::now() - begin;
      if (ticks < least) least = ticks;
    }
    old_ = now + readings_before * least;
    long_ticks_ = fresh_ ? readings_between * least : ~uint64_t(0);
    due_ = fresh_ ? now + long_ticks_ : old_;
    if (fresh_) return false;
    read_delay_once(so_far);
    last_.counts = so_far;
    return false;
  }
  // Whether another thread had the processor meanwhile.
  static bool was_switched() noexcept {
    rusage used;
    return getrusage(RUSAGE_THREAD, &used) == 0 && used.ru_nivcsw + used.ru_nvcsw != 0;
  }

  static uint64_t inode_of(int file) noexcept {
    struct stat about;
    return fstat(file, &about) == 0 ? uint64_t(about.st_ino) : 0;
  }
  static int open_delay() noexcept {
    return high_file(static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)));
  }
  // A child that was made without the handlers of pthread_atfork has this memory, but neither the thread nor the pages.
  bool is_own_thread() const noexcept { return syscall(SYS_gettid) == thread_; }

  void open() noexcept {
    thread_ = syscall(SYS_gettid);
    file_ = open_delay();
    inode_ = inode_of(file_);
    processor_.open();
    state_ = reading;
    offered_ = read_kernel(last_.counts);
    uint64_t least = ~uint64_t(0);
    for (int i = 0; i < 4; ++i) {
      const uint64_t begin = core::cycle_clock::now();
      last_ = read();
      const uint64_t ticks = core::cycle_clock::now() - begin;
      if (ticks < least) least = ticks;
    }
    __atomic_store_n(&detail::ticks_of_reading, least, __ATOMIC_RELAXED);
    long_ticks_ = readings_between * least;
    due_ = core::cycle_clock::now() + long_ticks_;
  }

  // The kernel notes time in the kernel late, so that what is left out may be ahead of it.
  void read_on() noexcept {
    const core::code_counts left_out = last_.counts;
    last_ = read();
    for (size_t i = 0; i != static_cast<size_t>(core::code_count::moves); ++i)
      if (last_.counts.values[i] < left_out.values[i]) last_.counts.values[i] = left_out.values[i];
  }
  // About 2 us.
  __attribute__((noinline)) values read() const noexcept {
    values out = last_;
    processor_.read(out.processor);
    read_kernel(out.counts);
    read_place(out);
    return out;
  }
  // Without a system call, which a filter might answer by ending the process.
  static void read_place(values& out) noexcept {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 29)
    unsigned number = 0, node = 0;
    if (getcpu(&number, &node) != 0) return;
    out.processor_number = static_cast<int>(number);
    out.node = node + 1;
#else
    out.processor_number = sched_getcpu();
#endif
  }
  // Returns what could be read, a bit for each core::code_count: a filter for system calls may refuse some.
  uint32_t read_kernel(core::code_counts& out) const noexcept {
    uint32_t bits = 0;
    const auto set = [&](core::code_count what, int64_t value) {
      out[what] = value;
      bits |= 1u << static_cast<uint32_t>(what);
    };
    timespec ran;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran) == 0)
      set(core::code_count::ran_ns, int64_t(ran.tv_sec) * 1000000000 + ran.tv_nsec);
    rusage used;
    if (getrusage(RUSAGE_THREAD, &used) == 0) {
      set(core::code_count::system_ns, int64_t(used.ru_stime.tv_sec) * 1000000000 + int64_t(used.ru_stime.tv_usec) * 1000);
      set(core::code_count::faults, int64_t(used.ru_minflt) + int64_t(used.ru_majflt));
      set(core::code_count::sleeps, int64_t(used.ru_nvcsw));
    }
    if (read_delay(out)) bits |= 1u << static_cast<uint32_t>(core::code_count::delay_ns);
    return bits;
  }
  // Without a file of its own.
  void read_delay_once(core::code_counts& out) noexcept {
    file_ = open_delay();
    read_delay(out);
    if (file_ >= 0) syscall(SYS_close, file_);
    file_ = -1;
  }
  bool read_delay(core::code_counts& out) const noexcept {
    char text[96];  // "<ns on a processor> <ns ready without one> <times>"
    const long size = file_ < 0 ? 0 : syscall(SYS_pread64, file_, text, sizeof text, 0L);
    long i = 0;
    while (i < size && text[i] != ' ') ++i;
    if (++i >= size) return false;
    int64_t delay = 0;
    for (; i < size && text[i] >= '0' && text[i] <= '9'; ++i) delay = 10 * delay + (text[i] - '0');
    out[core::code_count::delay_ns] = delay;
    return true;
  }

  uint64_t due_ = 0, long_ticks_ = 0;  // first: each call reads them
  uint64_t old_ = 0;  // from then on a thread has files in any case
  values last_ = {};
  core::code_counts own_ = {};
  processor_counters processor_ = {};
  uint64_t inode_ = 0;  // of file_
  long thread_ = 0;
  int file_ = -1;  // not valid before `reading`
  uint32_t state_ = unmet, offered_ = 0;
  bool fresh_ = false;
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
