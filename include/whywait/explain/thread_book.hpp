#ifndef WHYWAIT_EXPLAIN_THREAD_BOOK_HPP
#define WHYWAIT_EXPLAIN_THREAD_BOOK_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/thread_record.hpp>
#include <whywait/explain/thread_parts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Rewrites the records of the locations of a process so that each wait for a thread names what the engine needs, in numbers of
/// the new records:
///
///  * a wait is one record per part (thread_parts.hpp). With thread_flag::caused, `completion` and `completed_by` name the record
///    whose beginning ended it. With thread_flag::based the causer's record `tag` is where the causer was when the part began: the
///    part is explained by what it ran from there on;
///  * anchors are records of the call `code` without duration, with the steps that the location had made by then;
///  * the record of a thread's begin lasts from the end of the thread before it, whose location it uses;
///  * a wait in which a thread is at the end is a record without a cause, up to `end`.
///
/// Numbers of completing records in other records are adapted. Owns what the views of the locations show afterwards.
class thread_book {
 public:
  static constexpr std::uint32_t no_main = 0xffffffffu;

  /// Whether there is anything to rewrite.
  static bool needed(const base::pod_vector<core::location_history*>& locations) {
    for (const core::location_history* const l : locations) {
      if (l->open_wait != 0) return true;
      for (std::uint64_t i = l->carried; i < l->records.size(); ++i)
        if (core::is_of_threads(l->records[i].call)) return true;
    }
    return false;
  }

  /// `begin`, `end`: of the run, ticks. `main`: the location that is taken to have created threads of which that was not seen.
  thread_book(const base::pod_vector<core::location_history*>& locations, std::uint64_t begin, std::uint64_t end,
              std::uint32_t main)
      : locations_(locations), begin_(begin), end_(end) {
    for (core::location_history* const l : locations_) reading_.push_back(l);
    thread_parts found(reading_);
    found.find();
    parts_.swap(found.parts);
    anchors_.swap(found.anchors);
    firsts_.resize(locations_.size(), thread_part::none);
    for (std::uint32_t l = 0; l != locations_.size(); ++l) find_unseen_begin(l, main);
    number_records();
    written_.reserve(locations_.size());
    std::size_t part = 0;
    for (std::uint32_t l = 0; l != locations_.size(); ++l) write(l, part);
  }
  thread_book(const thread_book&) = delete;
  thread_book& operator=(const thread_book&) = delete;

  /// The new records of a location.
  base::pod_vector<core::sync_record>& records_of(std::size_t location) noexcept { return written_[location]->records; }

  /// Replaces the views of the locations.
  void show() const noexcept {
    for (std::size_t l = 0; l != locations_.size(); ++l) {
      core::location_history& to = *locations_[l];
      const written& w = *written_[l];
      to.records = {&w.record_chunk, 63, w.records.size()};
      to.steps = {&w.step_chunk, 63, w.steps.size()};
      if (!w.order.empty()) to.order = {&w.order_chunk, 63, w.order.size()};
      to.absent = w.absent;
      to.open_steps = {};
      to.open_wait = 0;
      to.cuts = {};
      to.cut_steps = {};
    }
  }

 private:
  struct written {
    base::pod_vector<core::sync_record> records;
    base::pod_vector<core::path_step> steps;
    base::pod_vector<core::order_segment> order;
    std::uint64_t absent = 0;
    const core::sync_record* record_chunk = nullptr;
    const core::path_step* step_chunk = nullptr;
    const core::order_segment* order_chunk = nullptr;
  };
  struct numbers {
    base::pod_vector<std::uint32_t> of_record;  ///< new number of each record's first part
    std::uint32_t anchors_begin = 0, anchors_end = 0;  ///< of this location in `order_`
  };

  static std::uint64_t end_of(const core::sync_record& r) noexcept { return r.begin + r.duration; }
  static bool begins_thread(const core::sync_record& r) noexcept {
    return core::is_of_threads(r.call) && core::action_of(r.call).op == core::thread_op::begin;
  }

  // A thread whose creation was not seen was created by the main thread when it recorded its first event.
  void find_unseen_begin(std::uint32_t l, std::uint32_t main) {
    const core::location_history& here = *locations_[l];
    if (l == main || main >= locations_.size() || here.opened <= begin_ || here.records.size() == here.carried) return;
    const core::sync_record& first = here.records[here.carried];
    if (here.carried != 0 || begins_thread(first)) return;
    const core::location_history& creator = *locations_[main];
    const std::uint64_t opened = std::min(here.opened, first.begin);
    const std::uint32_t before = thread_parts::first_after(creator, opened);
    if (before == creator.records.size()) return;
    firsts_[l] = static_cast<std::uint32_t>(anchors_.size());
    anchors_.push_back({opened, before, thread_anchor::none, static_cast<std::uint16_t>(main), static_cast<std::uint16_t>(l)});
  }

  // Anchors of one location in the order of time; those of one instant are one record.
  void number_records() {
    order_.resize(anchors_.size());
    new_anchor_.resize(anchors_.size());
    for (std::uint32_t a = 0; a != order_.size(); ++a) order_[a] = a;
    small_stable_sort(order_, [this](std::uint32_t a, std::uint32_t b) {
      const thread_anchor &x = anchors_[a], &y = anchors_[b];
      if (x.location != y.location) return x.location < y.location;
      if (x.before != y.before) return x.before < y.before;
      if (x.ticks != y.ticks) return x.ticks < y.ticks;
      return x.cut != thread_anchor::none && y.cut == thread_anchor::none;  // the exact one is the first
    });
    numbers_.resize(locations_.size());
    std::size_t part = 0, anchor = 0;
    for (std::uint32_t l = 0; l != locations_.size(); ++l) {
      numbers& n = numbers_[l];
      const std::uint64_t count = locations_[l]->records.size();
      n.of_record.reserve(count);
      n.anchors_begin = static_cast<std::uint32_t>(anchor);
      std::uint32_t next = firsts_[l] != thread_part::none ? 1 : 0;
      for (std::uint64_t i = 0; i <= count; ++i) {
        std::uint64_t last = 0;
        for (bool first = true; anchor != order_.size() && at(anchor).location == l && at(anchor).before == i; ++anchor) {
          if (first || at(anchor).ticks != last) ++next;
          first = false;
          last = at(anchor).ticks;
          new_anchor_[order_[anchor]] = next - 1;
        }
        if (i == count) break;
        n.of_record.push_back(next);
        std::uint32_t parts = 0;
        for (; part != parts_.size() && parts_[part].location == l && parts_[part].record == i; ++part) ++parts;
        next += std::max(parts, 1u);
      }
      n.anchors_end = static_cast<std::uint32_t>(anchor);
    }
  }
  const thread_anchor& at(std::size_t place) const { return anchors_[order_[place]]; }

  void write(std::uint32_t l, std::size_t& part) {
    written_.push_back(std::make_unique<written>());
    written& w = *written_.back();
    const core::location_history& from = *locations_[l];
    w.records.reserve(from.records.size());
    w.steps.reserve(from.steps.size());
    if (firsts_[l] != thread_part::none) add_begin(w, l);
    std::size_t anchor = numbers_[l].anchors_begin;
    std::uint64_t step = 0, order = 0;
    for (std::uint64_t i = 0; i != from.records.size(); ++i) {
      const core::sync_record& r = from.records[i];
      const std::uint64_t steps_end =
          std::max<std::uint64_t>(step, std::min<std::uint64_t>(i < from.carried ? step : r.steps, from.steps.size()));
      write_segment(w, from, i, step, steps_end, anchor, numbers_[l].anchors_end);
      step = steps_end;
      for (; order < from.order.size() && from.order[order].record <= i; ++order) {
        w.order.push_back(from.order[order]);
        w.order.back().record = numbers_[l].of_record[from.order[order].record];
      }
      std::size_t last = part;
      while (last != parts_.size() && parts_[last].location == l && parts_[last].record == i) ++last;
      if (part == last) {
        w.records.push_back(r);
        adapt(w.records.back(), w.steps.size(), i < from.carried);
      } else {
        for (std::size_t p = part; p != last; ++p)
          write_part(w, r, parts_[p], p == part, p + 1 == last ? end_of(r) : parts_[p + 1].begin);
      }
      part = last;
    }
    for (; step < from.steps.size(); ++step) w.steps.push_back(from.steps[step]);
    for (std::uint64_t s = 0; s != from.open_steps.size(); ++s) w.steps.push_back(from.open_steps[s]);
    if (from.open_wait != 0 && from.open_wait < end_) add_open_wait(w, from);
    for (; order < from.order.size(); ++order) {
      w.order.push_back(from.order[order]);
      w.order.back().record = static_cast<std::uint32_t>(w.records.size());
    }
    w.record_chunk = w.records.data();
    w.step_chunk = w.steps.data();
    w.order_chunk = w.order.data();
  }

  void add_begin(written& w, std::uint32_t l) {
    core::sync_record r{};
    const thread_anchor& a = anchors_[firsts_[l]];
    r.begin = begin_;
    r.duration = a.ticks - begin_;
    r.call = core::mpi_call::thread_begin;
    r.peer = r.tag = -1;
    r.completion = new_anchor_[firsts_[l]];
    r.completed_by = a.location;
    r.flags = core::thread_flag::caused | core::thread_flag::merged;
    w.absent += r.duration;
    w.records.push_back(r);
  }

  void add_open_wait(written& w, const core::location_history& from) const {
    core::sync_record r{};
    r.begin = from.open_wait;
    if (!w.records.empty()) r.begin = std::min(std::max(r.begin, end_of(w.records.back())), end_);
    r.duration = end_ - r.begin;
    r.call = from.open_call;
    r.site = from.open_site;
    r.peer = r.tag = -1;
    r.steps = static_cast<std::uint32_t>(w.steps.size());
    w.records.push_back(r);
  }

  // The steps before record `i`, divided at the anchors among them.
  void write_segment(written& w, const core::location_history& from, std::uint64_t i, std::uint64_t first, std::uint64_t last,
                     std::size_t& anchor, std::size_t anchors_end) {
    if (anchor == anchors_end || at(anchor).before != i) {
      for (std::uint64_t s = first; s < last; ++s) w.steps.push_back(from.steps[s]);
      return;
    }
    const std::uint64_t begin = i == 0 ? begin_ : end_of(from.records[i - 1]), end = from.records[i].begin;
    base::pod_vector<core::path_step> left;  // what was not written yet, by block
    for (std::uint64_t s = first; s < last; ++s) {
      if (from.steps[s].block == core::counted_step::restart) w.steps.push_back(from.steps[s]);  // of the whole segment
      else left.push_back(from.steps[s]);
    }
    const base::pod_vector<core::path_step> all = left;
    for (; anchor != anchors_end && at(anchor).before == i;) {
      const thread_anchor& a = at(anchor);
      if (a.cut != thread_anchor::none) write_seen(w, a, all, left);
      else write_share(w, a.ticks, begin, end, all, left);
      core::sync_record r{};
      r.begin = std::max(a.ticks, begin);
      r.call = core::mpi_call::code;
      r.peer = r.tag = -1;
      r.site = from.records[i].site;
      r.steps = static_cast<std::uint32_t>(w.steps.size());
      w.records.push_back(r);
      for (const std::uint64_t ticks = a.ticks; anchor != anchors_end && at(anchor).before == i && at(anchor).ticks == ticks;)
        ++anchor;
    }
    for (const core::path_step& s : left)
      if ((s.visits | s.ticks | s.work) != 0) w.steps.push_back(s);
  }

  // Writes min(up to - written, left) of each block.
  static void write_up_to(written& w, core::path_step up_to, const core::path_step& all, core::path_step& left) {
    const auto more = [](std::uint64_t target, std::uint64_t whole, std::uint64_t rest) {
      const std::uint64_t done = whole - rest;
      return target > done ? std::min(target - done, rest) : 0;
    };
    up_to.visits = more(up_to.visits, all.visits, left.visits);
    up_to.ticks = more(up_to.ticks, all.ticks, left.ticks);
    up_to.work = more(up_to.work, all.work, left.work);
    left.visits -= up_to.visits;
    left.ticks -= up_to.ticks;
    left.work -= up_to.work;
    if ((up_to.visits | up_to.ticks | up_to.work) == 0) return;
    up_to.block = all.block;
    up_to.within = all.within;
    w.steps.push_back(up_to);
  }

  // What a waiter saw.
  void write_seen(written& w, const thread_anchor& a, const base::pod_vector<core::path_step>& all,
                  base::pod_vector<core::path_step>& left) {
    const core::location_history& observer = *locations_[a.observer];
    const std::uint64_t first = first_step_of(a.observer, a.cut);
    const core::thread_cut& c = observer.cuts[a.cut];
    for (std::uint32_t k = 0; k != c.steps && first + k < observer.cut_steps.size(); ++k) {
      const core::path_step& seen = observer.cut_steps[first + k];
      for (std::size_t s = 0; s != all.size(); ++s)
        if (all[s].block == seen.block) {
          write_up_to(w, seen, all[s], left[s]);
          break;
        }
    }
  }
  // A part that corresponds to the time; visits belong to the end.
  static void write_share(written& w, std::uint64_t ticks, std::uint64_t begin, std::uint64_t end,
                          const base::pod_vector<core::path_step>& all, base::pod_vector<core::path_step>& left) {
    if (end <= begin || ticks <= begin) return;
    const double share = std::min(1.0, static_cast<double>(ticks - begin) / static_cast<double>(end - begin));
    std::uint64_t sum = 0, written_sum = 0;  // rounded together, so that the parts fill the time
    for (std::size_t s = 0; s != all.size(); ++s) {
      core::path_step part = all[s];
      sum += part.ticks;
      const auto up_to = static_cast<std::uint64_t>(share * static_cast<double>(sum) + 0.5);
      part.visits = part.work = 0;
      part.ticks = std::min(part.ticks, up_to - std::min(up_to, written_sum));
      written_sum += part.ticks;
      write_up_to(w, part, all[s], left[s]);
    }
  }

