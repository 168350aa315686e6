#ifndef WHYWAIT_CORE_PAGES_HPP
#define WHYWAIT_CORE_PAGES_HPP

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Zeroed pages straight from the kernel: recording never enters the program's allocator, so it cannot
/// deadlock in it nor change its addresses. Null if there are none. `now`: touch them here instead of later
/// on the hot path. Pages that are only reserved cost nothing until touched.
inline void* map_pages(size_t bytes, bool now) noexcept {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (now ? MAP_POPULATE : 0);
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

/// Gives pages back. Null is allowed.
inline void unmap_pages(void* pages, size_t bytes) noexcept {
  if (pages != nullptr) munmap(pages, bytes);
}

/// How many bytes may still be recorded, shared by all locations of the process. Lock-free.
class memory_budget {
 public:
  void limit(uint64_t bytes) noexcept { __atomic_store_n(&limit_, bytes, __ATOMIC_RELAXED); }
  uint64_t limit() const noexcept { return __atomic_load_n(&limit_, __ATOMIC_RELAXED); }
  uint64_t used() const noexcept { return __atomic_load_n(&used_, __ATOMIC_RELAXED); }

  /// False if `bytes` more would exceed the limit; then nothing is taken.
  bool take(uint64_t bytes) noexcept {
    uint64_t used = used_now();
    do {
      if (bytes > limit() || used > limit() - bytes) return false;
    } while (!__atomic_compare_exchange_n(&used_, &used, used + bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
  }
  void give_back(uint64_t bytes) noexcept { __atomic_fetch_sub(&used_, bytes, __ATOMIC_RELAXED); }
  /// All of it is free again: in a forked child, whose parent keeps what was taken.
  void forget() noexcept { __atomic_store_n(&used_, uint64_t(0), __ATOMIC_RELAXED); }

 private:
  uint64_t used_now() const noexcept { return __atomic_load_n(&used_, __ATOMIC_RELAXED); }
  uint64_t used_ = 0;
  uint64_t limit_ = ~uint64_t(0);
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
