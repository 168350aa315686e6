#ifndef WHYWAIT_BASE_PREFETCH_HPP
#define WHYWAIT_BASE_PREFETCH_HPP

#include <stddef.h>

namespace whywait {
inline namespace v0 {
namespace base {

/// Asks for memory that will be needed soon and goes on at once; of at most 64 cache lines. Any address will do: what is
/// not there is not asked for.
inline void prefetch(const void* memory, size_t bytes) noexcept {
  const char* const begin = static_cast<const char*>(memory);
  __asm__ volatile("");  // or g++ takes a function that only prefetches for one without effect, and drops the call
  for (size_t at = 0; at < bytes && at != 4096; at += 64) __builtin_prefetch(begin + at);
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
