#ifndef WHYWAIT_TESTS_UNIT_EXPLAIN_THREAD_SIMULATION_HPP
#define WHYWAIT_TESTS_UNIT_EXPLAIN_THREAD_SIMULATION_HPP

#include <whywait/core/thread_record.hpp>
#include <whywait/explain/thread_book.hpp>
#include <whywait/explain/thread_ranks.hpp>

#include "histories.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

// Threads of one process that wait for each other, in virtual time. The simulation keeps the causal path of each thread by
// definition (docs/method.md 1.5, 1.6), and so knows what every wait is explained by; beside that it leaves the records that the
// thread room leaves: those of waits, of what ends them, and where the holder of a lock was when a thread began to wait.
namespace thread_simulation {

using namespace histories;
using ns = std::int64_t;
using profile = std::map<std::string, ns>;

struct op {
  enum kind { compute, lock, unlock, meet, set, await, post, acquire, wait_notified, notify_one, notify_all } what;
  int object = 0;
  ns length = 0;
  std::string block = {};
};
using program = std::vector<op>;

/// One part of a wait, as it is by definition.
struct true_part {
  int thread, causer;
  ns begin, length;
  bool of_lock;
  std::optional<profile> explained;  ///< none: the holder waited itself when the part began
};

class simulation {
 public:
  /// `hand_over`: how long a waiter takes to wake up.
  simulation(std::vector<program> programs, int members, ns hand_over)
      : programs_(std::move(programs)), members_(members), hand_over_(hand_over), threads_(programs_.size()) {
    for (std::size_t t = 0; t != threads_.size(); ++t) data_.locations.emplace_back();
    data_.locations.pop_back();  // rank_data has one
    cuts_.resize(threads_.size());
    cut_steps_.resize(threads_.size());
  }

  /// False: the threads wait for each other in a circle.
  bool run() {
    for (;;) {
      int next = -1;
      for (int t = 0; t != count(); ++t)
        if (!at(t).blocked && !at(t).done && (next < 0 || at(t).time < at(next).time)) next = t;
      if (next < 0) break;
      step(next);
    }
    for (const thread& t : threads_)
      if (!t.done) return false;
    for (const thread& t : threads_) data_.end_ns = std::max(data_.end_ns, t.time);
    return true;
  }

  /// The records as the engine reads them; *this must keep its address.
  core::rank_history history() {
    core::rank_history h = data_.view(1);
    for (std::size_t l = 0; l != h.locations.size(); ++l) {
      cut_chunks_.push_back(cuts_[l].data());
      step_chunks_.push_back(cut_steps_[l].data());
    }
    for (std::size_t l = 0; l != h.locations.size(); ++l) {
      h.locations[l].cuts = {&cut_chunks_[l], 63, cuts_[l].size()};
      h.locations[l].cut_steps = {&step_chunks_[l], 63, cut_steps_[l].size()};
    }
    return h;
  }

  std::vector<true_part> truth;
  profile path_of(int t) const { return threads_[static_cast<std::size_t>(t)].path; }

 private:
  struct thread {
    ns time = 0;
    std::size_t next = 0;
    bool blocked = false, done = false, computing = false;
    ns from = 0;  ///< of the computation, or of the wait
    std::string block;
    profile path;
    std::vector<core::path_step> open;  ///< the steps since its last record
    int object = 0;  ///< what it waits for
    std::uint64_t notified = 0;  ///< instant, of await_notify
    bool woken = false;
  };
  struct lock_state {
    int holder = -1;
    ns free_since = 0;
    std::deque<int> waiters;
    std::uint64_t last = 0;
    std::optional<std::uint32_t> taken;  ///< record with which the holder took it
    ns taken_at = 0;
    profile path_when_taken;
    ns granted_to_next = -1;
    struct hold {
      int holder;
      ns begin, end;
      profile at_begin, at_end;
    };
    std::vector<hold> holds;
  };
  struct event_state {
    bool set = false;
    int by = -1;
    std::uint64_t cause = 0;
    profile path;
    ns when = 0;
    int tokens = 0;
    std::deque<int> waiters;
  };
  struct meeting {
    int come = 0;
    std::vector<int> waiters;
    std::uint32_t phase = 0;
  };

