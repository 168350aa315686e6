#ifndef WHYWAIT_MODELS_PROGRAM_HPP
#define WHYWAIT_MODELS_PROGRAM_HPP

#include <whywait/models/graph.hpp>
#include <whywait/models/subsets.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// The counter of a destination that receives a token from one source.
struct token_entry {
  std::int32_t group = -1;  ///< AND node of which the counter is an operand; -1 if the token enables the task directly
  std::uint32_t counter = 0;  ///< the counter of that operand
};

/// An AND node of D(i) with its counters (incomplete operand sets; Kapelnikov et al. 1987).
struct operand_group {
  std::vector<std::uint32_t> counters;
  token_entry above;  ///< destination of a complete set
};

/// One token from a completed task (or from its operand packet).
struct token_delivery {
  std::uint32_t destination = 0;
  std::uint32_t first_entry = 0, entries = 0;  ///< range in program::entries
};

/// An operand packet for one module, from one source, with its destinations.
struct packet_type {
  std::uint32_t module = 0;
  std::uint32_t source = 0;
  std::vector<token_delivery> deliveries;
};

/// The effect of one completion of a task, with its probability. It sends tokens (centralised) or packets
/// (distributed).
struct task_outcome {
  double probability = 1.0;
  std::vector<token_delivery> deliveries;  ///< in the order of the E expression
  std::vector<std::uint32_t> packets;  ///< indices into program::packets, by module
};

/// One task of a compiled program.
struct program_task {
  std::string name;
  std::uint32_t task_class = 0;
  bool immediate = false;
  std::vector<task_outcome> outcomes;
};

/// A validated control graph with resolved expressions, created by `compile`. Immutable, so that threads may share it.
struct program {
  std::vector<program_task> tasks;
  std::vector<std::string> classes;
  std::vector<std::string> modules;
  std::vector<std::uint32_t> start;
  std::vector<token_entry> entries;
  std::vector<operand_group> groups;
  std::vector<packet_type> packets;
  std::uint32_t counters = 0;
  bool acyclic = true;  ///< no task can enable itself again

  bool distributed() const noexcept { return !modules.empty(); }
};

namespace detail {

class program_builder {
 public:
  explicit program_builder(const control_graph& g) : graph_(g) {}

  program build() {
    name_nodes();
    const std::size_t n = graph_.nodes.size();
    needs_.resize(n);
    for (std::uint32_t i = 0; i != n; ++i) compile_needs(i);
    for (std::uint32_t i = 0; i != n; ++i) compile_enables(i);
    check_arcs();
    find_start();
    check_reachable();
    p_.acyclic = !has_cycle(false);
    if (has_cycle(true))
      throw prediction_error(fault::immediate_cycle, "immediate nodes enable each other in a circle: " + cycle_name_);
    return std::move(p_);
  }

 private:
  struct source_leaf {
    std::uint32_t source;
    token_entry entry;
  };

  static std::uint32_t number(std::size_t n) { return static_cast<std::uint32_t>(n); }

  std::uint32_t named(std::vector<std::string>& names, const std::string& name, bool open, const std::string& what) {
    for (std::size_t i = 0; i != names.size(); ++i)
      if (names[i] == name) return number(i);
    if (!open) throw prediction_error(fault::classes, what + " '" + name + "' is not in the list");
    names.push_back(name);
    return number(names.size() - 1);
  }

  void name_nodes() {
    p_.classes = graph_.classes;
    p_.modules = graph_.modules;
    for (const graph_node& node : graph_.nodes) {
      if (!index_.emplace(node.name, number(index_.size())).second)
        throw prediction_error(fault::duplicate_node, "two nodes are named '" + node.name + "'");
      program_task t;
      t.name = node.name;
      t.immediate = node.immediate;
      if (node.immediate && p_.distributed())
        throw prediction_error(fault::immediate_module, "immediate node '" + node.name + "' needs centralized synchronization");
      if (!node.immediate) {
        if (node.task_class.empty() && !graph_.classes.empty()) t.task_class = 0;
        else t.task_class = named(p_.classes, node.task_class, graph_.classes.empty(), "class");
      }
      module_.push_back(p_.distributed() ? named(p_.modules, node.module, false, "module") : 0);
      p_.tasks.push_back(std::move(t));
    }
    if (p_.classes.empty()) p_.classes.emplace_back();
  }

