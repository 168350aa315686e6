#ifndef WHYWAIT_DATA_MARKS_OBJECTS_HPP
#define WHYWAIT_DATA_MARKS_OBJECTS_HPP

#include <whywait/core/byte_list.hpp>
#include <whywait/core/data_record.hpp>
#include <whywait/core/data_sample.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/data/marks/address_index.hpp>
#include <whywait/record/path_head.hpp>

#include <pthread.h>
#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace data {

/// A registered array of this process.
struct known_object {
  core::data_object shape;
  uint64_t begin;          ///< address of its first byte
  uint64_t end;
  const uint64_t* sample;  ///< bit set of the granules whose tracked accesses are recorded; null for all
  uint32_t site;           ///< site of the registration
  bool active;             ///< currently registered
  bool covers;             ///< took bytes from an array that was registered before
  uint32_t next_same;      ///< next in its hash bucket
  uint32_t next;           ///< list of active arrays in order of registration
  uint32_t previous;
};

/// A thread that is notified when registrations change. The writer then sets its `top` to `changed`, which leads to an
/// invalid region. Each access reads the innermost region anyway, so the notification costs no additional check.
struct object_watcher {
  record::path_frame* const* top;
  object_watcher* next;
};
inline record::path_frame no_frame{reinterpret_cast<record::path_entry*>(uintptr_t(1)), 0};
inline record::path_frame* changed = &no_frame;

/// All arrays that a process ever registered, numbered from 1, and the index from addresses to arrays. Numbers are
/// never reused, so that records can refer to them. An array that is registered again by the same site with the same
/// shape keeps its number, even at another address. Where arrays overlap, the newest one owns the bytes; when it ends,
/// the arrays below get them back. Registration takes a mutex; `find` does not. No allocation.
class data_objects {
 public:
  static constexpr uint32_t capacity = 1u << 14;

  /// Reserves 5 MB of address space, which is touched as it fills. Returns false if that fails.
  bool open() noexcept {
    objects_ = static_cast<known_object*>(core::map_pages(sizeof(known_object) * capacity, false));
    pieces_ = static_cast<address_piece*>(core::map_pages(sizeof(address_piece) * address_index::capacity, false));
    return objects_ != nullptr && pieces_ != nullptr && index_.open();
  }
  void release() noexcept {
    for (uint32_t i = 1; i < size_; ++i)
      core::unmap_pages(const_cast<uint64_t*>(objects_[i].sample), core::data_sample(objects_[i].shape.bytes()).map_bytes());
    core::unmap_pages(objects_, sizeof(known_object) * capacity);
    core::unmap_pages(pieces_, sizeof(address_piece) * address_index::capacity);
    index_.release();
  }

  /// Registers an array and returns its number, or 0 if tables are full (counted) or it has no bytes. Registering an
  /// active array again has no effect. 2 us among 1000 arrays, about 2 ns for each array at a higher address.
  uint32_t add(uint32_t site, const void* pointer, const core::data_object& shape) noexcept {
    const uint64_t begin = reinterpret_cast<uintptr_t>(pointer), bytes = shape.bytes();
    if (pointer == nullptr || bytes == 0 || bytes > ~uint64_t(0) - begin) return 0;
    pthread_mutex_lock(&mutex_);
    const uint32_t number = find_or_make(site, begin, shape);
    if (number != 0 && !objects_[number].active) {
      known_object& o = objects_[number];
      __atomic_store_n(&o.begin, begin, __ATOMIC_RELAXED);
      o.end = begin + bytes;
      publish(insert_pieces(number));
      link(number);
    }
    pthread_mutex_unlock(&mutex_);
    return number;
  }

  /// Ends a registration. If the array is no longer at `begin`, its registration has already ended and nothing happens.
  void remove(uint32_t number, const void* begin) noexcept {
    pthread_mutex_lock(&mutex_);
    if (number != 0 && number < size_ && objects_[number].active &&
        objects_[number].begin == reinterpret_cast<uintptr_t>(begin))
      take_out(number);
    pthread_mutex_unlock(&mutex_);
  }
  /// Ends the newest registration that begins at this address. Returns false if there is none.
  bool remove(const void* begin) noexcept {
    pthread_mutex_lock(&mutex_);
    uint32_t number = last_;
    while (number != 0 && objects_[number].begin != reinterpret_cast<uintptr_t>(begin)) number = objects_[number].previous;
    if (number != 0) take_out(number);
    pthread_mutex_unlock(&mutex_);
    return number != 0;
  }

  /// Returns the array that contains an address and the interval `around` it that this array owns; 0 if there is none.
  /// Thread-safe, lock-free, about 15 ns among 1000.
  uint32_t find(const void* address, address_piece& around) const noexcept {
    return index_.find(reinterpret_cast<uintptr_t>(address), around) ? around.number : 0;
  }

  /// Finds the first piece of an array that ends after an address. Returns false if there is none.
  bool find_from(uint64_t address, address_piece& piece) const noexcept { return index_.find_from(address, piece); }
  /// A version that changes with every registration and its end.
  uint32_t version() const noexcept { return index_.version(); }

  /// Adds a watcher, which must keep its address.
  void watch(object_watcher& watcher) noexcept {
    pthread_mutex_lock(&mutex_);
    watcher.next = watchers_;
    watchers_ = &watcher;
    pthread_mutex_unlock(&mutex_);
  }

