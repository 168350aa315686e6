#ifndef WHYWAIT_PREDICT_REPLAY_HPP
#define WHYWAIT_PREDICT_REPLAY_HPP

#include <whywait/predict/run_log.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace predict {

/// What a replay found.
struct replayed {
  double seconds = 0.0;          ///< end of the last line
  double waiting_seconds = 0.0;  ///< over all lines
  std::vector<double> step_end;  ///< release of every collective of all lines, in order
};

namespace detail {

/// Places numbered through: line by line.
class place_numbers {
 public:
  explicit place_numbers(const run_log& log) : first_(log.lines.size() + 1, 0) {
    for (std::size_t l = 0; l != log.lines.size(); ++l) first_[l + 1] = first_[l] + log.lines[l].size();
  }
  std::size_t size() const noexcept { return first_.back(); }
  std::size_t operator()(const place& p) const noexcept { return first_[p.line] + p.index; }
  std::size_t operator()(std::size_t line, std::size_t index) const noexcept { return first_[line] + index; }

 private:
  std::vector<std::size_t> first_;
};

/// Edges by the place at one of their ends.
class edge_lists {
 public:
  edge_lists(std::size_t places, std::size_t edges) : head_(places, none), next_() { next_.reserve(edges); }
  void add(std::size_t at, std::uint32_t edge) {
    next_.push_back({edge, head_[at]});
    head_[at] = static_cast<std::uint32_t>(next_.size() - 1);
  }
  template <class F>
  void each(std::size_t at, F&& f) const {
    for (std::uint32_t i = head_[at]; i != none; i = next_[i].second) f(next_[i].first);
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  std::vector<std::uint32_t> head_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> next_;
};

}  // namespace detail

/// Plays a log with its times and dependences (max-plus): every activity begins when the one before it on its line
/// has ended, a call ends when all that it needs is there. No assumption about distributions or independence. Time
/// linear in the log. Throws P022, also if the log waits for itself.
inline replayed replay(const run_log& log) {
  log.check();
  const detail::place_numbers at(log);
  std::vector<double> ready(at.size(), 0.0);         // what the call needs is there
  std::vector<std::uint32_t> missing(at.size(), 0);  // edges into the call that have not come
  std::vector<double> sync_ready(log.syncs.size(), 0.0);
  std::vector<std::size_t> sync_missing(log.syncs.size(), 0);
  std::size_t ends = 0;
  for (const sync_edge& s : log.syncs) ends += s.in.size();
  detail::edge_lists messages(at.size(), log.messages.size()), syncs(at.size(), ends);
  for (std::uint32_t m = 0; m != log.messages.size(); ++m) {
    messages.add(at(log.messages[m].from), m);
    ++missing[at(log.messages[m].to)];
  }
  for (std::uint32_t s = 0; s != log.syncs.size(); ++s) {
    sync_missing[s] = log.syncs[s].in.size();
    for (const place& p : log.syncs[s].in) syncs.add(at(p), s);
    for (const place& p : log.syncs[s].out) ++missing[at(p)];
  }
  replayed r;
  struct cursor {
    std::size_t next = 0;
    double time = 0.0;
    bool in_call = false;
  };
  std::vector<cursor> lines(log.lines.size());
  std::vector<std::uint32_t> work;
  for (std::uint32_t l = 0; l != lines.size(); ++l) work.push_back(l);
  std::vector<char> queued(lines.size(), 1);
  auto arrive = [&](const place& p, double when) {
    const std::size_t n = at(p);
    ready[n] = std::max(ready[n], when);
    if (--missing[n] == 0 && queued[p.line] == 0) {
      queued[p.line] = 1;
      work.push_back(p.line);
    }
  };
  auto release = [&](std::uint32_t s) {
    const double when = sync_ready[s] + log.syncs[s].seconds;
    if (log.syncs[s].out.size() == log.lines.size() && log.syncs[s].in.size() == log.lines.size())
      r.step_end.push_back(when);
    for (const place& p : log.syncs[s].out) arrive(p, when);
  };
  for (std::uint32_t s = 0; s != log.syncs.size(); ++s)
    if (sync_missing[s] == 0) release(s);
  std::size_t done = 0;
  while (!work.empty()) {
    const std::uint32_t l = work.back();
    work.pop_back();
    queued[l] = 0;
    cursor& c = lines[l];
    while (c.next != log.lines[l].size()) {
      const activity& a = log.lines[l][c.next];
      const std::size_t n = at(l, c.next);
      if (!c.in_call) {
        c.time += a.work_seconds;
        c.in_call = true;
        messages.each(n, [&](std::uint32_t m) { arrive(log.messages[m].to, c.time + log.messages[m].seconds); });
        syncs.each(n, [&](std::uint32_t s) {
          sync_ready[s] = std::max(sync_ready[s], c.time);
          if (--sync_missing[s] == 0) release(s);
        });
      }
      if (missing[n] != 0) break;
      if (ready[n] > c.time) {
        r.waiting_seconds += ready[n] - c.time;
        c.time = ready[n];
      }
      c.time += a.call_seconds;
      c.in_call = false;
      ++c.next;
      ++done;
    }
    r.seconds = std::max(r.seconds, c.time);
  }
  if (done != at.size())
    throw prediction_error(fault::log, "the log waits for itself: a message or collective lies in its own past");
  std::sort(r.step_end.begin(), r.step_end.end());
  return r;
}

}  // namespace predict
}  // namespace v0
}  // namespace whywait

#endif
