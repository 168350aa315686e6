#ifndef WHYWAIT_MODELS_LEARN_HPP
#define WHYWAIT_MODELS_LEARN_HPP

#include <whywait/models/graph.hpp>
#include <whywait/models/run_log.hpp>
#include <whywait/models/special_functions.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// One execution of a task, as observed by its tokens.
struct observed_task {
  std::string label;
  std::vector<std::string> sent;      ///< labels to which its completion sent a token
  std::vector<std::string> consumed;  ///< labels whose tokens enabled it; empty if it was enabled at the start
  double seconds = 0.0;               ///< its demand, excluding waiting
};

/// A program recovered from executions.
struct learned_program {
  control_graph graph;
  std::vector<double> mean, cv2;  ///< mean and squared coefficient of variation of each node's demand in seconds
  std::vector<std::size_t> executions;
  std::vector<std::string> doubts;  ///< rules that the observations do not determine
};

namespace detail {

class graph_learner {
 public:
  void observe(const observed_task& t) {
    node& n = nodes_[t.label];
    if (n.executions++ == 0) order_.push_back(t.label);
    n.sum += t.seconds;
    n.squares += t.seconds * t.seconds;
    std::vector<std::string> sent = t.sent, consumed = t.consumed;
    std::sort(sent.begin(), sent.end());
    std::sort(consumed.begin(), consumed.end());
    ++n.sent[sent];
    for (const std::string& s : sent) receives_[s].insert(t.label);
    if (consumed.empty()) ++n.started;
    else n.consumed.insert(consumed);
  }

  learned_program program(std::size_t runs) const {
    learned_program p;
    for (const std::string& label : order_) {
      const node& n = nodes_.at(label);
      graph_node g;
      g.name = label;
      g.immediate = !(n.sum > 0.0);
      g.enables = enables(n);
      g.needs = needs(label, n, p.doubts);
      p.graph.nodes.push_back(g);
      const double count = static_cast<double>(n.executions), mean = n.sum / count;
      const double variance = n.executions > 1 ? std::max(0.0, (n.squares - count * mean * mean) / (count - 1.0)) : 0.0;
      p.mean.push_back(mean);
      p.cv2.push_back(mean > 0.0 ? variance / (mean * mean) : 0.0);
      p.executions.push_back(n.executions);
      if (n.started == 0) continue;
      if (n.started % runs != 0) p.doubts.push_back("'" + label + "' does not start in every run alike");
      for (std::size_t k = 0; k < std::max<std::size_t>(1, n.started / runs); ++k) p.graph.start.push_back(label);
    }
    for (const auto& r : receives_)
      if (nodes_.find(r.first) == nodes_.end())
        p.doubts.push_back("'" + r.first + "' was sent tokens but never ran: its D rule is not known, its arcs are left out");
    return p;
  }

 private:
  struct node {
    std::size_t executions = 0, started = 0;
    double sum = 0.0, squares = 0.0;
    std::map<std::vector<std::string>, std::size_t> sent;
    std::set<std::vector<std::string>> consumed;
  };
  using counts = std::map<std::vector<std::string>, std::size_t>;

  static std::string share(std::size_t part, std::size_t all) { return std::to_string(part) + "/" + std::to_string(all); }
  static std::string joined(const std::vector<std::string>& names, char by) {
    std::string text;
    for (const std::string& n : names) text += (text.empty() ? "" : std::string(1, by)) + n;
    return text;
  }

  // Drops nodes that never ran, because they are not part of the graph.
  counts known(const counts& all) const {
    counts r;
    for (const auto& c : all) {
      std::vector<std::string> kept;
      for (const std::string& s : c.first)
        if (nodes_.find(s) != nodes_.end()) kept.push_back(s);
      r[kept] += c.second;
    }
    return r;
  }

  std::string enables(const node& n) const {
    const counts sent = known(n.sent);
    if (sent.size() == 1) return joined(sent.begin()->first, '.');  // one constant set is an AND
    std::size_t nothing = 0, several = 0;
    for (const auto& s : sent) {
      if (s.first.empty()) nothing += s.second;
      if (s.first.size() > 1) ++several;
    }
    if (several != 0) {
      const std::string apart = independent(sent, n.executions);
      if (!apart.empty()) return apart;
    }
    // otherwise list all observed sets as an exclusive-or
    std::string list;
    std::size_t alternatives = 0;
    for (const auto& s : sent) {
      if (s.first.empty()) continue;
      ++alternatives;
      const std::string set = s.first.size() == 1 ? s.first.front() : "(" + joined(s.first, '.') + ")";
      list += (list.empty() ? "" : "+") + set + "|" + share(s.second, n.executions - nothing);
    }
    if (nothing == 0) return list;
    if (alternatives == 1) {
      // one set or nothing
      const std::size_t cut = list.rfind('|');
      return list.substr(0, cut) + "|" + share(n.executions - nothing, n.executions);
    }
    return "(" + list + ")|" + share(n.executions - nothing, n.executions);
  }

