#ifndef WHYWAIT_EXPLAIN_COLLECTIVES_HPP
#define WHYWAIT_EXPLAIN_COLLECTIVES_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/participant.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Decides which participant each participant of one collective needed last (docs/method.md 1.2). `all` is one
/// instance, sorted by rank; results are passed to answer(participant, arrival). O(n log n), sparse collectives plus
/// their needs.
///
/// Libraries pass data on through other members, along trees that depend on the library, the size and the number of ranks.
/// A member that stays blocked although all that it needs by definition has arrived waits for such a relay: it returns
/// soon after the relay has entered. So the cause is the last member that entered before the return, and what follows is
/// transfer (docs/method.md 1.9). Where members only initiate, any entry into MPI moves the operation on. Such a wait has `arrival_flag::relay` and follows the other wait of the call, if any.
class collective_rule {
 public:
  using entry_list = base::pod_vector<const participant*>;

  /// `waiting`: of initiations the participants in the calls in which they waited, and behind them in their other entries
  /// into MPI, `entries` in all; else `all`. `room`: buffer.
  collective_rule(const participant* all, const participant* waiting, std::size_t count, std::size_t entries,
                  const base::pod_vector<std::int32_t>& needs, const options& settings, entry_list& room)
      : all_(all),
        waiting_(waiting),
        count_(count),
        entry_count_(entries),
        needs_(&needs),
        threshold_ns_(settings.threshold_ns),
        least_relay_ns_(std::max(settings.threshold_ns, settings.relay_ns)),
        entries_(room) {}

  template <class Answer>
  void operator()(Answer&& answer) {
    using core::call_role;
    if (count_ < 2) return;
    const call_role role = core::meeting_role_of(all_[0].call);
    initiated_ = core::initiates(all_[0].call);
    for (std::size_t i = 0; i != count_; ++i) {
      if ((all_[i].flags & core::sync_flag::failed) != 0) return;  // a failed call does not imply any order
      if (core::meeting_role_of(all_[i].call) != role) return;  // records were lost, these are not one operation
    }
    if (initiated_ && (role == call_role::barrier || role == call_role::create)) return complete_later(role, answer);
    if (all_[0].inter != 0) return two_groups(role, answer);
    switch (role) {
      case call_role::barrier: return synchronise(pattern::wait_at_barrier, answer);
      case call_role::finalise: return synchronise(pattern::wait_at_finalize, answer);
      case call_role::create: return overlap() ? synchronise(pattern::wait_at_create, answer) : void();
      case call_role::fence: return overlap() ? synchronise(pattern::wait_at_fence, answer) : void();
      case call_role::release: {
        const bool window = all_[0].call == core::mpi_call::Win_free;
        return overlap() ? synchronise(window ? pattern::wait_at_create : pattern::wait_at_barrier, answer) : void();
      }
      case call_role::all_to_all: return exchange(answer);
      case call_role::one_to_all: return from_root(answer);
      case call_role::all_to_one: return to_root(answer);
      case call_role::scan: return scan(answer);
      case call_role::agree: return overlap() ? synchronise(pattern::wait_at_barrier, answer) : void();
      case call_role::connect:
      case call_role::file_all:
      case call_role::file_in_turn: return of_file(answer);
      default: return;
    }
  }

 private:
  // The members in the order of their entries: for the rules that look for relays.
  void sort_entries() const {
    const std::size_t count = initiated_ ? entry_count_ : count_;
    entries_.clear();
    for (std::size_t i = 0; initiated_ && i != count_; ++i) entries_.push_back(all_ + i);
    for (std::size_t i = 0; i != count; ++i) {
      if (waiting_[i].location != nowhere) entries_.push_back(waiting_ + i);
    }
    base::sort_short(entries_, [](const participant* a, const participant* b) { return a->enter_ns < b->enter_ns; });
  }

