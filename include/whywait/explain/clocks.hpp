#ifndef WHYWAIT_EXPLAIN_CLOCKS_HPP
#define WHYWAIT_EXPLAIN_CLOCKS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/transport_calls.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

struct arrival;
struct message_match;
struct merged_class;
struct outcome;
struct participant;
class class_merger;

// What the explanation tells the virtual clocks (ledger/virtual_clocks.hpp), so that a program which does not ask for
// them does not compile them. Called once per stage, location or collective operation, never per record.

/// Where a wait of one record was put, so that what the virtual clocks say about it finds its way there.
struct wait_note {
  std::uint32_t record;
  std::uint32_t number;  ///< of its class in the class book
  std::int64_t wait_ns;
};

/// A wait that was caused by the beginning of one of this location's records.
struct caused_wait {
  std::uint32_t record;
  std::int32_t rank;       ///< who waited
  std::uint16_t location;
};

/// Time in one block.
struct block_time {
  core::stable_key block;
  std::int64_t ns, visits;
};

/// What is known about one location after the forward pass.
struct explained_location {
  explicit explained_location(base::memory_pool& memory) : caused(memory), notes(memory), path(memory) {}
  const base::pod_vector<arrival>* arrivals = nullptr;  ///< who it waited for, by record; borrowed
  base::pod_vector<caused_wait> caused;                 ///< who waited for it, by record
  base::pod_vector<wait_note> notes;                    ///< by record
  std::int64_t startup_ns = 0;                     ///< before recording began, since the first rank's began
  std::int64_t end_ns = INT64_MIN;
  base::pod_vector<block_time> path;                    ///< its causal path into its end
};

/// The virtual clocks of one rank, as its engine sees them, in the order of the calls.
class rank_clocks {
 public:
  virtual ~rank_clocks() = default;

  /// One collective operation of which this rank is the home: all who took part, by rank.
  virtual void add_collective(const participant* all, std::size_t count, const base::pod_vector<std::int32_t>& needs) = 0;
  /// Tells them what follows from that: packet_part::give and need, for `hear` there.
  virtual void send_needs(outbox_call to) = 0;
  virtual void receive_needs(std::uint32_t part, base::packet_reader& in) = 0;
  /// The messages of one location by record, and what made it wait.
  virtual void add_messages(std::uint16_t location, const message_match* matches, std::size_t count,
                        const base::pod_vector<arrival>& arrivals) = 0;
  /// Every location in turn, after the forward pass.
  virtual void add_explained_location(std::uint16_t location, explained_location what) = 0;
  /// Before the classes are summed; borrowed. `number`: of this rank in it.
  virtual void set_classes(class_merger& merging, std::size_t number) = 0;
  /// On rank 0: before the classes are presented, and after that.
  virtual void report(outcome& result, std::vector<merged_class>& merged) = 0;
  virtual void mark_savings(outcome& result) const = 0;
};

/// The virtual clocks of all ranks that a process hosts.
class run_clocks {
 public:
  virtual ~run_clocks() = default;
  virtual rank_clocks& of(std::size_t hosted) = 0;
  /// What the delays cost; after the forward pass. Collective.
  virtual void compute_delay_costs(transport_calls& transport) = 0;
  /// Puts all questions; after the classes were summed up. Collective.
  virtual void answer_questions(transport_calls& transport, std::int64_t earliest_ns) = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
