#ifndef WHYWAIT_TESTS_THREADS_FAKE_COUNTERS_HPP
#define WHYWAIT_TESTS_THREADS_FAKE_COUNTERS_HPP

// Counters of the processor for machines that have none. A program adds up the instructions that it executes; cycles are the time that
// they really took on a processor, in ns. A program that defines `syscall` with `call` opens an event of the kernel in place of each
// counter, and reads these sums from it.

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace fake_counters {

inline bool enabled = false;  ///< set before the first thread is observed
inline thread_local std::uint64_t instructions = 0, cycles = 0;

inline void add(std::uint64_t more_instructions, std::uint64_t more_cycles) {
  instructions += more_instructions;
  cycles += more_cycles;
}

/// Code that executes this number of instructions until it ends.
class work {
 public:
  explicit work(std::uint64_t its_instructions) : instructions_(its_instructions), begin_(ran_ns()) {}
  ~work() { add(instructions_, ran_ns() - begin_); }
  work(const work&) = delete;
  work& operator=(const work&) = delete;

 private:
  static std::uint64_t ran_ns() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000 + static_cast<std::uint64_t>(t.tv_nsec);
  }
  const std::uint64_t instructions_, begin_;
};

inline long next_syscall(long number, const long (&a)[6]) {
  using function = long (*)(long, ...);
  static const function next = reinterpret_cast<function>(dlsym(RTLD_NEXT, "syscall"));
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

inline long open(const long (&arguments)[6]) {
  perf_event_attr event;
  std::memcpy(&event, reinterpret_cast<const void*>(arguments[0]), sizeof event);
  if (event.config != PERF_COUNT_HW_INSTRUCTIONS && event.config != PERF_COUNT_HW_CPU_CYCLES) return errno = ENOENT, -1;
  event.type = PERF_TYPE_SOFTWARE;
  event.config = PERF_COUNT_SW_DUMMY;
  return next_syscall(SYS_perf_event_open,
                      {reinterpret_cast<long>(&event), arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]});
}

inline long read(const long (&arguments)[6]) {
  const long size = next_syscall(SYS_read, arguments);
  std::uint64_t id = 0, values[5];
  if (size < static_cast<long>(sizeof values) || ioctl(static_cast<int>(arguments[0]), PERF_EVENT_IOC_ID, &id) != 0)
    return size;
  void* const group = reinterpret_cast<void*>(arguments[1]);  // number of events, ns enabled, ns running, one value each
  std::memcpy(values, group, sizeof values);
  values[3] = instructions;
  values[4] = cycles;
  std::memcpy(group, values, sizeof values);
  return size;
}

/// A system call with its arguments, of which there are at most six.
inline long call(long number, va_list list) {
  long arguments[6];
  for (long& each : arguments) each = va_arg(list, long);
  if (enabled && number == SYS_perf_event_open) return open(arguments);
  if (enabled && number == SYS_read) return read(arguments);
  return next_syscall(number, arguments);
}

}  // namespace fake_counters

#endif