  // The member for which p waited after everything that it needs by definition had arrived at `since_ns`; null if there
  // is none. `certain`: no other member entered so close before that it may have been the cause as well. A member that makes
  // other calls right ahead of this one, such as receives, lets p go on at the first of them: it enters soon after p has left.
  const participant* relay_of(const participant& p, std::int64_t since_ns, bool& certain) const {
    const auto later = [](std::int64_t t, const participant* q) { return t < q->enter_ns; };
    const std::int64_t soon_ns = p.leave_ns + (p.leave_ns - since_ns) / 32;
    auto at = std::upper_bound(entries_.begin(), entries_.end(), soon_ns, later);
    while (at != entries_.begin() && (*(at - 1))->rank == p.rank) --at;
    if (at == entries_.begin()) return nullptr;
    const participant* const last = *--at;
    if (count_ < static_cast<std::size_t>(std::max(all_[0].size, 0))) return nullptr;  // the last one may not be known
    const std::int64_t entered_ns = std::min(last->enter_ns, p.leave_ns);
    const std::int64_t wait_ns = entered_ns - since_ns, rest_ns = p.leave_ns - entered_ns;
    if (wait_ns < least_relay_ns_ || wait_ns < rest_ns) return nullptr;
    const std::int64_t close_ns = entered_ns - std::max(rest_ns, wait_ns / 8);
    while (at != entries_.begin() && ((*(at - 1))->rank == p.rank || (*(at - 1))->rank == last->rank)) --at;
    certain = at == entries_.begin() || (*(at - 1))->enter_ns < std::max(close_ns, since_ns + 1);
    return last;
  }

  // Answers with what p needs by definition, and with the relay that it waited for after that.
  template <class Answer>
  void wait_and_relay(const participant& p, const participant* cause, pattern why, quality least, Answer&& answer) const {
    if (initiated_ && (p.location == nowhere || (cause != nullptr && cause->enter_ns > p.leave_ns))) return;
    const bool waits = cause != nullptr && cause->enter_ns > p.enter_ns;
    const std::int64_t since_ns = waits ? cause->enter_ns : p.enter_ns;
    bool certain = false;
    const participant* const relay = relay_of(p, since_ns, certain);
    // A wait below the threshold is part of the longer one.
    if (waits && (relay == nullptr || since_ns - p.enter_ns >= threshold_ns_)) {
      const pattern late = initiated_ && why != pattern::wait_at_create ? pattern::nonblocking_collective : why;
      wait(p, cause, late, relay == nullptr ? least : quality::exact, answer);
    }
    if (relay == nullptr) return;
    arrival a = needed(p, *relay, pattern::wait_for_progress);
    a.need_ns = std::min(a.need_ns, p.leave_ns);
    a.trust = std::max(a.trust, certain ? quality::exact : quality::hidden_tree);
    a.flags = arrival_flag::adopt | arrival_flag::relay;
    answer(p, a);
  }

  static bool has(const participant& p, unsigned flag) noexcept { return (p.flags & flag) != 0; }

  // Whether all were inside at one instant. Equality counts: with a coarse clock the last may enter when the first
  // leaves.
  bool overlap() const noexcept {
    std::int64_t latest = all_[0].enter_ns, earliest = all_[0].leave_ns;
    for (std::size_t i = 1; i != count_; ++i) {
      latest = std::max(latest, all_[i].enter_ns);
      earliest = std::min(earliest, all_[i].leave_ns);
    }
    return earliest >= latest;
  }

  quality trust(const participant& waiter, const participant& causer) const noexcept {
    const bool whole = static_cast<std::size_t>(std::max(waiter.size, 0)) == count_;
    return whole && waiter.partial == 0 && causer.partial == 0 ? quality::exact : quality::bounded;
  }

  arrival needed(const participant& waiter, const participant& causer, pattern why) const noexcept {
    arrival a;
    a.need_ns = causer.enter_ns;
    a.site = causer.site;
    a.record = waiter.record;
    a.causer_record = causer.record;
    a.causer_rank = causer.world;
    a.causer_location = causer.location;
    a.why = why;
    a.trust = trust(waiter, causer);
    return a;
  }

  // All need all: the last to enter causes all waits; a tie goes to the lowest rank.
  template <class Answer>
  void synchronise(pattern why, Answer&& answer) const {
    const participant* last = all_;
    std::int64_t first_ns = all_[0].enter_ns;
    for (std::size_t i = 1; i != count_; ++i) {
      if (all_[i].enter_ns > last->enter_ns) last = all_ + i;
      first_ns = std::min(first_ns, all_[i].enter_ns);
    }
    // If all waits are below the threshold, the paths stay as they are, so that no rank has to send its path.
    const bool adopt = last->enter_ns - first_ns >= threshold_ns_;
    for (std::size_t i = 0; i != count_; ++i) {
      arrival a = needed(all_[i], *last, why);
      a.flags = arrival_flag::all;
      if (&all_[i] == last) a.flags |= arrival_flag::last;
      if (adopt) a.flags |= arrival_flag::adopt;
      if (adopt || all_[i].enter_ns < last->enter_ns) answer(all_[i], a);
    }
  }

