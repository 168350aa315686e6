#ifndef WHYWAIT_DATA_MARKS_ADDRESS_INDEX_HPP
#define WHYWAIT_DATA_MARKS_ADDRESS_INDEX_HPP

#include <whywait/core/pages.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace data {

/// Bytes [begin, end) that belong to the thing numbered `number`.
struct address_piece {
  uint64_t begin;
  uint64_t end;
  uint32_t number;
};

/// From an address to the piece that holds it, among disjoint pieces. Two sorted copies in pages that are never given
/// back: one is read while the other is written, and a reader that two changes have overtaken meanwhile looks again.
/// So nobody locks or waits: not a reader for a writer that has stopped in the middle, nor the other way round, and a
/// signal handler may look. About 15 ns among 1000 pieces. One writer at a time (`data_objects` has a mutex): a change
/// costs about 1 ns for each piece behind it.
class address_index {
 public:
  static constexpr uint32_t capacity = 1u << 15;

  /// Reserves 1.3 MB of address space, touched as it fills. False if there is none.
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

  /// The piece that holds `address`. Any thread, any number of them.
  bool find(uint64_t address, address_piece& found) const noexcept {
    return find_from(address, found) && found.begin <= address;
  }

  /// The first piece that ends behind `address`.
  bool find_from(uint64_t address, address_piece& found) const noexcept {
    for (;;) {
      const uint32_t version = __atomic_load_n(&published_, __ATOMIC_ACQUIRE);
      const copy& from = copies_[version & 1];
      const uint32_t all = __atomic_load_n(&from.count, __ATOMIC_ACQUIRE);
      uint32_t low = 0;
      for (uint32_t count = all; count > 1;) {  // of the pieces that begin at or before the address the last
        const uint32_t half = count / 2;
        low += __atomic_load_n(&from.begins[low + half], __ATOMIC_ACQUIRE) <= address ? half : 0;
        count -= half;
      }
      if (low + 1 < all && __atomic_load_n(&from.ends[low], __ATOMIC_ACQUIRE) <= address) ++low;
      found.begin = __atomic_load_n(&from.begins[low], __ATOMIC_ACQUIRE);
      found.end = __atomic_load_n(&from.ends[low], __ATOMIC_ACQUIRE);
      found.number = __atomic_load_n(&from.numbers[low], __ATOMIC_ACQUIRE);
      const bool is_there = all != 0 && address < found.end;
      // Whoever has seen anything of a later change to this copy has also seen that the change was begun.
      if (__builtin_expect(__atomic_load_n(&begun_, __ATOMIC_RELAXED) - version <= 1, 1)) return is_there;
    }
  }

  /// Changes whenever the pieces do.
  uint32_t version() const noexcept { return __atomic_load_n(&published_, __ATOMIC_ACQUIRE); }

  /// Writer: the pieces from now on, sorted and disjoint, at most `capacity`. Those before `first` are the same as last
  /// time.
  void publish(const address_piece* pieces, uint32_t count, uint32_t first) noexcept {
    const uint32_t version = published_ + 1;
    __atomic_store_n(&begun_, version, __ATOMIC_RELAXED);
    copy& to = copies_[version & 1];
    const uint32_t from = first < changed_ ? first : changed_;  // this copy has missed the last change
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
