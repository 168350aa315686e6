#ifndef WHYWAIT_DATA_ANALYSIS_CLASS_TOTALS_HPP
#define WHYWAIT_DATA_ANALYSIS_CLASS_TOTALS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/class_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// A rank and how many transfers it sent or received.
struct rank_count {
  std::int32_t rank = 0;
  std::int64_t count = 0;
};

/// At most `most` ranks by name, the rest as one sum under rank -1. Merged lists keep the ranks with the most
/// transfers.
class rank_counts {
 public:
  static constexpr std::size_t most = 32;

  void add(std::int32_t rank, std::int64_t count) {
    for (rank_count& r : list_) {
      if (r.rank == rank) {
        r.count += count;
        return;
      }
    }
    if (list_.size() < most || rank < 0) {
      list_.push_back({rank, count});
      return;
    }
    add(-1, count);
  }
  void merge(const rank_counts& other) {
    base::pod_vector<rank_count> all = other.list_;
    base::small_stable_sort(all, [](const rank_count& a, const rank_count& b) { return a.count > b.count; });
    for (const rank_count& r : all) add(r.rank, r.count);
  }
  const base::pod_vector<rank_count>& list() const noexcept { return list_; }

 private:
  base::pod_vector<rank_count> list_;
};

/// Sums over the transfers of one class; bytes and nanoseconds. Plain, so that it can travel.
struct class_sums {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t duration_ns = 0;      ///< of the calls that completed the receives
  std::int64_t wait_ns = 0;          ///< waiting time of these calls
  std::int64_t unchanged = 0;        ///< transfers of data already sent to the same rank and not written since
  std::int64_t unchanged_bytes = 0;
  std::int64_t unchanged_ns = 0;     ///< duration of these
  std::int64_t unwritten = 0;        ///< of `unchanged`: no write of the data is recorded at all
  std::int64_t held = 0;             ///< of `unchanged`: the receiver still had it, unwritten
  std::int64_t held_bytes = 0;
  std::int64_t read_bytes = 0;  ///< received bytes that were read, sent on or unpacked before they were overwritten
  std::int64_t watched_bytes = 0;  ///< received bytes of arrays of which reads were recorded at all
  std::int64_t hops_sum = 0;
  std::int64_t pairs = 0;  ///< distinct (sender, receiver)
  std::int64_t receivers = 0;  ///< distinct
  std::int64_t most_hops = 0;  ///< transfers since the data was written, at most
  std::int64_t fan_out = 0;  ///< ranks that got the same data from one sender, at most
  std::int64_t busiest_receiver = 0;  ///< transfers that one rank received, at most

  void add(const class_sums& o) noexcept {
    count += o.count;
    bytes += o.bytes;
    duration_ns += o.duration_ns;
    wait_ns += o.wait_ns;
    unchanged += o.unchanged;
    unchanged_bytes += o.unchanged_bytes;
    unchanged_ns += o.unchanged_ns;
    unwritten += o.unwritten;
    held += o.held;
    held_bytes += o.held_bytes;
    read_bytes += o.read_bytes;
    watched_bytes += o.watched_bytes;
    hops_sum += o.hops_sum;
    pairs += o.pairs;
    receivers += o.receivers;
    most_hops = std::max(most_hops, o.most_hops);
    fan_out = std::max(fan_out, o.fan_out);
    busiest_receiver = std::max(busiest_receiver, o.busiest_receiver);
  }
};

/// A communication class of the whole run.
struct transfer_class {
  class_chain chain;
  class_sums sums;
  rank_counts senders;  ///< `sums.pairs` and `sums.receivers` are exact, these lists hold the largest
  rank_counts receivers;

  core::stable_key key() const noexcept { return chain.key(); }
};

/// What data of mixed origin is made of: a part of definitions 2.1's MIXED.
struct mixed_share {
  core::stable_key data = 0;
  core::stable_key from = 0;  ///< sending block
  core::stable_key producer = 0;  ///< block, if `kind` is produced; class key, if it is relay
  std::int64_t bytes = 0;
  std::uint32_t region = 0;  ///< kind_of_region::code()
  origin_kind kind = origin_kind::init;

