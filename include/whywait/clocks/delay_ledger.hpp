#ifndef WHYWAIT_CLOCKS_DELAY_LEDGER_HPP
#define WHYWAIT_CLOCKS_DELAY_LEDGER_HPP

#include <whywait/base/vector.hpp>
#include <whywait/clocks/delay_rule.hpp>
#include <whywait/explain/explanation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The delays of a whole run, message by message: what the run would have been without the delays that measurement (or
/// anything else with a known cost) caused. Add the calls of every location in their order and the needs of each call,
/// then call `replay`:
///
///     delay_ledger<> books(2);
///     auto sent = books.call(0, 5600, 0, 1600);            // begins at 5600 ns, not blocked, 1600 ns overhead before
///     auto received = books.call(1, 2850, 3950, 850);      // blocked for 3950 ns
///     books.needs(received.end, sent.begin, 5600 + 1200);  // the message was there at 6800 ns
///     books.replay();
///     books.wait(received);                                // 3200 ns: the wait without the overhead
///
/// Every operation consists of calls and needs:
///   eager message, semaphore, notify, future, join, lock hand-over    receiver.end needs sender.begin
///   Waitall                                 its end needs each of the messages
///   Waitany, Waitsome                       its end needs the messages taken; `chosen` names the others
///   rendezvous, both blocking               `meet`
///   rendezvous, nonblocking                 m = junction needs both postings; each Wait's end needs m; without
///                                           progress p = junction needs m and the sender's Wait.begin, instead of m
///   barrier, NxN, fence                     `synchronise`
///   1xN, Start after Post                   each receiver's end needs the root's (the poster's) begin
///   Nx1, scan, Wait after Complete          the end needs each contributor's begin
///   nonblocking collective                  c = junction needs every start; each Wait's end needs c
/// Stamps are times in the receiver's clock. The only input of a blocked call needs none: its slack is 0, whatever the
/// stamps are. An input without a stamp changes nothing for a call that was not blocked, and the call is `bounded`.
///
/// `Delay`: std::int64_t (exact), delay_range (sound intervals), clock_bank<N> (several hypotheses). Not thread safe.
/// 16 bytes + 3 delays per event (2 per call), 24 bytes + 1 delay per need; O(calls + needs). Throws std::bad_alloc,
/// std::out_of_range, and std::logic_error if the calls need each other in a circle.
template <class Delay = std::int64_t>
class delay_ledger {
 public:
  using event = std::uint32_t;
  /// One call: the instant it began and the instant from which it was no longer blocked.
  struct handle {
    event begin = 0, end = 0;
  };
  static constexpr std::int64_t no_stamp = INT64_MIN;

  /// `least_wait_ns`: waits up to this are jitter, and their inputs are judged by their stamps (docs/method.md 4.6).
  explicit delay_ledger(std::size_t locations, std::int64_t least_wait_ns = 0)
      : last_(locations, nobody), ends_(locations), least_wait_ns_(least_wait_ns) {}

  /// Adds the next call of a location. `before`: overhead since the end of its previous call; `inside`: overhead within
  /// the call that is not part of the wait.
  handle call(std::size_t location, std::int64_t begin_ns, std::int64_t wait_ns, const Delay& before = Delay{},
              const Delay& inside = Delay{}) {
    const event begin = add(begin_ns, Delay{});
    if (last_.at(location) != nobody) link(begin, last_[location], 0, before, by_slack);
    else events_[begin].delay = before;
    const event end = add(begin_ns + wait_ns, inside);
    link(end, begin, wait_ns, Delay{}, own_path);
    last_[location] = end;
    executed_ = executed_ + before + inside;
    return {begin, end};
  }

  /// Adds an event outside the program order of any location: a match, the start of a transfer or of a nonblocking
  /// collective. It happens when the last of its needs is there.
  event junction() { return add(no_stamp, Delay{}); }

  /// Adds a need: `waiter` (the end of a call, or a junction) needed `causer`, which was there at `ready_ns`.
  void needs(event waiter, event causer, std::int64_t ready_ns, const Delay& cost = Delay{}) {
    link(waiter, causer, ready_ns, cost, ready_ns == no_stamp ? unknown : by_stamp);
  }
  /// Adds a need whose slack is known.
  void needs_within(event waiter, event causer, std::int64_t slack_ns, const Delay& cost = Delay{}) {
    link(waiter, causer, slack_ns, cost, by_slack);
  }

