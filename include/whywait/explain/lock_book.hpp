#ifndef WHYWAIT_EXPLAIN_LOCK_BOOK_HPP
#define WHYWAIT_EXPLAIN_LOCK_BOOK_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/explain/arrival.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/collectives.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/options.hpp>
#include <whywait/explain/progress.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Locks of windows (docs/method.md 1.2). Each origin sends what it held, and its calls that were blocked, to the target, which
/// therefore has all locks of its memory. A blocked call waited for the last conflicting unlock that began while it was
/// blocked; after that, or without one, it may have waited until the target entered MPI. Whether calls depend on that is
/// decided by the votes of all ranks (progress.hpp).
///
/// Memory: 48 bytes per lock and 64 per blocked call and target, here and at the target. Not thread safe.
class lock_book {
 public:
  /// A call that is blocked for less than the threshold, or without a holder for less than `progress_ns`, is not examined.
  lock_book(const rank_history& rank, const options& settings, base::memory_pool& pool)
      : rank_(&rank),
        threshold_ns_(std::max<std::int64_t>(settings.threshold_ns, 1)),
        progress_ns_(std::max(threshold_ns_, settings.progress_ns)),
        held_(pool),
        blocked_(pool),
        held_here_(pool),
        blocked_here_(pool),
        answers_(pool) {}

  /// Lists what the rank held and where it was blocked. O(records).
  void read_records() {
    for (std::uint16_t l = 0; l != rank_->locations.size(); ++l) read_location(l);
  }

  /// Sends the lists to the targets. Fills no packet much beyond `room` bytes; the next call sends the rest.
  template <class Outbox>
  void send(Outbox&& to, std::size_t room) {
    if (!held_.empty() && !send_list(held_, base::packet_part::lock_held, to, room)) return;
    send_list(blocked_, base::packet_part::lock_blocked, to, room);
  }

  /// At the target; `in` stands behind the kind of the part.
  void receive_held(std::int32_t source, base::packet_reader& in) {
    held_here_.push_back(in.get<holding>());
    held_here_.back().rank = source;
  }
  void receive_blocked(std::int32_t source, base::packet_reader& in) {
    blocked_here_.push_back(in.get<blocked_access>());
    blocked_here_.back().rank = source;
  }

  /// At the target, once all lists have arrived: answers each blocked call, and passes what it waited for to `clocks`, if not
  /// null. O(n log n).
  template <class Outbox>
  void send_answers(Outbox&& to, rank_clocks* clocks) {
    if (blocked_here_.empty()) return;
    small_stable_sort(held_here_, [](const holding& a, const holding& b) {
      return a.window != b.window ? a.window < b.window : a.end_ns < b.end_ns;
    });
    base::vector<mpi_entries> entries;
    for (const blocked_access& b : blocked_here_) {
      base::packet& out = to(b.rank);
      std::int64_t since_ns = b.enter_ns;
      if (const holding* const holder = last_holder(b)) {
        since_ns = holder->end_ns;
        arrival a;
        a.need_ns = holder->end_ns;
        a.site = holder->site;
        a.record = b.record;
        a.causer_record = holder->record;
        a.causer_rank = holder->rank;
        a.causer_location = holder->location;
        a.why = pattern::window_lock_contention;
        a.trust = holder->certain && b.acquires ? quality::exact : quality::bounded;
        a.flags = arrival_flag::adopt;
        put(out, base::packet_part::lock_answer);
        put(out, lock_answer{a, {b.enter_ns, b.leave_ns, INT64_MIN, 0, INT64_MAX}, b.location, 0});
        add_need(clocks, b, a);
      }
      if (b.rank == rank_->rank || b.leave_ns - since_ns < progress_ns_) continue;
      if (entries.empty()) entries = entries_of(*rank_);
      const lock_answer e = entry_during(entries, b, since_ns);
      put(out, base::packet_part::lock_answer);
      put(out, e);
      if (e.call.ended_by_entry(progress_ns_)) add_need(clocks, b, e.entry);
    }
    held_here_.clear();
    blocked_here_.clear();
  }

