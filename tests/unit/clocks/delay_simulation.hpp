#ifndef WHYWAIT_TESTS_UNIT_CLOCKS_DELAY_SIMULATION_HPP
#define WHYWAIT_TESTS_UNIT_CLOCKS_DELAY_SIMULATION_HPP

#include <whywait/base/vector.hpp>
#include <whywait/clocks/delay_ledger.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>

// A simple simulator of random programs with every class of operation, which runs them with and without measurement
// overhead. It uses absolute times only, without delays, slack or a ledger. The run with overhead also records what a
// tool would. Decisions (the owner of a lock, the request that a Waitany gets) are made in the run with overhead and
// repeated in the other.
namespace delays {

using namespace whywait::clocks;
using namespace whywait::explain;
using ns = std::int64_t;

/// A time, the overhead on the path that determined it, and the largest sum of errors on any path to it.
struct instant {
  ns t = 0, carried = 0, worst = 0;
};
inline instant operator+(instant a, ns dt) { return {a.t + dt, a.carried, a.worst}; }
inline instant later(const instant& a, const instant& b) {
  instant r = a.t >= b.t ? a : b;
  r.worst = std::max(a.worst, b.worst);
  return r;
}

/// The records of the tool, calls, junctions and needs, in ledger order.
struct entry {
  enum what_t { call, junction, needs, synchronise, meet, chosen } what = call;
  std::size_t location = 0;
  ns begin = 0, wait = 0, before = 0, inside = 0;
  int to = 0, from = 0;  ///< indices of calls; -1 - index for junctions
  bool from_end = false;
  ns stamp = 0, cost = 0, other_stamp = 0;
  whywait::base::vector<int> calls;
};

class program {
 public:
  program(std::uint64_t seed, int ranks, int operations) : random_(seed), ranks_(ranks) {
    latency_ = pick(300, 1500);
    message_cost_ = chance(30) ? pick(50, 350) : 0;
    progress_ = chance(50);
    for (int o = 0; o != operations; ++o) generate();
    flush();
    for (int r = 0; r != ranks_; ++r) ends_.push_back(work());
  }

  /// Computes all ends and waits of a run; the first run must have overhead.
  void run(bool with_overhead) {
    measured_ = with_overhead;
    now_.assign(static_cast<std::size_t>(ranks_), {});
    before_.assign(static_cast<std::size_t>(ranks_), 0);
    waits.clear();
    calls.clear();
    sent_.clear();
    posted_.clear();
    begun_.clear();
    junctions_ = 0;
    inverted.clear();
    lock_holder_ = {};
    for (operation& o : operations_) execute(o);
    ends.clear();
    for (int r = 0; r != ranks_; ++r) {
      compute(r, ends_[static_cast<std::size_t>(r)]);
      ends.push_back(at(r));
    }
  }

  /// Fills a ledger from the records; `as(ns)` converts an overhead to a delay.
  template <class Delay, class As>
  whywait::base::vector<typename delay_ledger<Delay>::handle> fill(delay_ledger<Delay>& books, As&& as) const {
    using ledger = delay_ledger<Delay>;
    whywait::base::vector<typename ledger::handle> handles;
    whywait::base::vector<typename ledger::event> junctions;
    const auto event = [&](int number, bool end) {
      if (number < 0) return junctions[static_cast<std::size_t>(-1 - number)];
      const auto& h = handles[static_cast<std::size_t>(number)];
      return end ? h.end : h.begin;
    };
    for (const entry& e : log) {
      switch (e.what) {
        case entry::call: handles.push_back(books.call(e.location, e.begin, e.wait, as(e.before), as(e.inside))); break;
        case entry::junction: junctions.push_back(books.junction()); break;
        case entry::needs: books.needs(event(e.to, true), event(e.from, e.from_end), e.stamp, as(e.cost)); break;
        case entry::synchronise: {
          whywait::base::vector<typename ledger::handle> all;
          for (const int c : e.calls) all.push_back(handles[static_cast<std::size_t>(c)]);
          books.synchronise(all.data(), all.size());
          break;
        }
        case entry::meet:
          books.meet(handles[static_cast<std::size_t>(e.calls[0])], handles[static_cast<std::size_t>(e.calls[1])]);
          break;
        case entry::chosen:
          books.chosen(handles[static_cast<std::size_t>(e.to)], event(e.calls[0], false), e.stamp, event(e.calls[1], false),
                       e.other_stamp);
      }
    }
    for (std::size_t r = 0; r != measured_ends_.size(); ++r) {
      books.close(r, measured_ends_[r], as(ends_[r].overhead));
    }
    return handles;
  }

