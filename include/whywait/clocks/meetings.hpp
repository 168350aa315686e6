#ifndef WHYWAIT_CLOCKS_MEETINGS_HPP
#define WHYWAIT_CLOCKS_MEETINGS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/clock_stamp.hpp>
#include <whywait/explain/collectives.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// The collective operations of which this rank is the home, for the virtual clocks. Every member of such a meeting
/// needs a beginning of one list of contributors: all of them (barrier, NxN), those of lower rank (scan), or those that
/// came before it left (NxN that did not synchronise). One running maximum therefore serves all members. A member that
/// needs only one other, or is the only one with needs, receives the stamps directly (broadcast, reduction, sparse
/// exchange); so do members of which there are few, because that takes one message less in a row. Memory: 12 bytes per meeting
/// and 16 per participant with needs; the stamps of a meeting while it is open. Not thread safe.
class meeting_book {
 public:
  /// `memory`: the pool of the run; borrowed.
  meeting_book(std::int32_t own_rank, base::memory_pool& memory)
      : own_rank_(own_rank), order_(memory), meetings_(memory), waiters_(memory), instructions_(memory) {}

  /// Plans one complete instance, sorted by rank: which contributor sends its stamp where, and which waiters receive
  /// one. `waiting`: the participants in the calls in which they waited, usually `all`.
  void plan(const explain::participant* all, const explain::participant* waiting, std::size_t count,
            const base::pod_vector<std::int32_t>& needs) {
    using core::call_role;
    if (count < 2) return;
    waiting_ = waiting;
    const call_role role = core::meeting_role_of(all[0].call);
    const bool later = core::initiates(all[0].call);  // nothing holds the members together
    bool overlap = !later, sparse = false, data = false, dense = true;
    std::int64_t latest = all[0].enter_ns;
    for (std::size_t i = 0; i != count; ++i) {
      if ((all[i].flags & core::sync_flag::failed) != 0 || core::meeting_role_of(all[i].call) != role) return;
      latest = std::max(latest, all[i].enter_ns);
      sparse = sparse || has(all[i], core::sync_flag::sparse);
      data = data || has(all[i], core::sync_flag::contributes) || has(all[i], core::sync_flag::sparse);
      dense = dense && has(all[i], core::sync_flag::contributes) && has(all[i], core::sync_flag::consumes);
    }
    for (std::size_t i = 0; i != count; ++i) overlap = overlap && all[i].leave_ns >= latest;
    base::pod_vector<std::uint32_t>& order = order_;  // contributors
    order.clear();
    const auto all_contribute = [&] {
      for (std::uint32_t i = 0; i != count; ++i) order.push_back(i);
    };
    const auto direct = [&](std::size_t from, std::size_t to) { add_direct(all[from], waiting[to]); };
    if (role == call_role::file_all || role == call_role::file_in_turn || role == call_role::connect) {
      const explain::file_order held = explain::order_of_file(all, waiting, count);
      if (held == explain::file_order::none) return;
      all_contribute();
      const bool in_turn = held == explain::file_order::in_turn;
      return add_meeting(all, count, order, in_turn, in_turn);
    }
    const bool if_together =
        role == call_role::fence || role == call_role::create || role == call_role::release || role == call_role::agree;
    if (if_together && (overlap || later)) {
      all_contribute();
      return add_meeting(all, count, order, false, false);
    }
    if (all[0].inter != 0 && role != call_role::create && role != call_role::release) {
      const bool together = overlap && dense && !sparse && role != call_role::one_to_all && role != call_role::all_to_one;
      if (together) {
        all_contribute();
        return add_meeting(all, count, order, false, false);
      }
      for (const bool first : {true, false}) {  // the group that sends
        order.clear();
        for (std::uint32_t i = 0; i != count; ++i) {
          if (in_first(all[i]) == first && has(all[i], core::sync_flag::contributes)) order.push_back(i);
        }
        add_meeting(all, count, order, false, true, first ? 1 : 0);
      }
      return add_sparse(all, count, needs);
    }
    switch (role) {
      case call_role::barrier:
      case call_role::finalise: all_contribute(); return add_meeting(all, count, order, false, false);
      case call_role::all_to_all: {
        if (!data) return;
        const bool together = overlap && !sparse;
        for (std::uint32_t i = 0; i != count; ++i) {
          if (together || has(all[i], core::sync_flag::contributes)) order.push_back(i);
        }
        add_meeting(all, count, order, false, !together);
        return add_sparse(all, count, needs);
      }
      case call_role::one_to_all: {
        const std::size_t root = member(all, count, all[0].root);
        if (root == count) return;
        for (std::size_t i = 0; i != count; ++i) {
          if (has(all[i], core::sync_flag::consumes)) direct(root, i);
        }
        return;
      }
      case call_role::all_to_one: {
        const std::size_t root = member(all, count, all[0].root);
        if (root == count) return;
        for (std::size_t i = 0; i != count; ++i) {
          if (has(all[i], core::sync_flag::contributes)) direct(i, root);
        }
        return;
      }
      case call_role::scan:
        for (std::uint32_t i = 0; i != count; ++i) {
          if (has(all[i], core::sync_flag::contributes)) order.push_back(i);
        }
        return add_meeting(all, count, order, true, true);
      default: return;
    }
  }