  /// At the origin.
  void receive_answer(base::packet_reader& in) { answers_.push_back(in.get<lock_answer>()); }

  /// Counts what the blocked calls of this rank say.
  void count(progress_votes& votes) {
    small_stable_sort(answers_, [](const lock_answer& a, const lock_answer& b) {
      return a.location != b.location ? a.location < b.location : a.entry.record < b.entry.record;
    });
    base::pod_vector<progress_votes::message> messages;
    each_call([&](std::size_t first, std::size_t last) {
      messages.clear();
      for (std::size_t i = first; i != last; ++i) {
        if (!answers_[i].contends()) messages.push_back({answers_[i].call, answers_[i].kind});
      }
      votes.count(messages.data(), messages.size(), progress_ns_);
    });
  }

  /// Adds the waits to `arrivals`, by location: for each call the last unlock that it needed, and the last entry after that.
  void add_waits(const progress_votes& votes, base::vector<base::pod_vector<arrival>>& arrivals) {
    each_call([&](std::size_t first, std::size_t last) {
      const lock_answer *unlock = nullptr, *entry = nullptr;
      for (std::size_t i = first; i != last; ++i) {
        lock_answer& a = answers_[i];
        if (!a.contends() && (!votes.dependent(a.kind) || !a.call.may_have_waited(progress_ns_))) continue;
        if (!a.contends() && !votes.certain(a.kind)) a.entry.trust = std::max(a.entry.trust, quality::bounded);
        const lock_answer*& best = a.contends() ? unlock : entry;
        if (best == nullptr || a.entry.need_ns > best->entry.need_ns) best = &a;
      }
      const std::uint16_t location = answers_[first].location;
      if (location >= arrivals.size()) return;
      if (unlock != nullptr) arrivals[location].push_back(unlock->entry);
      if (entry != nullptr && (unlock == nullptr || entry->entry.need_ns > unlock->entry.need_ns))
        arrivals[location].push_back(entry->entry);
    });
    answers_.release();
  }

 private:
  static constexpr std::int32_t all_targets = -1;

  /// A lock that was held at one target; its end is the enter of the unlock.
  struct holding {
    core::stable_key window, site;
    std::int64_t end_ns;
    std::int32_t target;  ///< in the window, or all_targets
    std::int32_t rank;  ///< world rank, set by the target
    std::uint32_t comm;  ///< number of the window at the origin
    std::uint32_t record;
    std::uint16_t location;
    bool exclusive, certain;  ///< not certain: taken before the records begin
  };
  /// A call on a locked window that was blocked.
  struct blocked_access {
    core::stable_key window;
    std::int64_t enter_ns, leave_ns;
    std::int32_t target, rank;
    std::uint32_t comm;
    std::uint32_t record;
    std::int32_t node;
    std::uint16_t location;
    bool exclusive, acquires;  ///< acquires: MPI_Win_lock or MPI_Win_lock_all
  };
  /// What a blocked call may have waited for at one target: an unlock, or an entry of the target into MPI.
  struct lock_answer {
    arrival entry;
    blocked_call call;
    std::uint16_t location;
    std::uint8_t kind;  ///< progress_class

    bool contends() const noexcept { return entry.why == pattern::window_lock_contention; }
  };
  /// An operation with a request (MPI_Rput) on a locked window, and the record of the call that completed it.
  struct awaited {
    std::uint32_t record, comm;
    std::int32_t target;
    bool exclusive;

    bool operator<(const awaited& o) const noexcept {
      return record != o.record ? record < o.record : comm != o.comm ? comm < o.comm : target < o.target;
    }
  };
  struct open_lock {
    std::uint32_t comm;
    std::int32_t target;
    bool exclusive, certain;
  };

