#ifndef WHYWAIT_EXPLAIN_MESSAGE_TRAFFIC_HPP
#define WHYWAIT_EXPLAIN_MESSAGE_TRAFFIC_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/epoch_postings.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

enum class traffic_kind : std::uint8_t { send, receive, collective, transfer };
/// Where messages go; of collectives where the farthest member is.
enum class peer_class : std::uint8_t { self, node, network, unknown };

/// Messages of one call site, kind, class of peers and size. Sent between ranks as bytes.
struct traffic_sum {
  /// In place of a size class: all of them.
  static constexpr std::uint8_t all_sizes = 255;

  core::stable_key site = 0;
  traffic_kind kind = traffic_kind::send;
  peer_class peers = peer_class::unknown;
  std::uint8_t size = all_sizes;  ///< 0: no bytes; n: from 2^(n-1) to 2^n - 1 bytes
  std::uint8_t unused = 0;
  std::int32_t ranks = 0;
  std::int64_t count = 0, bytes = 0, least_bytes = 0, most_bytes = 0;
  std::int64_t ns = 0;  ///< only of all sizes

  bool before(const traffic_sum& o) const noexcept {
    if (site != o.site) return site < o.site;
    if (kind != o.kind) return kind < o.kind;
    return peers != o.peers ? peers < o.peers : size > o.size;  // first all sizes
  }
  bool same_messages(const traffic_sum& o) const noexcept { return site == o.site && kind == o.kind && peers == o.peers; }
  void add(const traffic_sum& o) noexcept {
    least_bytes = std::min(least_bytes, o.least_bytes);
    most_bytes = std::max(most_bytes, o.most_bytes);
    ranks += o.ranks;
    count += o.count;
    bytes += o.bytes;
    ns += o.ns;
  }
};
static_assert(std::is_trivially_copyable<traffic_sum>::value, "sent between ranks as bytes");

/// Adds up what belongs together.
inline void join_traffic(base::pod_vector<traffic_sum>& all) {
  base::sort_and_join(
      all, [](const traffic_sum& a, const traffic_sum& b) { return a.before(b); },
      [](traffic_sum& to, const traffic_sum& from) { to.add(from); });
}

/// The messages of one rank, added up epoch by epoch. Memory is bounded by the call sites.
class message_traffic {
 public:
  /// `node`: of each world rank, -1 if it is not known; empty: all ranks are on one machine. O(records + sites).
  void fold(const rank_history& rank, const base::pod_vector<std::int32_t>& node) {
    const peers_of where(rank, node);
    for (const location_history& here : rank.locations) fold(rank, here, where);
    join_traffic(all_);
    for (traffic_sum& t : all_) t.ranks = 1;  // in whichever epochs
  }
  /// Sorted (traffic_sum::before).
  const base::pod_vector<traffic_sum>& sums() const noexcept { return all_; }

 private:
  static constexpr std::size_t kinds = 4, classes = 4, sizes = 65;

  // Which peers a rank has in its communicators.
  class peers_of {
   public:
    peers_of(const rank_history& rank, const base::pod_vector<std::int32_t>& node) : rank_(rank), node_(node) {
      for (const communicator& c : rank.communicators) farthest_.push_back(farthest(c));
    }
    peer_class of_message(const core::sync_record& r) const noexcept {
      return r.comm < rank_.communicators.size() ? of_rank(world_rank(rank_.communicators[r.comm], r.peer))
                                                 : peer_class::unknown;
    }
    peer_class of_collective(const core::sync_record& r) const noexcept {
      return r.comm < farthest_.size() ? farthest_[r.comm] : peer_class::unknown;
    }

   private:
    peer_class of_rank(std::int32_t peer) const noexcept {
      if (peer < 0) return peer_class::unknown;
      if (peer == rank_.rank) return peer_class::self;
      if (node_.empty()) return peer_class::node;
      const auto here = static_cast<std::size_t>(rank_.rank), there = static_cast<std::size_t>(peer);
      if (there >= node_.size() || here >= node_.size() || node_[there] < 0 || node_[here] < 0) return peer_class::unknown;
      return node_[there] == node_[here] ? peer_class::node : peer_class::network;
    }
    peer_class farthest(const communicator& c) const noexcept {
      if (c.size <= 1 && !c.inter) return peer_class::self;
      if (node_.empty()) return peer_class::node;
      peer_class most = peer_class::self;
      for (std::int32_t peer = 0; peer < c.size && most != peer_class::unknown; ++peer)
        most = std::max(most, of_rank(world_rank(c, peer)));
      return most;
    }

    const rank_history& rank_;
    const base::pod_vector<std::int32_t>& node_;
    base::pod_vector<peer_class> farthest_;
  };

  struct sum_by_size {
    traffic_sum all;
    std::int64_t count[sizes], bytes[sizes];
  };

  static std::size_t size_class(std::uint64_t bytes) noexcept {
    return bytes == 0 ? 0 : 64u - static_cast<std::size_t>(__builtin_clzll(bytes));
  }

