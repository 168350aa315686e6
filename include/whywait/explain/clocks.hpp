#ifndef WHYWAIT_EXPLAIN_CLOCKS_HPP
#define WHYWAIT_EXPLAIN_CLOCKS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/transport_calls.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

struct arrival;
struct message_match;
struct merged_class;
struct outcome;
struct participant;
struct relay_wait;
class class_merger;

// The interface between the explanation and the virtual clocks (clocks/virtual_clocks.hpp), so that programs that do
// not use the clocks do not compile them. Called once per stage, location or collective operation, never per record.

/// The class of one wait, so that its compensated time can be added to that class.
struct wait_note {
  static constexpr std::uint32_t uncounted = 0xffffffffu;  ///< in place of a class: the rank was paused

  std::uint32_t record;
  std::uint32_t number;  ///< of its class in wait_classes
  std::int64_t wait_ns;
};

/// A wait that was caused by the beginning of one of this location's records.
struct caused_wait {
  std::uint32_t record;
  std::int32_t rank;  ///< the rank that waited
  std::uint16_t location;
};

/// Time in one block.
struct block_time {
  core::stable_key block;
  std::int64_t ns, visits;
};

/// The state of one location after the forward pass.
struct explained_location {
  explicit explained_location(base::memory_pool& memory) : caused(memory), notes(memory), path(memory) {}
  const base::pod_vector<arrival>* arrivals = nullptr;  ///< its causers, by record; borrowed
  base::pod_vector<caused_wait> caused;                 ///< the waits it caused, by record
  base::pod_vector<wait_note> notes;                    ///< by record
  std::int64_t startup_ns = 0;  ///< time from the first rank's begin to the begin of recording
  std::int64_t end_ns = INT64_MIN;
  base::pod_vector<block_time> path;  ///< the causal path into its end
};

/// The virtual clocks of one rank, in the order of the engine's calls.
class rank_clocks {
 public:
  virtual ~rank_clocks() = default;

  /// Adds one collective operation of which this rank is the home: all participants, by rank, and those that waited for a
  /// relay. `waiting`: the participants in the calls in which they waited, usually `all`.
  virtual void add_collective(const participant* all, const participant* waiting, std::size_t count,
                              const base::pod_vector<std::int32_t>& needs, const base::pod_vector<relay_wait>& relays) = 0;
  /// Sends the resulting needs to the participants as packet_part::give and need, which `receive_needs` reads there.
  virtual void send_needs(outbox_call to) = 0;
  virtual void receive_needs(std::uint32_t part, base::packet_reader& in) = 0;
  /// Adds the messages of one location and the causes of its waits, both by record.
  virtual void add_messages(std::uint16_t location, const message_match* matches, std::size_t count,
                            const base::pod_vector<arrival>& arrivals) = 0;
  /// Adds every location in turn, after the forward pass.
  virtual void add_explained_location(std::uint16_t location, explained_location what) = 0;
  /// Sets the classes before they are summed; borrowed. `number`: index of this rank in `merging`.
  virtual void set_classes(class_merger& merging, std::size_t number) = 0;
  /// On rank 0: add the results before, and after, the classes are presented.
  virtual void report(outcome& result, base::vector<merged_class>& merged) = 0;
  virtual void mark_savings(outcome& result) const = 0;
};

/// The virtual clocks of all ranks that a process hosts.
class run_clocks {
 public:
  virtual ~run_clocks() = default;
  virtual rank_clocks& of(std::size_t hosted) = 0;
  /// Computes the delay costs, after the forward pass, or leaves them to `answer_questions`. Collective.
  virtual void compute_delay_costs(transport_calls& transport) = 0;
  /// Answers all questions, after the classes were summed. Collective.
  virtual void answer_questions(transport_calls& transport, std::int64_t earliest_ns) = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