  /// Adds an operation that all calls left together: every slack is the call's own wait, so no clocks are needed.
  void synchronise(const handle* calls, std::size_t count) {
    const event all = junction();
    for (std::size_t i = 0; i != count; ++i) {
      needs_within(all, calls[i].begin, wait_of(calls[i]));
      needs_within(calls[i].end, all, 0);
    }
  }
  /// Adds a blocking rendezvous: the wait of each side is the slack of its path.
  void meet(const handle& sender, const handle& receiver) {
    const event match = junction();
    needs_within(match, sender.begin, wait_of(sender));
    needs_within(match, receiver.begin, wait_of(receiver));
    needs_within(sender.end, match, 0);
    needs_within(receiver.end, match, 0);
  }

  /// The program took `taken`, there at `taken_ns`, before `other`, there at `other_ns`. If their order is different
  /// without the delays, the call is `order_suspect` (docs/method.md 4.8).
  void chosen(const handle& call, event taken, std::int64_t taken_ns, event other, std::int64_t other_ns) {
    choices_.push_back({call.end, taken, other, taken_ns, other_ns});
  }
  /// Lowers the quality of a call for another reason, for example `hidden_tree`.
  void mark(const handle& call, explain::quality trust) { worsen(call.end, trust); }

  /// The location ended at `end_ns`, with this overhead since its last call.
  void close(std::size_t location, std::int64_t end_ns, const Delay& after = Delay{}) {
    executed_ = executed_ + after;
    ends_.at(location) = {end_ns, after};
  }

  /// Computes all delays. Call once, last.
  void replay() {
    base::vector<std::uint32_t> missing(events_.size(), 0), first(events_.size() + 1, 0), next(needs_.size());
    for (const need& n : needs_) {
      ++missing[n.to];
      ++first[n.from + 1];
    }
    for (std::size_t e = 0; e != events_.size(); ++e) first[e + 1] += first[e];
    base::vector<std::uint32_t> at(first.begin(), first.end() - 1);
    for (std::uint32_t i = 0; i != needs_.size(); ++i) next[at[needs_[i].from]++] = i;
    base::vector<event> ready;
    for (event e = 0; e != events_.size(); ++e) {
      if (missing[e] == 0) ready.push_back(e);
    }
    std::size_t evaluated = 0;
    while (!ready.empty()) {
      const event e = ready.back();
      ready.pop_back();
      evaluate(e);
      ++evaluated;
      for (std::uint32_t i = first[e]; i != first[e + 1]; ++i) {
        const event to = needs_[next[i]].to;
        if (--missing[to] == 0) ready.push_back(to);
      }
    }
    if (evaluated != events_.size()) throw std::logic_error("whywait-X006: the calls need each other in a circle");
    for (const choice& c : choices_) {
      // Possible inversions are suspect; equality is not one.
      const Delay taken = without(c.taken_ns, events_.at(c.taken).delay);
      const Delay other = without(c.other_ns, events_.at(c.other).delay);
      if (!same(excess(taken, other), Delay{})) {
        worsen(c.call, explain::quality::order_suspect);
        ++inversions_;
      }
    }
  }

  // The quality of a call, after `replay`.

  const Delay& delay(event e) const { return events_.at(e).delay; }
  /// The wait without the delays.
  const Delay& wait(const handle& call) const { return events_.at(call.end).waited; }
  explain::quality trust(const handle& call) const { return events_.at(call.end).trust; }
  std::int64_t inversions() const noexcept { return inversions_; }
  /// Overhead executed by all locations.
  const Delay& executed() const noexcept { return executed_; }
  /// Overhead on the measured critical path into an event: no delay is larger (docs/method.md 4.2).
  const Delay& bound(event e) const { return events_.at(e).bound; }

  Delay final_delay(std::size_t location) const {
    const Delay& after = ends_.at(location).after;
    return last_.at(location) == nobody ? after : events_[last_[location]].delay + after;
  }
  Delay final_bound(std::size_t location) const {
    const Delay& after = ends_.at(location).after;
    return last_.at(location) == nobody ? after : events_[last_[location]].bound + after;
  }
  /// The end of the last location without the delays.
  Delay total() const {
    Delay latest{};
    for (std::size_t l = 0; l != ends_.size(); ++l) {
      const Delay end = without(ends_[l].ns, final_delay(l));
      latest = l == 0 ? end : most(latest, end);
    }
    return latest;
  }