  template <class Answer>
  void exchange(Answer&& answer) const {
    bool sparse = false, data = false;
    for (std::size_t i = 0; i != count_; ++i) {
      sparse = sparse || has(all_[i], core::sync_flag::sparse);
      data = data || has(all_[i], core::sync_flag::contributes) || has(all_[i], core::sync_flag::sparse);
    }
    if (!data) return;  // without payload no rank waits for another
    if (!sparse && !initiated_ && overlap()) return synchronise(pattern::wait_at_nxn, answer);
    sort_entries();
    const participant* last = nullptr;
    for (std::size_t i = 0; i != count_; ++i) {
      if (!has(all_[i], core::sync_flag::contributes)) continue;
      if (last == nullptr || all_[i].enter_ns > last->enter_ns) last = all_ + i;
    }
    for (std::size_t i = 0; i != count_; ++i) {
      const participant* cause = last;
      if (has(all_[i], core::sync_flag::sparse)) {
        cause = last_needed(all_[i]);
      } else if (!has(all_[i], core::sync_flag::consumes)) {
        cause = nullptr;
      }
      wait_and_relay(waiting_[i], cause, pattern::wait_at_nxn, quality::exact, answer);
    }
  }

  template <class Answer>
  void from_root(Answer&& answer) const {
    sort_entries();
    const participant* root = member(all_[0].root);
    if (root == nullptr) return;
    for (std::size_t i = 0; i != count_; ++i) {
      const participant& p = waiting_[i];
      const bool needs_root = all_ + i != root && has(p, core::sync_flag::consumes);
      // A member that entered between the root and the return may have passed the data on, although no wait for it shows.
      auto later = std::upper_bound(entries_.begin(), entries_.end(), root->enter_ns,
                                    [](std::int64_t t, const participant* q) { return t < q->enter_ns; });
      while (later != entries_.end() && ((*later)->rank == root->rank || (*later)->rank == p.rank)) ++later;
      const bool hidden = later != entries_.end() && (*later)->enter_ns <= p.leave_ns;
      wait_and_relay(p, needs_root ? root : nullptr, pattern::late_broadcast, hidden ? quality::hidden_tree : quality::exact,
                     answer);
    }
  }

  // The root needs all contributions, so the last contributor decides, whatever tree the library uses.
  template <class Answer>
  void to_root(Answer&& answer) const {
    sort_entries();
    const participant* root = member(all_[0].root);
    if (root == nullptr) return;
    const participant* last = nullptr;
    for (std::size_t i = 0; i != count_; ++i) {
      if (all_ + i == root || !has(all_[i], core::sync_flag::contributes)) continue;
      if (last == nullptr || all_[i].enter_ns > last->enter_ns) last = all_ + i;
    }
    for (std::size_t i = 0; i != count_; ++i) {
      wait_and_relay(waiting_[i], all_ + i == root ? last : nullptr, pattern::early_reduce, quality::exact, answer);
    }
  }

  // A rank that stayed for longer than it waited may have been busy with its own data, or waited for another world.
  template <class Answer>
  void of_file(Answer&& answer) const {
    const core::mpi_call call = all_[0].call;
    const bool makes = core::of_other_worlds(call) || call == core::mpi_call::File_open || call == core::mpi_call::File_close;
    const file_order order = order_of_file(all_, waiting_, count_);
    const pattern why = initiated_                     ? pattern::nonblocking_collective
                        : order == file_order::in_turn ? pattern::early_scan
                        : makes                        ? pattern::wait_at_create
                                                       : pattern::wait_at_nxn;
    const auto doubt = [&](const participant& p, arrival a) {
      if (p.leave_ns - a.need_ns > a.need_ns - p.enter_ns) a.trust = std::max(a.trust, quality::bounded);
      answer(p, a);
    };
    if (order == file_order::together && !initiated_) return synchronise(why, doubt);
    const participant* last = nullptr;
    const auto note = [&](const participant& p) {
      if (last == nullptr || p.enter_ns > last->enter_ns) last = &p;
    };
    if (order == file_order::together) std::for_each(all_, all_ + count_, note);
    for (std::size_t i = 0; i != count_ && order != file_order::none; ++i) {
      wait(waiting_[i], last, why, quality::exact, doubt);
      if (order == file_order::in_turn) note(all_[i]);
    }
  }

