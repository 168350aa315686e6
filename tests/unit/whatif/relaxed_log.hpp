#ifndef WHYWAIT_TESTS_UNIT_WHATIF_RELAXED_LOG_HPP
#define WHYWAIT_TESTS_UNIT_WHATIF_RELAXED_LOG_HPP

#include <whywait/models/run_log.hpp>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <vector>

/// Seconds that a log of buffered messages and collectives of all takes: the truth of what the room whatif predicts, without a header
/// of it. All times are relaxed from zero until nothing changes, as in the Bellman-Ford algorithm.
inline double seconds_by_relaxation(const whywait::models::run_log& log) {
  using whywait::models::place;
  struct input {
    place to;
    double seconds;
  };
  std::size_t longest = 0;
  std::vector<std::vector<double>> ready, end;
  std::vector<std::vector<std::vector<input>>> sends;
  std::vector<std::vector<std::vector<std::size_t>>> meets;
  for (const auto& line : log.lines) {
    longest = std::max<std::size_t>(longest, line.size());
    ready.emplace_back(line.size(), 0.0);
    end.emplace_back(line.size(), 0.0);
    sends.emplace_back(line.size());
    meets.emplace_back(line.size());
  }
  for (const auto& m : log.messages) {
    if (m.rendezvous) throw std::logic_error("a message that waits for its receiver");
    sends[m.from.line][m.from.index].push_back({m.to, m.seconds});
  }
  for (std::size_t s = 0; s != log.syncs.size(); ++s) {
    if (log.syncs[s].prefix) throw std::logic_error("a scan");
    for (const place& p : log.syncs[s].in) meets[p.line][p.index].push_back(s);
  }
  bool changed = true;
  const auto raise = [&changed](double& time, double to) {
    if (to <= time) return;
    time = to;
    changed = true;
  };
  double last = 0.0;
  for (std::size_t pass = 0; changed; ++pass) {
    if (pass > 100000) throw std::logic_error("a log that waits for itself");
    changed = false;
    for (std::size_t i = 0; i != longest; ++i) {
      std::vector<double> begin(log.lines.size(), 0.0);
      for (std::size_t l = 0; l != log.lines.size(); ++l) {
        if (i >= log.lines[l].size()) continue;
        begin[l] = (i > 0 ? end[l][i - 1] : 0.0) + log.lines[l][i].work_seconds;
        for (const input& x : sends[l][i]) raise(ready[x.to.line][x.to.index], begin[l] + x.seconds);
        for (const std::size_t s : meets[l][i])
          for (const place& p : log.syncs[s].out) raise(ready[p.line][p.index], begin[l] + log.syncs[s].seconds);
      }
      for (std::size_t l = 0; l != log.lines.size(); ++l) {
        if (i >= log.lines[l].size()) continue;
        raise(end[l][i], std::max(begin[l], ready[l][i]) + log.lines[l][i].call_seconds);
        last = std::max(last, end[l][i]);
      }
    }
  }
  return last;
}

#endif
