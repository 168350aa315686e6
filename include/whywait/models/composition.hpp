#ifndef WHYWAIT_MODELS_COMPOSITION_HPP
#define WHYWAIT_MODELS_COMPOSITION_HPP

#include <whywait/models/branches.hpp>
#include <whywait/models/graph.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// A structured program, as a tree. The segment algebra evaluates it directly and the chain as a graph.
struct composition {
  enum class kind { task, sequence, choice, together, loop };
  kind what = kind::task;
  std::vector<composition> parts;
  std::vector<double> weights;  ///< choice: probabilities of the parts
  double again = 0.0;           ///< loop: probability of another trip after each
  double work = 1.0;            ///< task: work in units of the machine's task; the chain supports 1 only
  double cv2 = 1.0;             ///< task: squared coefficient of variation; the chain supports 1 only

  static composition task(double amount = 1.0, double variation = 1.0) {
    composition c;
    c.work = amount;
    c.cv2 = variation;
    return c;
  }
  static composition sequence(std::vector<composition> parts) { return of(kind::sequence, std::move(parts)); }
  static composition together(std::vector<composition> parts) { return of(kind::together, std::move(parts)); }
  static composition choice(std::vector<composition> parts, std::vector<double> weights) {
    composition c = of(kind::choice, std::move(parts));
    c.weights = std::move(weights);
    return c;
  }
  static composition loop(composition body, double again) {
    composition c = of(kind::loop, {std::move(body)});
    c.again = again;
    return c;
  }

 private:
  static composition of(kind what, std::vector<composition> parts) {
    composition c;
    c.what = what;
    c.parts = std::move(parts);
    return c;
  }
};

inline segment segment_of(const composition& c, const machine& where, parallel_rule rule = parallel_rule::variance_aware);

namespace detail {

/// Flattens nested parallel groups, because combining all branches at once is more accurate than combining group by
/// group.
inline void branches_of(const composition& c, const machine& where, parallel_rule rule, std::vector<segment>& into) {
  for (const composition& part : c.parts) {
    if (part.what == composition::kind::together) branches_of(part, where, rule, into);
    else into.push_back(segment_of(part, where, rule));
  }
}

}  // namespace detail

/// The segment of a structured program by the algebra. Takes microseconds per parallel pair.
inline segment segment_of(const composition& c, const machine& where, parallel_rule rule) {
  std::vector<segment> parts;
  if (c.what == composition::kind::together) detail::branches_of(c, where, rule, parts);
  else
    for (const composition& part : c.parts) parts.push_back(segment_of(part, where, rule));
  switch (c.what) {
    case composition::kind::task: return task_segment(where, c.work, c.cv2);
    case composition::kind::sequence: return sequential(parts);
    case composition::kind::choice: return exclusive_or(parts, c.weights);
    case composition::kind::together: return parallel(std::move(parts), where, rule);
    case composition::kind::loop: break;
  }
  if (parts.size() != 1) throw prediction_error(fault::segment, "a loop has one body");
  return repeated(parts.front(), c.again);
}

namespace detail {

class graph_writer {
 public:
  control_graph write(const composition& c) {
    const std::string first = name();
    add(first, true);
    put(c, first);
    return std::move(graph_);
  }

 private:
  std::string name() { return "n" + std::to_string(++count_); }
  std::size_t add(const std::string& n, bool immediate) {
    graph_.nodes.emplace_back();
    graph_.nodes.back().name = n;
    graph_.nodes.back().immediate = immediate;
    return graph_.nodes.size() - 1;
  }
  graph_node& node(const std::string& n) { return graph_.nodes[static_cast<std::size_t>(std::stoul(n.substr(1))) - 1]; }
  static std::string text(double w) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17f", w);
    return buffer;
  }
  void arc(const std::string& from, const std::string& to, const std::string& weight_text, char e, char d) {
    std::string& out = node(from).enables;
    std::string& in = node(to).needs;
    out += (out.empty() ? "" : std::string(1, e)) + to + (weight_text.empty() ? "" : "|" + weight_text);
    in += (in.empty() ? "" : std::string(1, d)) + from;
  }

  // Inserts c after the node `before`. Returns the node after which the rest follows.
  std::string put(const composition& c, const std::string& before) {
    switch (c.what) {
      case composition::kind::task: {
        const std::string n = name();
        add(n, false);
        arc(before, n, "", '.', '.');
        return n;
      }
      case composition::kind::sequence: {
        std::string at = before;
        for (const composition& part : c.parts) at = put(part, at);
        return at;
      }
      case composition::kind::choice:
      case composition::kind::together: {
        const bool all = c.what == composition::kind::together;
        if (c.parts.empty() || (!all && c.weights.size() != c.parts.size()))
          throw prediction_error(fault::segment, "a choice needs one weight per part");
        const std::string fork = name();
        add(fork, true);
        arc(before, fork, "", '.', '.');
        std::vector<std::string> ends;
        for (std::size_t i = 0; i != c.parts.size(); ++i) {
          const std::string head = name();
          add(head, true);
          arc(fork, head, all ? "" : text(c.weights[i]), all ? '.' : '+', '.');
          ends.push_back(put(c.parts[i], head));
        }
        const std::string join = name();
        add(join, true);
        for (const std::string& e : ends) arc(e, join, "", '.', all ? '.' : '+');
        return join;
      }
      case composition::kind::loop: break;
    }
    if (c.parts.size() != 1) throw prediction_error(fault::segment, "a loop has one body");
    detail::checked_probability(c.again);
    const std::string head = name();
    add(head, true);
    arc(before, head, "", '.', '+');
    const std::string end = put(c.parts.front(), head);
    const std::string test = name();
    add(test, true);
    arc(end, test, "", '.', '.');
    const std::string out = name();
    add(out, true);
    if (c.again > 0.0) arc(test, head, text(c.again), '+', '+');
    arc(test, out, c.again > 0.0 ? text(1.0 - c.again) : "", '+', '.');
    return out;
  }

  control_graph graph_;
  std::size_t count_ = 0;
};

}  // namespace detail

/// The same program as a control graph with immediate forks and joins, so that its chain contains the states of its
/// tasks only. Throws P018.
inline control_graph graph_of(const composition& c) { return detail::graph_writer().write(c); }

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
