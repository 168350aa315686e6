#ifndef WHYWAIT_BASE_MEMORY_POOL_HPP
#define WHYWAIT_BASE_MEMORY_POOL_HPP

#include <stddef.h>
#include <new>

namespace whywait {
inline namespace v0 {
namespace base {

/// Allocator for the small blocks of many lists with a common lifetime. Consecutive allocations are adjacent and cost a
/// few instructions; malloc would search memory that has left the cache. Freed blocks are reused for blocks of a
/// similar size; the pool returns all memory when it is destroyed. Blocks above 16 KiB, and under AddressSanitizer all
/// blocks, come from `operator new`. Not thread safe. Throws std::bad_alloc.
class memory_pool {
 public:
  memory_pool() = default;
  memory_pool(const memory_pool&) = delete;
  memory_pool& operator=(const memory_pool&) = delete;
  ~memory_pool() {
    while (chunks_ != nullptr) {
      link* const next = chunks_->next;
      ::operator delete(chunks_);
      chunks_ = next;
    }
  }

  /// Allocates `bytes`, aligned to 16.
  [[gnu::noinline]] void* take(size_t bytes) {
    if (bytes > largest) return ::operator new(bytes);
    const size_t at = class_of(bytes);
    if (link* const block = free_[at]) {
      free_[at] = block->next;
      return block;
    }
    const size_t size = size_of(at);
    if (left_ < size) more();
    left_ -= size;
    void* const block = next_;
    next_ += size;
    return block;
  }

  /// Frees a block that was allocated with the same `bytes`.
  void give(void* memory, size_t bytes) noexcept {
    if (bytes > largest) return ::operator delete(memory);
    link* const block = static_cast<link*>(memory);
    link*& first = free_[class_of(bytes)];
    block->next = first;
    first = block;
  }

 private:
  struct link {
    link* next;
  };

#if defined(__SANITIZE_ADDRESS__)
  static constexpr size_t largest = 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  static constexpr size_t largest = 0;
#else
  static constexpr size_t largest = size_t{16} << 10;
#endif
#else
  static constexpr size_t largest = size_t{16} << 10;
#endif

  // Size classes: multiples of 16 up to 512, then four per doubling.
  static constexpr size_t fine = 32, classes = fine + 4 * 5;
  static size_t class_of(size_t bytes) noexcept {
    if (bytes <= 16 * fine) return bytes == 0 ? 0 : (bytes - 1) / 16;
    const auto doublings = static_cast<size_t>(63 - __builtin_clzll(bytes - 1)) - 9;
    return fine + 4 * doublings + (((bytes - 1) >> (doublings + 7)) & 3);
  }
  static size_t size_of(size_t at) noexcept {
    return at < fine ? 16 * (at + 1) : (5 + ((at - fine) & 3)) << (7 + (at - fine) / 4);
  }

  // The rest of the previous chunk is smaller than one block and stays unused.
  [[gnu::noinline]] void more() {
    const size_t size = chunk_;
    link* const chunk = static_cast<link*>(::operator new(size));
    chunk->next = chunks_;
    chunks_ = chunk;
    next_ = reinterpret_cast<char*>(chunk) + 16;
    left_ = size - 16;
    if (chunk_ < size_t{1} << 20) chunk_ *= 2;
  }

  link* free_[classes] = {};
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t chunk_ = size_t{32} << 10;
  link* chunks_ = nullptr;
};

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif
