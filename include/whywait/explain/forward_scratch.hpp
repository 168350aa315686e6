#ifndef WHYWAIT_EXPLAIN_FORWARD_SCRATCH_HPP
#define WHYWAIT_EXPLAIN_FORWARD_SCRATCH_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/path_profile.hpp>
#include <whywait/explain/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Buffers of the forward pass: received snapshots that are not used yet, and scratch memory whose content has no
/// meaning between two waits. All ranks of a process share one instance, so that memory does not grow with their
/// number.
struct forward_scratch {
  /// A received snapshot.
  struct slot {
    snapshot_head head{};
    snapshot_entry* entries = nullptr;
  };

  forward_scratch() = default;
  ~forward_scratch() {
    drop(taken);
    for (slot& s : slots) drop(s);
  }

  /// Copies a snapshot and returns the number of its slot.
  std::uint32_t keep(const snapshot_head& head, const unsigned char* entries) {
    const std::size_t bytes = head.entries * sizeof(snapshot_entry);
    if (free.empty()) {
      free.push_back(static_cast<std::uint32_t>(slots.size()));
      slots.emplace_back();
    }
    const std::uint32_t number = free.back();
    slot& s = slots[number];
    if (bytes != 0) {
      s.entries = static_cast<snapshot_entry*>(merging.memory.take(bytes));
      std::memcpy(static_cast<void*>(s.entries), entries, bytes);
    }
    s.head = head;
    free.pop_back();
    return number;
  }
  /// Frees the slot and returns its snapshot, which stays valid until the next call.
  const slot& take(std::uint32_t number) {
    free.push_back(number);
    drop(taken);
    taken = slots[number];
    slots[number].entries = nullptr;
    return taken;
  }

  class_scratch merging;  ///< declared first, because its memory pool must outlive all lists that use it
  base::pod_vector<slot> slots;  ///< snapshots that are not used yet
  base::pod_vector<std::uint32_t> free;  ///< free slots, last in, first out: the last one is still in the cache
  slot taken;

  path_profile incoming;  ///< the causer's path
  base::pod_vector<std::int64_t> totals;  ///< own_use::total of the causer, by block
  base::pod_vector<std::uint32_t> numbers;  ///< block numbers of the last snapshot's entries, by position
  wait_instance instance;
  base::vector<std::uint32_t> term_blocks;  ///< the block numbers of instance.terms
  base::pod_vector<std::uint32_t> places;  ///< where the services of each record begin
  base::packet out;

 private:
  void drop(slot& s) noexcept {
    if (s.entries != nullptr) merging.memory.give(s.entries, s.head.entries * sizeof(snapshot_entry));
    s.entries = nullptr;
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
