#ifndef WHYWAIT_MODELS_REDUCE_HPP
#define WHYWAIT_MODELS_REDUCE_HPP

#include <whywait/models/branches.hpp>
#include <whywait/models/program.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// The result of a reduction.
struct reduction {
  bool complete = false;  ///< the whole graph is series-parallel with loops and `whole` is its segment
  segment whole;
  std::size_t left = 0;  ///< nodes of the irreducible core; 1 if complete
};

namespace detail {

/// Replaces sequences, forks with their joins, choices with their merges, and loops, until no more replacement is
/// possible. A vertex is a segment with its E and D. `Parallel` combines the segments of the branches of a fork.
template <class Parallel>
class graph_reducer {
 public:
  graph_reducer(const control_graph& g, const std::vector<segment>& of_node, Parallel parallel_of)
      : parallel_of_(std::move(parallel_of)) {
    boost::unordered_flat_map<std::string, std::uint32_t> index;
    for (std::uint32_t i = 0; i != g.nodes.size(); ++i) index.emplace(g.nodes[i].name, i);
    for (std::uint32_t i = 0; i != g.nodes.size(); ++i)
      v_.push_back({of_node[i],
                    tree_of(parse_enables(g.nodes[i].enables), index),
                    tree_of(parse_needs(g.nodes[i].needs), index),
                    true,
                    {}});
    const program p = compile(g);
    if (p.start.size() > 1) {
      // insert a node before all initial ones
      vertex fork;
      fork.out.what = kind::all;
      for (const std::uint32_t s : p.start) {
        // started and the target of a loop, which only the chain supports
        if (v_[s].in.what != kind::none) fork.live = false;
        fork.out.parts.push_back(leaf(s));
        v_[s].in = leaf(static_cast<std::uint32_t>(v_.size()));
      }
      reducible_ = fork.live;
      fork.live = true;
      v_.push_back(std::move(fork));
    } else if (v_[p.start.front()].in.what != kind::none) {
      reducible_ = false;
    }
  }

  reduction run() {
    reduction r;
    for (bool changed = reducible_; changed;) {
      changed = false;
      for (std::uint32_t i = 0; i != v_.size(); ++i)
        while (v_[i].live && (take_sequence(i) || take_group(i, v_[i].out) || take_loop(i))) changed = true;
    }
    std::uint32_t only = 0;
    for (std::uint32_t i = 0; i != v_.size(); ++i)
      if (v_[i].live) {
        ++r.left;
        only = i;
      }
    r.complete = r.left == 1 && v_[only].out.what == kind::none && v_[only].in.what == kind::none;
    if (r.complete) r.whole = v_[only].body;
    return r;
  }

 private:
  using kind = expression::kind;
  struct tree {
    kind what = kind::none;
    std::uint32_t node = 0;
    double weight = 1.0;
    std::vector<tree> parts;
  };
  struct vertex {
    segment body;
    tree out, in;
    bool live = true;
    std::vector<segment> branches = {};  ///< the branches if the body consists only of parallel branches
  };

  static tree leaf(std::uint32_t node) {
    tree t;
    t.what = kind::node;
    t.node = node;
    return t;
  }

  tree tree_of(const expression& e, const boost::unordered_flat_map<std::string, std::uint32_t>& index) const {
    tree t;
    t.what = e.what;
    t.weight = e.probability.value();
    if (e.what == kind::node) {
      const auto found = index.find(e.name);
      if (found == index.end()) throw prediction_error(fault::unknown_node, "there is no node '" + e.name + "'");
      t.node = found->second;
    }
    std::vector<weight> weights;
    if (e.what == kind::any) weights = choice_weights(e, "E");
    for (std::size_t i = 0; i != e.parts.size(); ++i) {
      t.parts.push_back(tree_of(e.parts[i], index));
      if (e.what == kind::any) t.parts.back().weight = weights[i].value();
    }
    return t;
  }