  /// One more than the highest number in use.
  uint32_t size() const noexcept { return __atomic_load_n(&size_, __ATOMIC_ACQUIRE); }
  const known_object& operator[](uint32_t number) const noexcept { return objects_[number]; }
  /// Marks an array as a buffer that only carries other data, because data was packed into it.
  void mark_as_buffer(uint32_t number) noexcept {
    bool& buffer = objects_[number].shape.buffer;
    if (!__atomic_load_n(&buffer, __ATOMIC_RELAXED)) __atomic_store_n(&buffer, true, __ATOMIC_RELAXED);
  }
  /// Registrations that failed because tables were full.
  uint64_t refused() const noexcept { return __atomic_load_n(&refused_, __ATOMIC_RELAXED); }

 private:
  static constexpr uint32_t buckets = 1u << 12;
  static_assert(address_index::capacity >= 2 * capacity, "each array adds two pieces at most");

  static bool same_shape(const core::data_object& a, const core::data_object& b) noexcept {
    return a.key == b.key && a.element_bytes == b.element_bytes && a.dimensions == b.dimensions && a.global == b.global &&
           a.sampled == b.sampled && memcmp(a.extent, b.extent, sizeof a.extent) == 0 &&
           memcmp(a.first, b.first, sizeof a.first) == 0 && memcmp(a.whole, b.whole, sizeof a.whole) == 0;
  }

  // Reuses the array that is registered at this address, or else one that has ended, preferably at the same address.
  // Otherwise creates a new one.
  uint32_t find_or_make(uint32_t site, uint64_t begin, const core::data_object& shape) noexcept {
    uint64_t hash = shape.key;
    for (const uint64_t e : shape.extent) hash = core::combine(hash, e);
    uint32_t& bucket = buckets_[hash & (buckets - 1)];
    uint32_t ended = 0;
    for (uint32_t i = bucket; i != 0; i = objects_[i].next_same) {
      if (!same_shape(objects_[i].shape, shape)) continue;
      if (objects_[i].begin == begin) return i;
      if (!objects_[i].active) ended = i;
    }
    if (ended != 0) return ended;
    if (size_ == capacity) {
      ++refused_;
      return 0;
    }
    const uint32_t number = size_;
    known_object& o = objects_[number];
    o.shape = shape;
    o.site = site;
    o.sample = shape.sampled ? make_sample(number, shape.bytes()) : nullptr;
    o.next_same = bucket;
    bucket = number;
    __atomic_store_n(&size_, number + 1, __ATOMIC_RELEASE);
    return number;
  }

  static const uint64_t* make_sample(uint32_t number, uint64_t bytes) noexcept {
    const core::data_sample sample(bytes);
    uint64_t* const map = static_cast<uint64_t*>(core::map_pages(sample.map_bytes(), false));
    for (uint64_t row = 0; map != nullptr && row < sample.rows(); ++row) {
      const uint64_t granule = sample.chosen(number, row);
      map[granule / 64] |= uint64_t(1) << (granule % 64);
    }
    return map;  // null records all granules, as a fallback without memory
  }

  void link(uint32_t number) noexcept {
    known_object& o = objects_[number];
    o.active = true;
    o.next = 0;
    o.previous = last_;
    (last_ != 0 ? objects_[last_].next : first_) = number;
    last_ = number;
  }
  void take_out(uint32_t number) noexcept {
    known_object& o = objects_[number];
    o.active = false;
    (o.previous != 0 ? objects_[o.previous].next : first_) = o.next;
    (o.next != 0 ? objects_[o.next].previous : last_) = o.previous;
    if (o.covers) {
      count_ = 0;
      for (uint32_t i = first_; i != 0; i = objects_[i].next) insert_pieces(i);
      publish(0);
      return;
    }
    uint32_t kept = position(o.begin);
    const uint32_t first = kept;
    for (uint32_t i = kept; i < count_; ++i)
      if (pieces_[i].number != number) pieces_[kept++] = pieces_[i];
    count_ = kept;
    publish(first);
  }

  // A watcher stores `top` before it reads the version. A watcher that reads the old version therefore has its `top`
  // overwritten.
  void publish(uint32_t first) noexcept {
    index_.publish(pieces_, count_, first);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (object_watcher* w = watchers_; w != nullptr; w = w->next) __atomic_store_n(&w->top, &changed, __ATOMIC_RELAXED);
  }

  // Inserts an array on top of the pieces and returns the first changed index. It adds at most two pieces, so capacity
  // suffices.
  uint32_t insert_pieces(uint32_t number) noexcept {
    known_object& o = objects_[number];
    const uint32_t first = position(o.begin);
    uint32_t behind = first;
    while (behind < count_ && pieces_[behind].begin < o.end) ++behind;
    o.covers = behind != first;
    address_piece fresh[3];
    uint32_t n = 0;
    if (o.covers && pieces_[first].begin < o.begin) fresh[n++] = {pieces_[first].begin, o.begin, pieces_[first].number};
    fresh[n++] = {o.begin, o.end, number};
    if (o.covers && pieces_[behind - 1].end > o.end) fresh[n++] = {o.end, pieces_[behind - 1].end, pieces_[behind - 1].number};
    memmove(pieces_ + first + n, pieces_ + behind, sizeof(address_piece) * (count_ - behind));
    memcpy(pieces_ + first, fresh, sizeof(address_piece) * n);
    count_ = count_ - (behind - first) + n;
    return first;
  }
  // The first piece that ends after this address.
  uint32_t position(uint64_t address) const noexcept { return core::first_behind(pieces_, count_, address); }

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  known_object* objects_ = nullptr;
  address_piece* pieces_ = nullptr;
  uint32_t size_ = 1;
  uint32_t count_ = 0;
  uint32_t first_ = 0, last_ = 0;
  uint64_t refused_ = 0;
  object_watcher* watchers_ = nullptr;
  uint32_t buckets_[buckets] = {};
  address_index index_;
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