  std::uint32_t find(const expression& e, const std::string& text, const std::string& where) const {
    const auto found = index_.find(e.name);
    if (found == index_.end())
      throw prediction_error(fault::unknown_node, where + ": there is no node '" + e.name + "'", text, e.column);
    return found->second;
  }

  void place(const expression& e, const token_entry& above, std::uint32_t i, const std::string& text,
             const std::string& where) {
    switch (e.what) {
      case expression::kind::none: return;
      case expression::kind::node: needs_[i].push_back({find(e, text, where), above}); return;
      case expression::kind::any:
        for (const expression& part : e.parts) place(part, above, i, text, where);
        return;
      case expression::kind::all: break;
    }
    const std::size_t g = p_.groups.size();
    p_.groups.push_back({{}, above});
    for (const expression& part : e.parts) {
      const std::uint32_t counter = p_.counters++;
      p_.groups[g].counters.push_back(counter);
      place(part, {static_cast<std::int32_t>(g), counter}, i, text, where);
    }
  }

  void compile_needs(std::uint32_t i) {
    const std::string where = "D(" + graph_.nodes[i].name + ")";
    place(parse_needs(graph_.nodes[i].needs, where), {}, i, graph_.nodes[i].needs, where);
    // keep the entries of one source together, because a source that occurs twice feeds both
    std::stable_sort(needs_[i].begin(), needs_[i].end(),
                     [](const source_leaf& a, const source_leaf& b) { return a.source < b.source; });
    for (std::size_t k = 0; k != needs_[i].size(); ++k) {
      auto& range = arcs_[arc(needs_[i][k].source, i)];
      if (range.entries == 0) range = {i, number(p_.entries.size()), 0};
      ++range.entries;
      p_.entries.push_back(needs_[i][k].entry);
    }
  }

  void compile_enables(std::uint32_t i) {
    const std::string& text = graph_.nodes[i].enables;
    const std::string where = "E(" + graph_.nodes[i].name + ")";
    const expression e = parse_enables(text, where);
    const auto subsets = feasible_subsets<std::uint32_t>(
        e,
        [&](const expression& leaf) {
          const std::uint32_t to = find(leaf, text, where);
          if (arcs_.find(arc(i, to)) == arcs_.end())
            throw prediction_error(
                fault::arc_mismatch,
                where + " enables '" + leaf.name + "', but D(" + leaf.name + ") does not name '" + graph_.nodes[i].name + "'",
                text, leaf.column);
          used_[arc(i, to)] = true;
          return to;
        },
        where);
    for (const auto& s : subsets) {
      task_outcome o;
      o.probability = s.probability.value();
      for (const std::uint32_t to : s.destinations) o.deliveries.push_back(arcs_[arc(i, to)]);
      if (p_.distributed()) make_packets(i, o);
      p_.tasks[i].outcomes.push_back(std::move(o));
    }
  }

  void make_packets(std::uint32_t i, task_outcome& o) {
    for (std::uint32_t m = 0; m != p_.modules.size(); ++m) {
      packet_type packet{m, i, {}};
      for (const token_delivery& d : o.deliveries)
        if (module_[d.destination] == m) packet.deliveries.push_back(d);
      if (packet.deliveries.empty()) continue;
      // outcomes of one task that send the same tokens to a module share a packet
      auto key = [](const packet_type& t) {
        std::vector<std::uint32_t> all;
        for (const token_delivery& d : t.deliveries) all.push_back(d.destination);
        std::sort(all.begin(), all.end());
        return all;
      };
      std::uint32_t known = 0;
      while (known != p_.packets.size() &&
             !(p_.packets[known].module == m && p_.packets[known].source == i && key(p_.packets[known]) == key(packet)))
        ++known;
      if (known == p_.packets.size()) p_.packets.push_back(std::move(packet));
      o.packets.push_back(known);
    }
  }

  void check_arcs() const {
    for (const auto& a : arcs_) {
      if (used_.find(a.first) != used_.end()) continue;
      const std::string& from = graph_.nodes[a.first >> 32].name;
      const std::string& to = graph_.nodes[a.first & 0xffffffffu].name;
      throw prediction_error(fault::arc_mismatch,
                             "D(" + to + ") names '" + from + "', but E(" + from + ") does not enable '" + to + "'");
    }
  }

  void find_start() {
    for (const std::string& name : graph_.start) {
      const auto found = index_.find(name);
      if (found == index_.end()) throw prediction_error(fault::unknown_node, "start: there is no node '" + name + "'");
      p_.start.push_back(found->second);
    }
    if (graph_.start.empty())
      for (std::uint32_t i = 0; i != needs_.size(); ++i)
        if (needs_[i].empty()) p_.start.push_back(i);
    if (p_.start.empty()) throw prediction_error(fault::no_start, "every node needs another one and none is named as start");
  }

  // An optimistic check whether tokens can arrive at all; an AND group completes if every operand can receive a token.
  void check_reachable() const {
    std::vector<char> live(p_.tasks.size(), 0), filled(p_.counters, 0);
    std::vector<std::uint32_t> work = p_.start;
    for (const std::uint32_t i : work) live[i] = 1;
    while (!work.empty()) {
      const std::uint32_t i = work.back();
      work.pop_back();
      for (const task_outcome& o : p_.tasks[i].outcomes) {
        for (const token_delivery& d : o.deliveries) {
          for (std::uint32_t k = 0; k != d.entries; ++k) {
            token_entry at = p_.entries[d.first_entry + k];
            while (at.group >= 0) {
              filled[at.counter] = 1;
              const operand_group& g = p_.groups[static_cast<std::size_t>(at.group)];
              bool complete = true;
              for (const std::uint32_t c : g.counters) complete = complete && filled[c] != 0;
              if (!complete) break;
              at = g.above;
            }
            if (at.group < 0 && live[d.destination] == 0) {
              live[d.destination] = 1;
              work.push_back(d.destination);
            }
          }
        }
      }
    }
    for (std::size_t i = 0; i != live.size(); ++i)
      if (live[i] == 0) throw prediction_error(fault::unreachable, "node '" + p_.tasks[i].name + "' can never be enabled");
  }

  bool has_cycle(bool immediate_only) {
    std::vector<char> colour(p_.tasks.size(), 0);
    struct frame {
      std::uint32_t node;
      std::size_t outcome, delivery;
    };
    std::vector<frame> stack;
    for (std::uint32_t root = 0; root != p_.tasks.size(); ++root) {
      if (colour[root] != 0 || (immediate_only && !p_.tasks[root].immediate)) continue;
      colour[root] = 1;
      stack.push_back({root, 0, 0});
      while (!stack.empty()) {
        frame& f = stack.back();
        const auto& outcomes = p_.tasks[f.node].outcomes;
        if (f.outcome == outcomes.size()) {
          colour[f.node] = 2;
          stack.pop_back();
          continue;
        }
        if (f.delivery == outcomes[f.outcome].deliveries.size()) {
          ++f.outcome;
          f.delivery = 0;
          continue;
        }
        const std::uint32_t next = outcomes[f.outcome].deliveries[f.delivery++].destination;
        if (immediate_only && !p_.tasks[next].immediate) continue;
        if (colour[next] == 1) {
          cycle_name_ = p_.tasks[next].name;
          return true;
        }
        if (colour[next] == 0) {
          colour[next] = 1;
          stack.push_back({next, 0, 0});
        }
      }
    }
    return false;
  }

  static std::uint64_t arc(std::uint32_t from, std::uint32_t to) { return std::uint64_t(from) << 32 | to; }

  const control_graph& graph_;
  program p_;
  boost::unordered_flat_map<std::string, std::uint32_t> index_;
  std::vector<std::uint32_t> module_;
  std::vector<std::vector<source_leaf>> needs_;
  boost::unordered_flat_map<std::uint64_t, token_delivery> arcs_;
  boost::unordered_flat_map<std::uint64_t, bool> used_;
  std::string cycle_name_;
};

}  // namespace detail

/// Validates a graph and resolves its expressions. Throws `prediction_error` P001 to P010, P015, P019 with the
/// position. Time and memory are linear in the nodes and in the sum of the feasible subsets.
inline program compile(const control_graph& graph) { return detail::program_builder(graph).build(); }

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
