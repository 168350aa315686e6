#ifndef WHYWAIT_EXPLAIN_LEDGER_COST_SCRATCH_HPP
#define WHYWAIT_EXPLAIN_LEDGER_COST_SCRATCH_HPP

#include <whywait/core/memory_pool.hpp>
#include <whywait/core/plain_vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/key_map.hpp>
#include <whywait/explain/ledger/own_time.hpp>
#include <whywait/explain/packet.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What the passes of all ranks that a process hosts share: what waiters have told and nobody has taken account of yet,
/// and room that means nothing from one wait to the next.
struct cost_scratch {
  struct spent {
    core::stable_key block;
    std::int64_t ns;
  };
  // What a waiter tells, before what it spent in how many blocks since `since_ns`, by block.
  struct notice {
    std::uint32_t location, record;  ///< whose beginning it needed
    std::uint32_t waiter;            ///< its record: sums are made in a fixed order
    std::uint32_t blocks;
    double wait_ns, received_ns;
    std::int64_t since_ns;
  };
  struct charge {
    std::int32_t source;
    std::uint32_t next;
    notice what;
    spent* rest;  ///< as many as it says; from `memory`
  };
  // When a location and others were last aligned: partners, or communicators.
  struct alignment {
    struct time {
      std::uint64_t who;
      std::int64_t ns;
    };
    key_map numbers;
    core::plain_vector<time> times;
    core::plain_vector<time> groups;

    std::int64_t& at(std::uint64_t who) {
      const auto fresh = static_cast<std::uint32_t>(times.size());
      const std::uint32_t number = numbers.intern(who + 1, fresh);
      if (number == fresh) times.push_back({who, INT64_MIN});
      return times[number].ns;
    }
    void clear() noexcept {
      for (const time& t : times) numbers.erase(t.who + 1);
      times.clear();
      groups.clear();
    }
  };

  explicit cost_scratch(core::memory_pool& pool) : memory(&pool) {}
  cost_scratch(const cost_scratch&) = delete;  // the charges own what they tell
  cost_scratch& operator=(const cost_scratch&) = delete;
  ~cost_scratch() {
    for (std::uint32_t c = 0; c != charges.size(); ++c) drop(charges[c]);
  }
  void drop(charge& c) noexcept {
    if (c.rest != nullptr) memory->give(c.rest, c.what.blocks * sizeof(spent));
    c.rest = nullptr;
  }

  core::memory_pool* memory;  ///< of the run; borrowed
  core::plain_vector<charge> charges;
  core::plain_vector<std::uint32_t> free;  ///< of charges; what was used last comes first, as it is in the cache
  core::plain_vector<std::uint32_t> order;
  own_time::room time;
  core::plain_vector<own_time::part> more;
  alignment aligned;
  packet out;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
