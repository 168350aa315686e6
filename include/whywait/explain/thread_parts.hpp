#ifndef WHYWAIT_EXPLAIN_THREAD_PARTS_HPP
#define WHYWAIT_EXPLAIN_THREAD_PARTS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/thread_record.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// An instant inside the code of a location at which its path is needed although it left no record there.
struct thread_anchor {
  std::uint64_t ticks = 0;
  std::uint32_t before = 0;    ///< the record of the location that follows
  std::uint32_t cut = none;    ///< in the cuts of `observer`, with what the location had done by then; none: divided by time
  std::uint16_t location = 0;
  std::uint16_t observer = 0;

  static constexpr std::uint32_t none = 0xffffffffu;
};

/// A part of a wait for threads: from `begin` until `need` for one record of another location, then up to the next part in the
/// primitive itself.
struct thread_part {
  std::uint64_t begin = 0, need = 0;  ///< clock ticks
  std::uint32_t record = 0;           ///< the wait
  std::uint32_t causer = 0;           ///< the record that ended this part
  std::uint32_t base = none;          ///< where the causer was when the part began: number of an anchor, or of its record,
  std::uint16_t location = 0;
  std::uint16_t causer_location = 0;
  bool caused = false;                ///< false: nothing is known about what ended it
  bool causer_is_anchor = false;      ///< `causer` is the number of an anchor
  bool base_is_record = false;
  bool bounded = false;
  bool overtaken = false;  ///< the holder came after the thread had begun to wait

  static constexpr std::uint32_t none = 0xffffffffu;
};

/// Divides the waits for threads of one process among those that caused them (docs/method.md 1.6).
///
///  * A wait for a lock is cut where the lock was handed on: each holder gets the part in which it held it. Releases name the
///    release before them, so that the chain is read backwards from the end of the wait.
///  * A wait for a notification ends with it; what follows is a wait for the lock.
///  * Other waits end at the one record that they name.
class thread_parts {
 public:
  /// All locations of a process. Borrowed.
  explicit thread_parts(const base::pod_vector<const core::location_history*>& locations) : locations_(&locations) {}

  /// Walks all records once, and for each wait the releases during it.
  void find() {
    for (std::uint16_t l = 0; l != locations_->size(); ++l) list_notifications(l);
    match_notifications();
    for (std::uint16_t l = 0; l != locations_->size(); ++l) {
      const core::location_history& here = *(*locations_)[l];
      std::uint64_t cut = 0;
      for (std::uint64_t i = here.carried; i != here.records.size(); ++i) {
        const core::sync_record& r = here.records[i];
        if (core::role_of(r.call) != core::call_role::thread_wait) continue;
        while (cut < here.cuts.size() && here.cuts[cut].waiter < i) ++cut;
        const bool has_cut = cut < here.cuts.size() && here.cuts[cut].waiter == i;
        add_wait(l, static_cast<std::uint32_t>(i), r, has_cut ? static_cast<std::uint32_t>(cut) : thread_anchor::none);
      }
    }
  }

  /// The first record that begins at or after an instant.
  static std::uint32_t first_after(const core::location_history& here, std::uint64_t ticks) {
    std::uint64_t low = 0, high = here.records.size();
    while (low != high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (here.records[middle].begin < ticks) low = middle + 1;
      else high = middle;
    }
    return static_cast<std::uint32_t>(low);
  }

  /// By location, then record, then begin.
  base::pod_vector<thread_part> parts;
  base::pod_vector<thread_anchor> anchors;  ///< each once per part that needs it

 private:
  static constexpr std::uint32_t most_holders = 32;
  static constexpr std::uint32_t most_steps = 64;  ///< back along a chain of records that name the one before

  struct notification {
    std::uint64_t object, ticks;
    std::uint32_t record;
    std::uint16_t location;
    bool all, used;
  };
  struct notified {
    std::uint64_t object, begin, end;
    std::uint32_t record;
    std::uint32_t by;  ///< index in notifications_, or none
    std::uint16_t location;
  };

  const core::sync_record& record(std::uint16_t l, std::uint64_t i) const { return (*locations_)[l]->records[i]; }
  bool exists(std::uint32_t l, std::uint64_t i) const { return l < locations_->size() && i < (*locations_)[l]->records.size(); }
  static std::uint64_t end_of(const core::sync_record& r) noexcept { return r.begin + r.duration; }

