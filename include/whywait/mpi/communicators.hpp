#ifndef WHYWAIT_MPI_COMMUNICATORS_HPP
#define WHYWAIT_MPI_COMMUNICATORS_HPP

#include <whywait/core/kept_file.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/mpi/flat_map.hpp>

#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace mpi {

/// A communicator as the recorder keeps it; it stays when MPI frees the handle, for records name it.
struct known_communicator {
  core::stable_key id;  ///< the same on all members in MPI_COMM_WORLD; 0: no wrapper saw how it was made, or an
      ///< intercommunicator with members outside; matches nothing
  core::stable_key list;  ///< key of its member list
  uint32_t which;  ///< how-many-th communicator of that list, from 1
  const int32_t* world;  ///< world rank of each peer, `size` entries; null: the identity
  int32_t size;  ///< ranks that may be named as peer (intercommunicator: remote group)
  int32_t rank;  ///< own rank in it
  bool inter;
  bool outside;  ///< has members outside of MPI_COMM_WORLD
  bool first;  ///< intercommunicator: the own group is the one that both sides count as the first
  int32_t own_size;  ///< ranks of the own group
  uint32_t prepared;  ///< number of its persistent collectives
};

/// All communicators of a process, numbered in the order in which they appeared. The id needs no traffic: it is
/// made of the member list and of how many communicators with that list there were before (overhead.md 4.1),
/// which all members count alike, for making a communicator is collective. Zeroed memory is an empty table.
/// Not thread-safe: the caller holds the lock.
class communicator_table {
 public:
  static constexpr uint32_t none = ~uint32_t(0);
  static constexpr uint32_t capacity = 1u << 20;

  /// `keeper`: keeps them for a reader after a crash; null: they are not kept.
  bool open(core::kept_file* keeper = nullptr) noexcept {
    keeper_ = keeper;
    by_handle_.keep_in(keeper);
    entries_ = static_cast<known_communicator*>(core::map_pages(sizeof(known_communicator) * capacity, false));
    return entries_ != nullptr;
  }
  void release() noexcept {
    core::unmap_pages(entries_, sizeof(known_communicator) * capacity);
    by_handle_.release();
    by_list_.release();
    partitioned_.release();
  }

  /// Number of the communicator behind a handle, `none` if it is not known.
  uint32_t find(uint64_t handle) const noexcept {
    const uint32_t* known = by_handle_.find(handle);
    return known != nullptr ? *known : none;
  }

  /// Adds a communicator whose peers are `world[0..size)` (for an intercommunicator the remote group; then
  /// `own[0..own_size)` is the local one). A rank of -1 is not in MPI_COMM_WORLD. The lists are copied. `followed`: a
  /// wrapper saw how it was made; members may meet another one in any order, so that it has no id.
  uint32_t add(const int32_t* world, int32_t size, int32_t rank, bool inter = false, const int32_t* own = nullptr,
               int32_t own_size = 0, bool followed = true) noexcept {
    if (size_ == capacity) return none;
    if (keeper_ != nullptr)
      keeper_->keep_up_to(entries_, sizeof(known_communicator) * (size_ + 1), kept_, 1u << 13,
                          sizeof(known_communicator) * capacity);
    known_communicator& fresh = entries_[size_];
    fresh.list = key_of_list(world, size);
    bool outside = has_outsider(world, size);
    fresh.first = false;
    fresh.own_size = inter ? own_size : size;
    if (inter) {  // both sides see the two lists in opposite order
      const core::stable_key other = key_of_list(own, own_size);
      fresh.first = other < fresh.list;
      fresh.list = core::combine(fresh.first ? other : fresh.list, fresh.first ? fresh.list : other);
      fresh.list = core::combine(fresh.list, 0x696e746572u);
      outside = outside || has_outsider(own, own_size);
    }
    const uint32_t* const last = by_list_.find(fresh.list);
    const known_communicator* const before = last != nullptr ? &entries_[*last] : nullptr;
    fresh.which = !followed ? 0 : before != nullptr ? before->which + 1 : 1;
    fresh.id = (outside && inter) || !followed ? 0 : core::combine(fresh.list, fresh.which);
    fresh.outside = outside;
    fresh.size = size;
    fresh.rank = rank;
    fresh.inter = inter;
    fresh.world = keep(world, size, before);
    fresh.prepared = 0;
    if (followed) by_list_.set(fresh.list, size_);
    __atomic_store_n(&size_, size_ + 1, __ATOMIC_RELEASE);
    return size_ - 1;
  }

  /// The number of another persistent collective of a communicator, from 1: all members prepare them in the same order.
  uint32_t prepare(uint32_t index) noexcept { return ++entries_[index].prepared; }

