#ifndef WHYWAIT_EXPLAIN_SNAPSHOT_HPP
#define WHYWAIT_EXPLAIN_SNAPSHOT_HPP

#include <whywait/explain/blocks.hpp>
#include <whywait/explain/path_profile.hpp>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// A waiter asks for the causer's path as it was when one of the causer's records began.
struct snapshot_request {
  std::uint32_t causer_record, waiter_record;
  std::uint16_t causer_location, waiter_location;
  std::uint16_t all;     ///< not 0: an operation that synchronised all its members
  std::uint16_t single;  ///< not 0: the waiter's rank has one location only
};

/// How a snapshot is made. The causer's path is the path it last took over, and what it did since. The latter
/// it knows at once; so if the former is the waiter's own path, or if there is none, nobody has to wait for it.
enum class snapshot_mode : std::uint8_t {
  whole,    ///< the path itself, when the causer has come to that instant
  own,      ///< the same, but the causer never took over a path: known beforehand
  relative  ///< what the causer did since it took over the path of the waiter's record `base`
};

/// Announces the entries that follow; `record` and `location` are the waiter's.
struct snapshot_head {
  std::uint32_t record;
  std::uint32_t entries;
  std::uint32_t base;  ///< relative: record of the waiter at which its path was taken over
  std::uint16_t location;
  snapshot_mode mode;
  std::uint8_t partial;  ///< not 0: the causer lost records
};

/// One block of a causal path profile on its way.
struct snapshot_entry {
  block_table::name name;
  path_use use;
};
static_assert(sizeof(snapshot_entry) == sizeof(block_table::name) + sizeof(path_use), "it is written in two parts");

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
