#ifndef WHYWAIT_MODELS_GRAPH_HPP
#define WHYWAIT_MODELS_GRAPH_HPP

#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// A node of a computation control graph as a person writes it (report 3.2.1).
struct graph_node {
  std::string name;        ///< letters, digits, '_', ':', '#', '@'
  std::string enables;     ///< E: what its completion enables
  std::string needs;       ///< D: what must have come before; blank: nothing
  std::string task_class;  ///< which customers chain it belongs to; blank: the first
  std::string module;      ///< where its operand sets lie; only with distributed synchronization
  bool immediate = false;  ///< takes no time: barrier, fork, pure branch
};

/// A program as precedence among tasks, in the report's notation. Plain data; `compile` checks it.
///
///     control_graph g;
///     g.add("fork", "a.b").add("a", "join", "fork").add("b", "join", "fork").add("join", "", "a.b");
///
/// The four categories of the report: static allocation is one class per (group, allocated resources); distributed
/// synchronization is a non-empty `modules`.
struct control_graph {
  std::vector<graph_node> nodes;
  std::vector<std::string> start;    ///< tasks enabled at the beginning; empty: those that need nothing
  std::vector<std::string> classes;  ///< names and order of the classes; empty: as they appear
  std::vector<std::string> modules;  ///< memory modules; empty: centralized synchronization

  control_graph& add(std::string name, std::string enables, std::string needs = {}, std::string task_class = {}) {
    graph_node n;
    n.name = std::move(name);
    n.enables = std::move(enables);
    n.needs = std::move(needs);
    n.task_class = std::move(task_class);
    nodes.push_back(std::move(n));
    return *this;
  }

  control_graph& add_immediate(std::string name, std::string enables, std::string needs = {}) {
    add(std::move(name), std::move(enables), std::move(needs));
    nodes.back().immediate = true;
    return *this;
  }
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
