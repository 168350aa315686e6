#ifndef WHYWAIT_DATA_MARKS_PAGE_LOOKUP_HPP
#define WHYWAIT_DATA_MARKS_PAGE_LOOKUP_HPP

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace data {

/// Asks the kernel on which NUMA nodes pages are, without moving them. Not in the hot path: about 10 us for 64 pages.
class page_lookup {
 public:
  static constexpr uint32_t most_pages = 64;

  /// False on machines with one node, and where move_pages is not permitted. Under a filter for system calls, which may end the
  /// process, it is not called.
  static bool is_possible() noexcept { return has_several_nodes() && prctl(PR_GET_SECCOMP) != SECCOMP_MODE_FILTER; }

  /// Nodes of up to `most_pages` pages at equal distances between two addresses, each in the middle of its part; -1: not in memory.
  /// Returns their number; 0: they cannot be read, `error` has errno.
  static uint32_t nodes_of(uint64_t begin, uint64_t end, int16_t* nodes, int& error) noexcept {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE)), bytes = end - begin;
    const uint64_t all = (bytes + page - 1) / page;
    const uint32_t count = all < most_pages ? static_cast<uint32_t>(all) : most_pages;
    void* pages[most_pages];
    int status[most_pages];
    for (uint32_t i = 0; i != count; ++i) {
      const uint64_t middle = begin + bytes / count * i + bytes / count / 2;
      pages[i] = reinterpret_cast<void*>(middle & ~(page - 1));
    }
    const int was = errno;
    const bool known = syscall(SYS_move_pages, 0, static_cast<unsigned long>(count), pages, nullptr, status, 0) == 0;
    error = known ? 0 : errno;
    errno = was;
    if (!known) return 0;
    for (uint32_t i = 0; i != count; ++i) nodes[i] = static_cast<int16_t>(status[i] >= 0 ? status[i] : -1);
    return count;
  }

 private:
  static bool has_several_nodes() noexcept {
    char text[64];  // "0", "0-1", "0,2"
    const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/sys/devices/system/node/online", O_RDONLY | O_CLOEXEC));
    if (file < 0) return false;
    const long size = syscall(SYS_read, file, text, sizeof text);
    syscall(SYS_close, file);
    for (long i = 0; i < size; ++i)
      if (text[i] == '-' || text[i] == ',') return true;
    return false;
  }
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
