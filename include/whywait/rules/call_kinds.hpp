#ifndef WHYWAIT_RULES_CALL_KINDS_HPP
#define WHYWAIT_RULES_CALL_KINDS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/rules/detail/distinct_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace rules {

/// What calls of one kind have in common: everything that a rule may compare. Ranks are world ranks. Without padding:
/// compared and sent between ranks as bytes.
struct call_kind {
  core::stable_key site = 0;
  core::stable_key communicator = 0;  ///< 0: MPI_COMM_WORLD, or a call without communicator
  std::uint64_t bytes = 0;     ///< sent: the message; received: the buffer; collective: what this rank contributes
  std::int32_t rank = 0;
  std::int32_t thread = 0;
  std::int32_t peer = -1;      ///< destination, source or root; -1: none, MPI_PROC_NULL, or a source that is unknown
  std::int32_t tag = -1;       ///< -1: not a message
  std::int32_t size = 0;       ///< ranks of the communicator
  core::mpi_call call = core::mpi_call::none;    ///< what the program called
  core::mpi_call part = core::mpi_call::none;    ///< what it counts as: MPI_Send for the send of MPI_Sendrecv

  bool operator==(const call_kind& o) const noexcept { return std::memcmp(this, &o, sizeof o) == 0; }
  /// Any total order that is the same on all ranks.
  bool operator<(const call_kind& o) const noexcept { return std::memcmp(this, &o, sizeof o) < 0; }
};
static_assert(std::is_trivially_copyable<call_kind>::value && sizeof(call_kind) == 48, "compared as bytes");

/// All recorded calls of one kind.
struct folded_calls {
  call_kind kind;
  std::int64_t count = 0;
  std::int64_t duration_ns = 0;  ///< time in these calls
  std::int64_t longest_ns = 0;

  void add(const folded_calls& o) noexcept {
    count += o.count;
    duration_ns += o.duration_ns;
    longest_ns = std::max(longest_ns, o.longest_ns);
  }
};
static_assert(sizeof(folded_calls) == 72, "sent between ranks as bytes");

/// The calls of some ranks by kind. Bounded: 4,096 kinds per rank and 65,536 in total, 72 bytes each. The kinds with
/// the most time are kept; the rest is counted in `others`.
struct call_table {
  static constexpr std::size_t most_per_rank = 4096, most = 65536;

  base::pod_vector<folded_calls> kinds;  ///< sorted by kind
  folded_calls others;                   ///< calls of all other kinds; its `kind` has no meaning

  /// Keeps the `limit` kinds with the most time.
  void keep_most_costly(std::size_t limit) {
    if (kinds.size() <= limit) return;
    base::small_stable_sort(kinds, [](const folded_calls& a, const folded_calls& b) {
      if (a.duration_ns != b.duration_ns) return a.duration_ns > b.duration_ns;
      return a.count != b.count ? a.count > b.count : a.kind < b.kind;
    });
    for (std::size_t i = limit; i < kinds.size(); ++i) others.add(kinds[i]);
    kinds.resize(limit);
    sort();
  }

  /// Keeps the calls of the `limit` call sites with the most time, because each site must be named.
  void keep_sites(std::size_t limit) {
    base::key_map numbers;
    base::pod_vector<std::int64_t> times;
    const auto number_of = [&](const folded_calls& c) {
      return numbers.intern(core::combine(c.kind.site, 1), static_cast<std::uint32_t>(times.size()));
    };
    for (const folded_calls& c : kinds) {
      const std::uint32_t number = number_of(c);
      if (number == times.size()) times.push_back(0);
      times[number] += c.duration_ns;
    }
    if (times.size() <= limit) return;
    base::pod_vector<std::int64_t> sorted = times;
    base::small_stable_sort(sorted, [](std::int64_t a, std::int64_t b) { return a > b; });
    std::size_t equal = 0;  // of the sites at the limit the first ones are kept
    for (std::size_t i = 0; i < limit; ++i) equal += sorted[i] == sorted[limit - 1] ? 1u : 0u;
    base::pod_vector<char> keeps;
    for (const std::int64_t time : times) {
      const bool ties = time == sorted[limit - 1] && equal > 0;
      equal -= ties ? 1 : 0;
      keeps.push_back(ties || time > sorted[limit - 1] ? 1 : 0);
    }
    std::size_t kept = 0;
    for (const folded_calls& c : kinds) {
      if (keeps[number_of(c)] != 0) kinds[kept++] = c;
      else others.add(c);
    }
    kinds.resize(kept);
  }

  void sort() {
    base::small_stable_sort(kinds, [](const folded_calls& a, const folded_calls& b) { return a.kind < b.kind; });
  }

  /// Adds the calls of other ranks, or of another part of the run. Linear.
  void merge(const call_table& from) {
    const base::pod_vector<folded_calls> old = std::move(kinds);
    kinds.clear();
    kinds.reserve(old.size() + from.kinds.size());
    for (std::size_t i = 0, j = 0; i < old.size() || j < from.kinds.size();) {
      const bool mine = j == from.kinds.size() || (i < old.size() && !(from.kinds[j].kind < old[i].kind));
      const bool theirs = i == old.size() || (j < from.kinds.size() && !(old[i].kind < from.kinds[j].kind));
      kinds.push_back(mine ? old[i] : from.kinds[j]);
      if (mine && theirs) kinds.back().add(from.kinds[j]);
      i += mine ? 1 : 0;
      j += theirs ? 1 : 0;
    }
    others.add(from.others);
    keep_most_costly(most);
  }
};