  void list_notifications(std::uint16_t l) {
    const core::location_history& here = *(*locations_)[l];
    for (std::uint64_t i = here.carried; i != here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      if (!core::is_of_threads(r.call)) continue;
      const core::thread_op op = core::action_of(r.call).op;
      const auto at = static_cast<std::uint32_t>(i);
      if (op == core::thread_op::notify_one || op == core::thread_op::notify_all)
        notifications_.push_back({r.bytes, r.begin, at, l, op == core::thread_op::notify_all, false});
      else if (op == core::thread_op::await_notify)
        notified_.push_back({r.bytes, r.begin, end_of(r), at, thread_part::none, l});
    }
  }

  // Waiters are woken in the order in which they came: the first to return belongs to the first notification that it can have
  // seen and that woke no other.
  void match_notifications() {
    small_stable_sort(notifications_, [](const notification& a, const notification& b) {
      return a.object != b.object ? a.object < b.object : a.ticks < b.ticks;
    });
    small_stable_sort(notified_, [](const notified& a, const notified& b) {
      return a.object != b.object ? a.object < b.object : a.end < b.end;
    });
    std::size_t first = 0;
    for (notified& w : notified_) {
      if (record(w.location, w.record).has(core::thread_flag::timed_out)) continue;
      while (first != notifications_.size() && notifications_[first].object < w.object) ++first;
      for (std::size_t n = lower(first, w.object, w.begin); n != notifications_.size(); ++n) {
        notification& by = notifications_[n];
        if (by.object != w.object || by.ticks > w.end) break;
        if (by.used && !by.all) continue;
        by.used = true;
        w.by = static_cast<std::uint32_t>(n);
        break;
      }
    }
    small_stable_sort(notified_, [](const notified& a, const notified& b) {
      return a.location != b.location ? a.location < b.location : a.record < b.record;
    });
  }
  std::size_t lower(std::size_t first, std::uint64_t object, std::uint64_t ticks) const {
    const notification* const begin = notifications_.data();
    return static_cast<std::size_t>(
        std::lower_bound(begin + first, begin + notifications_.size(), ticks,
                         [object](const notification& n, std::uint64_t t) { return n.object == object && n.ticks < t; }) -
        begin);
  }

  void add_wait(std::uint16_t l, std::uint32_t i, const core::sync_record& r, std::uint32_t cut) {
    switch (core::action_of(r.call).op) {
      case core::thread_op::take:
      case core::thread_op::take_shared: return add_lock_wait(l, i, r, r.begin, cut, thread_part::none);
      case core::thread_op::await_notify: {
        std::uint32_t by = thread_part::none;
        while (next_notified_ != notified_.size() &&
               (notified_[next_notified_].location < l ||
                (notified_[next_notified_].location == l && notified_[next_notified_].record < i)))
          ++next_notified_;
        if (next_notified_ != notified_.size() && notified_[next_notified_].location == l &&
            notified_[next_notified_].record == i)
          by = notified_[next_notified_].by;
        if (by == thread_part::none) return add_uncaused(l, i, r);
        const notification& n = notifications_[by];
        add_direct(l, i, r.begin, n.ticks, n.location, n.record);
        return add_lock_wait(l, i, r, n.ticks, thread_anchor::none, by);
      }
      default: add_event_wait(l, i, r);
    }
  }

  // An event that followed the end of the wait may have replaced the one that ended it, which it names.
  void add_event_wait(std::uint16_t l, std::uint32_t i, const core::sync_record& r) {
    const core::sync_record* names = &r;
    for (std::uint32_t step = 0; step != most_steps && names->has(core::thread_flag::caused); ++step) {
      const std::uint32_t location = names->completed_by, number = names->completion;
      if (!exists(location, number)) break;
      const core::sync_record& cause = record(static_cast<std::uint16_t>(location), number);
      const bool ends = core::role_of(cause.call) == core::call_role::thread_event ||
                        (core::is_of_threads(cause.call) && core::action_of(cause.call).op == core::thread_op::meet);
      if (!ends || (step != 0 && cause.bytes != r.bytes)) break;
      if (cause.begin <= end_of(r)) return add_direct(l, i, r.begin, cause.begin, static_cast<std::uint16_t>(location), number);
      names = &cause;
    }
    add_uncaused(l, i, r);
  }

  thread_part& add_part(std::uint16_t l, std::uint32_t i, std::uint64_t begin, std::uint64_t need) {
    parts.emplace_back();
    thread_part& p = parts.back();
    p.location = l;
    p.record = i;
    p.begin = begin;
    p.need = need;
    return p;
  }
  void add_uncaused(std::uint16_t l, std::uint32_t i, const core::sync_record& r) { add_part(l, i, r.begin, end_of(r)); }
  void add_direct(std::uint16_t l, std::uint32_t i, std::uint64_t begin, std::uint64_t need, std::uint16_t location,
                  std::uint32_t causer) {
    thread_part& p = add_part(l, i, begin, need);
    p.caused = true;
    p.causer_location = location;
    p.causer = causer;
  }

  struct hold {
    std::uint32_t record;
    std::uint16_t location;
  };

  static bool take_one(std::uint32_t& budget) noexcept {
    if (budget == 0) return false;
    --budget;
    return true;
  }

  // `begin`: when the lock was wanted. `notified_by`: the notification that was waited for before, else none.
  void add_lock_wait(std::uint16_t l, std::uint32_t i, const core::sync_record& r, std::uint64_t begin, std::uint32_t cut,
                     std::uint32_t notified_by) {
    const bool known = notified_by != thread_part::none;
    holds_.clear();
    bool more = r.has(core::thread_flag::caused) && !r.has(core::thread_flag::timed_out);
    std::uint32_t next = r.completion, location = r.completed_by;
    std::uint64_t until = end_of(r);
    for (std::uint32_t step = 0; more && exists(location, next); ++step) {
      if (holds_.size() >= most_holders && !take_one(more_holders_)) break;
      if (step >= most_steps && !take_one(more_steps_)) break;
      const core::sync_record& release = record(static_cast<std::uint16_t>(location), next);
      if (!core::is_of_threads(release.call)) break;
      const core::thread_op op = core::action_of(release.call).op;
      if (op != core::thread_op::release && op != core::thread_op::release_shared) break;
      if (!known && release.bytes != r.bytes) break;
      if (release.begin <= begin) break;
      if (release.begin <= until) {  // else of a reader beside this one
        holds_.push_back({next, static_cast<std::uint16_t>(location)});
        until = release.begin;
      }
      more = release.has(core::thread_flag::caused);
      next = release.completion;
      location = release.completed_by;
    }
    if (holds_.empty()) {
      if (!known) add_without_release(l, i, r, cut);
      return;
    }
    std::uint64_t start = begin;
    for (std::size_t h = holds_.size(); h-- != 0;)
      start = add_hold(l, i, r, start, holds_[h], start == begin ? cut : thread_anchor::none,
                       start == begin ? notified_by : thread_part::none);
  }

  // A wait without any release: it timed out, and the holder that was seen at its begin may still have held the lock at its end.
  void add_without_release(std::uint16_t l, std::uint32_t i, const core::sync_record& r, std::uint32_t cut) {
    add_uncaused(l, i, r);
    if (!r.has(core::thread_flag::timed_out) || cut == thread_anchor::none) return;
    const core::thread_cut& c = (*locations_)[l]->cuts[cut];
    if (!exists(c.location, 0)) return;
    const core::location_history& holder = *(*locations_)[c.location];
    const std::uint32_t before = first_after(holder, r.begin), after = first_after(holder, end_of(r));
    if (after == 0 || after == holder.records.size()) return;
    for (std::uint32_t k = before == 0 ? 0 : before - 1; k != after; ++k)
      if (end_of(holder.records[k]) > r.begin) return;  // it did something else
    thread_part& p = parts.back();
    p.caused = p.causer_is_anchor = p.bounded = true;
    p.causer_location = c.location;
    const bool exact = is_exact(c, holder, before);
    p.base = add_anchor({r.begin, before, exact ? cut : thread_anchor::none, c.location, l});
    p.causer = add_anchor({end_of(r), after, thread_anchor::none, c.location, l});
  }