  std::uint64_t first_step_of(std::uint32_t observer, std::uint32_t cut) {
    if (first_steps_.empty()) first_steps_.resize(locations_.size());
    base::pod_vector<std::uint64_t>& firsts = first_steps_[observer];
    const auto& cuts = locations_[observer]->cuts;
    if (firsts.empty()) {
      std::uint64_t first = 0;
      for (std::uint64_t c = 0; c != cuts.size(); ++c) {
        firsts.push_back(first);
        first += cuts[c].steps;
      }
    }
    return firsts[cut];
  }

  void write_part(written& w, const core::sync_record& wait, const thread_part& p, bool first, std::uint64_t until) {
    w.records.push_back(wait);
    core::sync_record& r = w.records.back();
    const bool begins = begins_thread(wait);
    const std::size_t before = w.records.size() - 1;
    r.begin = !begins ? p.begin : before != 0 ? end_of(w.records[before - 1]) : std::min(begin_, wait.begin);
    r.duration = std::max(begins ? wait.begin : until, r.begin) - r.begin;
    if (begins) w.absent += r.duration;
    if (!first) r.overhead = 0;
    r.steps = static_cast<std::uint32_t>(w.steps.size());
    r.flags = static_cast<std::uint16_t>(r.flags & ~unsigned{core::thread_flag::caused | core::thread_flag::merged});
    if (p.overtaken) r.flags = static_cast<std::uint16_t>(r.flags | core::thread_flag::overtaken);
    if (!p.caused) return;
    r.flags = static_cast<std::uint16_t>(r.flags | core::thread_flag::caused |
                                         (p.bounded ? unsigned{core::thread_flag::merged} : 0u));
    r.completed_by = p.causer_location;
    r.completion = p.causer_is_anchor ? new_anchor_[p.causer] : numbers_[p.causer_location].of_record[p.causer];
    // A thread that was notified waits for the lock again.
    if (core::action_of(wait.call).op == core::thread_op::await_notify && !p.causer_is_anchor &&
        is_release(locations_[p.causer_location]->records[p.causer].call))
      r.call = lock_after(wait.call);
    if (p.base == thread_part::none) return;
    r.flags = static_cast<std::uint16_t>(r.flags | core::thread_flag::based);
    r.tag = static_cast<std::int32_t>(p.base_is_record ? numbers_[p.causer_location].of_record[p.base] : new_anchor_[p.base]);
  }

  // The call by which a thread takes its lock again inside a wait for a notification.
  static core::mpi_call lock_after(core::mpi_call wait) noexcept {
    switch (wait) {
      case core::mpi_call::pthread_cond_wait:
      case core::mpi_call::pthread_cond_timedwait: return core::mpi_call::pthread_mutex_lock;
      case core::mpi_call::cnd_wait:
      case core::mpi_call::cnd_timedwait: return core::mpi_call::mtx_lock;
      default: return core::mpi_call::mutex_lock;
    }
  }
  static bool is_release(core::mpi_call call) noexcept {
    return core::is_of_threads(call) && core::action_of(call).object == core::thread_object::lock;
  }

  // A record that is not divided.
  void adapt(core::sync_record& r, std::uint64_t steps, bool carried) const {
    if (!carried) r.steps = static_cast<std::uint32_t>(steps);
    if (core::is_of_threads(r.call)) {
      r.flags = static_cast<std::uint16_t>(r.flags & ~unsigned{core::thread_flag::caused});
      return;
    }
    const core::call_role role = core::role_of(r.call);
    const bool polls = role == core::call_role::test || role == core::call_role::test_probe;
    if (!r.has(core::sync_flag::complete) || (polls && !r.has(core::sync_flag::posts_receive | core::sync_flag::posts_send)))
      return;
    if (r.completed_by < numbers_.size() && r.completion < numbers_[r.completed_by].of_record.size())
      r.completion = numbers_[r.completed_by].of_record[r.completion];
  }

  base::pod_vector<core::location_history*> locations_;
  base::pod_vector<const core::location_history*> reading_;
  std::uint64_t begin_, end_;
  base::pod_vector<thread_part> parts_;
  base::pod_vector<thread_anchor> anchors_;
  base::pod_vector<std::uint32_t> firsts_;  ///< by location: the anchor that created its thread, or none
  base::pod_vector<std::uint32_t> order_;  ///< anchors in the order of locations and time
  base::pod_vector<std::uint32_t> new_anchor_;  ///< new record number of each anchor
  base::vector<numbers> numbers_;
  base::vector<base::pod_vector<std::uint64_t>> first_steps_;  ///< by observer: first step of each cut
  base::vector<std::unique_ptr<written>> written_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
