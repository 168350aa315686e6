#ifndef WHYWAIT_EXPLAIN_SIMULATED_TRANSPORT_HPP
#define WHYWAIT_EXPLAIN_SIMULATED_TRANSPORT_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Hosts all ranks in one process and delivers in the order of sending: for tests, for thousands of simulated ranks, for a
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
    base::pod_vector<std::uint32_t> slots(static_cast<std::size_t>(ranks_), none);  // of the packet for each rank
    std::deque<base::packet> packets;  // they are referred to; used again by the next rank
    base::pod_vector<std::int32_t> receivers;
    const auto to = [&](std::int32_t rank) -> base::packet& {
      if (rank < 0 || rank >= ranks_) throw std::out_of_range("whywait-X003: packet for no rank");
      std::uint32_t& at = slots[static_cast<std::size_t>(rank)];
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
          base::packet& out = packets[k];
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

  /// Throws std::logic_error if the ranks wait for each other in a circle.
  template <class Advance, class Receive>
  void forward(Advance&& advance, Receive&& receive) const {
    forward(advance, receive, [](std::int32_t, int) {}, 0);
  }
  /// The same; `prefetch(i, step)` for each of `steps` steps from 0 on, shortly before rank i advances. Between them the
  /// ranks before it advance, so that what a step has asked memory for is there at the next.
  template <class Advance, class Receive, class Approach>
  void forward(Advance&& advance, Receive&& receive, Approach&& prefetch, int steps) const {
    const auto count = static_cast<std::size_t>(ranks_);
    base::pod_vector<queue> ready((count + block - 1) / block);  // ranks of each block
    queue turns;                                                   // blocks
    base::pod_vector<place> places(count);
    base::memory_pool memory;
    base::vector<letter> letters;  // delivered when it is their receiver's turn: only then is its memory near
    base::pod_vector<std::uint32_t> unused;
    const auto next_rank = [&places](std::uint32_t at) -> std::uint32_t& { return places[at].next; };
    const auto next_block = [&ready](std::uint32_t at) -> std::uint32_t& { return ready[at].next; };
    for (std::uint32_t i = 0; i != count; ++i) ready[i / block].push(i, next_rank);
    for (std::uint32_t b = 0; b != ready.size(); ++b) turns.push(b, next_block);
    const auto come = [&](std::uint32_t i, int until) {
      for (std::uint8_t& done = places[i].approached; done < until; ++done) prefetch(static_cast<std::int32_t>(i), done);
    };
    std::int32_t left = ranks_;
    while (turns.first != none) {
      queue& here = ready[turns.first];
      while (here.first != none) {
        const std::uint32_t number = here.first;
        const auto i = static_cast<std::int32_t>(number);
        place& mine = places[number];
        come(number, steps);
        here.first = mine.next;
        mine.queued = false;
        mine.approached = 0;
        int step = steps;
        for (std::uint32_t at = here.first; step > 0 && at != none; --step, at = places[at].next) come(at, step);
        if (here.first == none && here.next != none) come(ready[here.next].first, steps);
        for (std::uint32_t l = std::exchange(mine.first, none); l != none;) {
          receive(i, letters[l].source, letters[l].data.data(), letters[l].data.size());
          unused.push_back(l);
          l = letters[l].next;
        }
        const bool all = advance(i, [&](std::int32_t to, const base::packet& data) {
          if (unused.empty()) {
            unused.push_back(static_cast<std::uint32_t>(letters.size()));
            letters.emplace_back(memory);
          }
          const std::uint32_t fresh = unused.back();
          unused.pop_back();
          letter& l = letters[fresh];
          l.source = i;
          l.next = none;
          l.data.assign(data.begin(), data.end());
          place& there = places[static_cast<std::size_t>(to)];
          (there.first == none ? there.first : letters[there.last].next) = fresh;
          there.last = fresh;
          if (there.queued) return;
          there.queued = true;
          const auto receiver = static_cast<std::uint32_t>(to);
          queue& its = ready[receiver / block];
          if (its.first == none && &its != &here) turns.push(receiver / block, next_block);
          its.push(receiver, next_rank);
        });
        if (all && !mine.finished) {
          mine.finished = true;
          --left;
        }
      }
      turns.first = here.next;
    }
    if (left != 0) throw std::logic_error("whywait-X004: the ranks' records wait for each other in a circle");
  }

  template <class Pack, class Merge>
  void reduce(Pack&& pack, Merge&& merge) const {
    const auto take = [&](std::int64_t into, std::int64_t from) {
      const base::packet data = pack(static_cast<std::int32_t>(from));
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
    const base::packet data = pack(0);
    for (std::int32_t i = 0; i != ranks_; ++i) take(i, data.data(), data.size());
  }

 private:
  static constexpr std::size_t block = 64;  ///< ranks that run in turn until all are stuck: they share the cache
  static constexpr std::uint32_t none = 0xffffffffu;
  /// Ranks or blocks, each of which knows the one behind it.
  struct queue {
    std::uint32_t first = none, last = none;
    std::uint32_t next = none;  ///< of a block: the next in turn

    template <class Next>
    void push(std::uint32_t number, Next&& next_of) {
      next_of(number) = none;
      (first == none ? first : next_of(last)) = number;
      last = number;
    }
  };
  struct letter {
    explicit letter(base::memory_pool& memory) : data(memory) {}
    std::int32_t source = 0;
    std::uint32_t next = none;  ///< to the same rank
    base::packet data;
  };
  /// What `forward` knows of one rank.
  struct place {
    std::uint32_t first = none, last = none;  ///< letters to it
    std::uint32_t next = none;                ///< rank whose turn comes after its own
    std::uint8_t approached = 0;              ///< steps done
    bool queued = true, finished = false;
  };

  std::int32_t ranks_;
  std::size_t room_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
