#ifndef WHYWAIT_TESTS_UNIT_WHATIF_INDEPENDENT_SIMULATION_HPP
#define WHYWAIT_TESTS_UNIT_WHATIF_INDEPENDENT_SIMULATION_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

/// A discrete-event simulator of small message-passing programs: the truth behind predictions. It shares no code with the
/// rooms under test. Programs are generated again for every change, and run again with other random numbers.
namespace independent {

enum class kind { send, receive, post_send, post_receive, wait_all, barrier, all_to_all, one_to_all, all_to_one };

/// What disturbs work and transfers. All times in seconds.
struct noise {
  double cv = 0.0;           ///< of each piece of work, independent from piece to piece
  double drift_cv = 0.0;     ///< of a factor per rank that forgets itself over about 20 pieces
  double sleep = 0.0;        ///< mean of what is added to each piece, exponential, whatever its length
  double rare_share = 0.0;   ///< part of the pieces that are interrupted
  double rare_seconds = 0.0; ///< mean duration of an interruption
  double wake = 0.0;         ///< mean delay until a blocked call notices that it may go on
  double transfer_cv = 0.0;
};

struct machine {
  double latency = 10e-6, per_byte = 1e-9, call = 0.5e-6, collective = 15e-6;  ///< collective: per level of a tree
  double acknowledged_from = 1e300;  ///< from here on a send is complete when the receiver was in MPI after it
  double rendezvous_from = 1e300;    ///< from here on a message leaves when its receive is posted
};

enum class shape { stencil, stencil_blocking, chain, tree, master_worker, pipeline, steps };

struct program {
  shape what = shape::stencil;
  int ranks = 4, steps = 100;
  double work = 2e-3;       ///< of an average rank in a step
  double other = 0.2;       ///< part of the work that is not in the block "compute"
  double imbalance = 0.0;   ///< rank 0 computes 1 + imbalance, decreasing to 1 - imbalance
  double moving = 0.0;      ///< amplitude of an imbalance that moves over the ranks
  double bytes = 8;
  int meet_every = 8;       ///< stencil: steps between operations of all
  double factor = 1.0;      ///< duration of "compute"
  bool balanced = false;    ///< all ranks that compute do the mean
  noise disturbed;
  machine on;
};

/// One call as a tool would have recorded it.
struct call {
  double enter = 0.0, leave = 0.0;
  kind what = kind::barrier;
  int peer = -1, tag = 0, site = 0;
  double bytes = 0.0;
  std::size_t completion = 0;              ///< call of the same rank that completed the message
  double compute = 0.0, other = 0.0;  ///< work since the call before
};

struct run {
  std::vector<std::vector<call>> calls;  ///< by rank
  std::vector<double> end;
  double seconds() const { return *std::max_element(end.begin(), end.end()); }
};

class simulation {
 public:
  simulation(const program& p, std::uint64_t seed) : p_(p), random_(seed * 7919 + 17) {
    state_.resize(static_cast<std::size_t>(p.ranks));
    for (int r = 0; r != p.ranks; ++r) {
      generate(r);
      state_[at(r)].drift = normal();
    }
  }

  run operator()() {
    result_.calls.resize(state_.size());
    result_.end.resize(state_.size(), -1.0);
    for (int r = 0; r != p_.ranks; ++r) advance(r, 0.0);
    while (!events_.empty()) {
      const auto [time, order, what, id] = events_.top();
      events_.pop();
      static_cast<void>(order);
      if (what == event::enters) enters(static_cast<int>(id), time);
      else if (what == event::leaves) leaves(static_cast<int>(id), time);
      else arrives(id, time);
    }
    for (const double e : result_.end)
      if (e < 0.0) throw std::logic_error("the simulated program waits for itself");
    return std::move(result_);
  }

