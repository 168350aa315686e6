#ifndef WHYWAIT_PREDICT_SUPERSTEPS_HPP
#define WHYWAIT_PREDICT_SUPERSTEPS_HPP

#include <whywait/predict/branches.hpp>
#include <whywait/predict/layered.hpp>
#include <whywait/predict/replay.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace predict {

/// A log seen as steps of independent work between collectives of all lines: fork, join, fork, join.
struct superstep_model {
  /// Steps that end with the same collective after the same code.
  struct group {
    std::size_t steps = 0;
    std::vector<double> mean, variance;  ///< of the work of each line in such a step
    double sync_seconds = 0.0;           ///< mean cost of the collective
  };
  bool valid = false;
  std::string why_not;
  std::vector<group> groups;
  std::vector<double> perfect;  ///< of each step: mean work over the lines and the collective
};

/// Finds the steps. Not valid if lines meet in any other way: messages, collectives of some lines, or one-sided ones.
inline superstep_model find_supersteps(const run_log& log) {
  superstep_model m;
  auto no = [&](const std::string& why) {
    m.why_not = why;
    return m;
  };
  const std::size_t lines = log.lines.size();
  if (lines == 0) return no("the log is empty");
  if (!log.messages.empty()) return no("messages between lines make the program more than forks and joins");
  std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> meets(lines);  // (index, sync)
  for (std::uint32_t s = 0; s != log.syncs.size(); ++s) {
    const sync_edge& x = log.syncs[s];
    if (x.in.size() != lines || x.out.size() != lines)
      return no("a collective does not synchronise all lines with all");
    std::vector<std::uint32_t> index(lines, 0xffffffffu);
    for (const place& p : x.in) index[p.line] = p.index;
    for (const place& p : x.out)
      if (index[p.line] != p.index) return no("a collective begins and ends in different calls");
    for (std::uint32_t l = 0; l != lines; ++l) meets[l].emplace_back(index[l], s);
  }
  for (auto& line : meets) std::sort(line.begin(), line.end());
  for (std::size_t l = 1; l != lines; ++l)
    for (std::size_t i = 0; i != meets[l].size(); ++i)
      if (meets[l][i].second != meets[0][i].second) return no("lines meet in different orders");

  std::map<std::vector<std::uint32_t>, std::size_t> number;
  std::vector<std::vector<std::vector<double>>> samples;  // group, line, step
  std::vector<std::vector<double>> costs;
  std::vector<double> carried(lines, 0.0);  // the end of the last call belongs to the next step
  std::vector<std::size_t> at(lines, 0);
  for (std::size_t step = 0; step <= meets[0].size(); ++step) {
    const bool last = step == meets[0].size();
    std::vector<std::uint32_t> key;
    std::vector<double> work(lines, 0.0);
    for (std::size_t l = 0; l != lines; ++l) {
      const std::size_t end = last ? log.lines[l].size() : meets[l][step].first + 1u;
      double sum = carried[l];
      carried[l] = 0.0;
      for (; at[l] < end; ++at[l]) {
        const activity& a = log.lines[l][at[l]];
        if (l == 0) key.push_back(a.label);
        sum += a.work_seconds;
        if (last || at[l] + 1 != end)
          sum += a.call_seconds;
        else
          carried[l] = a.call_seconds;
      }
      work[l] = sum;
    }
    const double cost = last ? 0.0 : log.syncs[meets[0][step].second].seconds;
    double mean = 0.0;
    for (const double w : work) mean += w;
    if (last && !(mean > 0.0)) break;
    m.perfect.push_back(mean / static_cast<double>(lines) + cost);
    key.push_back(last ? 0xffffffffu : log.syncs[meets[0][step].second].label);
    const auto found = number.emplace(std::move(key), samples.size());
    if (found.second) {
      samples.emplace_back(lines);
      costs.emplace_back();
    }
    for (std::size_t l = 0; l != lines; ++l) samples[found.first->second][l].push_back(work[l]);
    costs[found.first->second].push_back(cost);
  }
  for (std::size_t g = 0; g != samples.size(); ++g) {
    superstep_model::group x;
    x.steps = costs[g].size();
    const double n = static_cast<double>(x.steps);
    for (const double c : costs[g]) x.sync_seconds += c / n;
    for (const auto& line : samples[g]) {
      double mean = 0.0, squares = 0.0;
      for (const double w : line) mean += w / n;
      for (const double w : line) squares += (w - mean) * (w - mean);
      x.mean.push_back(mean);
      x.variance.push_back(x.steps > 1 ? squares / (n - 1.0) : 0.0);
    }
    m.groups.push_back(std::move(x));
  }
  m.valid = true;
  return m;
}

namespace detail {

inline bool has_work(const superstep_model::group& g, std::size_t line) noexcept { return g.mean[line] > 0.0; }

/// Sum over the steps of E[max over lines] by the variance-aware rule, lines on processors of their own.
inline double by_algebra(const superstep_model& m) {
  const machine own = machine::servers_for_all({1.0});
  double all = 0.0;
  for (const auto& g : m.groups) {
    std::vector<segment> lines;
    for (std::size_t l = 0; l != g.mean.size(); ++l)
      if (has_work(g, l)) lines.push_back(task_segment(own, g.mean[l], g.variance[l] / (g.mean[l] * g.mean[l])));
    all += static_cast<double>(g.steps) * (parallel(std::move(lines), own).mean + g.sync_seconds);
  }
  return all;
}

/// The same by the exact chain of exponential tasks. False and a reason where it would mislead.
inline bool by_chain(const superstep_model& m, double& seconds, std::string& why_not) {
  seconds = 0.0;
  for (const auto& g : m.groups) {
    control_graph graph;
    std::vector<double> means;
    double cv2 = 0.0, weight_sum = 0.0;
    for (std::size_t l = 0; l != g.mean.size(); ++l) {
      if (!has_work(g, l)) continue;
      graph.add("l" + std::to_string(l), "", "", "l" + std::to_string(l));
      means.push_back(g.mean[l]);
      cv2 += g.variance[l] / g.mean[l];
      weight_sum += g.mean[l];
    }
    if (means.empty()) continue;
    if (means.size() > 20) {
      why_not = "more than 20 lines: too many states";
      return false;
    }
    // below a coefficient of variation of 0.7 exponential tasks wait far longer for each other than these do
    if (means.size() > 1 && cv2 / weight_sum < 0.49) {
      why_not = "the work varies less than the chain's exponential tasks (coefficient of variation below 0.7)";
      return false;
    }
    seconds += static_cast<double>(g.steps) *
               (solve_layered(compile(graph), {machine::servers_for_all(means), {}}).mean + g.sync_seconds);
  }
  return true;
}

}  // namespace detail

}  // namespace predict
}  // namespace v0
}  // namespace whywait

#endif
