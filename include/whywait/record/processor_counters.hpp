#ifndef WHYWAIT_RECORD_PROCESSOR_COUNTERS_HPP
#define WHYWAIT_RECORD_PROCESSOR_COUNTERS_HPP

#include <whywait/core/code_count.hpp>
#include <whywait/record/high_files.hpp>

#include <errno.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/version.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace record {

/// Instructions, cycles and stalled cycles of the calling thread in user space, from perf_event_open. Read in user space where
/// the kernel permits that (x86-64, AArch64 with kernel.perf_user_access), else with one read(2) for all. System calls are made
/// directly: functions of the C library are cancellation points, and may be interposed. Owned by one thread; zeroed memory is a
/// valid start. Each thread has its own files; none reaches a child of exec.
class processor_counters {
 public:
  static constexpr uint32_t events = 3;  // instructions, cycles, stalled

  struct values {
    uint64_t running;  ///< ns in which they were counted: less than on a processor if they share the hardware with others
    uint64_t counted[events];

    /// What was counted since `before`. Counters that did not run, or were set back, counted nothing.
    void since(const values& before, core::code_counts& out) const noexcept {
      if (running <= before.running) return;
      for (uint32_t i = 0; i != events; ++i)
        if (counted[i] < before.counted[i]) return;
      out[core::code_count::counted_ns] = static_cast<int64_t>(running - before.running);
      for (uint32_t i = 0; i != events; ++i)
        out.values[static_cast<uint32_t>(core::code_count::instructions) + i] =
            static_cast<int64_t>(counted[i] - before.counted[i]);
    }
  };

  /// refused(): not called, because a filter for system calls may end the process for it.
  static constexpr int32_t filtered = -1;

  void open() noexcept {
    refused_ = 0;
    count_ = 0;
    if (prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER) {
      refused_ = filtered;
      return;
    }
    const int leader = open_event(PERF_COUNT_HW_INSTRUCTIONS, -1);
    if (leader < 0) return refuse();
    if (open_event(PERF_COUNT_HW_CPU_CYCLES, leader) < 0) {
      refuse();
      close_files(true);
      count_ = 0;
      return;
    }
    open_event(PERF_COUNT_HW_STALLED_CYCLES_BACKEND, leader);  // many processors have no such counter
  }
  /// `mapped`: the pages are mapped here. A child of fork does not receive them, and may have mapped others in their place.
  void close_files(bool mapped) const noexcept {
    for (uint32_t i = 0; i != count_; ++i) {
      if (mapped && pages_[i] != nullptr) munmap(pages_[i], page_bytes());
      if (is_own(i)) syscall(SYS_close, files_[i]);
    }
  }

  /// Leaves `out` as it is where nothing can be read.
  void read(values& out) const noexcept {
    if (count_ == 0 || read_pages(out) || !is_own(0)) return;
    uint64_t text[3 + events] = {};  // PERF_FORMAT_GROUP: number, enabled, running, one each
    const long size = syscall(SYS_read, files_[0], text, sizeof text);
    if (size < static_cast<long>(sizeof(uint64_t) * (3 + count_)) || text[0] != count_) return;
    out.running = text[2];
    for (uint32_t i = 0; i != count_; ++i) out.counted[i] = text[3 + i];
  }

  /// A bit for each core::code_count.
  uint32_t offered() const noexcept {
    uint32_t bits = count_ != 0 ? 1u << static_cast<uint32_t>(core::code_count::counted_ns) : 0u;
    for (uint32_t i = 0; i != count_; ++i) bits |= 1u << (static_cast<uint32_t>(core::code_count::instructions) + i);
    return bits;
  }
  /// Why nothing is counted, as errno or `filtered`; 0: it is, or was not tried.
  int32_t refused() const noexcept { return refused_; }
  /// Whether the last reading needed no system call.
  bool in_user_space() const noexcept {
    values ignored;
    return count_ != 0 && read_pages(ignored);
  }

 private:
  static size_t page_bytes() noexcept { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
  void refuse() noexcept { refused_ = errno; }
  // A program may have closed all files, ours included, and have opened its own with the same numbers.
  bool is_own(uint32_t i) const noexcept {
    uint64_t id = 0;
    return ioctl(files_[i], PERF_EVENT_IOC_ID, &id) == 0 && id == ids_[i];
  }

  int open_event(uint64_t event, int leader) noexcept {
    perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.size = sizeof attributes;
    attributes.config = event;
    attributes.exclude_kernel = 1;  // what users may count with kernel.perf_event_paranoid=2
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
#if defined(__aarch64__)
    attributes.config1 = 2;  // readable in user space
#endif
    const int file =
        high_file(static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC)));
    if (file < 0) return file;
    ids_[count_] = 0;
    ioctl(file, PERF_EVENT_IOC_ID, &ids_[count_]);
    void* const page = mmap(nullptr, page_bytes(), PROT_READ, MAP_SHARED, file, 0);
    pages_[count_] = page != MAP_FAILED ? static_cast<perf_event_mmap_page*>(page) : nullptr;
    files_[count_++] = file;
    return file;
  }

