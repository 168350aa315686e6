#ifndef WHYWAIT_MPI_BYTE_LISTS_HPP
#define WHYWAIT_MPI_BYTE_LISTS_HPP

#include <whywait/core/byte_list.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/spin_lock.hpp>
#include <whywait/core/stable_key.hpp>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The byte lists of a process, each kept once: at most 4096, of at most 4096 pieces, 131072 pieces in all (2 MiB, touched as it
/// fills). Zeroed memory is an empty one. Any thread.
class byte_lists {
 public:
  using piece = core::byte_list::piece;
  static constexpr uint64_t most_pieces = 4096;  ///< in one list
  static constexpr uint32_t most_lists = 4096;
  static constexpr uint64_t most = 1u << 17;  ///< pieces in all lists

  /// The list of these pieces, sorted and disjoint, the first at 0; null: there is no room for another.
  const core::byte_list* keep(const piece* pieces, uint64_t count) noexcept {
    core::stable_key key = count;
    for (uint64_t i = 0; i != count; ++i) key = core::combine(core::combine(key, pieces[i].begin), pieces[i].end);
    lock_.lock();
    const core::byte_list* const found = find_or_make(key, pieces, count);
    lock_.unlock();
    return found;
  }

  /// Returns the stored result for `list` repeated n times at a distance of `step` bytes, unless later calls of
  /// `remember` have replaced it.
  bool recall(const core::byte_list* list, uint64_t n, int64_t step, const core::byte_list*& all) noexcept {
    lock_.lock();
    const repeated& r = place_of(list, n, step);
    const bool known = r.list == list && r.n == n && r.step == step;
    if (known) all = r.all;
    lock_.unlock();
    return known;
  }
  /// `all` may be null: there is no such list.
  void remember(const core::byte_list* list, uint64_t n, int64_t step, const core::byte_list* all) noexcept {
    lock_.lock();
    place_of(list, n, step) = {list, n, step, all};
    lock_.unlock();
  }

  uint32_t size() const noexcept { return __atomic_load_n(&size_, __ATOMIC_RELAXED); }
  /// Whether there was no room for one.
  bool full() const noexcept { return __atomic_load_n(&full_, __ATOMIC_RELAXED); }

 private:
  struct repeated {
    const core::byte_list* list;
    uint64_t n;
    int64_t step;
    const core::byte_list* all;
  };
  static constexpr uint32_t buckets = 2 * most_lists;

  repeated& place_of(const core::byte_list* list, uint64_t n, int64_t step) noexcept {
    return repeated_[core::combine(core::combine(reinterpret_cast<uintptr_t>(list), n), static_cast<uint64_t>(step)) % 64];
  }

  const core::byte_list* find_or_make(core::stable_key key, const piece* pieces, uint64_t count) noexcept {
    uint32_t at = static_cast<uint32_t>(key % buckets);
    for (; table_[at] != 0; at = (at + 1) % buckets) {
      const core::byte_list& known = lists_[table_[at] - 1];
      if (known.count == count && memcmp(known.pieces, pieces, sizeof(piece) * count) == 0) return &known;
    }
    if (pieces_ == nullptr) pieces_ = static_cast<piece*>(core::map_pages(sizeof(piece) * most, false));
    if (pieces_ == nullptr || size_ == most_lists || count > most - used_) {
      __atomic_store_n(&full_, true, __ATOMIC_RELAXED);
      return nullptr;
    }
    piece* const own = pieces_ + used_;
    memcpy(own, pieces, sizeof(piece) * count);
    used_ += count;
    core::byte_list& made = lists_[size_];
    made.pieces = own;
    made.count = count;
    made.bytes = 0;
    for (uint64_t i = 0; i != count; ++i) made.bytes += pieces[i].end - pieces[i].begin;
    __atomic_store_n(&size_, size_ + 1, __ATOMIC_RELAXED);
    table_[at] = size_;
    return &made;
  }

  core::spin_lock lock_;
  uint32_t size_ = 0;
  bool full_ = false;
  uint64_t used_ = 0;
  piece* pieces_ = nullptr;
  core::byte_list lists_[most_lists] = {};
  uint32_t table_[buckets] = {};  // 1 + number, by key
  repeated repeated_[64] = {};
};

/// Pieces as they come, then made a list. At most `byte_lists::most_pieces`; memory while there are any.
class piece_buffer {
 public:
  using piece = core::byte_list::piece;

  piece_buffer() noexcept : list_(static_cast<piece*>(core::map_pages(bytes, false))) { failed_ = list_ == nullptr; }
  ~piece_buffer() { core::unmap_pages(list_, bytes); }
  piece_buffer(const piece_buffer&) = delete;
  piece_buffer& operator=(const piece_buffer&) = delete;

  /// False: there were too many.
  bool add(int64_t begin, uint64_t size) noexcept {
    if (size == 0 || failed_) return !failed_;
    const uint64_t at = static_cast<uint64_t>(begin) + middle;  // so that they sort
    if (count_ != 0 && list_[count_ - 1].end == at) {
      list_[count_ - 1].end += size;
      return true;
    }
    if (count_ == byte_lists::most_pieces) return failed_ = true, false;
    sorted_ = sorted_ && (count_ == 0 || list_[count_ - 1].end < at);
    list_[count_++] = {at, at + size};
    return true;
  }
  /// Sorted, disjoint, not touching, from 0 on.
  void tidy() noexcept {
    if (!sorted_) {
      for (uint64_t gap = count_ / 2; gap != 0; gap /= 2)  // Shell's sort: no allocation, and mostly there is little to do
        for (uint64_t i = gap; i != count_; ++i) {
          const piece p = list_[i];
          uint64_t at = i;
          for (; at >= gap && list_[at - gap].begin > p.begin; at -= gap) list_[at] = list_[at - gap];
          list_[at] = p;
        }
      uint64_t kept = 0;
      for (uint64_t i = 1; i < count_; ++i) {
        if (list_[i].begin > list_[kept].end) list_[++kept] = list_[i];
        else if (list_[i].end > list_[kept].end) list_[kept].end = list_[i].end;
      }
      count_ = kept + 1;
    }
    const uint64_t first = count_ != 0 ? list_[0].begin : 0;
    for (uint64_t i = 0; i != count_; ++i) {
      list_[i].begin -= first;
      list_[i].end -= first;
    }
  }

  bool failed() const noexcept { return failed_; }
  uint64_t count() const noexcept { return count_; }
  const piece* pieces() const noexcept { return list_; }

 private:
  static constexpr size_t bytes = sizeof(piece) * byte_lists::most_pieces;
  static constexpr uint64_t middle = uint64_t(1) << 63;

  piece* list_;
  uint64_t count_ = 0;
  bool failed_ = false;
  bool sorted_ = true;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