  int count() const { return static_cast<int>(threads_.size()); }
  thread& at(int t) { return threads_[static_cast<std::size_t>(t)]; }
  core::path_step& open_step(thread& t, const std::string& block) {
    const std::uint32_t number = data_.number(block);
    for (core::path_step& s : t.open)
      if (s.block == number) return s;
    t.open.push_back({number, 0, 0, 0, 0});
    return t.open.back();
  }
  void spend(thread& t, const std::string& block, ns length) {
    t.path[block] += length;
    core::path_step& s = open_step(t, block);
    ++s.visits;
    s.ticks += static_cast<std::uint64_t>(length);
  }
  static void add(profile& to, const std::string& block, ns length) { to[block] += length; }

  // Ends the segment of a thread.
  void close(int t) {
    for (const core::path_step& s : at(t).open) data_.locations[static_cast<std::size_t>(t)].steps.push_back(s);
    at(t).open.clear();
  }
  core::sync_record& record(int t, mpi_call what, ns begin, ns leave, int object) {
    close(t);
    core::sync_record& r =
        data_.call(what, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(leave), "", static_cast<std::size_t>(t));
    r.posting = 0;
    r.bytes = static_cast<std::uint64_t>(object) + 1000;
    return r;
  }
  std::uint32_t next_record(int t) const {
    return static_cast<std::uint32_t>(data_.locations[static_cast<std::size_t>(t)].records.size());
  }
  std::uint64_t next_name(int t) const { return core::record_name::pack(next_record(t), static_cast<std::uint32_t>(t), 0); }
  static void caused_by(core::sync_record& r, std::uint64_t name) {
    if (name == 0) return;
    const core::record_name n = core::record_name::unpack(name);
    r.completion = n.record;
    r.completed_by = n.location;
    r.flags = static_cast<std::uint16_t>(r.flags | core::thread_flag::caused);
  }
  /// The path of a thread at an instant up to which it has computed.
  profile path_at(int t, ns now) {
    thread& x = at(t);
    profile p = x.path;
    if (x.computing && now > x.from) p[x.block] += std::min(now, x.time) - x.from;
    return p;
  }
  static profile minus(const profile& a, const profile& b) {
    profile d = a;
    for (const auto& [block, length] : b) d[block] -= length;
    for (auto i = d.begin(); i != d.end();) i = i->second == 0 ? d.erase(i) : std::next(i);
    return d;
  }

  void look_at(int waiter, int holder, ns now) {
    thread& h = at(holder);
    core::thread_cut c{};
    c.ticks = static_cast<std::uint64_t>(now);
    c.waiter = next_record(waiter);
    c.record = next_record(holder);
    c.segment = static_cast<std::uint32_t>(data_.locations[static_cast<std::size_t>(holder)].steps.size());
    c.location = static_cast<std::uint16_t>(holder);
    c.whole = 1;
    std::vector<core::path_step> seen = h.open;
    if (h.computing && now > h.from) {
      core::path_step more{data_.number(h.block), 0, 1, static_cast<std::uint64_t>(std::min(now, h.time) - h.from), 0};
      bool known = false;
      for (core::path_step& s : seen)
        if (s.block == more.block) s.ticks += more.ticks, ++s.visits, known = true;
      if (!known) seen.push_back(more);
    }
    c.steps = static_cast<std::uint32_t>(seen.size());
    const auto w = static_cast<std::size_t>(waiter);
    for (const core::path_step& s : seen) cut_steps_[w].push_back(s);
    cuts_[w].push_back(c);
  }