  bool same(const mixed_share& o) const noexcept {
    return data == o.data && from == o.from && producer == o.producer && region == o.region && kind == o.kind;
  }
};

/// The classes of some ranks, and what else travels up the tree. `merge` neither depends on order (except for which of
/// equally busy ranks are named) nor on the shape of the tree.
struct classified {
  base::vector<transfer_class> classes;  ///< once finished: by waiting, then bytes, both falling, then key
  base::pod_vector<mixed_share> mixed;
  std::int64_t unmatched = 0;  ///< receives whose sender had no record of the data, and sends without a receive
  std::int64_t dropped = 0;  ///< records that name no known object, site or rank
  std::int64_t coarse = 0;  ///< arrays on some rank whose history was too fine to be kept exactly
  std::int64_t ranks = 0;

  void merge(classified&& o) {
    for (transfer_class& c : o.classes) classes.push_back(std::move(c));
    mixed.append(o.mixed.data(), o.mixed.size());
    unmatched += o.unmatched;
    dropped += o.dropped;
    coarse += o.coarse;
    ranks += o.ranks;
    join();
  }

  /// Brings equal classes and equal shares together, sorted by key.
  void join() {
    base::sort_and_join(
        classes, [](const transfer_class& a, const transfer_class& b) { return a.key() < b.key(); },
        [](transfer_class& to, const transfer_class& c) {
          to.sums.add(c.sums);
          to.senders.merge(c.senders);
          to.receivers.merge(c.receivers);
          to.chain.loop = to.chain.loop || c.chain.loop;
        });
    base::small_stable_sort(mixed, [](const mixed_share& a, const mixed_share& b) { return order(a) < order(b); });
    base::join_neighbours(
        mixed, [](const mixed_share& a, const mixed_share& b) { return a.same(b); },
        [](mixed_share& to, const mixed_share& m) { to.bytes += m.bytes; });
  }

  void present() {
    base::small_stable_sort(classes, [](const transfer_class& a, const transfer_class& b) {
      if (a.sums.wait_ns != b.sums.wait_ns) return a.sums.wait_ns > b.sums.wait_ns;
      return a.sums.bytes != b.sums.bytes ? a.sums.bytes > b.sums.bytes : a.key() < b.key();
    });
  }

  base::packet pack() const {
    base::packet out;
    for (const std::int64_t n : {unmatched, dropped, coarse, ranks}) base::put(out, n);
    base::put(out, static_cast<std::uint64_t>(classes.size()));
    for (const transfer_class& c : classes) {
      base::put(out, c.chain);
      base::put(out, c.sums);
      for (const rank_counts* l : {&c.senders, &c.receivers}) {
        base::put(out, static_cast<std::uint64_t>(l->list().size()));
        for (const rank_count& r : l->list()) base::put(out, r);
      }
    }
    for (const mixed_share& m : mixed) base::put(out, m);
    return out;
  }
  /// Throws std::out_of_range on a truncated packet.
  static classified unpack(const unsigned char* data, std::size_t size) {
    base::packet_reader in(data, size);
    classified out;
    for (std::int64_t* n : {&out.unmatched, &out.dropped, &out.coarse, &out.ranks}) *n = in.get<std::int64_t>();
    for (auto n = in.get<std::uint64_t>(); n != 0; --n) {
      transfer_class c;
      c.chain = in.get<class_chain>();
      c.sums = in.get<class_sums>();
      for (rank_counts* l : {&c.senders, &c.receivers}) {
        for (auto m = in.get<std::uint64_t>(); m != 0; --m) {
          const auto r = in.get<rank_count>();
          l->add(r.rank, r.count);
        }
      }
      out.classes.push_back(std::move(c));
    }
    while (!in.empty()) out.mixed.push_back(in.get<mixed_share>());
    return out;
  }

 private:
  static core::stable_key order(const mixed_share& m) noexcept {
    return core::combine(core::combine(m.data, m.from), core::combine(m.producer, static_cast<std::uint64_t>(m.region) << 8 |
                                                                                      static_cast<std::uint64_t>(m.kind)));
  }
};

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
