#ifndef WHYWAIT_EXPLAIN_SIMULATED_TRANSPORT_HPP
#define WHYWAIT_EXPLAIN_SIMULATED_TRANSPORT_HPP

#include <whywait/explain/packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Hosts all ranks in one process and delivers at once: for tests, for thousands of simulated ranks, for a
/// program without MPI. Memory: the packets that one rank fills in a round of an exchange. Deterministic.
class simulated_transport {
 public:
  /// `room`: bytes per packet of an exchange; results do not depend on it.
  explicit simulated_transport(std::int32_t ranks, std::size_t room = std::size_t{16} << 10)
      : ranks_(ranks), room_(room) {}

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
    constexpr std::uint32_t none = 0xffffffffu;
    std::vector<std::uint32_t> place(static_cast<std::size_t>(ranks_), none);  // of the packet for each rank
    std::deque<packet> packets;  // they are referred to; used again by the next rank
    std::vector<std::int32_t> receivers;
    const auto to = [&](std::int32_t rank) -> packet& {
      if (rank < 0 || rank >= ranks_) throw std::out_of_range("whywait-X003: packet for no rank");
      std::uint32_t& at = place[static_cast<std::size_t>(rank)];
      if (at == none) {
        at = static_cast<std::uint32_t>(receivers.size());
        receivers.push_back(rank);
        if (packets.size() == at) packets.emplace_back();
      }
      return packets[at];
    };
    for (bool anything = true; anything;) {
      anything = false;
      for (std::int32_t i = 0; i != ranks_; ++i) {
        produce(i, to, room_);
        for (std::size_t k = 0; k != receivers.size(); ++k) {
          packet& out = packets[k];
          place[static_cast<std::size_t>(receivers[k])] = none;
          if (out.empty()) continue;
          consume(receivers[k], i, out.data(), out.size());
          out.clear();
          anything = true;
        }
        receivers.clear();
      }
    }
  }

  /// Throws std::logic_error if the ranks wait for each other in a circle.
  template <class Advance, class Receive>
  void forward(Advance&& advance, Receive&& receive) const {
    const auto count = static_cast<std::size_t>(ranks_);
    std::vector<std::deque<std::int32_t>> ready((count + block - 1) / block);
    std::deque<std::size_t> turns;
    std::vector<char> queued(count, 1), finished(count, 0);
    for (std::int32_t i = 0; i != ranks_; ++i) ready[static_cast<std::size_t>(i) / block].push_back(i);
    for (std::size_t b = 0; b != ready.size(); ++b) turns.push_back(b);
    std::int32_t left = ranks_;
    while (!turns.empty()) {
      std::deque<std::int32_t>& here = ready[turns.front()];
      while (!here.empty()) {
        const std::int32_t i = here.front();
        here.pop_front();
        queued[static_cast<std::size_t>(i)] = 0;
        const bool all = advance(i, [&](std::int32_t to, const packet& data) {
          receive(to, i, data.data(), data.size());
          if (queued[static_cast<std::size_t>(to)] == 0) {
            queued[static_cast<std::size_t>(to)] = 1;
            std::deque<std::int32_t>& there = ready[static_cast<std::size_t>(to) / block];
            if (there.empty() && &there != &here) turns.push_back(static_cast<std::size_t>(to) / block);
            there.push_back(to);
          }
        });
        if (all && finished[static_cast<std::size_t>(i)] == 0) {
          finished[static_cast<std::size_t>(i)] = 1;
          --left;
        }
      }
      turns.pop_front();
    }
    if (left != 0) throw std::logic_error("whywait-X004: the ranks' records wait for each other in a circle");
  }

  template <class Pack, class Merge>
  void reduce(Pack&& pack, Merge&& merge) const {
    for (std::int64_t step = 1; step < ranks_; step *= 2) {
      for (std::int64_t i = 0; i + step < ranks_; i += 2 * step) {
        const packet data = pack(static_cast<std::int32_t>(i + step));
        merge(static_cast<std::int32_t>(i), data.data(), data.size());
      }
    }
  }

  template <class Pack, class Take>
  void broadcast(Pack&& pack, Take&& take) const {
    if (ranks_ == 0) return;
    const packet data = pack(0);
    for (std::int32_t i = 0; i != ranks_; ++i) take(i, data.data(), data.size());
  }

 private:
  static constexpr std::size_t block = 64;  ///< ranks that run in turn until all are stuck: they share the cache

  std::int32_t ranks_;
  std::size_t room_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
