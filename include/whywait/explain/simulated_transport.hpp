#ifndef WHYWAIT_EXPLAIN_SIMULATED_TRANSPORT_HPP
#define WHYWAIT_EXPLAIN_SIMULATED_TRANSPORT_HPP

#include <whywait/explain/packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Hosts all ranks in one process and delivers at once: for tests, for thousands of simulated ranks, for a
/// program without MPI. Memory is what is under way; nothing is kept per pair of ranks. Deterministic.
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
    std::vector<std::vector<std::pair<std::int32_t, packet>>> inbox(static_cast<std::size_t>(ranks_));
    for (bool anything = true; anything;) {
      anything = false;
      for (std::int32_t i = 0; i != ranks_; ++i) {
        std::unordered_map<std::int32_t, packet> outbox;
        produce(i, [&outbox](std::int32_t to) -> packet& { return outbox[to]; }, room_);
        for (auto& out : outbox) {
          if (out.first < 0 || out.first >= ranks_) throw std::out_of_range("whywait-X003: packet for no rank");
          if (out.second.empty()) continue;
          inbox[static_cast<std::size_t>(out.first)].emplace_back(i, std::move(out.second));
          anything = true;
        }
      }
      for (std::int32_t i = 0; i != ranks_; ++i) {
        auto& mine = inbox[static_cast<std::size_t>(i)];
        for (const auto& in : mine) consume(i, in.first, in.second.data(), in.second.size());
        mine = {};
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
    const auto take = [&](std::int64_t into, std::int64_t from) {
      const packet data = pack(static_cast<std::int32_t>(from));
      merge(static_cast<std::int32_t>(into), data.data(), data.size());
    };
    // Every pair as soon as both are complete, while they are in the cache; for each rank in the order of the steps.
    for (std::int64_t n = 1; n <= ranks_; ++n) {
      for (std::int64_t step = 1; n % (2 * step) == 0; step *= 2) take(n - 2 * step, n - step);
    }
    for (std::int64_t step = 1; step < ranks_; step *= 2) {  // the groups at the end that are not full
      const std::int64_t i = ranks_ - ranks_ % (2 * step);
      if (i + step < ranks_) take(i, i + step);
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
