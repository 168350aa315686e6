#ifndef WHYWAIT_MPI_DATA_TYPES_HPP
#define WHYWAIT_MPI_DATA_TYPES_HPP

#include <whywait/core/byte_list.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/spin_lock.hpp>
#include <whywait/mpi/byte_lists.hpp>
#include <whywait/mpi/mpi_header.hpp>

#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// The bytes that a datatype really touches, from the address that a call is given: equal pieces at one distance; if they
/// are not that regular, a list of pieces; if those are too many, only `low` and `high`, which bound them.
struct type_pattern {
  int64_t low = 0;  ///< of the first byte touched
  int64_t high = 0;  ///< behind the last one
  uint64_t piece = 0;  ///< bytes of a piece
  uint64_t stride = 0;  ///< from one piece to the next, if there are several
  uint64_t count = 0;  ///< pieces; 0: no bytes at all
  uint64_t size = 0;  ///< bytes of data
  bool regular = true;
  const core::byte_list* list = nullptr;  ///< if not regular: from `low` on; null: there are too many pieces

  /// A run of bytes.
  static type_pattern run(int64_t from, uint64_t bytes) noexcept {
    type_pattern p;
    p.low = from;
    p.high = from + static_cast<int64_t>(bytes);
    p.piece = bytes;
    p.count = bytes != 0 ? 1 : 0;
    p.size = bytes;
    return p;
  }
};

/// Puts patterns beside each other, in the order of a type map. What grows together is one piece. What is not regular is
/// kept in `lists`, for which all that was put has to be remembered, up to 4096 of it; without lists there are bounds only.
class pattern_builder {
 public:
  explicit pattern_builder(byte_lists* lists) noexcept : lists_(lists) {}
  ~pattern_builder() { core::unmap_pages(parts_, sizeof(part) * byte_lists::most_pieces); }
  pattern_builder(const pattern_builder&) = delete;
  pattern_builder& operator=(const pattern_builder&) = delete;

  /// `n` copies of `p`, the first `offset` bytes further, each `step` bytes behind the one before. O(1).
  void add(const type_pattern& p, int64_t offset, uint64_t n, int64_t step) noexcept {
    if (p.count == 0 || n == 0) return;
    remember({p, offset, n, step});
    type_pattern q = p;
    if (n != 1) q.list = nullptr;
    q.low += offset;
    q.high += offset;
    if (n != 1) {
      const int64_t shift = static_cast<int64_t>(n - 1) * step;
      const auto distance = static_cast<uint64_t>(step);
      q.size *= n;
      if (p.regular && step > 0 && p.count == 1 && distance == p.piece) {
        q.piece *= n;
      } else if (p.regular && step > 0 && p.count == 1 && distance > p.piece) {
        q.stride = distance;
        q.count = n;
      } else if (p.regular && p.count > 1 && step > 0 && distance == p.count * p.stride) {
        q.count *= n;
      } else {
        q.regular = false;
      }
      (shift < 0 ? q.low : q.high) += shift;
    }
    put(q);
  }

  type_pattern result() noexcept {
    commit();
    if (!all_.regular && all_.list == nullptr && lists_ != nullptr) find_list();
    return all_;
  }

 private:
  struct part {
    type_pattern p;
    int64_t offset;
    uint64_t n;
    int64_t step;
  };

  void remember(const part& more) noexcept {
    if (lists_ == nullptr || forgotten_) return;
    if (parts_count_ == 0) {
      first_ = more;
    } else {
      if (parts_ == nullptr) parts_ = static_cast<part*>(core::map_pages(sizeof(part) * byte_lists::most_pieces, false));
      if (parts_ == nullptr || parts_count_ == byte_lists::most_pieces) forgotten_ = true;
      else parts_[parts_count_] = more;
    }
    ++parts_count_;
  }

  void find_list() noexcept {
    const bool one = parts_count_ == 1 && first_.p.list != nullptr;
    if (one && lists_->recall(first_.p.list, first_.n, first_.step, all_.list)) return;
    make_list();
    if (one && !all_.regular) lists_->remember(first_.p.list, first_.n, first_.step, all_.list);
  }

  // Piece by piece. They may turn out to be regular when they are sorted.
  __attribute__((noinline, cold)) void make_list() noexcept {
    piece_buffer all;
    for (uint64_t i = 0; i != parts_count_ && !forgotten_; ++i) {
      const part& each = i == 0 ? first_ : parts_[i];
      const type_pattern& p = each.p;
      if (!p.regular && p.list == nullptr) return;
      const bool run = p.regular && p.count == 1 && each.step == static_cast<int64_t>(p.piece);
      if (run && !all.add(p.low + each.offset, p.piece * each.n)) return;
      for (uint64_t copy = 0; copy != each.n && !run; ++copy) {
        const int64_t at = p.low + each.offset + static_cast<int64_t>(copy) * each.step;
        for (uint64_t k = 0; k != (p.regular ? p.count : p.list->count); ++k) {
          const uint64_t from = p.regular ? k * p.stride : p.list->pieces[k].begin;
          if (!all.add(at + static_cast<int64_t>(from), p.regular ? p.piece : p.list->pieces[k].end - from)) return;
        }
      }
    }
    if (forgotten_ || all.failed()) return;
    all.tidy();
    const piece_buffer::piece* const list = all.pieces();
    const uint64_t n = all.count(), piece = list[0].end, stride = n > 1 ? list[1].begin : 0;
    bool regular = true;
    for (uint64_t i = 0; i != n; ++i) regular = regular && list[i].begin == i * stride && list[i].end - list[i].begin == piece;
    if (regular) {
      all_.regular = true;
      all_.piece = piece;
      all_.stride = stride;
      all_.count = n;
    } else {
      all_.list = lists_->keep(list, n);
    }
  }

