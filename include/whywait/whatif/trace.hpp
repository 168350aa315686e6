#ifndef WHYWAIT_WHATIF_TRACE_HPP
#define WHYWAIT_WHATIF_TRACE_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/models/error.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace whywait {
inline namespace v0 {
namespace whatif {

/// One call of one line, with identifiers that are the same on every rank.
struct traced_call {
  std::int64_t enter_ns = 0, leave_ns = 0;
  core::stable_key site = 0;          ///< call site
  core::stable_key communicator = 0;  ///< 0 if unknown
  std::uint64_t bytes = 0;
  std::uint32_t posting = 0;       ///< order in which the process posted messages, from 1
  std::uint32_t completion = 0;    ///< index of the call, in line `completed_by`, that completed a posted receive
  std::uint32_t completed_by = 0;  ///< line of the rank
  std::int32_t peer = -1;          ///< world rank of the partner or root
  std::int32_t tag = 0;
  std::int32_t members = 0;                   ///< size of the communicator; 0 if collectives are not followed
  std::int32_t comm_rank = 0;                 ///< own rank in the communicator
  std::uint32_t first_block = 0, blocks = 0;  ///< range in traced_line::blocks
  core::mpi_call call = core::mpi_call::none;
  std::uint16_t flags = 0;
};

/// Time in a named block.
struct traced_block {
  core::stable_key block = 0;
  double seconds = 0.0;
};

/// The calls of one thread of one rank, in vectors of plain data that can be sent as bytes.
struct traced_line {
  std::int32_t rank = 0, thread = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint64_t dropped = 0;  ///< calls beyond the limit or dropped by the recorder
  base::pod_vector<traced_call> calls;
  base::pod_vector<traced_block> blocks;
  base::pod_vector<std::int32_t> needs;  ///< ranks of sparse collectives, `peer` of them from `tag` on
};

/// Extracts the lines of one rank from its records. For each location these are the first `most_calls` calls (80 bytes
/// each, and 16 for each timed block between two calls) that ended before `until_ns` of the shared clock.
inline base::vector<traced_line> trace(const explain::rank_history& h, std::size_t most_calls = 200000,
                                       std::int64_t until_ns = INT64_MAX) {
  base::vector<traced_line> result;
  for (const explain::location_history& location : h.locations) {
    traced_line line;
    line.rank = h.rank;
    line.thread = location.thread;
    line.begin_ns = h.begin_ns;
    line.end_ns = std::min(h.end_ns, until_ns);
    line.dropped = location.dropped;
    std::uint64_t steps = 0;
    for (std::uint64_t i = 0; i != location.records.size(); ++i) {
      const core::sync_record& r = location.records[i];
      const bool late = h.clock(r.begin + r.duration) > until_ns;
      if (line.calls.size() == most_calls || late) {
        line.dropped += location.records.size() - i;
        if (!late) line.end_ns = line.calls.empty() ? line.begin_ns : line.calls.back().leave_ns;
        break;
      }
      traced_call c;
      c.enter_ns = h.clock(r.begin);
      c.leave_ns = h.clock(r.begin + r.duration);
      c.site = r.site < location.call_sites.size() ? location.call_sites[r.site] : 0;
      c.bytes = r.bytes;
      c.posting = r.posting;
      c.completion = r.completion;
      c.completed_by = r.completed_by;
      c.tag = r.tag;
      c.call = r.call;
      c.flags = r.flags;
      if (r.comm < h.communicators.size()) {
        const explain::communicator& of = h.communicators[r.comm];
        c.communicator = of.id;
        c.members = of.inter ? 0 : of.size;
        c.comm_rank = of.rank;
        c.peer = r.peer < 0 || of.world.empty()                       ? r.peer
                 : static_cast<std::size_t>(r.peer) < of.world.size() ? of.world[static_cast<std::size_t>(r.peer)]
                                                                      : -1;
      }
      const auto listed = static_cast<std::uint64_t>(std::max(r.peer, 0)), at = static_cast<std::uint64_t>(std::max(r.tag, 0));
      if (r.has(core::sync_flag::sparse)) {
        c.peer = r.peer;
        c.tag = static_cast<std::int32_t>(line.needs.size());
        if (at + listed > location.needs.size()) c.communicator = 0;
        for (std::uint64_t k = at; c.communicator != 0 && k != at + listed; ++k) line.needs.push_back(location.needs[k]);
      }
      if (c.communicator != 0 && core::is_persistent(r.call)) {
        c.communicator = explain::order_key(location, h.communicators[r.comm], r);
      }
      c.first_block = static_cast<std::uint32_t>(line.blocks.size());
      for (; steps < r.steps && steps < location.steps.size(); ++steps) {
        const core::path_step& s = location.steps[steps];
        if (s.block == 0 || s.ticks == 0 || s.block >= h.blocks.size()) continue;
        line.blocks.push_back({h.blocks[s.block], static_cast<double>(s.ticks) * h.clock.ns_per_tick * 1e-9});
      }
      c.blocks = static_cast<std::uint32_t>(line.blocks.size()) - c.first_block;
      line.calls.push_back(c);
    }
    result.push_back(std::move(line));
  }
  return result;
}

static_assert(sizeof(traced_call) == 80, "without holes: its bytes are sent");

/// Serialises lines for a gather among processes of one build on machines of one kind.
inline base::packet pack(const base::vector<traced_line>& lines) {
  base::packet out;
  for (const traced_line& l : lines) {
    base::put(out, l.rank);
    base::put(out, l.thread);
    base::put(out, l.begin_ns);
    base::put(out, l.end_ns);
    base::put(out, l.dropped);
    base::put_all(out, l.calls);
    base::put_all(out, l.blocks);
    base::put_all(out, l.needs);
  }
  return out;
}

/// Appends the lines of `pack`; the bytes of several ranks may be concatenated. Throws P022 for a damaged packet.
inline void unpack(const unsigned char* data, std::size_t size, base::vector<traced_line>& into) {
  base::packet_reader from(data, size);
  try {
    while (!from.empty()) {
      traced_line l;
      l.rank = from.get<std::int32_t>();
      l.thread = from.get<std::int32_t>();
      l.begin_ns = from.get<std::int64_t>();
      l.end_ns = from.get<std::int64_t>();
      l.dropped = from.get<std::uint64_t>();
      base::get_all(from, l.calls);
      base::get_all(from, l.blocks);
      base::get_all(from, l.needs);
      into.push_back(std::move(l));
    }
  } catch (const std::out_of_range&) {
    throw models::prediction_error(models::fault::log, "a packet of traced calls is damaged");
  }
}

/// All blocks and call sites in the lines, each once. `join` needs names for these keys.
inline base::vector<core::stable_key> keys_of(const base::vector<traced_line>& lines) {
  base::key_map seen;
  base::vector<core::stable_key> keys;
  const auto add = [&](core::stable_key key) {
    const std::uint32_t fresh = static_cast<std::uint32_t>(keys.size());
    if (key != 0 && seen.intern(key, fresh) == fresh) keys.push_back(key);
  };
  for (const traced_line& l : lines) {
    for (const traced_call& c : l.calls) add(c.site);
    for (const traced_block& b : l.blocks) add(b.block);
  }
  return keys;
}

/// Returns the name of a block or call site.
struct key_namer {
  virtual std::string operator()(core::stable_key key) const = 0;

 protected:
  ~key_namer() = default;
};

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