  // Returns an AND with weights if a G-test at 1 % does not reject independence; otherwise empty.
  static std::string independent(const counts& sent, std::size_t executions) {
    std::map<std::string, std::size_t> single;
    for (const auto& s : sent)
      for (std::size_t i = 0; i != s.first.size(); ++i) {
        if (i != 0 && s.first[i] == s.first[i - 1]) return {};  // two tokens to one node
        single[s.first[i]] += s.second;
      }
    if (single.size() > 10) return {};
    const double n = static_cast<double>(executions);
    double g = 0.0;
    std::size_t free_cells = 1, varying = 0;
    for (const auto& x : single)
      if (x.second != executions) {
        free_cells *= 2;
        ++varying;
      }
    for (const auto& s : sent) {
      double expected = n;
      for (const auto& x : single) {
        const double p = static_cast<double>(x.second) / n;
        expected *= std::binary_search(s.first.begin(), s.first.end(), x.first) ? p : 1.0 - p;
      }
      g += 2.0 * static_cast<double>(s.second) * std::log(static_cast<double>(s.second) / expected);
    }
    const double freedom = static_cast<double>(free_cells) - 1.0 - static_cast<double>(varying);
    if (freedom > 0.0 && 1.0 - gamma_function(0.5 * freedom, 0.5 * std::max(0.0, g)) < 0.01) return {};
    std::string text;
    for (const auto& x : single)
      text += (text.empty() ? "" : " . ") + x.first + (x.second == executions ? "" : "|" + share(x.second, executions));
    return text;
  }

  std::string needs(const std::string& label, const node& n, std::vector<std::string>& doubts) const {
    std::string text;
    std::set<std::string> named;
    for (const auto& set : n.consumed) {
      text += (text.empty() ? "" : "+") + joined(set, '.');
      named.insert(set.begin(), set.end());
    }
    const auto senders = receives_.find(label);
    if (senders == receives_.end()) return text;
    for (const std::string& s : senders->second) {
      if (named.count(s) != 0) continue;
      doubts.push_back("tokens from '" + s + "' never completed a set of '" + label + "': its D rule is undetermined");
      text += (text.empty() ? "" : "+") + s;
    }
    return text;
  }

  std::map<std::string, node> nodes_;
  std::vector<std::string> order_;
  std::map<std::string, std::set<std::string>> receives_;
};

}  // namespace detail

/// Recovers a control graph from the executions of some runs. E(i) is derived from the sets of tokens that i sent. One
/// set gives AND, independent tokens give AND with weights, everything else an EXCLUSIVE-OR of UNIONs, which always
/// fits. D(i) is derived from the sets that i consumed (OR of ANDs). Weights are exact fractions of counts. Throws P022
/// without any execution.
inline learned_program learn(const std::vector<std::vector<observed_task>>& runs) {
  detail::graph_learner learner;
  std::size_t executions = 0;
  for (const auto& run : runs)
    for (const observed_task& t : run) {
      learner.observe(t);
      ++executions;
    }
  if (executions == 0) throw prediction_error(fault::log, "there are no executions to learn from");
  return learner.program(runs.size());
}

/// Converts a log to observed tasks for `learn`, which finds the loops. There is one class of tasks per line. Program
/// order and messages are tokens, and a collective is a task of zero duration that every line sends to and consumes.
inline std::vector<observed_task> observe(const run_log& log) {
  log.check();
  auto name = [&](const place& p) {
    return "l" + std::to_string(p.line) + "_" + std::to_string(log.lines[p.line][p.index].label);
  };
  auto sync_name = [&](const sync_edge& s) { return "s" + std::to_string(s.label); };
  std::vector<std::vector<observed_task>> lines(log.lines.size());
  for (std::uint32_t l = 0; l != log.lines.size(); ++l)
    for (std::uint32_t i = 0; i != log.lines[l].size(); ++i) {
      const activity& a = log.lines[l][i];
      lines[l].push_back({name({l, i}), {}, {}, a.work_seconds + a.call_seconds});
    }
  std::vector<observed_task> result;
  std::vector<std::vector<char>> through(lines.size());
  for (std::size_t l = 0; l != lines.size(); ++l) through[l].assign(lines[l].size() + 1, 0);
  for (const sync_edge& s : log.syncs) {
    observed_task t{sync_name(s), {}, {}, s.seconds};
    for (const place& p : s.in) {
      lines[p.line][p.index].sent.push_back(t.label);
      t.consumed.push_back(name(p));
    }
    for (const place& p : s.out) {
      if (p.index + 1 >= lines[p.line].size()) continue;
      const place next{p.line, p.index + 1};
      lines[p.line][next.index].consumed.push_back(t.label);
      t.sent.push_back(name(next));
      bool sends_too = false;
      for (const place& q : s.in) sends_too = sends_too || (q.line == p.line && q.index == p.index);
      if (sends_too) through[p.line][next.index] = 1;  // the arc to the next activity passes through the collective
    }
    result.push_back(std::move(t));
  }
  for (const message_edge& m : log.messages) {
    if (m.to.index + 1 >= lines[m.to.line].size()) continue;
    const place next{m.to.line, m.to.index + 1};
    lines[m.from.line][m.from.index].sent.push_back(name(next));
    lines[next.line][next.index].consumed.push_back(name(m.from));
  }
  for (std::uint32_t l = 0; l != lines.size(); ++l)
    for (std::uint32_t i = 1; i < lines[l].size(); ++i) {
      if (through[l][i] != 0) continue;
      lines[l][i - 1].sent.push_back(lines[l][i].label);
      lines[l][i].consumed.push_back(lines[l][i - 1].label);
    }
  for (auto& line : lines)
    for (observed_task& t : line) result.push_back(std::move(t));
  return result;
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