  /// Keeps what `fill` needs, after the run with overhead.
  void keep_record() {
    measured_ends_.clear();
    for (const instant& e : ends) measured_ends_.push_back(e.t);
  }

  int ranks() const { return ranks_; }

  whywait::base::vector<entry> log;              ///< of the run with overhead
  whywait::base::vector<instant> ends;           ///< of the last run, per rank
  whywait::base::vector<ns> waits;               ///< of the last run, per call
  whywait::base::vector<std::pair<instant, instant>> calls;  ///< begin and end of every call of the last run
  std::map<int, bool> inverted;        ///< calls of the last run whose decision would differ

 private:
  enum kind {
    send,
    receive,
    rendezvous,
    isend,
    irecv,
    wait_send,
    wait_receive,
    waitall,
    waitany,
    synchronise,
    broadcast,
    reduce,
    scan,
    start,
    finish,
    post,
    access,
    complete,
    expose,
    give,
    take,
    lock,
    unlock
  };
  struct load {
    ns computing = 0, overhead = 0, inside = 0;
  };
  struct operation {
    kind what = send;
    whywait::base::vector<int> ranks;
    whywait::base::vector<load> loads;
    whywait::base::vector<int> messages;
    int id = 0, taken = -1;
    ns bytes = 0;
  };
  struct sent_message {
    instant arrival;
    int call = 0;
  };

  ns pick(ns low, ns high) { return low + static_cast<ns>(random_() % static_cast<std::uint64_t>(high - low + 1)); }
  bool chance(int percent) { return pick(0, 99) < percent; }
  load work() { return {pick(0, 4000), chance(70) ? pick(0, 1500) : 0, chance(30) ? pick(1, 60) : 0}; }
  instant& at(int rank) { return now_[static_cast<std::size_t>(rank)]; }

  operation& push(kind what, whywait::base::vector<int> members) {
    operation o;
    o.what = what;
    o.ranks = std::move(members);
    for (std::size_t i = 0; i != o.ranks.size(); ++i) o.loads.push_back(work());
    operations_.push_back(o);
    return operations_.back();
  }
  whywait::base::vector<int> group() {
    whywait::base::vector<int> g;
    for (int r = 0; r != ranks_; ++r) {
      if (chance(70)) g.push_back(r);
    }
    if (g.size() < 2) g = {0, ranks_ - 1};
    return g;
  }

  // Operations are completed later in any order. A single global order of all operations cannot deadlock.
  void later_on(operation o) { pending_.push_back(std::move(o)); }
  operation made(kind what, whywait::base::vector<int> members, int id) {
    push(what, std::move(members)).id = id;
    operation o = operations_.back();
    operations_.pop_back();
    return o;
  }
  void finish_one() {
    const auto k = static_cast<std::ptrdiff_t>(pick(0, static_cast<ns>(pending_.size()) - 1));
    const operation o = pending_[static_cast<std::size_t>(k)];
    pending_.erase(pending_.begin() + k);
    operations_.push_back(o);
    if (o.what == access) {
      operation next = made(complete, {o.ranks[0]}, o.id);
      operations_.push_back(next);
      later_on(made(expose, {o.ranks[1]}, o.id));
    }
  }
  void flush() {
    while (!pending_.empty()) finish_one();
  }