  void read_location(std::uint16_t location) {
    using core::mpi_call;
    const location_history& here = rank_->locations[location];
    base::vector<open_lock> open;
    base::pod_vector<awaited> waits;
    location_walk walk(*rank_);
    for (std::uint32_t i = 0; i != here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      walk.step(r);
      const core::call_role role = core::role_of(r.call);
      if ((role != core::call_role::lock && role != core::call_role::transfer) || r.comm >= rank_->communicators.size() ||
          r.has(core::sync_flag::failed | core::sync_flag::proc_null) || core::polls_window(r)) {
        continue;
      }
      const core::stable_key window = rank_->communicators[r.comm].id;
      if (window == 0) continue;
      const bool acquires = r.call == mpi_call::Win_lock || r.call == mpi_call::Win_lock_all;
      const bool releases = r.call == mpi_call::Win_unlock || r.call == mpi_call::Win_unlock_all;
      if (acquires) open.push_back({r.comm, r.peer, r.tag == 1, true});
      std::size_t at = 0;
      while (at != open.size() && (open[at].comm != r.comm || (open[at].target != r.peer && open[at].target != all_targets)))
        ++at;
      if (at == open.size()) {
        if (role == core::call_role::transfer) continue;  // of another kind of epoch
        open.push_back({r.comm, r.peer, true, false});
      }
      const open_lock lock = open[at];
      if (role == core::call_role::transfer && r.has(core::sync_flag::complete) && r.completed_by == location &&
          r.completion > i)
        waits.push_back({r.completion, r.comm, r.peer, lock.exclusive});
      if (walk.leave_ns() - walk.begin_ns() >= (acquires ? threshold_ns_ : progress_ns_)) {
        blocked_.push_back(
            {window, walk.begin_ns(), walk.leave_ns(), r.peer, 0, r.comm, i, rank_->node, location, lock.exclusive, acquires});
      }
      if (!releases) continue;
      held_.push_back(
          {window, site_of(here, r), walk.begin_ns(), lock.target, 0, r.comm, i, location, lock.exclusive, lock.certain});
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (!waits.empty()) add_waits_for_requests(location, waits);
  }

  // Calls that completed operations of locked windows were blocked like MPI_Win_flush, once for each target.
  void add_waits_for_requests(std::uint16_t location, base::pod_vector<awaited>& waits) {
    const location_history& here = rank_->locations[location];
    small_stable_sort(waits);
    location_walk walk(*rank_);
    std::uint32_t i = 0;
    const awaited* before = nullptr;
    for (const awaited& w : waits) {
      if (w.record >= here.records.size()) return;
      if (before != nullptr && !(*before < w)) continue;
      before = &w;
      for (; i <= w.record; ++i) walk.step(here.records[i]);
      if (walk.leave_ns() - walk.begin_ns() < progress_ns_) continue;
      const core::stable_key window = rank_->communicators[w.comm].id;
      blocked_.push_back(
          {window, walk.begin_ns(), walk.leave_ns(), w.target, 0, w.comm, w.record, rank_->node, location, w.exclusive, false});
    }
  }

  // Calls function(first, last) for the answers to each call, once they are sorted.
  template <class Function>
  void each_call(Function&& function) const {
    for (std::size_t i = 0; i != answers_.size();) {
      const std::size_t first = i;
      const lock_answer& a = answers_[first];
      while (i != answers_.size() && answers_[i].location == a.location && answers_[i].entry.record == a.entry.record) ++i;
      function(first, i);
    }
  }

  // Returns true if the whole list is sent.
  template <class List, class Outbox>
  bool send_list(List& list, std::uint32_t part, Outbox&& to, std::size_t room) {
    for (; sent_ != list.size(); ++sent_) {
      const auto& each = list[sent_];
      const communicator& window = rank_->communicators[each.comm];
      const std::int32_t last = each.target == all_targets ? window.size : each.target + 1;
      for (std::int32_t t = std::max(each.target, sent_targets_); t < last; ++t) {
        const std::int32_t world = world_rank(window, t);
        if (world < 0) continue;
        base::packet& out = to(world);
        if (out.size() >= room) {
          sent_targets_ = t;
          return false;
        }
        put(out, part);
        put(out, each);
      }
      sent_targets_ = 0;
    }
    list.clear();
    sent_ = 0;
    return true;
  }

  // The conflicting lock of another rank that was released last while a call was blocked. A call that does not take the lock
  // itself holds it already, unless the library delays that.
  const holding* last_holder(const blocked_access& b) const {
    if (!b.acquires) return nullptr;
    const auto later = [](const blocked_access& x, const holding& h) {
      return x.window != h.window ? x.window < h.window : x.leave_ns < h.end_ns;
    };
    const holding* const first = held_here_.data();
    const holding* at = std::upper_bound(first, first + held_here_.size(), b, later);
    while (at != first) {
      --at;
      if (at->window != b.window || at->end_ns <= b.enter_ns) return nullptr;
      if (at->rank != b.rank && (at->exclusive || b.exclusive)) return at;
    }
    return nullptr;
  }

  static base::vector<mpi_entries> entries_of(const rank_history& rank) {
    base::vector<mpi_entries> all;
    all.reserve(rank.locations.size());
    for (const location_history& here : rank.locations) {
      all.emplace_back();
      location_walk walk(rank);
      for (std::uint64_t i = 0; i != here.records.size(); ++i) {
        walk.step(here.records[i]);
        all.back().add(walk.begin_ns(), walk.leave_ns(), here.records[i].call);
      }
    }
    return all;
  }

  // Entries of all threads of the target count.
  lock_answer entry_during(const base::vector<mpi_entries>& entries, const blocked_access& b, std::int64_t since_ns) const {
    lock_answer e{};
    e.call = {since_ns, b.leave_ns, INT64_MIN, 0, INT64_MIN};
    e.location = b.location;
    e.kind = progress_class::of_locks();
    if (b.node >= 0 && b.node == rank_->node) e.kind = progress_class::within(e.kind);
    e.entry.record = b.record;
    e.entry.causer_rank = rank_->rank;
    e.entry.why = pattern::wait_for_progress;
    e.entry.flags = arrival_flag::adopt;
    std::int64_t last_ns = INT64_MIN;
    for (std::uint16_t l = 0; l != entries.size(); ++l) {
      const mpi_entries::visit v = entries[l].while_blocked(since_ns, b.leave_ns, b.leave_ns - 1);
      e.call.outside_ns = std::max(e.call.outside_ns, v.outside_ns);
      if (v.first == mpi_entries::none || last_ns >= v.last_ns) continue;
      const location_history& here = rank_->locations[l];
      last_ns = v.last_ns;
      e.call.entry_ns = e.entry.need_ns = entries[l][v.first].begin_ns;
      e.call.inside_ns = v.inside_ns;
      e.entry.causer_record = entries[l].record_of(v.first);
      e.entry.site = site_of(here, here.records[e.entry.causer_record]);
      e.entry.causer_location = l;
      e.entry.trust = here.dropped > 0 ? quality::bounded : quality::exact;
    }
    if (e.call.outside_ns == INT64_MIN) e.call.outside_ns = rank_->begin_ns;
    return e;
  }

  // For the virtual clocks, the blocked call needs the beginning of the causer's record.
  void add_need(rank_clocks* clocks, const blocked_access& b, const arrival& a) const {
    if (clocks == nullptr) return;
    participant both[2];
    for (participant& p : both) p.call = core::mpi_call::Win_lock;
    both[0].world = b.rank;
    both[0].record = b.record;
    both[0].location = b.location;
    both[1].world = a.causer_rank;
    both[1].record = a.causer_record;
    both[1].location = a.causer_location;
    base::pod_vector<std::int32_t> none;
    base::pod_vector<relay_wait> one;
    one.push_back({0, a.causer_rank, a.causer_record, a.causer_location});
    clocks->add_collective(both, both, 2, none, one);
  }

  const rank_history* rank_;
  std::int64_t threshold_ns_, progress_ns_;
  base::pod_vector<holding> held_;
  base::pod_vector<blocked_access> blocked_;
  base::pod_vector<holding> held_here_;
  base::pod_vector<blocked_access> blocked_here_;
  base::pod_vector<lock_answer> answers_;
  std::size_t sent_ = 0;  ///< number of elements of the current list that are sent
  std::int32_t sent_targets_ = 0;  ///< the first target of the next element that is not sent
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
