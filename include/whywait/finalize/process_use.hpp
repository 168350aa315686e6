#ifndef WHYWAIT_FINALIZE_PROCESS_USE_HPP
#define WHYWAIT_FINALIZE_PROCESS_USE_HPP

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace finalize {

/// The pages of memory that this process had at most at a time; 0 if the kernel does not tell. One system call.
inline std::int64_t most_pages_of_process() noexcept {
  rusage used;
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return page > 0 && ::getrusage(RUSAGE_SELF, &used) == 0 ? 1024 * std::int64_t{used.ru_maxrss} / page : 0;
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