#if defined(__x86_64__)
  static uint64_t read_register(uint32_t number) noexcept {
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
    return low | uint64_t(high) << 32;
  }
  static uint64_t read_clock() noexcept { return __builtin_ia32_rdtsc(); }
  static constexpr uint32_t most_index = ~uint32_t(0);  // fixed counters have bit 30
#elif defined(__aarch64__)
  // The number of a counter is part of the instruction.
  static uint64_t read_register(uint32_t number) noexcept {
    uint64_t value = 0;
// clang-format off
#define WHYWAIT_READ(n) case n: __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); break;
    switch (number) {
      WHYWAIT_READ(0) WHYWAIT_READ(1) WHYWAIT_READ(2) WHYWAIT_READ(3) WHYWAIT_READ(4) WHYWAIT_READ(5) WHYWAIT_READ(6)
      WHYWAIT_READ(7) WHYWAIT_READ(8) WHYWAIT_READ(9) WHYWAIT_READ(10) WHYWAIT_READ(11) WHYWAIT_READ(12) WHYWAIT_READ(13)
      WHYWAIT_READ(14) WHYWAIT_READ(15) WHYWAIT_READ(16) WHYWAIT_READ(17) WHYWAIT_READ(18) WHYWAIT_READ(19) WHYWAIT_READ(20)
      WHYWAIT_READ(21) WHYWAIT_READ(22) WHYWAIT_READ(23) WHYWAIT_READ(24) WHYWAIT_READ(25) WHYWAIT_READ(26) WHYWAIT_READ(27)
      WHYWAIT_READ(28) WHYWAIT_READ(29) WHYWAIT_READ(30)
      case 31: __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value)); break;
      default: break;
    }
// clang-format on
#undef WHYWAIT_READ
    return value;
  }
  static uint64_t read_clock() noexcept {
    uint64_t now;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now));
    return now;
  }
  static constexpr uint32_t most_index = 32;  // the cycle counter
#else
  static uint64_t read_register(uint32_t) noexcept { return 0; }
  static uint64_t read_clock() noexcept { return 0; }
  static constexpr uint32_t most_index = 0;
#endif

  // Where the clock has fewer than 64 bits, the kernel gives a reading that it knew.
  static void widen(const volatile perf_event_mmap_page& page, uint64_t& cycles) noexcept {
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0)
    if (page.cap_user_time_short != 0) {
      const uint64_t known = page.time_cycles;
      cycles = known + ((cycles - known) & page.time_mask);
    }
#else
    static_cast<void>(page), static_cast<void>(cycles);
#endif
  }
  // The kernel changes a page only on this thread's processor, which the counter of changes shows (perf_event_open(2)).
  bool read_pages(values& out) const noexcept {
    values now{};
    for (uint32_t i = 0; i != count_; ++i) {
      const volatile perf_event_mmap_page* const page = pages_[i];
      if (page == nullptr) return false;
      uint32_t changes;
      do {
        changes = page->lock;
        __asm__ volatile("" ::: "memory");
        const uint32_t index = page->index;
        if (page->cap_user_rdpmc == 0 || page->cap_user_time == 0 || index == 0 || index > most_index) return false;
        uint64_t value = read_register(index - 1);
        const uint32_t unused = 64u - page->pmc_width;
        value = static_cast<uint64_t>(static_cast<int64_t>(value << unused) >> unused);
        now.counted[i] = value + static_cast<uint64_t>(page->offset);
        if (i == 0) {
          uint64_t cycles = read_clock();
          widen(*page, cycles);
          const uint32_t shift = page->time_shift;
          const uint64_t mult = page->time_mult, part = cycles & ((uint64_t(1) << shift) - 1);
          const uint64_t since = page->time_offset + (cycles >> shift) * mult + ((part * mult) >> shift);
          now.running = page->time_running + since;
        }
        __asm__ volatile("" ::: "memory");
      } while (page->lock != changes);
    }
    out = now;
    return true;
  }

  perf_event_mmap_page* pages_[events] = {};
  uint64_t ids_[events] = {};
  int files_[events] = {};
  uint32_t count_ = 0;
  int32_t refused_ = 0;
};

}  // namespace record
}  // namespace v0
}  // namespace whywait

#endif
