#ifndef WHYWAIT_MPI_REQUESTS_HPP
#define WHYWAIT_MPI_REQUESTS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/sync_record.hpp>

#include <stddef.h>
#include <stdint.h>
#include <boost/intrusive/unordered_set.hpp>
#include <new>

namespace whywait {
inline namespace v0 {
namespace mpi {

struct message_region;  // data_regions.hpp

/// What is known of an MPI_Request (or MPI_Message) between the call that made it and the one that ends it.
/// Of cache lines of its own: the neighbours may be those of other threads.
struct alignas(64) pending
    : boost::intrusive::unordered_set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
  uint64_t handle;
  core::sync_record* record;  ///< posting to complete; null: inactive, or its record was lost
  void* new_comm;             ///< MPI_Comm_idup: where MPI will put the handle
  message_region* region;     ///< of a registered array, which it sends or receives; null: none
  pending* twin;              ///< MPI_Isendrecv: the send, which the receive's handle completes as well; null: none
  int32_t* needs;             ///< persistent collective: ranks that it needs, behind their number; null: not sparse
  uint64_t bytes;
  uint32_t index;             ///< of `record` in its location
  uint32_t location;          ///< index of the location that posted
  uint32_t posting;           ///< ordinal (messages: taken at the matched probe)
  uint32_t comm;              ///< index of the communicator
  uint32_t instance;          ///< how-many-th persistent collective of its communicator
  uint32_t holders;           ///< calls that will finish it; it is not recycled before they are through
  int32_t peer;
  int32_t tag;
  int32_t partitions;         ///< of a partitioned message; 0: it is not one
  int32_t unready;            ///< those that are not ready to be sent
  uint16_t flags;             ///< sync_flag bits of every posting made from it
  core::mpi_call collective;  ///< persistent collective: the call that made it, else `none`
  bool persistent;
  bool linked;
  bool wildcard;              ///< active, and its status is needed: source or tag are not known yet
  bool cancel_seen;           ///< its status is needed: MPI_Cancel was called on it
  bool watched;               ///< active, and its status is needed: how much of `region` was received

  bool needs_status() const noexcept { return wildcard || cancel_seen || watched; }
};

namespace detail {
struct pending_key {
  typedef uint64_t type;
  const uint64_t& operator()(const pending& p) const noexcept { return p.handle; }
};
struct pending_hash {
  size_t operator()(uint64_t handle) const noexcept { return static_cast<size_t>((handle * 0x9e3779b97f4a7c15u) >> 32); }
};
}  // namespace detail

/// From handle to `pending`: Boost.Intrusive buckets over pooled nodes, so that nothing is allocated while
/// the number of open requests stays below its former maximum. Zeroed memory is not enough: call `open`.
/// Not thread-safe but for `recycle`; the caller holds the lock when several threads call MPI. About 5 ns an operation.
///
/// A handle can be in use twice: MPI frees it inside a completion call of one thread and gives it to another
/// thread before the first has returned. `add` unlinks the old owner, which stays valid for its `holders`.
class request_table {
 public:
  bool open() noexcept {
    void* pages = core::map_pages(sizeof(bucket) * first_buckets, true);
    if (pages == nullptr || !refill()) return false;
    buckets_ = static_cast<bucket*>(pages);
    bucket_count_ = first_buckets;
    for (size_t i = 0; i < first_buckets; ++i) new (&buckets_[i]) bucket();
    set_ = new (room_) set(set::bucket_traits(buckets_, bucket_count_));
    return true;
  }

  pending* find(uint64_t handle) noexcept {
    const set::iterator found = set_->find(handle);
    return found != set_->end() ? &*found : nullptr;
  }

  /// A fresh entry; null only if there are no pages. `shared`: other threads may recycle entries meanwhile.
  pending* add(uint64_t handle, bool shared = true) noexcept {
    pending* const fresh = take_free(shared);
    if (__builtin_expect(fresh == nullptr, 0)) return nullptr;
    clear(*fresh);
    fresh->handle = handle;
    link(fresh);
    return fresh;
  }

  /// Takes an entry out; it stays valid until `recycle`.
  void unlink(pending* p) noexcept {
    if (!p->linked) return;
    set_->erase(set_->iterator_to(*p));
    p->linked = false;
  }

  /// Puts an entry back whose operation turned out to be still pending.
  void link(pending* p) noexcept {
    if (__builtin_expect(set_->size() >= bucket_count_, 0)) grow();
    auto placed = set_->insert(*p);
    if (__builtin_expect(!placed.second, 0)) {  // MPI has given the handle out again: the old one is done
      pending* const stale = &*placed.first;
      ++replaced_;
      unlink(stale);
      if (stale->holders == 0) recycle(stale);
      set_->insert(*p);
    }
    p->linked = true;
  }

  /// Gives an unlinked entry back to the pool. With `shared` the caller need not hold the lock.
  void recycle(pending* p, bool shared = true) noexcept {
    pending* head = __atomic_load_n(&free_, __ATOMIC_RELAXED);
    next_free(p) = head;
    if (!shared) {
      free_ = p;
      return;
    }
    while (!__atomic_compare_exchange_n(&free_, &head, p, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) next_free(p) = head;
  }

  /// Of a request that is gone.
  __attribute__((noinline, cold)) void drop_twin(pending* p) noexcept {
    unlink(p->twin);
    recycle(p->twin);
    p->twin = nullptr;
  }

  /// Calls found(pending&) for all that are linked; nothing may be added or taken out meanwhile.
  template <class Found>
  void each(Found&& found) {
    for (pending& p : *set_) found(p);
  }

  size_t size() const noexcept { return set_->size(); }
  uint64_t replaced() const noexcept { return replaced_; }

 private:
  using set =
      boost::intrusive::unordered_set<pending, boost::intrusive::key_of_value<detail::pending_key>,
                                      boost::intrusive::hash<detail::pending_hash>, boost::intrusive::power_2_buckets<true>>;
  using bucket = set::bucket_type;
  static constexpr size_t first_buckets = 512;
  static constexpr size_t pool_bytes = 1u << 16;

  // Field by field: g++ would set so few words with `rep stos`, which takes 10 ns to begin.
  static void clear(pending& p) noexcept {
    p.record = nullptr;
    p.new_comm = nullptr;
    p.region = nullptr;
    p.twin = nullptr;
    p.needs = nullptr;
    p.bytes = 0;
    p.index = p.location = p.posting = p.comm = p.instance = p.holders = 0;
    p.peer = p.tag = p.partitions = p.unready = 0;
    p.flags = 0;
    p.collective = core::mpi_call::none;
    p.persistent = p.linked = p.wildcard = p.cancel_seen = p.watched = false;
  }

  // One thread at a time takes, so an entry that was read as the first cannot have left and come back.
  pending* take_free(bool shared) noexcept {
    pending* first = __atomic_load_n(&free_, __ATOMIC_ACQUIRE);
    if (__builtin_expect(first == nullptr, 0)) {
      if (!refill()) return nullptr;
      first = __atomic_load_n(&free_, __ATOMIC_ACQUIRE);
    }
    if (!shared) {
      free_ = next_free(first);
      return first;
    }
    while (!__atomic_compare_exchange_n(&free_, &first, next_free(first), true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    }
    return first;
  }

  static pending*& next_free(pending* p) noexcept { return *reinterpret_cast<pending**>(&p->new_comm); }

  __attribute__((noinline, cold)) bool refill() noexcept {
    char* pages = static_cast<char*>(core::map_pages(pool_bytes, true));
    if (pages == nullptr) return false;
    for (size_t at = 0; at + sizeof(pending) <= pool_bytes; at += sizeof(pending)) {
      pending* const p = new (pages + at) pending();
      recycle(p);
    }
    return true;
  }

  __attribute__((noinline, cold)) void grow() noexcept {
    const size_t fresh = bucket_count_ * 4;
    void* pages = core::map_pages(sizeof(bucket) * fresh, false);
    if (pages == nullptr) return;  // longer chains, nothing lost
    bucket* const more = static_cast<bucket*>(pages);
    for (size_t i = 0; i < fresh; ++i) new (&more[i]) bucket();
    set_->rehash(set::bucket_traits(more, fresh));
    core::unmap_pages(buckets_, sizeof(bucket) * bucket_count_);
    buckets_ = more;
    bucket_count_ = fresh;
  }

  alignas(set) unsigned char room_[sizeof(set)];
  set* set_ = nullptr;
  bucket* buckets_ = nullptr;
  size_t bucket_count_ = 0;
  pending* free_ = nullptr;
  uint64_t replaced_ = 0;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