  /// The communicator of the partitioned messages of another one, in which no other messages are.
  uint32_t partitioned(uint32_t index) noexcept {
    const uint64_t key = core::combine(index, 0x706172746974ull) | uint64_t(1) << 63;
    const uint32_t known = find(key);
    if (known != none || size_ == capacity) return known;
    if (keeper_ != nullptr)
      keeper_->keep_up_to(entries_, sizeof(known_communicator) * (size_ + 1), kept_, 1u << 13,
                          sizeof(known_communicator) * capacity);
    entries_[size_] = entries_[index];
    core::stable_key& id = entries_[size_].id;
    if (id != 0) id = core::combine(id, 0x706172746974ull);
    bind(key, size_);
    __atomic_store_n(&size_, size_ + 1, __ATOMIC_RELEASE);
    return size_ - 1;
  }
  /// How-many-th partitioned message from or to a peer with one tag: both sides make them in the same order (MPI 4.0, 4.2).
  uint32_t count_partitioned(uint32_t index, int32_t peer, int32_t tag, bool sends) noexcept {
    const uint64_t where = (static_cast<uint64_t>(static_cast<uint32_t>(peer)) << 32) | static_cast<uint32_t>(tag);
    const uint64_t key = core::combine(core::combine(where, index), sends ? 1 : 2);
    const uint32_t* const before = partitioned_.find(key);
    const uint32_t number = before != nullptr ? *before + 1 : 1;
    partitioned_.set(key, number);
    return number;
  }

  /// From now on `handle` means this communicator (a handle that MPI uses again loses its old meaning).
  void bind(uint64_t handle, uint32_t index) noexcept { by_handle_.set(handle, index); }
  void forget(uint64_t handle) noexcept { by_handle_.erase(handle); }

  /// For a copy of the table of a process that is gone: calls found(const known_communicator&, const int32_t* world)
  /// for each communicator that `memory` has, in order; `world` null: the identity.
  template <class Memory, class Found>
  void visit_kept(const Memory& memory, Found&& found) const {
    for (uint32_t i = 0; i < size_; ++i) {
      const known_communicator* const each = memory.find(entries_ + i, 1);
      if (each == nullptr || each->size < 0) return;
      const int32_t* const world =
          each->world != nullptr ? memory.find(each->world, static_cast<uint64_t>(each->size)) : nullptr;
      if (each->world != nullptr && world == nullptr) return;
      found(*each, world);
    }
  }
  /// The same for handles: found(handle, number of the communicator).
  template <class Memory, class Found>
  void visit_kept_handles(const Memory& memory, Found&& found) const {
    by_handle_.visit_kept(memory, found);
  }

  uint32_t size() const noexcept { return __atomic_load_n(&size_, __ATOMIC_ACQUIRE); }
  const known_communicator& operator[](uint32_t index) const noexcept { return entries_[index]; }

 private:
  static core::stable_key key_of_list(const int32_t* world, int32_t size) noexcept {
    core::stable_key key = core::combine(0, static_cast<uint64_t>(size));
    for (int32_t i = 0; i < size; ++i) key = core::combine(key, static_cast<uint64_t>(world[i]) + 1);
    return key;
  }
  static bool has_outsider(const int32_t* world, int32_t size) noexcept {
    for (int32_t i = 0; i < size; ++i)
      if (world[i] < 0) return true;
    return false;
  }

  // A copy that lives as long as the table; communicators of one list share it. Without pages: the identity.
  const int32_t* keep(const int32_t* world, int32_t size, const known_communicator* before) noexcept {
    int32_t i = 0;
    while (i < size && world[i] == i) ++i;
    if (i == size) return nullptr;
    const uint64_t bytes = sizeof(int32_t) * static_cast<uint64_t>(size);
    if (before != nullptr && before->size == size && before->world != nullptr && memcmp(before->world, world, bytes) == 0)
      return before->world;
    if (bytes > room_) {
      room_ = bytes > ranks_chunk ? bytes : ranks_chunk;
      ranks_ = static_cast<char*>(core::map_pages(room_, false));
      if (ranks_ == nullptr) room_ = 0;
      else if (keeper_ != nullptr) keeper_->keep(ranks_, room_);
    }
    if (ranks_ == nullptr) return nullptr;
    int32_t* const own = reinterpret_cast<int32_t*>(ranks_);
    memcpy(own, world, bytes);
    ranks_ += bytes;
    room_ -= bytes;
    return own;
  }

  static constexpr uint64_t ranks_chunk = 1u << 16;
  known_communicator* entries_ = nullptr;
  flat_map by_handle_;
  flat_map partitioned_;
  flat_map by_list_;  // the newest communicator of each list
  char* ranks_ = nullptr;
  uint64_t room_ = 0;
  core::kept_file* keeper_ = nullptr;
  size_t kept_ = 0;
  uint32_t size_ = 0;
};

}  // namespace mpi
}  // namespace v0
}  // namespace whywait

#endif