  void step(int t) {
    thread& x = at(t);
    if (x.computing) {
      x.computing = false;
      spend(x, x.block, x.time - x.from);
    }
    if (x.woken) return retry(t);
    if (x.next == programs_[static_cast<std::size_t>(t)].size()) {
      x.done = true;
      close(t);
      return;
    }
    const op& o = programs_[static_cast<std::size_t>(t)][x.next++];
    switch (o.what) {
      case op::compute:
        x.computing = true;
        x.from = x.time;
        x.time += o.length;
        x.block = o.block;
        return;
      case op::lock: return begin_lock(t, o.object);
      case op::unlock: return release(t, o.object, mpi_call::mutex_unlock);
      case op::meet: return meet(t, o.object);
      case op::set: {
        event_state& e = events_[o.object];
        e = {true, t, e.waiters.empty() ? 0 : next_name(t), path_at(t, x.time), x.time, 0, e.waiters};
        if (!e.waiters.empty()) record(t, mpi_call::promise_set, x.time, x.time, o.object);
        for (int w : e.waiters) end_wait(w, mpi_call::future_wait, o.object, e.cause, t, e.path, x.time);
        e.waiters.clear();
        return;
      }
      case op::await: {
        event_state& e = events_[o.object];
        if (!e.set) block(t, o.object), e.waiters.push_back(t);
        return;
      }
      case op::post: {
        event_state& s = events_[o.object + 500];
        if (s.waiters.empty()) {
          ++s.tokens;
          return;
        }
        const std::uint64_t name = next_name(t);
        record(t, mpi_call::semaphore_release, x.time, x.time, o.object + 500);
        const int w = s.waiters.front();
        s.waiters.pop_front();
        end_wait(w, mpi_call::semaphore_acquire, o.object + 500, name, t, path_at(t, x.time), x.time);
        return;
      }
      case op::acquire: {
        event_state& s = events_[o.object + 500];
        if (s.tokens > 0) --s.tokens;
        else block(t, o.object + 500), s.waiters.push_back(t);
        return;
      }
      case op::wait_notified: {
        release(t, o.object, mpi_call::mutex_unlock);
        block(t, o.object);
        conditions_[o.object].push_back(t);
        return;
      }
      case op::notify_one:
      case op::notify_all: {
        std::deque<int>& waiting = conditions_[o.object];
        if (waiting.empty()) return;
        record(t, o.what == op::notify_all ? mpi_call::condition_notify_all : mpi_call::condition_notify_one, x.time, x.time,
               o.object + 200);
        do {
          const int w = waiting.front();
          waiting.pop_front();
          add_truth(w, t, at(w).from, x.time, false, minus(path_at(t, x.time), at(w).path));
          at(w).path = path_at(t, x.time);
          at(w).notified = static_cast<std::uint64_t>(x.time);
          see_holder(o.object, x.time);
          want(w, o.object, x.time);
        } while (o.what == op::notify_all && !waiting.empty());
        return;
      }
    }
  }

  void block(int t, int object) {
    at(t).blocked = true;
    at(t).from = at(t).time;
    at(t).object = object;
  }
  void add_truth(int waiter, int causer, ns begin, ns end, bool of_lock, std::optional<profile> what) {
    if (end > begin) truth.push_back({waiter, causer, begin, end - begin, of_lock, std::move(what)});
  }
  // A wait that ends with one event.
  void end_wait(int w, mpi_call what, int object, std::uint64_t cause, int by, const profile& path, ns now, int phase = -1) {
    thread& x = at(w);
    add_truth(w, by, x.from, now, false, minus(path, x.path));
    x.path = path;
    wake(w, what, object, cause, now, phase);
  }
  void wake(int w, mpi_call what, int object, std::uint64_t cause, ns now, int phase) {
    thread& x = at(w);
    x.time = now + hand_over_;
    core::sync_record& r = record(w, what, x.from, x.time, object);
    r.tag = phase;
    caused_by(r, cause);
    add(x.path, "(handed over)", hand_over_);
    x.blocked = false;
  }

