#ifndef WHYWAIT_WHATIF_REPLAY_HPP
#define WHYWAIT_WHATIF_REPLAY_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/message_schedule.hpp>
#include <whywait/models/run_log.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace whatif {

/// What calls take beside their waits.
enum class lateness {
  understood,  ///< no more than is plausible (docs/method.md 4.13): what took longer was a wait that is not understood
  as_waiting,  ///< what was recorded; after a shorter wait a call notices earlier, in proportion, that it can go on
  as_recorded  ///< what was recorded, however short the wait
};

/// The result of a replay.
struct replayed {
  double seconds = 0.0;          ///< end of the last line
  double waiting_seconds = 0.0;  ///< sum over all lines
};

namespace detail {

/// Numbers all places consecutively, line by line.
class place_numbers {
 public:
  explicit place_numbers(const models::run_log& log) : first_(log.lines.size() + 1, 0) {
    for (std::size_t l = 0; l != log.lines.size(); ++l) first_[l + 1] = first_[l] + log.lines[l].size();
  }
  std::size_t size() const noexcept { return first_.back(); }
  std::size_t operator()(const models::place& p) const noexcept { return first_[p.line] + p.index; }
  std::size_t operator()(std::size_t line, std::size_t index) const noexcept { return first_[line] + index; }

 private:
  base::pod_vector<std::size_t> first_;
};

/// Lists of edges by the place at one end.
class edge_lists {
 public:
  edge_lists(std::size_t places, std::size_t edges) : head_(places, none), next_() { next_.reserve(edges); }
  void add(std::size_t at, std::uint32_t edge) {
    next_.push_back({edge, head_[at]});
    head_[at] = static_cast<std::uint32_t>(next_.size() - 1);
  }
  template <class F>
  void each(std::size_t at, F&& f) const {
    for (std::uint32_t i = head_[at]; i != none; i = next_[i].next) f(next_[i].edge);
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffu;
  base::pod_vector<std::uint32_t> head_;
  struct link {
    std::uint32_t edge, next;
  };
  base::pod_vector<link> next_;
};

}  // namespace detail

namespace detail {

class player {
 public:
  player(const models::run_log& log, lateness late)
      : log_(log),
        late_(late),
        at_(log),
        ready_(at_.size(), 0.0),
        missing_(at_.size(), 0),
        left_(log.messages.size(), 0.0),
        halves_(log.messages.size(), 1),
        sync_ready_(log.syncs.size(), 0.0),
        sync_missing_(log.syncs.size(), 0),
        messages_(at_.size(), log.messages.size()),
        syncs_(at_.size(), log.syncs.size() * log.lines.size()),
        entries_(at_.size(), log.entries.size()),
        lines_(log.lines.size()) {}

  replayed play() {
    expect();
    for (std::uint32_t l = 0; l != lines_.size(); ++l) work_.push_back(l);
    for (std::uint32_t s = 0; s != log_.syncs.size(); ++s)
      if (sync_missing_[s] == 0) release(s);
    while (!work_.empty()) {
      const std::uint32_t l = work_.back();
      work_.pop_back();
      cursor& c = lines_[l];
      c.queued = false;
      explain::run_until_stuck(c.at, line_events{*this, l, c, log_.lines[l]});
      r_.seconds = std::max(r_.seconds, c.time);
    }
    if (done_ != at_.size())
      throw models::prediction_error(models::fault::log,
                                     "the log waits for itself: a message or collective lies in its own past");
    return r_;
  }

 private:
  struct cursor {
    std::uint32_t next = 0;
    explain::progress at = explain::progress::between_events;
    bool queued = true;
    double time = 0.0;
  };

  void expect() {
    for (std::uint32_t m = 0; m != log_.messages.size(); ++m) {
      const models::message_edge& x = log_.messages[m];
      messages_.add(at_(x.from), m);
      ++missing_[at_(x.to)];
      if (!x.rendezvous) continue;
      halves_[m] = 2;
      messages_.add(at_(x.posted), m);
      ++missing_[at_(x.done)];
    }
    for (std::uint32_t e = 0; e != log_.entries.size(); ++e) {
      entries_.add(at_(log_.entries[e].from), e);
      ++missing_[at_(log_.entries[e].to)];
    }
    for (std::uint32_t s = 0; s != log_.syncs.size(); ++s) {
      sync_missing_[s] = log_.syncs[s].in.size();
      for (const models::place& p : log_.syncs[s].in) syncs_.add(at_(p), s);
      for (const models::place& p : log_.syncs[s].out) ++missing_[at_(p)];
    }
  }