 private:
  enum kind_t : std::uint8_t { own_path, by_slack, by_stamp, unknown };
  static constexpr event nobody = 0xffffffffu;
  static constexpr std::uint32_t none = 0xffffffffu;

  struct need {
    event from, to;
    std::uint32_t next;  ///< the next need with the same `to`
    kind_t kind;
    std::int64_t ns;  ///< slack or stamp
    Delay cost;
  };
  struct entry {
    std::int64_t at_ns = 0;
    std::uint32_t needs = none;
    explain::quality trust = explain::quality::exact;
    Delay delay{}, bound{}, waited{};  ///< delay: the event's own share until it is evaluated
  };
  struct choice {
    event call, taken, other;
    std::int64_t taken_ns, other_ns;
  };
  struct last_instant {
    std::int64_t ns = 0;
    Delay after{};
  };

  static bool same(std::int64_t a, std::int64_t b) noexcept { return a == b; }
  static bool same(delay_range a, delay_range b) noexcept { return a.lo == b.lo && a.hi == b.hi; }
  template <std::size_t N>
  static bool same(const clock_bank<N>& a, const clock_bank<N>& b) noexcept {
    return a.clock == b.clock;
  }

  event add(std::int64_t at_ns, const Delay& inside) {
    entry e;
    e.at_ns = at_ns;
    e.delay = inside;
    events_.push_back(e);
    return static_cast<event>(events_.size() - 1);
  }
  void link(event to, event from, std::int64_t ns, const Delay& cost, kind_t kind) {
    if (from >= events_.size()) throw std::out_of_range("whywait-X007: no such event");
    need n{from, to, events_.at(to).needs, kind, ns, cost};
    events_[to].needs = static_cast<std::uint32_t>(needs_.size());
    needs_.push_back(n);
  }
  std::int64_t wait_of(const handle& call) const { return events_.at(call.end).at_ns - events_.at(call.begin).at_ns; }
  void worsen(event e, explain::quality trust) { events_.at(e).trust = std::max(events_[e].trust, trust); }

  void evaluate(event number) {
    entry& e = events_[number];
    std::int64_t at_ns = e.at_ns, wait_ns = 0;
    const need* own = nullptr;
    std::size_t remote = 0;
    for (std::uint32_t i = e.needs; i != none; i = needs_[i].next) {
      const need& n = needs_[i];
      if (n.kind == own_path) {
        own = &n;
        wait_ns = n.ns;
      } else {
        ++remote;
        if (e.at_ns == no_stamp && n.kind == by_stamp) at_ns = std::max(at_ns, n.ns);
      }
    }
    if (e.needs == none) {
      e.bound = e.delay;
      return;
    }
    const Delay inside = e.delay;
    const bool sole = own != nullptr && remote == 1 && wait_ns > least_wait_ns_;
    // A junction has no path of its own, so it gets one that never matters.
    delay_rule<Delay> rule(own != nullptr ? events_[own->from].delay : Delay{} + never_ns, wait_ns);
    Delay bound{};
    bool bounded = false;
    const auto ends_at = [&](const Delay& b) {
      bound = bounded ? least(bound, b) : b;
      bounded = true;
    };
    if (own != nullptr && wait_ns == 0) ends_at(events_[own->from].bound);
    for (std::uint32_t i = e.needs; i != none; i = needs_[i].next) {
      const need& n = needs_[i];
      if (n.kind == own_path) continue;
      const entry& from = events_[n.from];
      if (n.kind == unknown && !sole) {
        rule.input_unknown(from.delay + n.cost);
        if (wait_ns <= least_wait_ns_ || remote > 1) e.trust = std::max(e.trust, explain::quality::bounded);
        continue;
      }
      const std::int64_t slack = sole && n.kind != by_slack ? 0 : n.kind == by_slack ? n.ns : at_ns - n.ns;
      rule.input(from.delay, slack, n.cost);
      if (slack <= 0) ends_at(from.bound + n.cost);
    }
    if (!bounded && own != nullptr) bound = events_[own->from].bound + wait_ns;  // no input explains the wait
    e.delay = rule.delay() + inside;
    e.bound = bound + inside;
    if (own != nullptr) e.waited = rule.wait();
  }

  base::vector<entry> events_;
  base::vector<need> needs_;
  base::vector<choice> choices_;
  base::vector<event> last_;
  base::vector<last_instant> ends_;
  std::int64_t least_wait_ns_, inversions_ = 0;
  Delay executed_{};
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