  // The part of one holder. Returns its end.
  std::uint64_t add_hold(std::uint16_t l, std::uint32_t i, const core::sync_record& wait, std::uint64_t start, hold h,
                         std::uint32_t cut, std::uint32_t notified_by) {
    const core::location_history& holder = *(*locations_)[h.location];
    const core::sync_record& release = holder.records[h.record];
    const std::uint32_t taken = taken_by(holder, h.record, release);
    std::uint64_t since = 0;
    if (taken != thread_part::none) {
      const core::sync_record& t = holder.records[taken];
      since = t.duration == 0 ? t.begin : end_of(t);
    }
    const std::uint64_t begin = std::min(std::max(start, since), release.begin);
    if (begin > start && start == wait.begin) add_part(l, i, start, start);  // the holder before is not known
    const std::size_t index = parts.size();
    add_direct(l, i, begin, release.begin, h.location, h.record);
    thread_part& p = parts[index];
    p.bounded = release.has(core::thread_flag::merged);
    // One that took the lock at once while no thread waited left no record of that.
    p.overtaken = core::is_read_write_lock(wait.call) && taken != thread_part::none && holder.records[taken].begin > wait.begin;
    if (taken != thread_part::none && since >= start && since == begin) {  // it took the lock during the wait
      if (holder.records[taken].duration == 0) {
        p.base = taken;
        p.base_is_record = true;
      } else {
        p.base = add_anchor({begin, taken + 1, thread_anchor::none, h.location, l});
      }
      return release.begin;
    }
    if (notified_by != thread_part::none && notifications_[notified_by].location == h.location) {
      p.base = notifications_[notified_by].record;
      p.base_is_record = true;
      return release.begin;
    }
    const std::uint32_t before = first_after(holder, begin);
    const bool seen = cut != thread_anchor::none && (*locations_)[l]->cuts[cut].location == h.location;
    const bool inside = before != 0 && end_of(holder.records[before - 1]) > begin;
    if (inside) {  // in a wait of its own: that begins the part
      p.base = before - 1;
      p.base_is_record = true;
      p.bounded = true;
      return release.begin;
    }
    const bool exact = seen && is_exact((*locations_)[l]->cuts[cut], holder, before);
    p.bounded = p.bounded || !exact;
    p.base = add_anchor({begin, before, exact ? cut : thread_anchor::none, h.location, l});
    return release.begin;
  }

  std::uint32_t add_anchor(const thread_anchor& a) {
    anchors.push_back(a);
    return static_cast<std::uint32_t>(anchors.size() - 1);
  }

  // The record with which the holder took the lock that it gives up in a record, or none.
  static std::uint32_t taken_by(const core::location_history& holder, std::uint32_t i, const core::sync_record& release) {
    if (release.peer >= 0)
      return static_cast<std::uint32_t>(release.peer) <= i ? i - static_cast<std::uint32_t>(release.peer) : thread_part::none;
    if (core::action_of(release.call).op != core::thread_op::release_shared) return thread_part::none;
    constexpr std::uint32_t farthest = 64;
    for (std::uint32_t k = i; k-- != 0 && i - k <= farthest;) {
      const core::sync_record& r = holder.records[k];
      if (!core::is_of_threads(r.call) || r.bytes != release.bytes) continue;
      return core::action_of(r.call).op == core::thread_op::take_shared ? k : thread_part::none;
    }
    return thread_part::none;
  }

  // Whether what was seen of the holder belongs to the segment before its record `before`.
  static bool is_exact(const core::thread_cut& c, const core::location_history& holder, std::uint32_t before) {
    if (c.whole == 0 || c.record != before) return false;
    return c.segment == (before == 0 ? 0 : holder.records[before - 1].steps);
  }

  const base::pod_vector<const core::location_history*>* locations_;
  base::pod_vector<notification> notifications_;
  base::pod_vector<notified> notified_;
  std::size_t next_notified_ = 0;
  base::pod_vector<hold> holds_;  ///< of one wait, the last one first
  // Beyond most_holders and most_steps of each wait, for all waits together: a writer may wait for thousands of readers, but memory
  // and time stay bounded.
  std::uint32_t more_holders_ = std::uint32_t{1} << 18, more_steps_ = std::uint32_t{1} << 24;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