  // A run may still grow at its end, so it is kept apart.
  void put(const type_pattern& q) noexcept {
    if (open_.count != 0 && q.regular && q.count == 1 && q.low == open_.high) {
      open_.high = q.high;
      open_.piece += q.piece;
      open_.size += q.size;
      return;
    }
    commit();
    if (q.regular && q.count == 1) open_ = q;
    else join(q);
  }
  void commit() noexcept {
    if (open_.count != 0) join(open_);
    open_ = type_pattern();
  }
  void join(const type_pattern& q) noexcept {
    if (all_.count == 0) {
      all_ = q;
      return;
    }
    const int64_t first = all_.low;
    bool fits = all_.regular && q.regular && all_.piece == q.piece && q.low >= all_.high;
    uint64_t stride = all_.count > 1 ? all_.stride : q.count > 1 ? q.stride : 0;
    if (fits && stride == 0) stride = static_cast<uint64_t>(q.low - first);
    fits = fits && (q.count == 1 || q.stride == stride) && static_cast<uint64_t>(q.low - first) == all_.count * stride;
    if (q.low < all_.low) all_.low = q.low;
    if (q.high > all_.high) all_.high = q.high;
    all_.size += q.size;
    all_.count += q.count;
    all_.stride = stride;
    all_.regular = fits;
    all_.list = nullptr;
  }

  type_pattern all_, open_;
  byte_lists* const lists_;
  part first_{};
  part* parts_ = nullptr;  // from the second on
  uint64_t parts_count_ = 0;
  bool forgotten_ = false;
};

namespace detail {

type_pattern pattern_of_derived(MPI_Datatype type, int integers, int addresses, int types, int combiner,
                                byte_lists* lists) noexcept;

/// Asks MPI what a datatype is made of, down to the predefined ones.
__attribute__((noinline, cold)) inline type_pattern ask_pattern(MPI_Datatype type, byte_lists* lists) noexcept {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  if (PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS) return {};
  if (combiner != MPI_COMBINER_NAMED) {
    const type_pattern found = pattern_of_derived(type, integers, addresses, types, combiner, lists);
    if (found.count != 0) return found;
  }
  int size = 0;
  MPI_Aint low = 0, extent = 0;
  PMPI_Type_size(type, &size);
  PMPI_Type_get_true_extent(type, &low, &extent);
  if (size <= 0) return {};
  type_pattern p = type_pattern::run(low, static_cast<uint64_t>(extent));
  p.size = static_cast<uint64_t>(size);
  p.regular = combiner == MPI_COMBINER_NAMED;  // a predefined pair with a gap counts as a piece
  return p;
}

__attribute__((noinline, cold)) inline type_pattern pattern_of_derived(MPI_Datatype type, int integers, int addresses,
                                                                       int types, int combiner, byte_lists* lists) noexcept {
  const size_t room = sizeof(int) * static_cast<size_t>(integers) + sizeof(MPI_Aint) * static_cast<size_t>(addresses) +
                      sizeof(MPI_Datatype) * static_cast<size_t>(types) + 64;
  char* const pages = static_cast<char*>(core::map_pages(room, false));
  if (pages == nullptr) return {};
  auto* const a = reinterpret_cast<MPI_Aint*>(pages);
  auto* const t = reinterpret_cast<MPI_Datatype*>(a + addresses);
  int* const n = reinterpret_cast<int*>(t + types);
  pattern_builder all(lists);
  if (PMPI_Type_get_contents(type, integers, addresses, types, n, a, t) == MPI_SUCCESS) {
    const type_pattern one = types != 0 ? ask_pattern(t[0], lists) : type_pattern();
    MPI_Aint low = 0, extent = 0;
    if (types != 0) PMPI_Type_get_extent(t[0], &low, &extent);
    const auto times = [](int k) { return static_cast<uint64_t>(k > 0 ? k : 0); };
    const auto block = [&](int length, MPI_Aint at) { all.add(one, at, times(length), extent); };
    switch (combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED: all.add(one, 0, 1, 0); break;
      case MPI_COMBINER_CONTIGUOUS: block(n[0], 0); break;
      case MPI_COMBINER_VECTOR:
      case MPI_COMBINER_HVECTOR: {
        pattern_builder row(lists);
        row.add(one, 0, times(n[1]), extent);
        all.add(row.result(), 0, times(n[0]), combiner == MPI_COMBINER_VECTOR ? n[2] * extent : a[0]);
        break;
      }
      case MPI_COMBINER_INDEXED:
        for (int i = 0; i < n[0]; ++i) block(n[1 + i], n[1 + n[0] + i] * extent);
        break;
      case MPI_COMBINER_HINDEXED:
        for (int i = 0; i < n[0]; ++i) block(n[1 + i], a[i]);
        break;
      case MPI_COMBINER_INDEXED_BLOCK:
        for (int i = 0; i < n[0]; ++i) block(n[1], n[2 + i] * extent);
        break;
      case MPI_COMBINER_HINDEXED_BLOCK:
        for (int i = 0; i < n[0]; ++i) block(n[1], a[i]);
        break;
      case MPI_COMBINER_STRUCT:
        for (int i = 0; i < n[0]; ++i) {
          MPI_Aint each_low = 0, each_extent = 0;
          PMPI_Type_get_extent(t[i], &each_low, &each_extent);
          all.add(i == 0 ? one : ask_pattern(t[i], lists), a[i], times(n[1 + i]), each_extent);
        }
        break;
      case MPI_COMBINER_SUBARRAY: {
        const int dims = n[0];
        type_pattern inner = one;
        MPI_Aint step = extent;
        for (int k = 0; k < dims; ++k) {  // the fastest first
          const int d = n[1 + 3 * dims] == MPI_ORDER_C ? dims - 1 - k : k;
          pattern_builder row(lists);
          row.add(inner, n[1 + 2 * dims + d] * step, times(n[1 + dims + d]), step);
          inner = row.result();
          step *= n[1 + d];
        }
        all.add(inner, 0, 1, 0);
        break;
      }
      default: break;  // distributed arrays and Fortran's own: their bounds
    }
    for (int i = 0; i < types; ++i) {  // MPI has made references of these
      int x = 0, y = 0, z = 0, kind = MPI_COMBINER_NAMED;
      PMPI_Type_get_envelope(t[i], &x, &y, &z, &kind);
      if (kind != MPI_COMBINER_NAMED) PMPI_Type_free(&t[i]);
    }
  }
  core::unmap_pages(pages, room);
  return all.result();
}

}  // namespace detail

