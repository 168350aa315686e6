#ifndef WHYWAIT_DATA_ANALYSIS_SHARING_GRAPH_HPP
#define WHYWAIT_DATA_ANALYSIS_SHARING_GRAPH_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/data/analysis/sharing_pattern.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// A miss: a thread looked at data without having a valid copy of it (definitions 2.4; figure 3 of the Carnival paper).
struct sharing_node {
  static constexpr std::size_t most_writes = 8;

  core::stable_key request = 0;  ///< R: block of the access; 0 in the node that stands for INIT
  core::stable_key invalidation = 0;  ///< I: synchronisation that made the thread's copy invalid; 0: it had none
  base::vector<core::stable_key> writes;  ///< W: blocks of the visible writes, sorted; at most eight

  bool operator==(const sharing_node& o) const noexcept {
    return request == o.request && invalidation == o.invalidation && writes == o.writes;
  }
  bool operator<(const sharing_node& o) const noexcept {
    if (request != o.request) return request < o.request;
    return invalidation != o.invalidation ? invalidation < o.invalidation : writes < o.writes;
  }
};

/// How often a miss at `to` followed on writes that were made at `from`.
struct sharing_edge {
  std::uint32_t from = 0, to = 0;
  std::int64_t count = 0;
};

/// Threads that read and wrote a granule while it was at a node, as bits (the 64th stands for all further ones).
struct node_threads {
  std::uint32_t node = 0;
  std::uint64_t readers = 0, writers = 0;
};

/// The communication graph of one granule, or of several alike. Nodes are numbers in the list of their book; 0 is INIT.
struct sharing_graph {
  base::pod_vector<sharing_edge> edges;
  base::pod_vector<node_threads> threads;

  void count(std::uint32_t from, std::uint32_t to, std::int64_t times = 1) {
    if (times == 0) return;
    for (sharing_edge& e : edges) {
      if (e.from == from && e.to == to) {
        e.count += times;
        return;
      }
    }
    edges.push_back({from, to, times});
  }
  void touch(std::uint32_t node, std::uint64_t readers, std::uint64_t writers) {
    for (node_threads& t : threads) {
      if (t.node == node) {
        t.readers |= readers;
        t.writers |= writers;
        return;
      }
    }
    threads.push_back({node, readers, writers});
  }
  /// Share of an edge in all that leaves its node.
  double frequency(std::uint32_t from, std::uint32_t to) const noexcept {
    double all = 0, some = 0;
    for (const sharing_edge& e : edges) {
      if (e.from != from) continue;
      all += static_cast<double>(e.count);
      if (e.to == to) some += static_cast<double>(e.count);
    }
    return all != 0 ? some / all : 0;
  }
  base::pod_vector<std::uint32_t> nodes() const {
    base::pod_vector<std::uint32_t> out;
    for (const node_threads& t : threads) out.push_back(t.node);
    base::small_stable_sort(out);
    return out;
  }
  std::int64_t misses() const noexcept {
    std::int64_t n = 0;
    for (const sharing_edge& e : edges) n += e.count;
    return n;
  }
};

/// How unlike two graphs with the same nodes are: the largest total-variation distance of what leaves a node, 0 to 1.
inline double distance(const sharing_graph& a, const sharing_graph& b) {
  double most = 0;
  for (const sharing_graph* g : {&a, &b}) {
    for (const sharing_edge& from : g->edges) {
      double sum = 0;
      for (const sharing_edge& e : a.edges) {
        if (e.from == from.from) sum += std::fabs(a.frequency(e.from, e.to) - b.frequency(e.from, e.to));
      }
      for (const sharing_edge& e : b.edges) {  // those that only b has
        if (e.from == from.from && a.frequency(e.from, e.to) == 0) sum += b.frequency(e.from, e.to);
      }
      most = std::max(most, sum / 2);
    }
  }
  return most;
}

/// Granules of one array that are shared alike.
struct sharing_group {
  core::stable_key array = 0;
  sharing_pattern pattern = sharing_pattern::untouched;
  std::uint64_t granules = 0;  ///< that were watched
  std::uint64_t first_granule = 0;  ///< the lowest
  sharing_graph graph;  ///< counts of all; threads of all
};

/// Puts a granule into the first group of its array with the same pattern, the same nodes and a graph within
/// `most_distance` of the group's first granule; else opens one. `leaders[i]` is the graph of the first granule of
/// `groups[i]`.
inline void group_granule(base::vector<sharing_group>& groups, base::vector<sharing_graph>& leaders, core::stable_key array,
                          std::uint64_t granule, sharing_pattern pattern, const sharing_graph& graph, double most_distance) {
  const base::pod_vector<std::uint32_t> nodes = graph.nodes();
  for (std::size_t i = 0; i != groups.size(); ++i) {
    sharing_group& g = groups[i];
    if (g.array != array || g.pattern != pattern || leaders[i].nodes() != nodes || distance(leaders[i], graph) > most_distance)
      continue;
    ++g.granules;
    g.first_granule = std::min(g.first_granule, granule);
    for (const sharing_edge& e : graph.edges) g.graph.count(e.from, e.to, e.count);
    for (const node_threads& t : graph.threads) g.graph.touch(t.node, t.readers, t.writers);
    return;
  }
  groups.push_back({array, pattern, 1, granule, graph});
  leaders.push_back(graph);
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
