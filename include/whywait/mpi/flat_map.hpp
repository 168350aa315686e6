#ifndef WHYWAIT_MPI_FLAT_MAP_HPP
#define WHYWAIT_MPI_FLAT_MAP_HPP

#include <whywait/core/kept_file.hpp>
#include <whywait/core/pages.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// From a 64-bit key to a small number: open addressing in pages of its own, at most half full, holes closed
/// by shifting back (no tombstones, so handles that come and go for ever do not fill it). Zeroed memory is an
/// empty map. Not thread-safe. About 2 ns a look-up.
class flat_map {
 public:
  /// Keeps the table for a reader after a crash. Call it while the table is empty. Null: it is not kept.
  void keep_in(core::kept_file* keeper) noexcept { keeper_ = keeper; }

  /// The value of `key`, or null. Valid until the next `set` or `erase`.
  uint32_t* find(uint64_t key) const noexcept {
    if (size_ == 0) return nullptr;
    for (uint64_t i = home(key);; i = (i + 1) & mask_) {
      if (!slots_[i].used) return nullptr;
      if (slots_[i].key == key) return &slots_[i].value;
    }
  }

  /// Adds or replaces. False only if there are no pages for a larger table.
  bool set(uint64_t key, uint32_t value) noexcept {
    if (uint32_t* known = find(key)) {
      *known = value;
      return true;
    }
    if ((size_ + 1) * 2 > capacity() && !grow()) return false;
    insert(key, value);
    ++size_;
    return true;
  }

  void erase(uint64_t key) noexcept {
    if (size_ == 0) return;
    uint64_t hole = home(key);
    while (slots_[hole].used && slots_[hole].key != key) hole = (hole + 1) & mask_;
    if (!slots_[hole].used) return;
    for (uint64_t i = (hole + 1) & mask_; slots_[i].used; i = (i + 1) & mask_) {
      if (((i - home(slots_[i].key)) & mask_) < ((i - hole) & mask_)) continue;  // would move before its home
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole].used = 0;
    --size_;
  }

  /// For a copy of the map of a process that is gone: calls found(key, value) for all that `memory` has.
  template <class Memory, class Found>
  void visit_kept(const Memory& memory, Found&& found) const {
    const uint64_t there = slots_ != nullptr ? memory.room(slots_) : 0;
    for (uint64_t i = 0; i <= mask_ && i < there; ++i)
      if (const slot* const each = memory.find(slots_ + i, 1))
        if (each->used != 0) found(each->key, each->value);
  }

  uint64_t size() const noexcept { return size_; }
  void release() noexcept {
    core::unmap_pages(slots_, capacity() * sizeof(slot));
    *this = flat_map();
  }

 private:
  struct slot {
    uint64_t key;
    uint32_t value;
    uint32_t used;
  };

  uint64_t capacity() const noexcept { return slots_ != nullptr ? mask_ + 1 : 0; }
  uint64_t home(uint64_t key) const noexcept { return ((key * 0x9e3779b97f4a7c15u) >> 32) & mask_; }

  void insert(uint64_t key, uint32_t value) noexcept {
    uint64_t i = home(key);
    while (slots_[i].used) i = (i + 1) & mask_;
    slots_[i] = slot{key, value, 1};
  }

  __attribute__((noinline, cold)) bool grow() noexcept {
    const uint64_t old_capacity = capacity();
    const uint64_t fresh = old_capacity == 0 ? 256 : old_capacity * 2;
    slot* const old = slots_;
    slot* const pages = static_cast<slot*>(core::map_pages(fresh * sizeof(slot), false));
    if (pages == nullptr) return false;
    if (keeper_ != nullptr) keeper_->keep(pages, fresh * sizeof(slot));
    slots_ = pages;
    mask_ = fresh - 1;
    for (uint64_t i = 0; i < old_capacity; ++i)
      if (old[i].used) insert(old[i].key, old[i].value);
    if (keeper_ != nullptr) keeper_->forget(old);
    core::unmap_pages(old, old_capacity * sizeof(slot));
    return true;
  }

  slot* slots_ = nullptr;
  uint64_t mask_ = 0;
  uint64_t size_ = 0;
  core::kept_file* keeper_ = nullptr;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