/// What datatypes touch; those in use are kept, at most `capacity`, each found through an attribute of the type itself, so
/// that one that is freed takes its pattern along. Zeroed memory is an empty cache. Any thread.
class pattern_cache {
 public:
  static constexpr unsigned capacity = 256;

  byte_lists lists;  ///< of those that are not regular

  type_pattern find(MPI_Datatype type) noexcept {
    if (type == MPI_DATATYPE_NULL) return {};
    int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
    PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    if (combiner == MPI_COMBINER_NAMED || !has_key()) return detail::ask_pattern(type, &lists);
    void* known = nullptr;
    int found = 0;
    PMPI_Type_get_attr(type, key_, static_cast<void*>(&known), &found);
    if (found != 0 && known != nullptr) return static_cast<entry*>(known)->pattern;
    const type_pattern fresh = detail::ask_pattern(type, &lists);
    if (entry* const place = take()) {
      place->pattern = fresh;
      if (PMPI_Type_set_attr(type, key_, place) != MPI_SUCCESS) release(*place);
    }
    return fresh;
  }
  /// How many are kept.
  unsigned size() noexcept {
    unsigned n = 0;
    for (const entry& e : entries_) n += __atomic_load_n(&e.cache, __ATOMIC_RELAXED) != nullptr ? 1 : 0;
    return n;
  }

 private:
  struct entry {
    pattern_cache* cache;  // null: free
    type_pattern pattern;
  };

  bool has_key() noexcept {
    if (__builtin_expect(__atomic_load_n(&has_key_, __ATOMIC_ACQUIRE), 1)) return true;
    lock_.lock();
    if (!has_key_ && PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, &forget, &key_, nullptr) == MPI_SUCCESS)
      __atomic_store_n(&has_key_, true, __ATOMIC_RELEASE);
    lock_.unlock();
    return has_key_;
  }
  entry* take() noexcept {
    lock_.lock();
    entry* found = nullptr;
    for (entry& e : entries_)
      if (e.cache == nullptr) {
        found = &e;
        e.cache = this;
        break;
      }
    lock_.unlock();
    return found;
  }
  static void release(entry& e) noexcept {
    core::spin_lock& lock = e.cache->lock_;
    lock.lock();
    e.cache = nullptr;
    lock.unlock();
  }
  // MPI calls it when the type is freed.
  static int forget(MPI_Datatype, int, void* kept, void*) {
    release(*static_cast<entry*>(kept));
    return MPI_SUCCESS;
  }

  int key_ = 0;
  bool has_key_ = false;
  core::spin_lock lock_;
  entry entries_[capacity] = {};
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
