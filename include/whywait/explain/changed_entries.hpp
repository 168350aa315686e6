#ifndef WHYWAIT_EXPLAIN_CHANGED_ENTRIES_HPP
#define WHYWAIT_EXPLAIN_CHANGED_ENTRIES_HPP

#include <whywait/base/packet.hpp>
#include <whywait/explain/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Snapshots of a program with many blocks are sent as what changed since the last one of the same kind to the same rank: most
/// blocks did not run in between. Sender and receiver keep that one; packets between two ranks stay in order. Shorter snapshots
/// are sent whole, and nothing is kept of them.
class changed_entries {
 public:
  static constexpr std::uint32_t least = 16;

  /// Replaces the entries at the end of a packet, from `begin` on, by those that differ from `last`, and their positions.
  /// `last` becomes the list of all. Returns the number of entries that are left. O(entries).
  static std::uint32_t write(base::packet& out, std::size_t begin, base::packet& last) {
    constexpr std::size_t size = sizeof(snapshot_entry);
    const std::size_t before = last.size(), end = out.size() - begin;
    last.resize(end);
    base::pod_vector<std::uint32_t> positions;
    for (std::size_t at = 0; at != end; at += size) {
      const unsigned char* const entry = out.data() + begin + at;
      if (at < before && std::memcmp(last.data() + at, entry, size) == 0) continue;
      std::memcpy(last.data() + at, entry, size);
      std::memmove(out.data() + begin + positions.size() * size, entry, size);
      positions.push_back(static_cast<std::uint32_t>(at));
    }
    out.resize(begin + positions.size() * size);
    for (const std::uint32_t at : positions) put(out, at);
    return static_cast<std::uint32_t>(positions.size());
  }

  /// Reads what `write` left into `last`, which becomes the list of all. Throws std::out_of_range on a truncated packet.
  static void read(base::packet_reader& in, const snapshot_head& head, base::packet& last) {
    constexpr std::size_t size = sizeof(snapshot_entry);
    last.resize(head.entries * size);
    const unsigned char* entry = in.skip(head.sent * size);
    for (std::uint32_t i = 0; i != head.sent; ++i, entry += size) {
      const auto at = in.get<std::uint32_t>();
      if (at + size > last.size()) base::truncated();
      std::memcpy(last.data() + at, entry, size);
    }
  }
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
