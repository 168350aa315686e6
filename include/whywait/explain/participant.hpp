#ifndef WHYWAIT_EXPLAIN_PARTICIPANT_HPP
#define WHYWAIT_EXPLAIN_PARTICIPANT_HPP

#include <whywait/core/stable_key.hpp>
#include <whywait/core/sync_record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// One rank's part in one collective operation, as sent to the home rank.
struct participant {
  core::stable_key comm = 0;
  core::stable_key site = 0;
  std::int64_t enter_ns = 0, leave_ns = 0;
  std::uint32_t ordinal = 0;  ///< index of this collective among those of the process in this communicator
  std::uint32_t record = 0;
  std::uint32_t needs_first = 0, needs_count = 0;  ///< sparse collectives: the list of needed ranks
  std::uint32_t later_first = 0, later_count = 0;  ///< initiations: completion and entries into MPI
  std::int32_t world = 0;                          ///< set by the home rank
  std::int32_t rank = 0;  ///< in the communicator; the second group of an intercommunicator follows the first
  std::int32_t size = 0;
  std::int32_t root = -1;  ///< intercommunicator: the size of the first group
  core::mpi_call call = core::mpi_call::none;
  std::uint16_t flags = 0;  ///< sync_flag bits
  std::uint16_t location = 0;
  std::uint8_t partial = 0;
  std::uint8_t inter = 0;
};

/// A member of a collective that waited for a relay.
struct relay_wait {
  std::uint32_t waiter;         ///< index among the participants
  std::int32_t causer_rank;     ///< world rank
  std::uint32_t causer_record;
  std::uint16_t causer_location;
};

/// How a collective call on a file, or one that meets another world, held up its members.
enum class file_order { none, together, in_turn };

/// The library decides whether such a call synchronises its ranks, so only what shows it counts: that no rank left before
/// the last one came, or, where they take turns, that each rank left after all lower ones had come. A rank that left earlier
/// than the last one by half of its lead was busy with its own data. `waiting`: as in collective_rule.
inline file_order order_of_file(const participant* all, const participant* waiting, std::size_t count) noexcept {
  constexpr std::int64_t usual_ns = 100'000;  // between two members that leave together
  const core::mpi_call call = all[0].call;
  bool turns = core::meeting_role_of(call) == core::call_role::file_in_turn, together = true;
  std::int64_t latest_ns = INT64_MIN, left_ns = 0;
  for (std::size_t i = 0; i != count; ++i) {
    turns = turns && waiting[i].leave_ns >= latest_ns;
    if (all[i].enter_ns <= latest_ns) continue;
    latest_ns = all[i].enter_ns;
    left_ns = all[i].leave_ns;
  }
  for (std::size_t i = 0; i != count; ++i) {
    const bool own_data = !core::initiates(call) && left_ns - all[i].leave_ns > (latest_ns - all[i].enter_ns) / 2 + usual_ns;
    together = together && waiting[i].leave_ns >= latest_ns && !own_data;
  }
  return together ? file_order::together : turns ? file_order::in_turn : file_order::none;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