  // The groups of an intercommunicator: each member that receives needs all members of the other group that send; of one-to-all
  // and all-to-one operations the root is the only one that sends or receives. If all were inside at one instant, it
  // synchronised them all.
  template <class Answer>
  void two_groups(core::call_role role, Answer&& answer) const {
    using core::call_role;
    const pattern why = role == call_role::create       ? pattern::wait_at_create
                        : role == call_role::all_to_all ? pattern::wait_at_nxn
                        : role == call_role::one_to_all ? pattern::late_broadcast
                        : role == call_role::all_to_one ? pattern::early_reduce
                                                        : pattern::wait_at_barrier;
    const bool both_ways = role != call_role::one_to_all && role != call_role::all_to_one;
    bool dense = both_ways;
    for (std::size_t i = 0; i != count_; ++i) {
      dense = dense && has(all_[i], core::sync_flag::contributes) && has(all_[i], core::sync_flag::consumes) &&
              !has(all_[i], core::sync_flag::sparse);
    }
    if (dense && !initiated_ && overlap()) return synchronise(why, answer);
    if (role == call_role::create || role == call_role::release) return;
    sort_entries();
    const participant* last[2] = {nullptr, nullptr};
    for (std::size_t i = 0; i != count_; ++i) {
      const participant*& of = last[group_of(all_[i])];
      if (has(all_[i], core::sync_flag::contributes) && (of == nullptr || all_[i].enter_ns > of->enter_ns)) of = all_ + i;
    }
    for (std::size_t i = 0; i != count_; ++i) {
      const participant& p = waiting_[i];
      const participant* const cause = has(p, core::sync_flag::sparse)     ? last_needed(p)
                                       : has(p, core::sync_flag::consumes) ? last[1 - group_of(p)]
                                                                           : nullptr;
      wait_and_relay(p, cause, why, quality::exact, answer);
    }
  }
  static std::size_t group_of(const participant& p) noexcept { return p.rank < p.root ? 0 : 1; }

  // The call that completes an initiated barrier needs that all members have initiated it.
  template <class Answer>
  void complete_later(core::call_role role, Answer&& answer) const {
    sort_entries();
    const pattern why = role == core::call_role::create ? pattern::wait_at_create : pattern::nonblocking_collective;
    const participant* last = all_;
    for (std::size_t i = 1; i != count_; ++i) {
      if (all_[i].enter_ns > last->enter_ns) last = all_ + i;
    }
    for (std::size_t i = 0; i != count_; ++i) {
      wait_and_relay(waiting_[i], last, why, quality::exact, answer);
    }
  }

  template <class Answer>
  void scan(Answer&& answer) const {
    sort_entries();
    const participant* last = nullptr;
    for (std::size_t i = 0; i != count_; ++i) {
      const participant* const needed_last = has(all_[i], core::sync_flag::consumes) ? last : nullptr;
      wait_and_relay(waiting_[i], needed_last, pattern::early_scan, quality::exact, answer);
      if (!has(all_[i], core::sync_flag::contributes)) continue;
      if (last == nullptr || all_[i].enter_ns > last->enter_ns) last = all_ + i;
    }
  }

  template <class Answer>
  void wait(const participant& p, const participant* cause, pattern why, quality least, Answer&& answer) const {
    if (cause == nullptr || cause->enter_ns <= p.enter_ns) return;
    arrival a = needed(p, *cause, why);
    a.trust = std::max(a.trust, least);
    a.flags = arrival_flag::adopt;
    answer(p, a);
  }

  // Of the members in a list of needs.
  const participant* last_needed(const participant& p) const noexcept {
    const participant* cause = nullptr;
    for (std::uint32_t k = 0; k != p.needs_count; ++k) {
      const participant* q = member((*needs_)[p.needs_first + k]);
      if (q == nullptr || q->rank == p.rank) continue;
      if (cause == nullptr || q->enter_ns > cause->enter_ns || (q->enter_ns == cause->enter_ns && q->rank < cause->rank)) {
        cause = q;
      }
    }
    return cause;
  }

  const participant* member(std::int32_t rank) const noexcept {
    const participant* end = all_ + count_;
    const participant* at = std::lower_bound(all_, end, rank, [](const participant& p, std::int32_t r) { return p.rank < r; });
    return at != end && at->rank == rank ? at : nullptr;
  }

  static constexpr std::uint16_t nowhere = 0xffffu;  ///< location of a call that was never recorded

  const participant* all_;
  const participant* waiting_;
  std::size_t count_, entry_count_;
  bool initiated_ = false;  ///< the call that completes it waits
  const base::pod_vector<std::int32_t>* needs_;
  std::int64_t threshold_ns_, least_relay_ns_;
  entry_list& entries_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