  /// Which messages a record is; false: none.
  static bool is_traffic(const core::sync_record& r, traffic_kind& kind) noexcept {
    constexpr unsigned never = core::sync_flag::proc_null | core::sync_flag::failed | core::sync_flag::cancelled;
    if (r.call == core::mpi_call::none || r.has(never) || is_posting_of_epoch(r)) return false;
    if (r.has(core::sync_flag::posts_send)) return kind = traffic_kind::send, true;
    if (r.has(core::sync_flag::posts_receive)) return kind = traffic_kind::receive, true;
    switch (core::role_of(r.call)) {
      case core::call_role::barrier:
      case core::call_role::one_to_all:
      case core::call_role::all_to_one:
      case core::call_role::all_to_all:
      case core::call_role::scan:
      case core::call_role::initiate: return kind = traffic_kind::collective, true;
      case core::call_role::transfer: return kind = traffic_kind::transfer, true;
      default: return false;
    }
  }

  void fold(const rank_history& rank, const location_history& here, const peers_of& where) {
    base::vector<sum_by_size> sums;
    base::pod_vector<std::uint32_t> numbers(here.call_sites.size() * kinds * classes);  // plus 1
    std::uint64_t sent = ~std::uint64_t(0);  // begin of the last send that MPI_Sendrecv posted
    std::size_t sender = 0;
    for (std::uint64_t i = here.carried; i < here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      const auto ns = [&] { return static_cast<std::int64_t>(static_cast<double>(r.duration) * rank.clock.ns_per_tick); };
      traffic_kind kind = traffic_kind::send;
      if (!is_traffic(r, kind)) {
        if (core::role_of(r.call) == core::call_role::exchange && r.begin == sent) sums[sender].all.ns += ns();
        continue;
      }
      if (r.site >= here.call_sites.size()) continue;
      const peer_class peers = kind == traffic_kind::collective ? where.of_collective(r) : where.of_message(r);
      std::uint32_t& number =
          numbers[(r.site * kinds + static_cast<std::size_t>(kind)) * classes + static_cast<std::size_t>(peers)];
      if (number == 0) {
        sums.push_back({});
        number = static_cast<std::uint32_t>(sums.size());
        traffic_sum& fresh = sums.back().all;
        fresh.site = here.call_sites[r.site];
        fresh.kind = kind;
        fresh.peers = peers;
        fresh.least_bytes = INT64_MAX;
      }
      sum_by_size& s = sums[number - 1];
      const auto bytes = static_cast<std::int64_t>(kind == traffic_kind::receive ? 0 : r.bytes);  // of the buffer, not received
      ++s.all.count;
      s.all.bytes += bytes;
      s.all.least_bytes = std::min(s.all.least_bytes, bytes);
      s.all.most_bytes = std::max(s.all.most_bytes, bytes);
      s.all.ns += ns();
      const std::size_t size = size_class(static_cast<std::uint64_t>(bytes));
      ++s.count[size];
      s.bytes[size] += bytes;
      if (kind == traffic_kind::send) {
        sent = r.begin;
        sender = number - 1;
      }
    }
    for (const sum_by_size& s : sums) {
      all_.push_back(s.all);
      for (std::size_t size = 0; size != sizes && s.all.kind != traffic_kind::receive; ++size) {
        if (s.count[size] == 0) continue;
        traffic_sum one = s.all;
        one.size = static_cast<std::uint8_t>(size);
        one.count = s.count[size];
        one.bytes = s.bytes[size];
        one.ns = 0;
        all_.push_back(one);
      }
    }
  }

  base::pod_vector<traffic_sum> all_;
};

/// The messages of all ranks for a report: at most `most` call sites by time and as many by bytes. `omitted`: the number of others.
inline base::pod_vector<traffic_sum> largest_traffic(base::pod_vector<traffic_sum> all, std::size_t most,
                                                     std::int64_t& omitted) {
  base::pod_vector<traffic_sum> totals;
  for (const traffic_sum& t : all)
    if (t.size == traffic_sum::all_sizes) totals.push_back(t);
  omitted = 0;
  if (totals.size() <= most) return all;
  base::pod_vector<traffic_sum> kept;
  for (const bool by_bytes : {false, true}) {
    base::small_stable_sort(
        totals, [by_bytes](const traffic_sum& a, const traffic_sum& b) { return by_bytes ? a.bytes > b.bytes : a.ns > b.ns; });
    for (std::size_t i = 0; i != std::min(most, totals.size()); ++i) kept.push_back(totals[i]);
  }
  base::small_stable_sort(kept, [](const traffic_sum& a, const traffic_sum& b) { return a.before(b); });
  base::pod_vector<traffic_sum> out;
  std::size_t at = 0, chosen = 0;
  for (const traffic_sum& t : all) {
    while (at != kept.size() && kept[at].before(t) && !kept[at].same_messages(t)) ++at;
    if (at == kept.size() || !kept[at].same_messages(t)) continue;
    out.push_back(t);
    chosen += t.size == traffic_sum::all_sizes ? 1 : 0;
  }
  omitted = static_cast<std::int64_t>(totals.size() - chosen);
  return out;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