  /// Plans the needs of members that waited for a relay.
  void plan_relays(const explain::participant* waiting, const base::pod_vector<explain::relay_wait>& relays) {
    for (const explain::relay_wait& r : relays) {
      const explain::participant& held = waiting[r.waiter];
      add_need(held);
      instructions_.push_back(
          {r.causer_rank, r.causer_location, true,
           clock_give{r.causer_record, held.world, held.record, static_cast<std::uint32_t>(held.location)}});
    }
  }

  /// Sends what was planned since the last call.
  template <class Outbox>
  void send_needs(Outbox&& to) {
    for (const instruction& i : instructions_) {
      base::packet& out = to(i.world);
      if (i.gives) {
        put(out, base::packet_part::give);
        put(out, i.location);
        put(out, i.give);
      } else {
        put(out, base::packet_part::need);
        put(out, i.location);
        put(out, i.give.record);
      }
    }
    instructions_.release();
  }

  /// Resets all meetings; call before every pass.
  void begin_pass() { left_ = meetings_.size(); }

  /// The stamp that a waiter was stuck for.
  struct reply {
    std::int32_t rank;
    std::uint32_t record, location;
    clock_stamp stamp;
  };

  /// Receives the stamp of a contributor, with `clocks` hypotheses. Appends to `replies` the waiters that can continue.
  void receive_stamp(std::uint32_t number, std::uint32_t place, const clock_stamp& stamp, std::size_t clocks,
                     base::pod_vector<reply>& replies) {
    if (number >= meetings_.size() || place >= meetings_[number].contributors) base::truncated();
    meeting& m = meetings_[number];
    if (m.open == nothing) begin(m);
    open_meeting& o = open_[m.open];
    if (place == o.passed) {
      o.latest.join(stamp, clocks);
      pass(m, o, replies);
    } else {
      if (o.stamps.empty()) {
        o.stamps.resize(m.contributors);
        o.given.resize(m.contributors, 0);
      }
      o.stamps[place] = stamp;
      o.given[place] = 1;
    }
    while (o.passed < o.given.size() && o.given[o.passed] != 0) {
      o.latest.join(o.stamps[o.passed], clocks);
      pass(m, o, replies);
    }
    if (o.passed != m.contributors) return;
    free_.push_back(m.open);
    m.open = nothing;
    --left_;
  }

  /// Whether all expected stamps have been received.
  bool quiet() const noexcept { return left_ == 0; }

 private:
  static constexpr std::uint32_t nothing = 0xffffffffu;
  static constexpr std::size_t few = 3;  // members that send their stamps to each other

  struct waiter {
    std::uint32_t first_n;  ///< needs the first n contributors
    std::int32_t rank;
    std::uint32_t record, location;
  };
  struct meeting {
    std::uint32_t first_waiter;  ///< in waiters_; sorted by first_n
    std::uint32_t contributors;
    std::uint32_t open;  ///< in open_, while some of their stamps are known
  };
  struct open_meeting {
    std::uint32_t passed = 0;    ///< contributors that are joined in `latest`
    std::uint32_t released = 0;  ///< the next waiter
    clock_stamp latest;
    base::pod_vector<clock_stamp> stamps;  ///< of others, if any
    base::pod_vector<char> given;
  };