 private:
  enum class event { arrives, leaves, enters };
  struct operation {
    bool works = false;
    double compute = 0.0, other = 0.0;  // work
    kind what = kind::barrier;
    int peer = -1, tag = 0, site = 0;
    double bytes = 0.0;
  };
  struct message {
    int from = 0, to = 0;
    double bytes = 0.0, sent = -1.0, posted = -1.0;
    bool arrived = false, delivered = false;
    std::size_t send_call = 0, receive_call = 0;
  };
  struct meeting {
    int entered = 0;
    double root = -1.0;  // when its root entered
  };
  struct rank_state {
    std::vector<operation> program;
    std::size_t next = 0;
    bool inside = false, leaving = false;
    double drift = 0.0;
    std::vector<std::size_t> sends, receives;  // open messages of nonblocking calls, or the one of a blocking call
    std::vector<std::size_t> waiting_here;     // arrived, not yet noticed
    std::size_t meetings = 0;
  };

  static std::size_t at(int r) { return static_cast<std::size_t>(r); }

  // --- the programs

  double load(int r, int step) const {
    const double n = std::max(1, p_.ranks - (p_.what == shape::master_worker ? 2 : 1));
    const int position = p_.what == shape::master_worker ? r - 1 : r;
    double l = 1.0 + (p_.balanced ? 0.0 : p_.imbalance * (1.0 - 2.0 * position / n));
    if (p_.moving > 0.0) l += p_.moving * std::sin(0.7 * step + 2.0 * 3.14159265 * r / p_.ranks);
    return l;
  }
  void work(int r, int step, double part = 1.0) {
    operation o;
    o.works = true;
    o.compute = p_.work * part * (1.0 - p_.other) * p_.factor * load(r, step);
    o.other = p_.work * part * p_.other;
    state_[at(r)].program.push_back(o);
  }
  void does(int r, kind what, int site, int peer = -1, double bytes = 0.0, int tag = 0) {
    operation o;
    o.what = what;
    o.site = site;
    o.peer = peer;
    o.bytes = bytes;
    o.tag = tag;
    state_[at(r)].program.push_back(o);
  }

  void generate(int r) {
    const int n = p_.ranks;
    for (int step = 0; step != p_.steps; ++step) {
      switch (p_.what) {
        case shape::stencil:
          for (const int d : {-1, 1}) does(r, kind::post_receive, 2 + d, (r + d + n) % n, p_.bytes, -d);
          for (const int d : {-1, 1}) does(r, kind::post_send, 5 + d, (r + d + n) % n, p_.bytes, d);
          work(r, step);
          does(r, kind::wait_all, 8);
          if (step % p_.meet_every == p_.meet_every - 1) does(r, kind::all_to_all, 9, -1, 8);
          break;
        case shape::stencil_blocking:  // a line of ranks, each sends first
          work(r, step);
          for (const int d : {-1, 1})
            if (r + d >= 0 && r + d < n) does(r, kind::post_send, 5 + d, r + d, p_.bytes, d);
          for (const int d : {-1, 1})
            if (r + d >= 0 && r + d < n) does(r, kind::receive, 2 + d, r + d, p_.bytes, -d);
          does(r, kind::wait_all, 8);
          break;
        case shape::chain:
          if (r > 0) does(r, kind::receive, 1, r - 1, p_.bytes);
          work(r, step);
          if (r + 1 < n) does(r, kind::send, 2, r + 1, p_.bytes);
          if (step % p_.meet_every == p_.meet_every - 1) does(r, kind::barrier, 3);
          break;
        case shape::pipeline:
          if (r > 0) does(r, kind::receive, 1, r - 1, p_.bytes);
          work(r, step);
          if (r + 1 < n) does(r, kind::send, 2, r + 1, p_.bytes);
          break;
        case shape::tree:
          work(r, step);
          for (int d = 1; d < n; d *= 2) {
            if (r % (2 * d) == 0 && r + d < n) does(r, kind::receive, 1, r + d, p_.bytes);
            if (r % (2 * d) == d) {
              does(r, kind::send, 2, r - d, p_.bytes);
              break;
            }
          }
          does(r, kind::one_to_all, 3, 0, 64);
          break;
        case shape::master_worker:
          if (r == 0) {
            for (int w = 1; w != n; ++w) does(0, kind::send, 1, w, p_.bytes);
            operation o;
            o.works = true;
            o.other = p_.work * p_.other;
            state_[0].program.push_back(o);
            for (int w = 1; w != n; ++w) does(0, kind::receive, 2, w, p_.bytes);
          } else {
            does(r, kind::receive, 3, 0, p_.bytes);
            work(r, step);
            does(r, kind::send, 4, 0, p_.bytes);
          }
          break;
        case shape::steps:
          work(r, step);
          does(r, step % 5 == 4 ? kind::all_to_one : kind::all_to_all, step % 5 == 4 ? 4 : 9, step % 5 == 4 ? 0 : -1, 8);
          break;
      }
    }
    does(r, kind::barrier, 20);
  }

