#ifndef WHYWAIT_CORE_CHUNKED_VIEW_HPP
#define WHYWAIT_CORE_CHUNKED_VIEW_HPP

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Read access by index to what lies in equal chunks of 2^shift elements; one plain array is one chunk with
/// shift 63. Owns nothing; the chunks must outlive it. O(1), no allocation.
template <class T>
class chunked_view {
 public:
  chunked_view() noexcept = default;
  chunked_view(T* const* chunks, unsigned shift, uint64_t size) noexcept : chunks_(chunks), shift_(shift), size_(size) {}

  __attribute__((always_inline)) T& operator[](uint64_t index) const noexcept {
    return chunks_[index >> shift_][index & ((uint64_t(1) << shift_) - 1)];
  }
  __attribute__((always_inline)) uint64_t size() const noexcept { return size_; }
  /// Address of the table entry of the chunk that contains an element.
  const void* entry_of(uint64_t index) const noexcept { return chunks_ + (index >> shift_); }
  bool empty() const noexcept { return size_ == 0; }

 private:
  T* const* chunks_ = nullptr;
  unsigned shift_ = 63;
  uint64_t size_ = 0;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