  void generate() {
    if (!pending_.empty() && chance(40)) return finish_one();
    const int a = static_cast<int>(pick(0, ranks_ - 1));
    int b = static_cast<int>(pick(0, ranks_ - 2));
    if (b >= a) ++b;
    const int id = ++ids_;
    switch (pick(0, 11)) {
      case 0:
      case 1:
        push(send, {a}).id = id;
        operations_.back().bytes = pick(0, 500);
        later_on(made(receive, {b}, id));
        break;
      case 2: push(rendezvous, {a, b}).bytes = pick(0, 3000); break;
      case 3:
        push(isend, {a}).id = id;
        operations_.back().bytes = pick(0, 3000);
        push(irecv, {b}).id = id;
        if (!progress_) {  // the payload leaves at the sender's Wait, which is therefore added first
          push(wait_send, {a}).id = id;
        } else {
          later_on(made(wait_send, {a}, id));
        }
        later_on(made(wait_receive, {b}, id));
        break;
      case 4:
      case 5: {
        const ns n = pick(2, 4);
        operation all = made(chance(50) ? waitall : waitany, {b}, id);
        for (ns k = 0; k != n; ++k) {
          int from = static_cast<int>(pick(0, ranks_ - 2));
          if (from >= b) ++from;
          push(send, {from}).id = ++ids_;
          all.messages.push_back(ids_);
        }
        later_on(all);
        break;
      }
      case 6: push(synchronise, group()); break;
      case 7: {
        const kind what = chance(40) ? broadcast : chance(50) ? reduce : scan;
        push(what, group());
        break;
      }
      case 8: {
        const whywait::base::vector<int> members = group();
        for (const int m : members) push(start, {m}).id = id;
        for (const int m : members) later_on(made(finish, {m}, id));
        break;
      }
      case 9:
        push(post, {b}).id = id;
        later_on(made(access, {a, b}, id));
        break;
      case 10:
        push(give, {a}).id = id;
        later_on(made(take, {b}, id));
        break;
      default: push(lock, {a}); push(unlock, {a});
    }
  }

  // ---- simulation of a run

  void compute(int rank, const load& l) {
    at(rank) = at(rank) + l.computing;
    add(rank, l.overhead);
    before_[static_cast<std::size_t>(rank)] += l.overhead;
  }
  // Overhead takes time in the measured run only, but counts as carried in both (docs/method.md 4.2, C3).
  void add(int rank, ns overhead) {
    instant& now = at(rank);
    if (measured_) now.t += overhead;
    now.carried += overhead;
    now.worst += overhead;  // as if the whole overhead were an error
  }

  /// A call that can complete at `ready`; returns its index.
  int call(int rank, const instant& begin, const instant& ready, const load& l, ns tail) {
    const instant go = later(ready, begin);
    waits.push_back(go.t - begin.t);
    if (measured_) {
      entry e;
      e.location = static_cast<std::size_t>(rank);
      e.begin = begin.t;
      e.wait = go.t - begin.t;
      e.before = before_[static_cast<std::size_t>(rank)];
      e.inside = l.inside;
      log.push_back(e);
    }
    before_[static_cast<std::size_t>(rank)] = 0;
    at(rank) = go;
    add(rank, l.inside);
    calls.emplace_back(begin, at(rank));
    at(rank) = at(rank) + tail;
    return static_cast<int>(waits.size()) - 1;
  }
  int junction() {
    if (measured_) {
      log.emplace_back();
      log.back().what = entry::junction;
    }
    return -1 - junctions_++;
  }
  void needs(int to, int from, ns stamp, ns cost = 0, bool from_end = false) {
    if (!measured_) return;
    entry e;
    e.what = entry::needs;
    e.to = to;
    e.from = from;
    e.from_end = from_end;
    e.stamp = stamp;
    e.cost = cost;
    log.push_back(e);
  }
  void together(entry::what_t what, whywait::base::vector<int> which) {
    if (!measured_) return;
    entry e;
    e.what = what;
    e.calls = std::move(which);
    log.push_back(e);
  }
  // The call `which` selected `taken` before `other`.
  void decided(int which, int taken, const instant& taken_at, int other, const instant& other_at) {
    if (other_at.t < taken_at.t) inverted[which] = true;
    if (!measured_) return;
    entry e;
    e.what = entry::chosen;
    e.to = which;
    e.calls = {taken, other};
    e.stamp = taken_at.t;
    e.other_stamp = other_at.t;
    log.push_back(e);
  }
  ns on_message() const { return measured_ ? message_cost_ : 0; }
  instant over_network(instant i, ns dt) const {
    i.t += dt + on_message();
    i.carried += message_cost_;
    i.worst += message_cost_;
    return i;
  }