  void begin(meeting& m) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(open_.size()));
      open_.emplace_back();
    }
    m.open = free_.back();
    free_.pop_back();
    open_meeting& o = open_[m.open];
    o.passed = 0;
    o.released = m.first_waiter;
    o.latest = clock_stamp::never();
    o.stamps.clear();
    o.given.clear();
  }
  // One contributor more is joined: answers the waiters that need no other.
  void pass(const meeting& m, open_meeting& o, base::pod_vector<reply>& replies) {
    ++o.passed;
    const std::size_t next = static_cast<std::size_t>(&m - meetings_.data()) + 1;
    const std::size_t end = next != meetings_.size() ? meetings_[next].first_waiter : waiters_.size();
    for (; o.released != end && waiters_[o.released].first_n == o.passed; ++o.released) {
      const waiter& w = waiters_[o.released];
      replies.push_back({w.rank, w.record, w.location, o.latest});
    }
  }

  struct instruction {
    std::int32_t world;
    std::uint16_t location;
    bool gives;
    clock_give give;
  };

  void add_give(const explain::participant& p, const clock_give& g) { instructions_.push_back({p.world, p.location, true, g}); }
  void add_need(const explain::participant& p) { instructions_.push_back({p.world, p.location, false, {p.record, 0, 0, 0}}); }

  static bool has(const explain::participant& p, unsigned flag) noexcept { return (p.flags & flag) != 0; }
  static std::size_t member(const explain::participant* all, std::size_t count, std::int32_t rank) noexcept {
    const explain::participant* at =
        std::lower_bound(all, all + count, rank, [](const explain::participant& p, std::int32_t r) { return p.rank < r; });
    return at != all + count && at->rank == rank ? static_cast<std::size_t>(at - all) : count;
  }

  static bool in_first(const explain::participant& p) noexcept { return p.rank < p.root; }  // of two groups

  void add_direct(const explain::participant& from, const explain::participant& to) {
    if (from.rank == to.rank || to.location == nowhere || from.enter_ns > to.leave_ns) return;  // the clocks disagree
    add_stamp(from, to);
  }
  // The stamp of one participant goes to another one.
  void add_stamp(const explain::participant& from, const explain::participant& to) {
    add_need(to);
    add_give(from, clock_give{from.record, to.world, to.record, static_cast<std::uint32_t>(to.location)});
  }
  void add_sparse(const explain::participant* all, std::size_t count, const base::pod_vector<std::int32_t>& needs) {
    for (std::size_t i = 0; i != count; ++i) {
      if (!has(all[i], core::sync_flag::sparse)) continue;
      for (std::uint32_t k = 0; k != all[i].needs_count; ++k) {
        const std::size_t q = member(all, count, needs[all[i].needs_first + k]);
        if (q != count) add_direct(all[q], waiting_[i]);
      }
    }
  }

  // `by_rank`: a scan. `consumers_only`: members that receive no data need nothing. `not_in`: members of the first (1) or the
  // second group (0) need nothing.
  void add_meeting(const explain::participant* all, std::size_t count, base::pod_vector<std::uint32_t>& order, bool by_rank,
                   bool consumers_only, int not_in = -1) {
    if (order.empty()) return;
    if (!by_rank) {
      base::sort_short(order, [all](std::uint32_t a, std::uint32_t b) { return all[a].enter_ns < all[b].enter_ns; });
    }
    const std::size_t first_waiter = waiters_.size();
    std::uint32_t most = 0, lower = 0;
    std::int64_t latest_ns = INT64_MIN;
    for (std::uint32_t i = 0; i != count; ++i) {
      std::uint32_t first_n = 0;
      if (by_rank) {
        for (; lower != order.size() && order[lower] < i; ++lower) {
          latest_ns = std::max(latest_ns, all[order[lower]].enter_ns);
        }
        first_n = latest_ns > waiting_[i].leave_ns ? 0 : lower;  // 0: the clocks disagree about one of them
      } else {
        const auto end = std::upper_bound(order.begin(), order.end(), waiting_[i].leave_ns,
                                          [all](std::int64_t t, std::uint32_t q) { return t < all[q].enter_ns; });
        first_n = static_cast<std::uint32_t>(end - order.begin());
      }
      if (consumers_only && (!has(all[i], core::sync_flag::consumes) || has(all[i], core::sync_flag::sparse))) continue;
      if (first_n == 0 || waiting_[i].location == nowhere || (not_in >= 0 && in_first(all[i]) == (not_in == 1))) continue;
      if (count <= few) {
        // Its own stamp changes nothing for a member that is blocked in the same call.
        const bool needs_own = waiting_ != all || first_n == 1;
        for (std::uint32_t k = 0; k != first_n; ++k) {
          if (needs_own || order[k] != i) add_stamp(all[order[k]], waiting_[i]);
        }
        continue;
      }
      waiters_.push_back({first_n, waiting_[i].world, waiting_[i].record, waiting_[i].location});
      most = std::max(most, first_n);
      add_need(waiting_[i]);
    }
    if (most == 0) return;
    for (std::uint32_t k = 0; k != most; ++k) {
      const explain::participant& p = all[order[k]];
      add_give(p, clock_give{p.record, own_rank_, static_cast<std::uint32_t>(meetings_.size()), k | clock_give::to_meeting});
    }
    base::sort_short(waiters_.data() + first_waiter, waiters_.size() - first_waiter,
                     [](const waiter& a, const waiter& b) { return a.first_n < b.first_n; });
    meetings_.push_back({static_cast<std::uint32_t>(first_waiter), most, nothing});
  }

  static constexpr std::uint16_t nowhere = 0xffffu;  // location of a call that was never recorded

  std::int32_t own_rank_;
  const explain::participant* waiting_ = nullptr;  // of the instance at hand
  base::pod_vector<std::uint32_t> order_;
  base::pod_vector<meeting> meetings_;
  base::pod_vector<waiter> waiters_;
  base::vector<open_meeting> open_;
  base::pod_vector<std::uint32_t> free_;  // in open_
  base::pod_vector<instruction> instructions_;
  std::size_t left_ = 0;  ///< meetings whose stamps have not all been received
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
