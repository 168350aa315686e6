#ifndef WHYWAIT_EXPLAIN_SIMULATED_TRANSPORT_HPP
#define WHYWAIT_EXPLAIN_SIMULATED_TRANSPORT_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Hosts all ranks in one process and delivers messages in the order of sending: for tests, for thousands of simulated
/// ranks, and for programs without MPI. Memory: the packets that one rank fills in a round of an exchange.
/// Deterministic.
class simulated_transport {
 public:
  /// `room`: bytes per packet of an exchange; results do not depend on it.
  explicit simulated_transport(std::int32_t ranks, std::size_t room = std::size_t{16} << 10) : ranks_(ranks), room_(room) {}

  std::int32_t ranks() const noexcept { return ranks_; }
  std::int32_t hosted() const noexcept { return ranks_; }

  template <class Value>
  std::int64_t minimum(Value&& value) const {
    std::int64_t least = INT64_MAX;
    for (std::int32_t i = 0; i != ranks_; ++i) least = std::min(least, value(i));
    return least;
  }

  template <class Produce, class Consume>
  void exchange(Produce&& produce, Consume&& consume) const {
    base::pod_vector<std::uint32_t> slots(static_cast<std::size_t>(ranks_), none);  // packet of each rank
    base::vector<std::unique_ptr<base::packet>> packets;  // reused by the next rank
    base::pod_vector<std::int32_t> receivers;
    const auto to = [&](std::int32_t rank) -> base::packet& {
      if (rank < 0 || rank >= ranks_) throw std::out_of_range("whywait-X003: packet for no rank");
      std::uint32_t& at = slots[static_cast<std::size_t>(rank)];
      if (at == none) {
        at = static_cast<std::uint32_t>(receivers.size());
        receivers.push_back(rank);
        if (packets.size() == at) packets.push_back(std::make_unique<base::packet>());
      }
      return *packets[at];
    };
    for (bool anything = true; anything;) {
      anything = false;
      for (std::int32_t i = 0; i != ranks_; ++i) {
        produce(i, to, room_);
        for (std::size_t k = 0; k != receivers.size(); ++k) {
          base::packet& out = *packets[k];
          slots[static_cast<std::size_t>(receivers[k])] = none;
          if (out.empty()) continue;
          consume(receivers[k], i, out.data(), out.size());
          out.clear();
          anything = true;
        }
        receivers.clear();
      }
    }
  }

  /// Each rank runs until it is stuck. Of the ranks that have messages, the one that received its first of them last runs
  /// next: its memory and that of the sender are still in the cache. Throws std::logic_error if the ranks wait for each
  /// other in a circle.
  template <class Advance, class Receive>
  void forward(Advance&& advance, Receive&& receive) const {
    const auto count = static_cast<std::size_t>(ranks_);
    base::pod_vector<std::uint32_t> ready;
    base::pod_vector<inbox> inboxes(count);
    base::memory_pool memory;
    base::vector<message> messages;  // delivered when it is the receiver's turn
    base::pod_vector<std::uint32_t> unused;
    for (std::size_t i = count; i-- != 0;) ready.push_back(static_cast<std::uint32_t>(i));
    std::int32_t left = ranks_;
    while (!ready.empty()) {
      const std::uint32_t number = ready.back();
      const auto rank = static_cast<std::int32_t>(number);
      ready.pop_back();
      inboxes[number].queued = false;
      for (std::uint32_t m = std::exchange(inboxes[number].first, none); m != none; m = messages[m].next) {
        receive(rank, messages[m].source, messages[m].data.data(), messages[m].data.size());
        unused.push_back(m);
      }
      const bool finished = advance(rank, [&](std::int32_t to, const base::packet& data) {
        if (unused.empty()) {
          unused.push_back(static_cast<std::uint32_t>(messages.size()));
          messages.emplace_back(memory);
        }
        const std::uint32_t fresh = unused.back();
        unused.pop_back();
        messages[fresh].source = rank;
        messages[fresh].next = none;
        messages[fresh].data.assign(data.begin(), data.end());
        inbox& there = inboxes[static_cast<std::size_t>(to)];
        (there.first == none ? there.first : messages[there.last].next) = fresh;
        there.last = fresh;
        if (!there.queued) ready.push_back(static_cast<std::uint32_t>(to));
        there.queued = true;
      });
      if (finished && !inboxes[number].finished) {
        inboxes[number].finished = true;
        --left;
      }
    }
    if (left != 0) throw std::logic_error("whywait-X004: the ranks' records wait for each other in a circle");
  }

  template <class Pack, class Merge>
  void reduce(Pack&& pack, Merge&& merge) const {
    const auto take = [&](std::int64_t into, std::int64_t from) {
      const base::packet data = pack(static_cast<std::int32_t>(from));
      merge(static_cast<std::int32_t>(into), data.data(), data.size());
    };
    // Merges every pair as soon as both are complete; for each rank in the order of the steps of a binomial tree.
    for (std::int64_t n = 1; n <= ranks_; ++n) {
      for (std::int64_t step = 1; n % (2 * step) == 0; step *= 2) take(n - 2 * step, n - step);
    }
    for (std::int64_t step = 1; step < ranks_; step *= 2) {  // the incomplete groups at the end
      const std::int64_t i = ranks_ - ranks_ % (2 * step);
      if (i + step < ranks_) take(i, i + step);
    }
  }

  template <class Pack, class Take>
  void broadcast(Pack&& pack, Take&& take) const {
    if (ranks_ == 0) return;
    const base::packet data = pack(0);
    for (std::int32_t i = 0; i != ranks_; ++i) take(i, data.data(), data.size());
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  struct message {
    explicit message(base::memory_pool& memory) : data(memory) {}
    std::int32_t source = 0;
    std::uint32_t next = none;  ///< the next message to the same rank
    base::packet data;
  };
  /// The messages that one rank has not received yet, in the order of sending.
  struct inbox {
    std::uint32_t first = none, last = none;
    bool queued = true, finished = false;
  };

  std::int32_t ranks_;
  std::size_t room_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
