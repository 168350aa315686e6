#ifndef WHYWAIT_EXPLAIN_THREAD_RANKS_HPP
#define WHYWAIT_EXPLAIN_THREAD_RANKS_HPP

#include <whywait/base/vector.hpp>
#include <whywait/core/rank_history.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The threads of one process without MPI as ranks of one location each, so that work is compared and balanced thread by thread.
/// The records must be those of a thread_book. `all`: the histories of the process by location; a location without records and
/// blocks gives a rank without time.
inline base::vector<core::rank_history> threads_as_ranks(const core::rank_history& all) {
  base::vector<core::rank_history> ranks;
  ranks.reserve(all.locations.size());
  for (std::size_t l = 0; l != all.locations.size(); ++l) {
    ranks.emplace_back();
    core::rank_history& r = ranks.back();
    r.rank = static_cast<std::int32_t>(l);
    r.ranks = static_cast<std::int32_t>(all.locations.size());
    r.node = all.node;
    r.clock = all.clock;
    r.begin_ns = all.begin_ns;
    r.end_ns = all.end_ns;
    r.communicators = all.communicators;
    r.blocks = all.blocks;
    r.code = all.code;
    r.threads_are_ranks = true;
    r.locations.push_back(all.locations[l]);
    r.locations.back().thread = 0;
  }
  return ranks;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
