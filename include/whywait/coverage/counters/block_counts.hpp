#ifndef WHYWAIT_COVERAGE_COUNTERS_BLOCK_COUNTS_HPP
#define WHYWAIT_COVERAGE_COUNTERS_BLOCK_COUNTS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/coverage/counters/attributes.hpp>

#include <stdint.h>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace coverage {

/// Counts of the blocks that one thread ran in one module since its last synchronisation. Single-threaded; no lock or
/// allocation after `open`. Reserves address space for every block of the module and touches it where code runs.
class block_counts {
 public:
  /// Reserves memory for blocks 0 to `size` - 1. Returns false if that fails. With `unseen`, size() stays 0, so that
  /// callers take the slow path at each visit.
  WHYWAIT_NO_COVERAGE bool open(uint32_t size, bool unseen = false) noexcept {
    entries_ = static_cast<entry*>(core::map_pages(sizeof(entry) * size, false));
    ran_ = static_cast<uint32_t*>(core::map_pages(sizeof(uint32_t) * size, false));
    if (entries_ == nullptr || ran_ == nullptr) return false;
    segment_ = 1;
    capacity_ = size;
    size_ = unseen ? 0 : size;
    return true;
  }
  WHYWAIT_NO_COVERAGE void release() noexcept {
    core::unmap_pages(entries_, sizeof(entry) * capacity_);
    core::unmap_pages(ran_, sizeof(uint32_t) * capacity_);
    *this = block_counts();
  }

  /// 0 until opened.
  WHYWAIT_NO_COVERAGE __attribute__((always_inline)) uint32_t size() const noexcept { return size_; }
  WHYWAIT_NO_COVERAGE uint32_t capacity() const noexcept { return capacity_; }

  /// Counts one visit of `block`, which must be below capacity(). Returns true for the first visit since the last
  /// `collect`.
  WHYWAIT_NO_COVERAGE __attribute__((always_inline)) bool visit(uint32_t block) noexcept {
    entry& e = entries_[block];
    if (__builtin_expect(e.segment != segment_, 0)) {
      e.count = 1;
      e.segment = segment_;
      ran_[ran_count_++] = block;
      return true;
    }
    ++e.count;
    return false;
  }

  /// Calls sink(block, count) for the blocks that ran since the last call and resets the counts. O(blocks that ran).
  template <class Sink>
  WHYWAIT_NO_COVERAGE void collect(Sink&& sink) noexcept {
    __asm__ volatile("" ::: "memory");  // g++ assumes that a callback changes nothing here
    for (uint32_t i = 0; i < ran_count_; ++i) sink(ran_[i], entries_[ran_[i]].count);
    ran_count_ = 0;
    ++segment_;
  }

 private:
  struct entry {
    uint64_t count;
    uint64_t segment;  // the count is valid only if this equals `segment_`
  };
  entry* entries_ = nullptr;
  uint64_t segment_ = 0;
  uint32_t* ran_ = nullptr;
  uint32_t ran_count_ = 0;
  uint32_t size_ = 0;
  uint32_t capacity_ = 0;
};

}  // namespace coverage
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
