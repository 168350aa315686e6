#ifndef WHYWAIT_MODELS_GRAPH_HPP
#define WHYWAIT_MODELS_GRAPH_HPP

#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// A node of a computation control graph in textual form (Kapelnikov et al. 1987, 3.2.1).
struct graph_node {
  std::string name;        ///< letters, digits, '_', ':', '#', '@'
  std::string enables;     ///< E, what its completion enables
  std::string needs;       ///< D, its prerequisites; blank for none
  std::string task_class;  ///< the customer chain that it belongs to; blank for the first
  std::string module;      ///< location of its operand sets; only with distributed synchronisation
  bool immediate = false;  ///< takes no time, such as a barrier, fork or pure branch
};

/// A program as precedence among tasks, in the notation of Kapelnikov et al. (1987). Plain data; `compile` validates
/// it.
///
///     control_graph g;
///     g.add("fork", "a.b").add("a", "join", "fork").add("b", "join", "fork").add("join", "", "a.b");
///
/// Supports the four categories of the paper (docs/method.md 5.2). Static allocation is one class per (group, allocated
/// resources); distributed synchronisation is a non-empty `modules`.
struct control_graph {
  std::vector<graph_node> nodes;
  std::vector<std::string> start;  ///< tasks enabled at the beginning; if empty, those without prerequisites
  std::vector<std::string> classes;  ///< names and order of the classes; if empty, in order of appearance
  std::vector<std::string> modules;  ///< memory modules; empty for centralised synchronisation

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
