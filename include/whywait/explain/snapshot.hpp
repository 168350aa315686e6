#ifndef WHYWAIT_EXPLAIN_SNAPSHOT_HPP
#define WHYWAIT_EXPLAIN_SNAPSHOT_HPP

#include <whywait/core/stable_key.hpp>

#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// A waiter asks for the causer's path as it was when one of the causer's records began.
struct snapshot_request {
  std::uint32_t causer_record, waiter_record;
  std::uint16_t causer_location, waiter_location;
  std::uint16_t all;  ///< not 0: an operation that synchronised all its members
  std::uint16_t unused;
};

/// Announces the entries that follow; `record` and `location` are the waiter's.
struct snapshot_head {
  std::uint32_t record;
  std::uint32_t entries;
  std::uint16_t location;
  std::uint16_t partial;  ///< not 0: the causer lost records
};

/// One block of a causal path profile on its way.
struct snapshot_entry {
  core::stable_key block, within;
  std::int64_t visits, ns, work;
  std::int64_t own_ns;  ///< part executed by the causer itself since it last took over a path
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