  void execute(operation& o) {
    const int r = o.ranks[0];
    const load& l = o.loads[0];
    const auto each = [&](auto&& f) {
      for (std::size_t i = 0; i != o.ranks.size(); ++i) f(i, o.ranks[i], o.loads[i]);
    };
    const bool joint =
        o.what == rendezvous || o.what == synchronise || o.what == broadcast || o.what == reduce || o.what == scan;
    whywait::base::vector<instant> begins;
    if (joint) {
      each([&](std::size_t, int rank, const load& x) { compute(rank, x); });
      each([&](std::size_t, int rank, const load&) { begins.push_back(at(rank)); });
    } else {
      compute(r, l);
    }
    const instant begin = at(r);
    switch (o.what) {
      case send: {
        const int c = call(r, begin, begin, l, 200);
        sent_[o.id] = {over_network(begin, 200 + latency_ + o.bytes), c};
        break;
      }
      case receive: {
        const sent_message& m = sent_[o.id];
        needs(call(r, begin, m.arrival, l, 300), m.call, m.arrival.t, message_cost_);
        break;
      }
      case rendezvous: {
        const instant match = later(begins[0], begins[1]);
        const int sender = call(o.ranks[0], begins[0], match, o.loads[0], latency_ + o.bytes);
        const int receiver = call(o.ranks[1], begins[1], match, o.loads[1], 2 * latency_ + o.bytes);
        together(entry::meet, {sender, receiver});
        break;
      }
      case isend:
      case irecv: {
        posted p;
        p.call = call(r, begin, begin, l, 100);
        p.at = begin;
        p.bytes = o.bytes;
        posted_[{o.id, o.what == isend}] = p;
        if (o.what == irecv) meet_postings(o.id);
        break;
      }
      case wait_send: {
        posted& p = posted_[{o.id, true}];
        if (!progress_) {
          const int j = junction();
          const int waiting = static_cast<int>(waits.size());  // the index of this call
          const instant handshake = p.over + latency_;
          const instant pushed = later(handshake, begin);
          const instant done = pushed + p.bytes;
          const int c = call(r, begin, done, l, 0);
          needs(j, p.junction, handshake.t);
          needs(j, waiting, begin.t);
          needs(c, j, done.t);
          p.junction = j;
          p.over = pushed;
          break;
        }
        const instant done = p.over + latency_ + p.bytes;
        needs(call(r, begin, done, l, 0), p.junction, done.t);
        break;
      }
      case wait_receive: {
        const posted& p = posted_[{o.id, true}];
        const instant done = p.over + (progress_ ? 2 : 1) * latency_ + p.bytes;
        needs(call(r, begin, done, l, 300), p.junction, done.t);
        break;
      }
      case waitall: {
        instant ready = begin;
        for (const int m : o.messages) ready = later(ready, sent_[m].arrival);
        const int c = call(r, begin, ready, l, 300);
        for (const int m : o.messages) needs(c, sent_[m].call, sent_[m].arrival.t, message_cost_);
        break;
      }
      case waitany: {
        if (measured_) {
          o.taken = o.messages[0];
          for (const int m : o.messages) {
            if (sent_[m].arrival.t < sent_[o.taken].arrival.t) o.taken = m;
          }
        }
        const sent_message& m = sent_[o.taken];
        const int c = call(r, begin, m.arrival, l, 300);
        needs(c, m.call, m.arrival.t, message_cost_);
        for (const int other : o.messages) {
          if (other != o.taken) decided(c, m.call, m.arrival, sent_[other].call, sent_[other].arrival);
        }
        break;
      }
      case synchronise: {
        instant last = begins[0];
        for (const instant& b : begins) last = later(last, b);
        whywait::base::vector<int> all;
        each([&](std::size_t i, int rank, const load& x) { all.push_back(call(rank, begins[i], last, x, 2000)); });
        together(entry::synchronise, all);
        break;
      }
      case broadcast:
      case reduce:
      case scan: {
        whywait::base::vector<int> all;
        each([&](std::size_t i, int rank, const load& x) {
          instant ready = begins[i];
          const auto one = [&](std::size_t j) { ready = later(ready, begins[j] + latency_); };
          for (std::size_t j = 0; j != o.ranks.size(); ++j) {
            if (j != i && needed(o.what, i, j)) one(j);
          }
          all.push_back(call(rank, begins[i], ready, x, 500));
        });
        for (std::size_t i = 0; i != all.size(); ++i) {
          for (std::size_t j = 0; j != all.size(); ++j) {
            if (j != i && needed(o.what, i, j)) needs(all[i], all[j], begins[j].t + latency_);
          }
        }
        break;
      }
      case start: {
        const int c = call(r, begin, begin, l, 100);
        auto& b = begun_[o.id];
        if (b.calls.empty()) b.last = begin;
        b.last = later(b.last, begin);
        b.calls.emplace_back(c, begin.t);
        break;
      }
      case finish: {
        auto& b = begun_[o.id];
        if (b.junction == 0) {
          b.junction = junction();
          for (const auto& s : b.calls) needs(b.junction, s.first, s.second);
        }
        const instant done = b.last + latency_;
        needs(call(r, begin, done, l, 100), b.junction, done.t);
        break;
      }
      case post:
      case give: sent_[o.id] = {begin + (o.what == post ? latency_ : 0), call(r, begin, begin, l, 200)}; break;
      case access:
      case take: {
        const sent_message m = sent_[o.id];
        needs(call(r, begin, m.arrival, l, 200), m.call, m.arrival.t);
        break;
      }
      case complete: {
        const int c = call(r, begin, begin, l, 200);
        sent_[o.id] = {calls.back().second + latency_, c};
        break;
      }
      case expose: {
        const sent_message m = sent_[o.id];
        needs(call(r, begin, m.arrival, l, 300), m.call, m.arrival.t, 0, true);
        break;
      }
      case lock: {
        const int c = call(r, begin, lock_holder_.call < 0 ? begin : lock_holder_.released, l, 0);
        if (lock_holder_.call >= 0) {
          needs(c, lock_holder_.call, lock_holder_.released.t);
          decided(c, lock_holder_.request_call, lock_holder_.request, c, begin);
        }
        lock_holder_.request = begin;
        lock_holder_.request_call = c;
        break;
      }
      case unlock:
        lock_holder_.call = call(r, begin, begin, l, 50);
        lock_holder_.released = begin;
        break;
    }
  }

