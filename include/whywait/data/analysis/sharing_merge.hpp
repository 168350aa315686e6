#ifndef WHYWAIT_DATA_ANALYSIS_SHARING_MERGE_HPP
#define WHYWAIT_DATA_ANALYSIS_SHARING_MERGE_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/data/analysis/sharing_book.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// Adds what another process saw: the same program on other data, so equal nodes are one, and groups of one array with the same
/// pattern, the same nodes and transition frequencies at most `group_distance` apart. Thread k of one is thread k of the other.
/// The order of merging changes at most which of several near groups a group joins. O(groups^2 * nodes). Throws std::bad_alloc.
inline void merge(sharing_report& into, sharing_report&& from, double group_distance = sharing_options{}.group_distance) {
  if (into.nodes.empty()) into.nodes.resize(1);
  base::pod_vector<std::uint32_t> number(from.nodes.size(), 0);
  for (std::size_t n = 1; n < from.nodes.size(); ++n) {
    const auto known = std::find(into.nodes.begin() + 1, into.nodes.end(), from.nodes[n]);
    number[n] = static_cast<std::uint32_t>(known - into.nodes.begin());
    if (known == into.nodes.end()) into.nodes.push_back(std::move(from.nodes[n]));
  }
  for (sharing_group& g : from.groups) {
    for (sharing_edge& e : g.graph.edges) {
      e.from = number[e.from];
      e.to = number[e.to];
    }
    for (node_threads& t : g.graph.threads) t.node = number[t.node];
    const base::pod_vector<std::uint32_t> nodes = g.graph.nodes();
    const auto same = std::find_if(into.groups.begin(), into.groups.end(), [&](const sharing_group& o) {
      return o.array == g.array && o.pattern == g.pattern && o.graph.nodes() == nodes &&
             distance(o.graph, g.graph) <= group_distance;
    });
    if (same == into.groups.end()) {
      into.groups.push_back(std::move(g));
      continue;
    }
    same->granules += g.granules;
    same->first_granule = std::min(same->first_granule, g.first_granule);
    for (const sharing_edge& e : g.graph.edges) same->graph.count(e.from, e.to, e.count);
    for (const node_threads& t : g.graph.threads) same->graph.touch(t.node, t.readers, t.writers);
  }
  base::small_stable_sort(into.groups,
                          [](const sharing_group& x, const sharing_group& y) { return x.graph.misses() > y.graph.misses(); });
  for (const shared_array& a : from.arrays) {
    const auto same =
        std::find_if(into.arrays.begin(), into.arrays.end(), [&](const shared_array& o) { return o.array == a.array; });
    if (same == into.arrays.end()) {
      into.arrays.push_back(a);
      continue;
    }
    same->granules += a.granules;
    same->watched += a.watched;
    same->standard_error = shared_array::error_of(same->watched, same->granules);
  }
  into.dropped += from.dropped;
}

/// A report on its way up the tree.
inline base::packet pack(const sharing_report& r) {
  base::packet out;
  const auto size = [&out](std::size_t n) { base::put(out, static_cast<std::uint64_t>(n)); };
  base::put(out, r.dropped);
  size(r.nodes.size());
  for (const sharing_node& n : r.nodes) {
    base::put(out, n.request);
    base::put(out, n.invalidation);
    size(n.writes.size());
    for (const core::stable_key w : n.writes) base::put(out, w);
  }
  size(r.arrays.size());
  for (const shared_array& a : r.arrays) base::put(out, a);
  size(r.groups.size());
  for (const sharing_group& g : r.groups) {
    base::put(out, g.array);
    base::put(out, g.pattern);
    base::put(out, g.granules);
    base::put(out, g.first_granule);
    size(g.graph.edges.size());
    for (const sharing_edge& e : g.graph.edges) base::put(out, e);
    size(g.graph.threads.size());
    for (const node_threads& t : g.graph.threads) {  // the structure has padding
      base::put(out, t.node);
      base::put(out, t.readers);
      base::put(out, t.writers);
    }
  }
  return out;
}

/// Throws std::out_of_range on a truncated packet.
inline sharing_report unpack_sharing(const unsigned char* data, std::size_t size) {
  base::packet_reader in(data, size);
  sharing_report out;
  out.dropped = in.get<std::uint64_t>();
  for (auto n = in.get<std::uint64_t>(); n != 0; --n) {
    sharing_node node;
    node.request = in.get<core::stable_key>();
    node.invalidation = in.get<core::stable_key>();
    for (auto w = in.get<std::uint64_t>(); w != 0; --w) node.writes.push_back(in.get<core::stable_key>());
    out.nodes.push_back(std::move(node));
  }
  for (auto n = in.get<std::uint64_t>(); n != 0; --n) out.arrays.push_back(in.get<shared_array>());
  for (auto n = in.get<std::uint64_t>(); n != 0; --n) {
    sharing_group g;
    g.array = in.get<core::stable_key>();
    g.pattern = in.get<sharing_pattern>();
    g.granules = in.get<std::uint64_t>();
    g.first_granule = in.get<std::uint64_t>();
    for (auto e = in.get<std::uint64_t>(); e != 0; --e) g.graph.edges.push_back(in.get<sharing_edge>());
    for (auto left = in.get<std::uint64_t>(); left != 0; --left) {
      node_threads t;
      t.node = in.get<std::uint32_t>();
      t.readers = in.get<std::uint64_t>();
      t.writers = in.get<std::uint64_t>();
      g.graph.threads.push_back(t);
    }
    out.groups.push_back(std::move(g));
  }
  return out;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