  // --- Locks
  void begin_lock(int t, int object) {
    lock_state& l = locks_[object];
    thread& x = at(t);
    if (l.holder >= 0) {
      look_at(t, l.holder, x.time);
      see_holder(object, x.time);
      block(t, object);
      want(t, object, x.time);
      return;
    }
    took(t, object, l.waiters.empty() ? std::optional<std::uint32_t>() : std::optional<std::uint32_t>(next_record(t)));
    if (!l.waiters.empty()) record(t, mpi_call::mutex_lock, x.time, x.time, object);  // before others
  }
  void took(int t, int object, std::optional<std::uint32_t> with) {
    lock_state& l = locks_[object];
    l.holder = t;
    l.taken = with;
    l.taken_at = at(t).time;
    l.path_when_taken = at(t).path;
  }
  // From now on a thread wants a lock.
  void want(int w, int object, ns) {
    lock_state& l = locks_[object];
    l.waiters.push_back(w);
    if (l.holder < 0) wake_first(object, std::max(l.free_since, at(w).notified != 0 ? static_cast<ns>(at(w).notified) : ns(0)));
  }
  void wake_first(int object, ns now) {
    lock_state& l = locks_[object];
    if (l.waiters.empty()) return;
    thread& x = at(l.waiters.front());
    if (x.woken) return;
    x.woken = true;
    x.blocked = false;
    x.time = now + hand_over_;
  }
  // A woken thread tries to take the lock.
  void retry(int t) {
    thread& x = at(t);
    lock_state& l = locks_[x.object];
    x.woken = false;
    if (l.holder >= 0) {  // another one was faster
      x.blocked = true;
      return;
    }
    l.waiters.pop_front();
    const bool notified = x.notified != 0;
    const ns begin = notified ? static_cast<ns>(x.notified) : x.from;
    // The holders during the wait, by definition.
    ns now = begin;
    for (const lock_state::hold& h : l.holds) {
      if (h.end <= begin || h.holder == t) continue;
      const ns from = std::max(begin, h.begin);
      std::optional<profile> what;
      if (from == h.begin) what = minus(h.at_end, h.at_begin);
      else what = path_since(h, from);
      add_truth(t, h.holder, from, h.end, true, what);
      x.path = h.at_end;
      now = h.end;
    }
    add(x.path, "(handed over)", x.time - std::max(now, begin));
    const std::uint32_t number = next_record(t);
    core::sync_record& r = notified ? record(t, mpi_call::condition_wait, x.from, x.time, x.object + 200)
                                    : record(t, mpi_call::mutex_lock, x.from, x.time, x.object);
    caused_by(r, l.last);
    x.notified = 0;
    took(t, x.object, number);
  }
  // What a holder ran from an instant to the end of its hold; none if it waited then.
  std::optional<profile> path_since(const lock_state::hold& h, ns from) {
    for (const auto& [holder, instant, path] : seen_)
      if (holder == h.holder && instant == from) return minus(h.at_end, path);
    return std::nullopt;
  }
  void release(int t, int object, mpi_call what) {
    lock_state& l = locks_[object];
    thread& x = at(t);
    l.holds.push_back({t, l.taken_at, x.time, l.path_when_taken, path_at(t, x.time)});
    if (!l.waiters.empty()) {
      const std::uint64_t name = next_name(t);
      const std::uint32_t number = next_record(t);
      core::sync_record& r = record(t, what, x.time, x.time, object);
      caused_by(r, l.last);
      if (l.taken) r.peer = static_cast<std::int32_t>(number - *l.taken);
      l.last = name;
    }
    l.holder = -1;
    l.free_since = x.time;
    wake_first(object, x.time);
  }

  void meet(int t, int object) {
    meeting& m = meetings_[object];
    thread& x = at(t);
    if (++m.come != members_) {
      block(t, object);
      m.waiters.push_back(t);
      return;
    }
    const std::uint64_t name = next_name(t);
    core::sync_record& r = record(t, mpi_call::barrier_wait, x.time, x.time, object);
    r.tag = static_cast<std::int32_t>(m.phase);
    const profile path = path_at(t, x.time);
    for (int w : m.waiters) end_wait(w, mpi_call::barrier_wait, object, name, t, path, x.time, static_cast<int>(m.phase));
    m.waiters.clear();
    m.come = 0;
    ++m.phase;
  }

  /// Remembers where the holder of a lock is when another thread begins to want it.
  void see_holder(int object, ns now) {
    const int holder = locks_[object].holder;
    if (holder >= 0 && !at(holder).blocked && !at(holder).woken) seen_.push_back({holder, now, path_at(holder, now)});
  }

  struct seen_path {
    int thread;
    ns instant;
    profile path;
  };
  std::vector<program> programs_;
  int members_;
  ns hand_over_;
  std::vector<thread> threads_;
  rank_data data_{0, 1};
  std::vector<std::vector<core::thread_cut>> cuts_;
  std::vector<std::vector<core::path_step>> cut_steps_;
  std::deque<const core::thread_cut*> cut_chunks_;
  std::deque<const core::path_step*> step_chunks_;
  std::map<int, lock_state> locks_;
  std::map<int, event_state> events_;
  std::map<int, meeting> meetings_;
  std::map<int, std::deque<int>> conditions_;
  std::vector<seen_path> seen_;
};

}  // namespace thread_simulation

#endif
