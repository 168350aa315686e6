#ifndef WHYWAIT_DATA_MARKS_ADDRESS_INDEX_HPP
#define WHYWAIT_DATA_MARKS_ADDRESS_INDEX_HPP

#include <whywait/core/pages.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace data {

/// The bytes [begin, end), which belong to the array `number`.
struct address_piece {
  uint64_t begin;
  uint64_t end;
  uint32_t number;
};

/// Lookup from an address to the piece that contains it, among disjoint pieces. It keeps two sorted copies in pages
/// that are never unmapped. Readers use one copy while the writer changes the other; a reader that two changes have
/// overtaken retries. Readers and the writer therefore neither lock nor wait, even if the other side has stopped, and
/// lookups work in signal handlers. About 15 ns among 1000 pieces. One writer at a time (`data_objects` has a mutex). A
/// change costs about 1 ns for each piece after the changed one.
class address_index {
 public:
  static constexpr uint32_t capacity = 1u << 15;

  /// Reserves 1.3 MB of address space, which is touched as it fills. Returns false if that fails.
  bool open() noexcept {
    for (copy& each : copies_) {
      each.begins = static_cast<uint64_t*>(core::map_pages(sizeof(uint64_t) * capacity, false));
      each.ends = static_cast<uint64_t*>(core::map_pages(sizeof(uint64_t) * capacity, false));
      each.numbers = static_cast<uint32_t*>(core::map_pages(sizeof(uint32_t) * capacity, false));
      if (each.begins == nullptr || each.ends == nullptr || each.numbers == nullptr) return false;
    }
    return true;
  }
  void release() noexcept {
    for (copy& each : copies_) {
      core::unmap_pages(each.begins, sizeof(uint64_t) * capacity);
      core::unmap_pages(each.ends, sizeof(uint64_t) * capacity);
      core::unmap_pages(each.numbers, sizeof(uint32_t) * capacity);
      each = copy();
    }
  }

  /// Finds the piece that contains `address`. Thread-safe.
  bool find(uint64_t address, address_piece& found) const noexcept {
    return find_from(address, found) && found.begin <= address;
  }

  /// Finds the first piece that ends after `address`.
  bool find_from(uint64_t address, address_piece& found) const noexcept {
    for (;;) {
      const uint32_t version = __atomic_load_n(&published_, __ATOMIC_ACQUIRE);
      const copy& from = copies_[version & 1];
      const uint32_t all = __atomic_load_n(&from.count, __ATOMIC_ACQUIRE);
      uint32_t low = 0;
      for (uint32_t count = all; count > 1;) {  // binary search for the last piece that begins at or before the address
        const uint32_t half = count / 2;
        low += __atomic_load_n(&from.begins[low + half], __ATOMIC_ACQUIRE) <= address ? half : 0;
        count -= half;
      }
      if (low + 1 < all && __atomic_load_n(&from.ends[low], __ATOMIC_ACQUIRE) <= address) ++low;
      found.begin = __atomic_load_n(&from.begins[low], __ATOMIC_ACQUIRE);
      found.end = __atomic_load_n(&from.ends[low], __ATOMIC_ACQUIRE);
      found.number = __atomic_load_n(&from.numbers[low], __ATOMIC_ACQUIRE);
      const bool is_there = all != 0 && address < found.end;
      // A reader that has seen any part of a later change to this copy has also seen the increment of `begun_`.
      if (__builtin_expect(__atomic_load_n(&begun_, __ATOMIC_RELAXED) - version <= 1, 1)) return is_there;
    }
  }

  /// A version that changes with every publication.
  uint32_t version() const noexcept { return __atomic_load_n(&published_, __ATOMIC_ACQUIRE); }

  /// Publishes new pieces, sorted and disjoint, at most `capacity`. The pieces before index `first` must be unchanged.
  /// Writer only.
  void publish(const address_piece* pieces, uint32_t count, uint32_t first) noexcept {
    const uint32_t version = published_ + 1;
    __atomic_store_n(&begun_, version, __ATOMIC_RELAXED);
    copy& to = copies_[version & 1];
    const uint32_t from = first < changed_ ? first : changed_;  // this copy lacks the previous change
    changed_ = first;
    for (uint32_t i = from; i < count; ++i) {
      __atomic_store_n(&to.begins[i], pieces[i].begin, __ATOMIC_RELEASE);
      __atomic_store_n(&to.ends[i], pieces[i].end, __ATOMIC_RELEASE);
      __atomic_store_n(&to.numbers[i], pieces[i].number, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&to.count, count, __ATOMIC_RELEASE);
    __atomic_store_n(&published_, version, __ATOMIC_RELEASE);
  }

 private:
  struct copy {
    uint64_t* begins = nullptr;
    uint64_t* ends = nullptr;
    uint32_t* numbers = nullptr;
    uint32_t count = 0;
  };
  copy copies_[2];
  uint32_t published_ = 0;
  uint32_t begun_ = 0;
  uint32_t changed_ = 0;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
