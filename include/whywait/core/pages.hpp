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

/// Puts pages under fresh addresses now, 4 KiB or 2 MiB at a time, as the kernel likes. Their content stays.
inline void touch_pages(void* pages, size_t bytes) noexcept {
#if defined(MADV_POPULATE_WRITE)
  if (madvise(pages, bytes, MADV_POPULATE_WRITE) == 0) return;  // one call instead of a fault each; Linux 5.14
#endif
  volatile char* const first = static_cast<char*>(pages);
  for (size_t at = 0; at < bytes; at += 4096) first[at] = first[at];
}

/// Equal pieces of zeroed memory, touched, for one thread. Small requests get their own size; from `small_bytes`
/// on they are cut from slabs of 2 MiB, each one huge page where the kernel has them: that costs a fifth of the
/// same in pages of 4 KiB (for 64 bytes 3 to 4 ns instead of 13 to 47). Each piece is given back by unmap_pages.
class page_supply {
 public:
  static constexpr size_t slab_bytes = size_t(1) << 21;
  static constexpr size_t small_bytes = size_t(1) << 17;

  /// The next piece; null if there are no pages. `bytes`: always the same. `plenty`: whether a slab may be begun,
  /// of which more than this piece may become resident.
  void* take(size_t bytes, bool plenty) noexcept {
    const bool cut = taken_ >= small_bytes && slab_bytes % bytes == 0 && bytes % 4096 == 0;
    if (!cut || (next_ == end_ && (!plenty || !new_slab()))) {
      taken_ += bytes;
      return map_pages(bytes, true);
    }
    char* const piece = next_;
    next_ += bytes;
    touch_pages(piece, bytes);
    return piece;
  }

  /// Gives back what was not handed out.
  void release() noexcept {
    if (next_ != end_) unmap_pages(next_, static_cast<size_t>(end_ - next_));
    *this = page_supply();
  }

 private:
  // Huge pages lie at multiples of their size: maps twice as much and gives back what is beside.
  bool new_slab() noexcept {
    char* const pages = static_cast<char*>(map_pages(2 * slab_bytes, false));
    if (pages == nullptr) return false;
    const size_t before = (slab_bytes - (reinterpret_cast<uintptr_t>(pages) & (slab_bytes - 1))) & (slab_bytes - 1);
    if (before != 0) unmap_pages(pages, before);
    next_ = pages + before;
    end_ = next_ + slab_bytes;
    unmap_pages(end_, slab_bytes - before);
    madvise(next_, slab_bytes, MADV_HUGEPAGE);  // where there are none: pages of 4 KiB
    return true;
  }

  char* next_ = nullptr;
  char* end_ = nullptr;
  size_t taken_ = 0;  // in single pieces
};

class kept_file;

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
  /// What `take` can still give.
  uint64_t left() const noexcept {
    const uint64_t used = used_now(), most = limit();
    return used < most ? most - used : 0;
  }
  void give_back(uint64_t bytes) noexcept { __atomic_fetch_sub(&used_, bytes, __ATOMIC_RELAXED); }
  /// The file under what is recorded; null: none. Set before anything is taken.
  void keep_in(kept_file* file) noexcept { keeper_ = file; }
  kept_file* keeper() const noexcept { return keeper_; }
  /// All of it is free again: in a forked child, whose parent keeps what was taken.
  void forget() noexcept { __atomic_store_n(&used_, uint64_t(0), __ATOMIC_RELAXED); }

 private:
  uint64_t used_now() const noexcept { return __atomic_load_n(&used_, __ATOMIC_RELAXED); }
  uint64_t used_ = 0;
  uint64_t limit_ = ~uint64_t(0);
  kept_file* keeper_ = nullptr;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