  static bool needed(kind what, std::size_t i, std::size_t j) {
    return what == broadcast ? i != 0 && j == 0 : what == reduce ? i == 0 : j < i;
  }

  struct posted {
    int call = 0, junction = 0;
    instant at, over;
    ns bytes = 0;
  };
  void meet_postings(int id) {
    posted& s = posted_[{id, true}];
    const posted& q = posted_[{id, false}];
    const instant request = over_network(s.at, latency_);
    s.over = later(request, q.at);
    s.junction = junction();
    needs(s.junction, s.call, request.t, message_cost_);
    needs(s.junction, q.call, q.at.t);
  }
  struct beginning {
    whywait::base::vector<std::pair<int, ns>> calls;
    instant last;
    int junction = 0;
  };
  struct holder {
    int call = -1, request_call = -1;
    instant released, request;
  };

  std::mt19937_64 random_;
  int ranks_, ids_ = 0, junctions_ = 0;
  ns latency_ = 0, message_cost_ = 0;
  bool progress_ = true, measured_ = true;
  whywait::base::vector<operation> operations_, pending_;
  whywait::base::vector<load> ends_;
  whywait::base::vector<ns> measured_ends_;
  whywait::base::vector<instant> now_;
  whywait::base::vector<ns> before_;
  std::map<int, sent_message> sent_;
  std::map<std::pair<int, bool>, posted> posted_;
  std::map<int, beginning> begun_;
  holder lock_holder_;
};

}  // namespace delays

#endif
