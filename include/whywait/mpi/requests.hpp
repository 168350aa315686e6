#ifndef WHYWAIT_MPI_REQUESTS_HPP
#define WHYWAIT_MPI_REQUESTS_HPP

#include <whywait/core/pages.hpp>
#include <whywait/core/spin_lock.hpp>
#include <whywait/core/sync_record.hpp>

#include <stddef.h>
#include <stdint.h>
#include <new>

namespace whywait {
inline namespace v0 {
namespace mpi {

struct message_region;  // data_regions.hpp

/// What is known of an MPI_Request (or MPI_Message) between the call that made it and the one that ends it.
/// Of cache lines of its own: the neighbours may be those of other threads.
struct alignas(64) pending {
  core::sync_record* record;  ///< posting to complete; null: inactive, or its record was lost
  void* new_comm;             ///< MPI_Comm_idup: where MPI will put the handle
  message_region* region;     ///< of a registered array, which it sends or receives; null: none
  pending* twin;              ///< MPI_Isendrecv: the send, which the receive's handle completes as well; null: none
  uint32_t turn;              ///< another one for each use of the handle, and whether there is one
  uint32_t index;             ///< of `record` in its location
  uint32_t location;          ///< index of the location that posted
  bool persistent;
  bool wildcard;              ///< active, and its status is needed: source or tag are not known yet
  bool cancel_seen;           ///< its status is needed: MPI_Cancel was called on it
  bool watched;               ///< active, and its status is needed: how much of `region` was received
  uint64_t handle;
  uint8_t posting_lock;       ///< persistent: number of the lock of its communicator
  int32_t* needs;             ///< persistent collective: ranks that it needs, behind their number; null: not sparse
  uint64_t bytes;
  uint32_t posting;           ///< ordinal (messages: taken at the matched probe)
  uint32_t comm;              ///< index of the communicator
  uint32_t instance;          ///< how-many-th persistent collective of its communicator
  int32_t peer;
  int32_t tag;
  int32_t partitions;         ///< of a partitioned message; 0: it is not one
  int32_t unready;            ///< those that are not ready to be sent
  uint16_t flags;             ///< sync_flag bits of every posting made from it
  core::mpi_call collective;  ///< persistent collective: the call that made it, else `none`

  static constexpr uint32_t in_use = 1, taken = 2, step = 4;  ///< in `turn`; taken: being taken over by another handle

  bool needs_status() const noexcept { return wildcard || cancel_seen || watched; }
  /// Whether its completion stores nothing but the number of the completing call, as that of most.
  bool is_plain() const noexcept {
    uint32_t kinds;
    static_assert(offsetof(pending, watched) + sizeof watched == offsetof(pending, persistent) + sizeof kinds, "four bytes");
    __builtin_memcpy(&kinds, &persistent, sizeof kinds);
    const uintptr_t more = reinterpret_cast<uintptr_t>(new_comm) | reinterpret_cast<uintptr_t>(region);
    return (kinds | more | reinterpret_cast<uintptr_t>(twin)) == 0;
  }
};

/// A request as a call saw it that completes it. MPI may give its handle to another thread before that call has returned, so
/// that from then on the entry may be about another request.
struct held_request {
  pending* entry;  ///< null: no wrapper saw how it was made
  core::sync_record* record;
  void* new_comm;
  message_region* region;
  pending* twin;
  uint32_t turn, index, location, comm;
  bool plain, persistent, wildcard, cancel_seen, watched;

  bool needs_status() const noexcept { return wildcard || cancel_seen || watched; }
  void hold(pending* p) noexcept {
    entry = p;
    if (p == nullptr) return;
    record = p->record;
    turn = __atomic_load_n(&p->turn, __ATOMIC_RELAXED);
    index = p->index;
    location = p->location;
    plain = p->is_plain();
    if (__builtin_expect(plain, 1)) return;
    new_comm = p->new_comm;
    region = p->region;
    twin = p->twin;
    comm = p->comm;
    persistent = p->persistent;
    wildcard = p->wildcard;
    cancel_seen = p->cancel_seen;
    watched = p->watched;
  }
};

/// From handle to `pending`. MPI gives the same few handles out again and again, so an entry stays with its handle when the
/// request is gone, and the next request with that handle finds it there: no allocation, and no lock in any thread. Only a
/// handle that was never seen before needs the lock, to be added. About 2 ns an operation.
///
/// A handle can be in use twice: MPI frees it inside a completion call of one thread and gives it to another thread before the
/// first has returned. The second one opens the entry again, which the first one sees by its `turn`.
///
/// Where handles do not come back, entries that are not in use are taken over by other handles once the table is half full.
/// Zeroed memory is an empty table; call `open` before use.
class request_table {
 public:
  bool open() noexcept {
    map_ = new_map(first_slots);
    return map_ != nullptr;
  }

  /// The entry of a request that exists; null: none.
  pending* find(uint64_t handle) noexcept {
    pending* const p = look_up(*__atomic_load_n(&map_, __ATOMIC_ACQUIRE), handle);
    return p != nullptr && is_open(p) ? p : nullptr;
  }

  /// An entry for a request that MPI has just made; null only if there are no pages. `shared`: other threads may use the table.
  pending* add(uint64_t handle, bool shared) noexcept {
    pending* p = look_up(*__atomic_load_n(&map_, __ATOMIC_ACQUIRE), handle);
    if (__builtin_expect(p == nullptr || !open(p, handle, shared), 0)) p = insert(handle, shared);
    if (__builtin_expect(p == nullptr, 0)) return nullptr;
    p->record = nullptr;
    if (__builtin_expect(!p->is_plain(), 0)) clear(*p);
    return p;
  }
  /// An entry without a handle, for `pending::twin`. Back to `recycle`.
  __attribute__((noinline, cold)) pending* add_twin(bool shared) noexcept {
    core::guard_if guard(lock_, shared);
    pending* const p = take_free();
    if (p != nullptr) clear(*p);
    return p;
  }
  __attribute__((noinline, cold)) void recycle(pending* twin, bool shared) noexcept {
    core::guard_if guard(lock_, shared);
    give_back(twin);
  }

  /// The request is gone. What the caller has read of its entry stays ordered before another use of the handle.
  static void close(pending* p) noexcept {
    const uint32_t turn = __atomic_load_n(&p->turn, __ATOMIC_RELAXED);
    __atomic_store_n(&p->turn, turn & ~pending::in_use, __ATOMIC_RELEASE);
  }
  /// The same, unless MPI has given its handle out again.
  static void close(const held_request& h) noexcept {
    uint32_t turn = h.turn;
    __atomic_compare_exchange_n(&h.entry->turn, &turn, turn & ~pending::in_use, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
  /// A request that may be gone soon, or one that was closed and turned out to be pending.
  static void keep(const held_request& h) noexcept { __atomic_store_n(&h.entry->turn, h.turn, __ATOMIC_RELEASE); }

  /// Calls found(pending&) for all that exist, and for their twins; no other thread may use the table meanwhile.
  template <class Found>
  void each(Found&& found) {
    for (uint64_t i = 0; i <= map_->mask; ++i) {
      pending* const p = map_->slots[i].entry;
      if (p == nullptr || !is_open(p)) continue;
      found(*p);
      if (p->twin != nullptr) found(*p->twin);
    }
  }

  /// Requests that exist. O(slots).
  size_t size() noexcept {
    size_t n = 0;
    for (uint64_t i = 0; i <= map_->mask; ++i) n += map_->slots[i].entry != nullptr && is_open(map_->slots[i].entry) ? 1 : 0;
    return n;
  }
  /// Handles that MPI gave out again while they seemed to be in use.
  uint64_t replaced() const noexcept { return __atomic_load_n(&replaced_, __ATOMIC_RELAXED); }
  /// Room for handles, in use or not.
  uint64_t slots() const noexcept { return map_->mask + 1; }

 private:
  struct slot {
    uint64_t handle;
    pending* entry;  // null: free
  };
  // Its slots never move and never become free again, so that other threads may look up without a lock.
  struct slot_map {
    uint64_t mask;
    slot_map* before;  // smaller maps that other threads may still be reading
    slot slots[1];
  };
  static constexpr uint64_t first_slots = 2048;
  static constexpr uint64_t farthest = 16;  // a handle lies in one of 16 slots behind its own
  static constexpr size_t pool_bytes = 1u << 16;

  static bool is_open(const pending* p) noexcept {
    return (__atomic_load_n(&p->turn, __ATOMIC_RELAXED) & pending::in_use) != 0;
  }

  static size_t bytes_of(uint64_t slots) noexcept { return sizeof(slot_map) + sizeof(slot) * (slots - 1); }
  static slot_map* new_map(uint64_t slots) noexcept {
    void* const pages = core::map_pages(bytes_of(slots), true);
    if (pages == nullptr) return nullptr;
    slot_map* const made = new (pages) slot_map();
    made->mask = slots - 1;
    return made;
  }

  static uint64_t first_slot(const slot_map& map, uint64_t handle) noexcept {
    return ((handle * 0x9e3779b97f4a7c15u) >> 32) & map.mask;
  }
  static pending* look_up(const slot_map& map, uint64_t handle) noexcept {
    for (uint64_t i = first_slot(map, handle), tries = 0;; i = (i + 1) & map.mask) {
      pending* const p = __atomic_load_n(&map.slots[i].entry, __ATOMIC_ACQUIRE);
      if (p == nullptr || __builtin_expect(__atomic_load_n(&map.slots[i].handle, __ATOMIC_RELAXED) == handle, 1)) return p;
      if (++tries == farthest) return nullptr;
    }
  }

  // Begins another use of the entry. False: another handle has taken it over meanwhile.
  bool open(pending* p, uint64_t handle, bool shared) noexcept {
    uint32_t turn = __atomic_load_n(&p->turn, __ATOMIC_ACQUIRE);
    for (;;) {
      if (__builtin_expect((turn & (pending::in_use | pending::taken)) != 0, 0)) {
        if ((turn & pending::taken) != 0 || __atomic_load_n(&p->handle, __ATOMIC_RELAXED) != handle) return false;
        __atomic_store_n(&replaced_, replaced() + 1, __ATOMIC_RELAXED);
      }
      const uint32_t next = (turn | pending::in_use) + pending::step;
      if (!shared) {
        __atomic_store_n(&p->turn, next, __ATOMIC_RELAXED);
        return true;
      }
      if (__atomic_load_n(&p->handle, __ATOMIC_RELAXED) != handle) return false;
      if (__atomic_compare_exchange_n(&p->turn, &turn, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return true;
    }
  }

  __attribute__((noinline, cold)) pending* insert(uint64_t handle, bool shared) noexcept {
    core::guard_if guard(lock_, shared);
    for (;;) {
      slot_map& map = *map_;
      slot* unused = nullptr;
      for (uint64_t i = first_slot(map, handle), tries = 0; tries != farthest; i = (i + 1) & map.mask, ++tries) {
        slot& s = map.slots[i];
        if (s.entry == nullptr) {
          unused = &s;
          break;
        }
      }
      // Handles that come back keep their entries while there is room for others.
      if (unused == nullptr || 2 * used_ > map.mask)
        if (pending* const p = take_over(map, handle)) return p;
      if (unused != nullptr) {
        pending* const p = take_free();
        if (p == nullptr) return nullptr;
        __atomic_store_n(&p->handle, handle, __ATOMIC_RELAXED);
        __atomic_store_n(&p->turn, pending::in_use, __ATOMIC_RELAXED);
        __atomic_store_n(&unused->handle, handle, __ATOMIC_RELAXED);
        __atomic_store_n(&unused->entry, p, __ATOMIC_RELEASE);
        ++used_;
        return p;
      }
      if (!grow(shared)) return nullptr;
    }
  }

  // The entry of a handle that is not in use, near where `handle` belongs; null: there is none.
  pending* take_over(slot_map& map, uint64_t handle) noexcept {
    for (uint64_t i = first_slot(map, handle), tries = 0; tries != farthest; i = (i + 1) & map.mask, ++tries) {
      slot& s = map.slots[i];
      if (s.entry == nullptr) return nullptr;
      uint32_t turn = __atomic_load_n(&s.entry->turn, __ATOMIC_RELAXED);
      if ((turn & pending::in_use) != 0) continue;
      if (!__atomic_compare_exchange_n(&s.entry->turn, &turn, turn | pending::taken, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        continue;
      __atomic_store_n(&s.entry->handle, handle, __ATOMIC_RELAXED);
      __atomic_store_n(&s.handle, handle, __ATOMIC_RELAXED);
      __atomic_store_n(&s.entry->turn, (turn | pending::in_use) + pending::step, __ATOMIC_RELEASE);
      return s.entry;
    }
    return nullptr;
  }

  bool grow(bool shared) noexcept {
    slot_map* const old = map_;
    for (uint64_t slots = 4 * (old->mask + 1); slots != 0; slots *= 4) {
      slot_map* const more = new_map(slots);
      if (more == nullptr) return false;
      if (copy(*old, *more)) {
        if (shared) more->before = old;
        __atomic_store_n(&map_, more, __ATOMIC_RELEASE);
        if (!shared) core::unmap_pages(old, bytes_of(old->mask + 1));
        return true;
      }
      core::unmap_pages(more, bytes_of(slots));
    }
    return false;
  }
  static bool copy(const slot_map& from, slot_map& to) noexcept {
    for (uint64_t i = 0; i <= from.mask; ++i) {
      const slot& s = from.slots[i];
      if (s.entry == nullptr) continue;
      uint64_t at = first_slot(to, s.handle), tries = 0;
      for (; tries != farthest && to.slots[at].entry != nullptr; ++tries) at = (at + 1) & to.mask;
      if (tries == farthest) return false;
      to.slots[at] = s;
    }
    return true;
  }

  // Field by field: g++ would set so few words with `rep stos`, which takes 10 ns to begin.
  __attribute__((noinline, cold)) static void clear(pending& p) noexcept {
    p.record = nullptr;
    p.new_comm = nullptr;
    p.region = nullptr;
    p.twin = nullptr;
    p.needs = nullptr;
    p.bytes = 0;
    p.index = p.location = p.posting = p.comm = p.instance = 0;
    p.peer = p.tag = p.partitions = p.unready = 0;
    p.flags = 0;
    p.posting_lock = 0;
    p.collective = core::mpi_call::none;
    p.persistent = p.wildcard = p.cancel_seen = p.watched = false;
  }

  pending* take_free() noexcept {
    if (free_ == nullptr) {
      char* const pages = static_cast<char*>(core::map_pages(pool_bytes, true));
      if (pages == nullptr) return nullptr;
      for (size_t at = 0; at + sizeof(pending) <= pool_bytes; at += sizeof(pending)) give_back(new (pages + at) pending());
    }
    pending* const p = free_;
    free_ = p->twin;
    p->twin = nullptr;
    return p;
  }
  void give_back(pending* p) noexcept {
    p->twin = free_;
    free_ = p;
  }

  slot_map* map_ = nullptr;
  core::spin_lock lock_;  // of what follows
  uint64_t used_ = 0;  // slots with an entry
  pending* free_ = nullptr;
  uint64_t replaced_ = 0;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
