#ifndef WHYWAIT_BASE_MAPPED_BLOCK_HPP
#define WHYWAIT_BASE_MAPPED_BLOCK_HPP

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <new>

namespace whywait {
inline namespace v0 {
namespace base {

// Large blocks of memory straight from the kernel. The heap of the program would keep them after the analysis, and would copy
// them when they grow. They consist of huge pages where there are any, which are touched in a fifth of the time.

/// Blocks of at least this size are mapped.
constexpr size_t mapped_bytes = size_t{1} << 20;

/// A block of `bytes`; with `old` the block of `old_bytes` moves there and grows or shrinks. Throws std::bad_alloc, and then
/// `old` stays as it is.
[[gnu::noinline]] inline void* map_block(size_t bytes, void* old = nullptr, size_t old_bytes = 0) {
  constexpr size_t worth_huge_pages = size_t{8} << 20;
  void* const block = old == nullptr
                          ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                          : mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
  // Throws also in code that is compiled without exceptions.
  if (block == MAP_FAILED) return ::operator new(size_t{PTRDIFF_MAX});
#if defined(MADV_HUGEPAGE)
  if (bytes >= worth_huge_pages) madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block;
}
inline void unmap_block(void* block, size_t bytes) noexcept { munmap(block, bytes); }

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