  void arrive(const models::place& p, double when) {
    const std::size_t n = at_(p);
    ready_[n] = std::max(ready_[n], when);
    if (--missing_[n] != 0 || lines_[p.line].queued) return;
    lines_[p.line].queued = true;
    work_.push_back(p.line);
  }

  void begin_message(std::uint32_t m, double now) {
    left_[m] = std::max(left_[m], now);
    if (--halves_[m] != 0) return;
    const models::message_edge& x = log_.messages[m];
    arrive(x.to, left_[m] + x.seconds);
    if (x.rendezvous) arrive(x.done, left_[m] + x.seconds);
  }

  void begin_sync(std::uint32_t s, std::uint32_t l, double now) {
    const models::sync_edge& x = log_.syncs[s];
    if (!x.prefix) {
      sync_ready_[s] = std::max(sync_ready_[s], now);
      if (--sync_missing_[s] == 0) release(s);
      return;
    }
    if (begun_.empty()) begun_ = base::vector<base::pod_vector<double>>(log_.syncs.size());
    base::pod_vector<double>& begun = begun_[s];
    begun.resize(x.in.size(), -1.0);
    for (std::size_t i = 0; i != x.in.size(); ++i)
      if (x.in[i].line == l) begun[i] = now;
    for (std::size_t i = x.in.size() - sync_missing_[s]; i != x.in.size() && begun[i] >= 0.0; ++i) {
      sync_ready_[s] = std::max(sync_ready_[s], begun[i]);
      --sync_missing_[s];
      arrive(x.out[i], sync_ready_[s] + x.seconds);
    }
  }

  void release(std::uint32_t s) {
    const models::sync_edge& x = log_.syncs[s];
    const double when = sync_ready_[s] + x.seconds;
    for (const models::place& p : x.out) arrive(p, when);
  }

  // A line as a location of explain/message_schedule.hpp: it begins messages and collectives, and needs what its call waits
  // for.
  struct line_events {
    player& play;
    std::uint32_t l;
    cursor& c;
    const base::vector<models::activity>& line;

    std::size_t place() const noexcept { return play.at_(l, c.next); }
    bool begin_next() {
      if (c.next == line.size()) return false;
      c.time += line[c.next].work_seconds + line[c.next].disturbed_seconds;
      play.messages_.each(place(), [&](std::uint32_t m) { play.begin_message(m, c.time); });
      play.syncs_.each(place(), [&](std::uint32_t s) { play.begin_sync(s, l, c.time); });
      play.entries_.each(place(), [&](std::uint32_t e) { play.arrive(play.log_.entries[e].to, c.time); });
      return true;
    }
    bool send(bool&) const noexcept { return true; }
    bool ready() const noexcept { return play.missing_[place()] == 0; }
    void finish() {
      const models::activity& a = line[c.next];
      const double ready = play.ready_[place()];
      double takes = a.call_seconds;
      if (ready > c.time) {
        const double waits = ready - c.time;
        play.r_.waiting_seconds += waits;
        c.time = ready;
        if (a.wake_seconds > 0.0)
          takes += a.wake_seconds * (play.late_ == lateness::as_recorded ? 1.0 : std::min(1.0, waits / a.waited_seconds));
      }
      c.time += play.late_ == lateness::understood ? std::max(0.0, takes - a.unexplained_seconds) : takes;
      ++c.next;
      ++play.done_;
    }
  };

  const models::run_log& log_;
  lateness late_;
  place_numbers at_;
  base::pod_vector<double> ready_;           // time at which the inputs of a call are available
  base::pod_vector<std::uint32_t> missing_;  // number of missing inputs of a call
  base::pod_vector<double> left_;            // departure time of each message
  base::pod_vector<char> halves_;
  base::pod_vector<double> sync_ready_;
  base::pod_vector<std::size_t> sync_missing_;
  base::vector<base::pod_vector<double>> begun_;  // begin times of the members of each scan
  edge_lists messages_, syncs_, entries_;
  base::pod_vector<cursor> lines_;
  base::pod_vector<std::uint32_t> work_;
  std::size_t done_ = 0;
  replayed r_;
};

}  // namespace detail

/// Replays a log with its times and dependences (max-plus). Every activity begins when the previous one on its line has
/// ended, and a call ends when all its inputs are available. Assumes nothing about distributions or independence.
/// Linear in the log. Throws P022 for an invalid log and for a deadlock.
inline replayed replay(const models::run_log& log, lateness late = lateness::as_waiting) {
  log.check();
  return detail::player(log, late).play();
}

}  // namespace whatif
}  // namespace v0
}  // namespace whywait

#endif