  static bool certain(const tree& t) noexcept { return t.weight >= 1.0; }
  static bool same(const tree& a, const tree& b) noexcept {
    return a.what == b.what && (a.what == kind::none || (a.what == kind::node && a.node == b.node && certain(a) && certain(b)));
  }
  static void rename(tree& t, std::uint32_t from, std::uint32_t to) {
    if (t.what == kind::node && t.node == from) t.node = to;
    for (tree& part : t.parts) rename(part, from, to);
  }
  // Removes the leaves of `gone` from the group that also holds `kept`. The group must be of the given kind and contain
  // them all. A group of one becomes its member.
  static bool shrink(tree& t, kind what, const std::vector<std::uint32_t>& members, bool dry) {
    if (t.what == what) {
      std::vector<std::size_t> at;
      for (std::size_t i = 0; i != t.parts.size(); ++i)
        for (const std::uint32_t m : members)
          if (t.parts[i].what == kind::node && t.parts[i].node == m) at.push_back(i);
      if (at.size() == members.size()) {
        if (dry) return true;
        double sum = 0.0;
        for (const std::size_t i : at) sum += t.parts[i].weight;
        for (std::size_t i = at.size(); i-- > 0;)
          if (t.parts[at[i]].node != members.front()) t.parts.erase(t.parts.begin() + static_cast<std::ptrdiff_t>(at[i]));
        for (tree& part : t.parts)
          if (part.what == kind::node && part.node == members.front()) part.weight = what == kind::any ? sum : 1.0;
        if (t.parts.size() == 1) {
          const double outer = t.weight;
          tree only = std::move(t.parts.front());
          t = std::move(only);
          t.weight = outer;
        }
        return true;
      }
    }
    for (tree& part : t.parts)
      if (shrink(part, what, members, dry)) return true;
    return false;
  }

  // u is followed only by v, and v is preceded only by u
  bool take_sequence(std::uint32_t u) {
    const tree& out = v_[u].out;
    if (out.what != kind::node || !certain(out) || out.node == u) return false;
    const std::uint32_t next = out.node;
    if (v_[next].in.what != kind::node || v_[next].in.node != u) return false;
    // vertices without time keep nested forks flat, because mixing all branches at once is more accurate
    if (nothing(v_[u].body)) v_[u].branches = std::move(v_[next].branches);
    else if (!nothing(v_[next].body)) v_[u].branches.clear();
    v_[u].body = sequential(std::vector<segment>{v_[u].body, v_[next].body});
    v_[u].out = std::move(v_[next].out);
    v_[next].live = false;
    for (vertex& x : v_) rename(x.in, next, u);
    return true;
  }

  // members of one group of E(u) whose only predecessor is u and which lead to one vertex, where they form a group of D
  bool take_group(std::uint32_t u, tree& group) {
    if (group.what != kind::all && group.what != kind::any) return false;
    for (std::size_t i = 0; i != group.parts.size(); ++i) {
      if (!eligible(u, group, i)) continue;
      const std::uint32_t first = group.parts[i].node;
      std::vector<std::uint32_t> members{first};
      for (std::size_t j = i + 1; j != group.parts.size(); ++j)
        if (eligible(u, group, j) && group.parts[j].node != first && same(v_[first].out, v_[group.parts[j].node].out))
          members.push_back(group.parts[j].node);
      if (members.size() < 2) continue;
      const bool ends = v_[first].out.what == kind::none;
      if (!ends && !shrink(v_[v_[first].out.node].in, group.what, members, true)) continue;
      std::vector<segment> bodies;
      std::vector<double> weights;
      double sum = 0.0;
      for (const std::uint32_t m : members) {
        const std::vector<segment>& inner = v_[m].branches;
        if (group.what == kind::all && !inner.empty()) bodies.insert(bodies.end(), inner.begin(), inner.end());
        else bodies.push_back(v_[m].body);
        for (const tree& part : group.parts)
          if (part.what == kind::node && part.node == m) weights.push_back(part.weight);
      }
      for (const double w : weights) sum += w;
      for (double& w : weights) w /= sum;
      v_[first].body = group.what == kind::all ? parallel_of_(bodies) : exclusive_or(bodies, weights);
      v_[first].branches.clear();
      if (group.what == kind::all) v_[first].branches = std::move(bodies);
      for (std::size_t m = 1; m != members.size(); ++m) v_[members[m]].live = false;
      if (!ends) shrink(v_[v_[first].out.node].in, group.what, members, false);
      shrink(v_[u].out, group.what, members, false);
      return true;
    }
    for (tree& part : group.parts)
      if (take_group(u, part)) return true;
    return false;
  }
  bool eligible(std::uint32_t u, const tree& group, std::size_t i) const {
    const tree& part = group.parts[i];
    if (part.what != kind::node || part.node == u || (group.what == kind::all && !certain(part))) return false;
    const vertex& x = v_[part.node];
    return x.in.what == kind::node && x.in.node == u &&
           (x.out.what == kind::none || (x.out.what == kind::node && certain(x.out)));
  }

