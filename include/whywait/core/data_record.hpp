#ifndef WHYWAIT_CORE_DATA_RECORD_HPP
#define WHYWAIT_CORE_DATA_RECORD_HPP

#include <whywait/core/byte_list.hpp>
#include <whywait/core/stable_key.hpp>

#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// A registered array as one rank holds it. `key` is the same on every rank (name, file and line of the registration).
struct data_object {
  static constexpr unsigned most_dimensions = 4;

  stable_key key = 0;
  uint32_t element_bytes = 1;
  uint16_t dimensions = 1;
  bool buffer = false;  ///< only carries other data (WHYWAIT_PACKS): never named as what is sent, if that is known
  bool sampled = false; ///< tracked accesses are recorded of a sample of granules only (core/data_sample.hpp)
  bool global = false;  ///< `first` and `whole` are declared: this rank holds a part of a distributed array
  stable_key memory = 0;  ///< the same in all processes that share it (an MPI shared window); 0: of this process alone
  uint64_t memory_offset = 0;  ///< bytes from its begin to the array
  uint64_t extent[most_dimensions] = {1, 1, 1, 1};  ///< elements, slowest dimension first (C order)
  uint64_t first[most_dimensions] = {0, 0, 0, 0};  ///< index in the whole array of the first element here
  uint64_t whole[most_dimensions] = {1, 1, 1, 1};  ///< extent of the whole array

  uint64_t bytes() const noexcept {
    uint64_t n = element_bytes;
    for (unsigned d = 0; d != dimensions && d != most_dimensions; ++d) n *= extent[d];
    return n;
  }
};

/// What happened to a region of a registered array.
enum class data_op : uint8_t {
  read,  ///< a block read it
  write,  ///< a block wrote it
  send,  ///< a message with it was initiated
  receive,  ///< a message into it completed
  copy_from,  ///< packed or unpacked: the source; the next record of this location is the `copy_to`
  copy_to,  ///< the destination
  iterations,  ///< a block ran the iterations [begin, end) with step `stride` of its loop (`object` is 0)
  synchronise  ///< a thread synchronised with others at `site`, on the thing numbered `object`; see data_flag::everyone, acquires
};

/// Facts about a data record. Bits may be combined.
namespace data_flag {
enum : uint8_t {
  /// `peer` is unused: one transfer to (from) each other member of `group`, in the order of its ranks.
  /// `synchronise`: a barrier; its participants write the same `order`, all before any of them continues. Without the flag
  /// later participants see the writes of earlier ones, as with the end and the begin of a lock.
  everyone = 1u << 0,
  /// With `everyone`: member i gets (brings) the i-th of equal contiguous parts; alltoall, scatter, gather, allgather.
  parted = 1u << 1,
  /// `synchronise` on a primitive that whywait observes, whose address is `begin`; `site` is the call. The thread sees what others
  /// did before they released it. With `everyone`, at the end of the phase `order`.
  acquires = 1u << 1,
  /// Receiver of a reduction: what arrives is combined into something new.
  combines = 1u << 2,
  /// The same: what the thread did so far becomes visible to those that acquire the primitive later.
  releases = 1u << 2,
  /// The message of a collective: `order` counts the collectives of the group.
  collective = 1u << 3,
  /// The region is only the bounds of what was touched (datatype of too many irregular pieces, indices in arrays).
  bounds = 1u << 4,
  /// A read-modify-write that commutes with others of its kind.
  update = 1u << 5,
  /// Of a message or copy, which are no updates: the region is irregular, and the record has its `list`.
  listed = 1u << 5,
  /// Made with atomic operations.
  atomic = 1u << 6,
  /// Belongs to an array whose tracked accesses are sampled: shows which threads share, not all touched elements.
  sampled = 1u << 7
};
}

/// One cache line per loop or message of a program that registered data. Written in the order of the program: a send where
/// it was initiated, a receive where it was seen to complete, an access after its loop. Messages whose buffer belongs to no
/// object need no record. One location writes its records with rising `time`.
struct data_record {
  uint64_t time = 0;  ///< clock ticks
  uint64_t begin = 0;  ///< first byte in the object
  uint64_t end = 0;  ///< behind its last byte
  uint64_t stride = 0;  ///< bytes from one piece to the next; 0: the region is contiguous. `listed`: where the list is
  uint32_t piece = 0;  ///< bytes of one piece, if strided
  uint32_t object = 0;  ///< number in the process
  uint32_t site = 0;  ///< block or call, number in the process
  uint32_t record = 0;  ///< sync record of the location that made (send) or completed (receive) the transfer, plus 1; 0: none
  /// Messages: the k-th that was posted on (group, source, destination, tag) in its direction, from 1, including those without
  /// data records (sync_record::posting has the order). Collectives: the k-th of the group.
  uint32_t order = 0;
  int32_t peer = -1;  ///< rank in `group`: destination or source
  int32_t tag = 0;  ///< of a message. `read`, `write`: NUMA node on which the thread ran, plus 1; 0: not known
  uint16_t group = 0;  ///< number of the communicator in the process
  data_op op = data_op::read;
  uint8_t flags = 0;  ///< data_flag bits

  bool has(unsigned flag) const noexcept { return (flags & flag) != 0; }
  /// Whether threads synchronised on a primitive that whywait observes.
  bool of_primitive() const noexcept { return op == data_op::synchronise && has(data_flag::acquires | data_flag::releases); }
  /// The pieces of an irregular region, from `begin` on, as far as they lie before `end`; null: it is a regular one.
  const byte_list* list() const noexcept {
    const bool moved = op == data_op::send || op == data_op::receive || op == data_op::copy_from || op == data_op::copy_to;
    return moved && has(data_flag::listed) ? reinterpret_cast<const byte_list*>(static_cast<uintptr_t>(stride)) : nullptr;
  }
};
static_assert(sizeof(data_record) == 64, "a data record is one cache line");

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
