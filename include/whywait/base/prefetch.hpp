#ifndef WHYWAIT_BASE_PREFETCH_HPP
#define WHYWAIT_BASE_PREFETCH_HPP

#include <stddef.h>

namespace whywait {
inline namespace v0 {
namespace base {

/// Prefetches at most 64 cache lines without waiting. Any address is valid; unmapped memory is ignored.
inline void prefetch(const void* memory, size_t bytes) noexcept {
  const char* const begin = static_cast<const char*>(memory);
  __asm__ volatile("");  // otherwise g++ treats a function that only prefetches as pure and drops the call
  for (size_t at = 0; at < bytes && at != 4096; at += 64) __builtin_prefetch(begin + at);
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
