#ifndef WHYWAIT_EXPLAIN_FORWARD_SCRATCH_HPP
#define WHYWAIT_EXPLAIN_FORWARD_SCRATCH_HPP

#include <whywait/base/packet.hpp>
#include <whywait/explain/class_packet.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/path_profile.hpp>
#include <whywait/explain/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What the forward pass needs for a short time only. All ranks that a process hosts share one, so that it stays in the
/// cache and does not grow with them: the snapshots that have come and were not used yet, each of which one rank knows by
/// its number, and room that means nothing from one wait to the next.
struct forward_scratch {
  /// A snapshot that has come.
  struct slot {
    snapshot_head head{};
    snapshot_entry* entries = nullptr;
  };

  forward_scratch() = default;
  ~forward_scratch() {
    drop(taken);
    for (slot& s : slots) drop(s);
  }

  /// Into memory of its own; returns the number of its slot.
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
  /// It is used now: it is there until the next one is.
  const slot& take(std::uint32_t number) {
    free.push_back(number);
    drop(taken);
    taken = slots[number];
    slots[number].entries = nullptr;
    return taken;
  }

  class_scratch merging;  ///< first: its memory pool outlives what takes from it
  base::pod_vector<slot> slots;          ///< of what is not used yet
  base::pod_vector<std::uint32_t> free;  ///< of slots; what was used last comes first, as it is in the cache
  slot taken;

  path_profile incoming;                     ///< the causer's path
  base::pod_vector<std::uint32_t> numbers; ///< of the blocks of the last one that came, at their places
  wait_instance instance;
  std::vector<std::uint32_t> term_blocks;  ///< of instance.terms
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