  // --- random numbers that are the same with every standard library

  double uniform() { return (static_cast<double>(random_() >> 11) + 0.5) * (1.0 / 9007199254740992.0); }
  double exponential(double mean) { return mean > 0.0 ? -mean * std::log(uniform()) : 0.0; }
  double normal() { return std::sqrt(-2.0 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }
  double varied(double mean, double cv) {
    if (!(cv > 0.0)) return mean;
    const double s2 = std::log(1.0 + cv * cv);
    return mean * std::exp(std::sqrt(s2) * normal() - s2 / 2.0);
  }
  double disturbed(int r, double mean) {
    const noise& x = p_.disturbed;
    if (!(mean > 0.0)) return 0.0;
    double t = varied(mean, x.cv) * std::exp(x.drift_cv * state_[at(r)].drift - x.drift_cv * x.drift_cv / 2.0);
    t += exponential(x.sleep);
    if (uniform() < x.rare_share) t += exponential(x.rare_seconds);
    return t;
  }

  // --- events

  void later(double time, event what, std::size_t id) { events_.push({time, order_++, what, id}); }

  void advance(int r, double time) {
    rank_state& s = state_[at(r)];
    s.inside = s.leaving = false;
    call c;
    for (; s.next != s.program.size() && s.program[s.next].works; ++s.next) {
      s.drift = 0.95 * s.drift + std::sqrt(1.0 - 0.95 * 0.95) * normal();
      c.compute += disturbed(r, s.program[s.next].compute);
      c.other += varied(s.program[s.next].other, p_.disturbed.cv);
    }
    if (s.next == s.program.size()) {
      result_.end[at(r)] = time;
      return;
    }
    const operation& o = s.program[s.next];
    c.what = o.what;
    c.peer = o.peer;
    c.tag = o.tag;
    c.site = o.site;
    c.bytes = o.bytes;
    c.enter = time + c.compute + c.other + 50e-9;
    c.completion = result_.calls[at(r)].size();
    result_.calls[at(r)].push_back(c);
    later(c.enter, event::enters, at(r));
  }

  std::size_t message_of(int from, int to, int tag, bool sends) {
    auto& of = matched_[{from, to, tag}];
    const std::size_t k = sends ? of.sent++ : of.posted++;
    if (k == of.numbers.size()) {
      of.numbers.push_back(messages_.size());
      messages_.push_back({});
      messages_.back().from = from;
      messages_.back().to = to;
    }
    return of.numbers[k];
  }
  void departs(std::size_t m, double time) {
    const double seconds = p_.on.latency + p_.on.per_byte * messages_[m].bytes;
    later(time + varied(seconds, p_.disturbed.transfer_cv), event::arrives, m);
  }

  void enters(int r, double time) {
    rank_state& s = state_[at(r)];
    s.inside = true;
    const operation& o = s.program[s.next];
    const std::size_t number = result_.calls[at(r)].size() - 1;
    if (o.what == kind::send || o.what == kind::post_send) {
      const std::size_t m = message_of(r, o.peer, o.tag, true);
      messages_[m].bytes = o.bytes;
      messages_[m].sent = time;
      messages_[m].send_call = number;
      if (o.bytes < p_.on.rendezvous_from || messages_[m].posted >= 0.0) departs(m, time);
      s.sends.push_back(m);
    } else if (o.what == kind::receive || o.what == kind::post_receive) {
      const std::size_t m = message_of(o.peer, r, o.tag, false);
      messages_[m].posted = time;
      messages_[m].receive_call = number;
      if (messages_[m].sent >= 0.0 && messages_[m].bytes >= p_.on.rendezvous_from) departs(m, time);
      s.receives.push_back(m);
    } else if (o.what != kind::wait_all) {
      if (s.meetings == meetings_.size()) meetings_.push_back({});
      meeting& x = meetings_[s.meetings++];
      ++x.entered;
      if (r == o.peer) x.root = time;
      for (int other = 0; other != p_.ranks; ++other)
        if (other != r) completes(other, time);
    }
    const std::vector<std::size_t> noticed = std::move(s.waiting_here);
    s.waiting_here.clear();
    for (const std::size_t m : noticed) delivers(m, time);
    completes(r, time);
  }

  void arrives(std::size_t m, double time) {
    messages_[m].arrived = true;
    if (state_[at(messages_[m].to)].inside) delivers(m, time);
    else state_[at(messages_[m].to)].waiting_here.push_back(m);
    completes(messages_[m].from, time);
  }
  void delivers(std::size_t m, double time) {
    messages_[m].delivered = true;
    completes(messages_[m].to, time);
    completes(messages_[m].from, time);
  }

  bool sent(const message& m) const {
    return m.bytes >= p_.on.rendezvous_from ? m.arrived : m.bytes < p_.on.acknowledged_from || m.delivered;
  }

  // Ends the call that a rank is in if everything it needs has happened.
  void completes(int r, double time) {
    rank_state& s = state_[at(r)];
    if (!s.inside || s.leaving) return;
    const operation& o = s.program[s.next];
    const call& c = result_.calls[at(r)].back();
    bool done = true;
    double when = time;
    const double cost = p_.on.collective * std::ceil(std::log2(p_.ranks));
    switch (o.what) {
      case kind::post_send:
      case kind::post_receive: break;
      case kind::send: done = sent(messages_[s.sends.back()]); break;
      case kind::receive: done = messages_[s.receives.back()].delivered; break;
      case kind::wait_all:
        for (const std::size_t m : s.sends) done = done && sent(messages_[m]);
        for (const std::size_t m : s.receives) done = done && messages_[m].delivered;
        break;
      case kind::barrier:
      case kind::all_to_all:
        done = meetings_[s.meetings - 1].entered == p_.ranks;
        when += cost;
        break;
      case kind::one_to_all:
        done = meetings_[s.meetings - 1].root >= 0.0;
        if (r != o.peer) when = std::max(time, meetings_[s.meetings - 1].root + cost);
        break;
      case kind::all_to_one:
        done = r != o.peer || meetings_[s.meetings - 1].entered == p_.ranks;
        if (r == o.peer) when += cost;
        break;
    }
    if (!done) return;
    s.leaving = true;
    double leave = when + p_.on.call;
    if (when > c.enter) leave += exponential(p_.disturbed.wake);
    later(leave, event::leaves, at(r));
  }

  void leaves(int r, double time) {
    rank_state& s = state_[at(r)];
    std::vector<call>& calls = result_.calls[at(r)];
    const kind what = calls.back().what;
    calls.back().leave = time;
    if (what == kind::wait_all) {
      for (const std::size_t m : s.sends) calls[messages_[m].send_call].completion = calls.size() - 1;
      for (const std::size_t m : s.receives) calls[messages_[m].receive_call].completion = calls.size() - 1;
      s.sends.clear();
      s.receives.clear();
    }
    if (what == kind::send) s.sends.pop_back();
    if (what == kind::receive) s.receives.pop_back();
    ++s.next;
    advance(r, time);
  }

  struct matching {
    std::size_t sent = 0, posted = 0;
    std::vector<std::size_t> numbers;
  };
  using entry = std::tuple<double, std::uint64_t, event, std::size_t>;

  program p_;
  std::mt19937_64 random_;
  std::vector<rank_state> state_;
  std::vector<message> messages_;
  std::vector<meeting> meetings_;
  std::map<std::tuple<int, int, int>, matching> matched_;
  std::priority_queue<entry, std::vector<entry>, std::greater<entry>> events_;
  std::uint64_t order_ = 0;
  run result_;
};

inline run simulate(const program& p, std::uint64_t seed) { return simulation(p, seed)(); }

}  // namespace independent

#endif