  // E(u) = u|p + x|1-p, D(u) = y + u
  bool take_loop(std::uint32_t u) {
    vertex& x = v_[u];
    if (x.out.what != kind::any || x.in.what != kind::any) return false;
    for (std::size_t i = 0; i != x.out.parts.size(); ++i) {
      if (x.out.parts[i].what != kind::node || x.out.parts[i].node != u) continue;
      for (std::size_t j = 0; j != x.in.parts.size(); ++j) {
        if (x.in.parts[j].what != kind::node || x.in.parts[j].node != u) continue;
        const double again = x.out.parts[i].weight;
        x.out.parts.erase(x.out.parts.begin() + static_cast<std::ptrdiff_t>(i));
        x.in.parts.erase(x.in.parts.begin() + static_cast<std::ptrdiff_t>(j));
        double leave = 0.0;
        for (const tree& part : x.out.parts) leave += part.weight;
        if (!(leave > 0.0)) throw prediction_error(fault::never_ends, "a loop is never left");
        x.body = repeated(x.body, again, false, leave);
        x.branches.clear();
        for (tree& part : x.out.parts) part.weight /= leave;
        unwrap(x.out);
        unwrap(x.in);
        return true;
      }
    }
    return false;
  }
  static void unwrap(tree& t) {
    if (t.parts.size() != 1) return;
    tree only = std::move(t.parts.front());
    only.weight = 1.0;
    t = std::move(only);
  }

  Parallel parallel_of_;
  std::vector<vertex> v_;
  bool reducible_ = true;
};

}  // namespace detail

/// Reduces a control graph by the segment algebra, with a rule of the caller for forks. `parallel_of(branches)` returns
/// the segment of a `const std::vector<segment>&` that start together. Throws what `compile` and `parallel_of` throw.
template <class Parallel>
reduction reduce_with(const control_graph& g, const std::vector<segment>& of_node, Parallel parallel_of) {
  if (of_node.size() != g.nodes.size()) throw prediction_error(fault::segment, "one segment per node is needed");
  return detail::graph_reducer<Parallel>(g, of_node, std::move(parallel_of)).run();
}

/// Reduces a control graph by the segment algebra; `of_node[i]` describes node i (empty for immediate nodes). Takes a
/// few passes over the graph. Throws what `compile` throws.
inline reduction reduce(const control_graph& g, const std::vector<segment>& of_node, const machine& where,
                        parallel_rule rule = parallel_rule::variance_aware) {
  return reduce_with(g, of_node, [&](const std::vector<segment>& branches) { return parallel(branches, where, rule); });
}

/// Reduces a graph with one exponential task of the machine per node.
inline reduction reduce(const control_graph& g, const machine& where, parallel_rule rule = parallel_rule::variance_aware) {
  std::vector<segment> of_node;
  for (const graph_node& n : g.nodes) of_node.push_back(n.immediate ? segment{} : task_segment(where));
  return reduce(g, of_node, where, rule);
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