namespace detail {

// The two halves of MPI_Sendrecv count as MPI_Send and MPI_Recv, what MPI_Start starts as MPI_Isend or MPI_Irecv, MPI_Send_c
// as MPI_Send.
inline core::mpi_call part_of(const core::sync_record& r) noexcept {
  const bool sends = r.has(core::sync_flag::posts_send);
  if (!sends && !r.has(core::sync_flag::posts_receive)) return core::plain_form(r.call);
  switch (core::role_of(r.call)) {
    case core::call_role::exchange: return sends ? core::mpi_call::Send : core::mpi_call::Recv;
    case core::call_role::start: return sends ? core::mpi_call::Isend : core::mpi_call::Irecv;
    default: return core::plain_form(r.call);
  }
}

inline bool has_root(core::call_role role) noexcept {
  return role == core::call_role::one_to_all || role == core::call_role::all_to_one;
}

// Numbers of the kinds of the last calls of one location: most records are of few kinds in turn.
class recent_kinds {
 public:
  // Where the number of the record's kind is; none: not known.
  std::uint32_t& number_of(const core::sync_record& r) noexcept {
    const std::uint32_t at = r.site * 0x9e3779b1u ^ static_cast<std::uint32_t>(r.peer) * 0x85ebca6bu ^
                             static_cast<std::uint32_t>(r.tag) * 0xc2b2ae35u;
    entry& e = entries_[at >> 26];
    const unsigned flags =
        r.flags & (core::sync_flag::posts_send | core::sync_flag::posts_receive | core::sync_flag::proc_null);
    if (e.bytes != r.bytes || e.site != r.site || e.comm != r.comm || e.peer != r.peer || e.tag != r.tag || e.call != r.call ||
        e.flags != flags)
      e = {r.bytes, r.site, r.comm, r.peer, r.tag, base::key_map::none, r.call, static_cast<std::uint16_t>(flags)};
    return e.number;
  }

 private:
  struct entry {
    std::uint64_t bytes = 0;
    std::uint32_t site = 0, comm = 0;
    std::int32_t peer = 0, tag = 0;
    std::uint32_t number = base::key_map::none;
    core::mpi_call call = core::mpi_call::none;
    std::uint16_t flags = 0;
  };
  entry entries_[64];
};

}  // namespace detail

/// The calls of one rank by kind. A receive from any source counts once its source is known, with the epoch that has
/// it. O(records).
inline call_table calls_of(const explain::rank_history& rank) {
  static constexpr unsigned wildcard = core::sync_flag::any_source | core::sync_flag::any_tag;
  call_table out;
  detail::distinct_rows numbers(sizeof(call_kind) / sizeof(std::uint64_t));
  for (const explain::location_history& location : rank.locations) {
    detail::recent_kinds recent;
    for (std::uint64_t i = 0; i < location.records.size(); ++i) {
      const core::sync_record& r = location.records[i];
      if (r.call == core::mpi_call::none) continue;
      const bool message = r.has(core::sync_flag::posts_send | core::sync_flag::posts_receive);
      const bool open = message && r.has(wildcard) && !r.has(core::sync_flag::resolved);
      if (i < location.carried) {
        if (!open || !r.has(core::sync_flag::complete) || r.completion < location.carried) continue;  // counted before
      } else if (open && !r.has(core::sync_flag::complete) && rank.continues) {
        continue;
      }
      folded_calls one;
      one.count = 1;
      one.duration_ns = one.longest_ns = static_cast<std::int64_t>(static_cast<double>(r.duration) * rank.clock.ns_per_tick);
      std::uint32_t& known = recent.number_of(r);
      if (known != base::key_map::none) {
        out.kinds[known].add(one);
        continue;
      }
      call_kind& k = one.kind;
      k.site = r.site < location.call_sites.size() ? location.call_sites[r.site] : 0;
      k.rank = rank.rank;
      k.thread = location.thread;
      k.call = core::is_persistent(r.call) ? core::mpi_call::Start : r.call;
      k.part = detail::part_of(r);
      const core::call_role role = core::meeting_role_of(k.part);
      if (r.comm < rank.communicators.size()) {
        const explain::communicator& comm = rank.communicators[r.comm];
        k.communicator = comm.id != rank.communicators[0].id ? comm.id : 0;
        k.size = comm.size;
        if (r.peer >= 0 && !r.has(core::sync_flag::proc_null) &&
            (message || detail::has_root(role) || role == core::call_role::transfer || role == core::call_role::lock))
          k.peer = comm.world.empty()                                     ? r.peer
                   : static_cast<std::size_t>(r.peer) < comm.world.size() ? comm.world[static_cast<std::size_t>(r.peer)]
                                                                          : -1;
      }
      k.bytes = r.bytes;
      if (message) k.tag = r.tag;
      if (numbers.size() >= 4 * call_table::most_per_rank && !numbers.has(&k)) {
        out.others.add(one);
        continue;
      }
      known = numbers.number_of(&k);
      if (known == out.kinds.size()) out.kinds.push_back(one);
      else out.kinds[known].add(one);
    }
  }
  out.sort();
  out.keep_most_costly(call_table::most_per_rank);
  return out;
}

}  // namespace rules
}  // namespace v0
}  // namespace whywait

#endif
