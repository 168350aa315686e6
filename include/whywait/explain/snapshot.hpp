#ifndef WHYWAIT_EXPLAIN_SNAPSHOT_HPP
#define WHYWAIT_EXPLAIN_SNAPSHOT_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/own_visits.hpp>
#include <whywait/explain/path_profile.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What a requested path is for.
namespace wanted_path {
enum : std::uint16_t {
  aligns,  ///< from then on the waiter and the causer are aligned
  of_all,  ///< of an operation that synchronised all its members
  of_base  ///< where the causer was when the wait began (arrival_flag::based)
};
}

/// A waiter's request for the causer's path at the beginning of one of the causer's records.
struct snapshot_request {
  std::uint32_t causer_record, waiter_record;
  std::uint16_t causer_location, waiter_location;
  std::uint16_t kind;    ///< wanted_path
  std::uint8_t number;   ///< of the snapshot among those for the same record of the waiter, from 0
  std::uint8_t single;   ///< not 0: the waiter's rank has only one location
};

/// How a snapshot is made. The causer's path consists of the path it last took over and of what it did since, which is
/// known without waiting. If the path it took over was the waiter's own, or if there was none, the snapshot can be sent
/// ahead.
enum class snapshot_mode : std::uint8_t {
  whole,  ///< the whole path, sent when the causer has reached that instant
  own,  ///< the whole path of a causer that never took over another; sent ahead
  relative  ///< what the causer did since it took over the path of the waiter's record `base`; sent ahead
};

/// The head of a snapshot. `record` and `location` are those of the waiter.
struct snapshot_head {
  std::uint32_t record;
  std::uint32_t entries;
  std::uint32_t sent;  ///< entries that follow the head (changed_entries.hpp)
  std::uint32_t base;  ///< relative: the waiter's record whose path the causer took over
  std::uint16_t location;
  snapshot_mode mode;
  std::uint8_t partial;  ///< not 0: the causer lost records
  std::int32_t stretch;  ///< of the causer's place (own_visits)
  std::uint32_t number;  ///< among the snapshots for this record
  core::stable_key through;  ///< class of the wait in which the causer took over its path; 0: it did not wait, or unknown
};

/// One block of a causal path profile in a packet, and the causer's own visits.
struct snapshot_entry {
  block_table::name name;
  path_use use;  ///< `extra` includes the causer's own visits; relative: it is these
  std::int64_t here, total;  ///< own_use of the causer
};
static_assert(sizeof(snapshot_entry) == sizeof(block_table::name) + sizeof(path_use) + 2 * sizeof(std::int64_t),
              "it is sent as it is");

/// Appends the non-zero entries of a profile, with the own visits of its location, and returns their number.
inline std::uint32_t write_path(base::packet& out, const path_profile& profile, const own_visits& visits,
                                const block_table& blocks) {
  const std::size_t size = std::max(profile.size(), visits.size());
  out.reserve(out.size() + size * sizeof(snapshot_entry));
  std::uint32_t count = 0;
  for (std::uint32_t b = 0; b != size; ++b) {
    const own_use own = visits[b];
    snapshot_entry e{blocks[b], b < profile.size() ? profile[b] : path_use{}, own.here, own.total};
    e.use.extra += static_cast<double>(own.sum());
    if (e.use.nothing() && e.use.extra == 0 && own.total == 0) continue;
    put(out, e);
    ++count;
  }
  return count;
}

/// The entries of a profile by name, for observers.
inline base::vector<residual_term> terms_of(const path_profile& profile, const block_table& blocks) {
  base::vector<residual_term> terms;
  for (std::uint32_t b = 0; b != profile.size(); ++b) {
    residual_term term;
    term.block = blocks[b].block;
    term.within = blocks[b].within;
    term.causer_ns = profile[b].ns;
    term.causer_visits = profile[b].visits;
    term.causer_work = profile[b].work;
    if (term.causer_ns != 0 || term.causer_visits != 0) terms.push_back(term);
  }
  return terms;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
