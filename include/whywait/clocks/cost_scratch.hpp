#ifndef WHYWAIT_CLOCKS_COST_SCRATCH_HPP
#define WHYWAIT_CLOCKS_COST_SCRATCH_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/memory_pool.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/clocks/own_time.hpp>
#include <whywait/core/stable_key.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// Buffers of the cost passes: received costs that are not charged yet, and scratch. All ranks of a process share one
/// instance.
struct cost_scratch {
  struct spent {
    core::stable_key block;
    std::int64_t ns;
  };
  // The head of a cost message; the waiter's time since `since_ns` follows, by block.
  struct cost_message {
    std::uint32_t location;  ///< of the causer, with message_bit
    std::uint32_t record;    ///< the record whose beginning the waiter needed
    std::uint32_t waiter;    ///< the waiter's record: fixes the order of summation
    std::uint32_t blocks;
    double wait_ns, received_ns;
    std::int64_t since_ns;
  };
  struct charge {
    std::int32_t source;
    std::uint32_t next;
    cost_message what;
    spent* rest;  ///< `what.blocks` elements, allocated from `memory`
  };
  // The last alignments of a location, with partners and with communicators.
  struct alignment {
    struct time {
      std::uint64_t key;
      std::int64_t ns;
    };
    base::key_map numbers;
    base::pod_vector<time> times;
    base::pod_vector<time> groups;

    std::int64_t& at(std::uint64_t key) {
      const auto fresh = static_cast<std::uint32_t>(times.size());
      const std::uint32_t number = numbers.intern(key + 1, fresh);
      if (number == fresh) times.push_back({key, INT64_MIN});
      return times[number].ns;
    }
    void clear() noexcept {
      for (const time& t : times) numbers.erase(t.key + 1);
      times.clear();
      groups.clear();
    }
  };

  explicit cost_scratch(base::memory_pool& pool) : memory(&pool) {}
  cost_scratch(const cost_scratch&) = delete;  // charges own their lists
  cost_scratch& operator=(const cost_scratch&) = delete;
  ~cost_scratch() {
    for (std::uint32_t c = 0; c != charges.size(); ++c) drop(charges[c]);
  }
  void drop(charge& c) noexcept {
    if (c.rest != nullptr) memory->give(c.rest, c.what.blocks * sizeof(spent));
    c.rest = nullptr;
  }

  base::memory_pool* memory;  ///< the pool of the run; borrowed
  base::pod_vector<charge> charges;
  base::pod_vector<std::uint32_t> free;  ///< free charges, last in, first out: the last one is still in the cache
  base::pod_vector<std::uint32_t> order;
  own_time::room time;
  base::pod_vector<own_time::part> more;
  alignment aligned;
  base::packet out;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
