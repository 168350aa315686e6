#ifndef WHYWAIT_THREAD_FINALIZE_CONDITION_BARRIERS_HPP
#define WHYWAIT_THREAD_FINALIZE_CONDITION_BARRIERS_HPP

#include <whywait/base/key_map.hpp>
#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/thread_record.hpp>
#include <whywait/explain/thread_book.hpp>
#include <whywait/explain/walk.hpp>
#include <whywait/finalize/process_names.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace threads {

/// Finds barriers that a program makes of a mutex and a condition variable, and rewrites their records to those of pthread_barrier_wait:
/// each thread either waits for the condition or, as the last one, notifies all others, which have to be the same, in the same function.
/// It then has the same code between two barriers whether it was the last or not. No barrier is a condition that hands something to and
/// fro, of which a thread that notified waits at once, or by which one function tells another. At most 64 threads.
class condition_barriers {
 public:
  /// `history`: with the keys of its call sites; `book`: shown there.
  condition_barriers(core::rank_history& history, explain::thread_book& book, const finalize::process_names& names)
      : history_(history), book_(book), functions_(names) {
    if (history.locations.size() > 64) return;
    each(&condition_barriers::count, false);
    each(&condition_barriers::name_site, true);
    if (names_.size() != 0) each(&condition_barriers::rewrite, true);
  }

 private:
  struct condition {
    std::uint64_t notifiers, waiters;  ///< bits by location
    std::uint64_t wait_ticks, early_ticks;  ///< of threads that came early: waiting, and since they left it before
    std::uint64_t left;  ///< when the thread at hand left it last
    std::uint32_t location, notifications, waits, others, of_function;

    bool is_barrier() const noexcept {
      const auto members = static_cast<std::uint64_t>(__builtin_popcountll(notifiers | waiters));
      const std::uint64_t all = notifications * (members - 1);
      return notifications >= 3 && 10 * of_function >= 9 * waits && 20 * others <= waits && waits <= all &&
             4 * waits >= 3 * all && 10 * early_ticks >= wait_ticks;
    }
  };

  // Visits the records of conditions, or those of barriers.
  void each(void (condition_barriers::*visit)(std::size_t, std::size_t), bool barriers) {
    for (std::size_t l = 0; l != history_.locations.size(); ++l) {
      for (std::size_t i = history_.locations[l].carried; i < book_.records_of(l).size(); ++i) {
        const core::sync_record& r = record(l, i);
        if (r.bytes == 0 || !core::is_of_threads(r.call) || core::action_of(r.call).object != core::thread_object::condition)
          continue;
        if (!barriers || (conditions_[numbers_.find(r.bytes)].is_barrier() &&
                          (caused(r) || core::action_of(r.call).op != core::thread_op::await_notify)))
          (this->*visit)(l, i);
      }
    }
  }
  core::sync_record& record(std::size_t l, std::size_t i) noexcept { return book_.records_of(l)[i]; }
  static bool caused(const core::sync_record& r) noexcept {
    return r.has(core::thread_flag::caused) && !r.has(core::thread_flag::in_vain | core::thread_flag::timed_out);
  }

  void count(std::size_t l, std::size_t i) {
    const core::sync_record& r = record(l, i);
    const std::uint32_t fresh = static_cast<std::uint32_t>(conditions_.size()), number = numbers_.intern(r.bytes, fresh);
    if (number == fresh) conditions_.push_back({0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    condition& c = conditions_[number];
    if (c.location != l + 1) c.left = 0;
    c.location = static_cast<std::uint32_t>(l) + 1;
    const core::thread_op op = core::action_of(r.call).op;
    if (op != core::thread_op::await_notify) {
      c.notifiers |= std::uint64_t{1} << l;
      ++(op == core::thread_op::notify_all ? c.notifications : c.others);
    } else if (!caused(r)) {
      ++c.others;
    } else {
      c.waiters |= std::uint64_t{1} << l;
      ++c.waits;
      c.wait_ticks += r.duration;
      c.of_function += is_in_function(l, r);
      if (c.left != 0) c.early_ticks += r.begin - std::min(r.begin, c.left);
    }
    c.left = r.begin + r.duration;
  }
  // 1 if the thread is notified in the function in which it waits; else 0.
  std::uint32_t is_in_function(std::size_t l, const core::sync_record& r) {
    const core::stable_key wait = explain::site_of(history_.locations[l], r);
    const core::stable_key event = explain::site_of(history_.locations[r.completed_by], record(r.completed_by, r.completion));
    const auto fresh = static_cast<std::uint32_t>(same_.size());
    const std::uint32_t pair = pairs_.intern(core::combine(wait, event), fresh);
    if (pair == fresh) {
      base::vector<core::stable_key> keys;
      keys.push_back(wait);
      keys.push_back(event);
      const base::names found = functions_.names_of(keys);
      const base::place *const here = found.find(wait), *const there = found.find(event);
      const bool same =
          here != nullptr && there != nullptr && here->function == there->function && here->module == there->module;
      same_.push_back(same && !here->function.empty() ? 1 : 0);
    }
    return same_[pair];
  }

  // Names where others wait for a notification, and for those of the same place.
  void name_site(std::size_t l, std::size_t i) {
    const core::sync_record& r = record(l, i);
    if (!caused(r)) return;
    const auto fresh = static_cast<std::uint32_t>(names_.size());
    const core::sync_record& event = record(r.completed_by, r.completion);
    names_of_.intern(core::combine(r.completed_by + 1u, r.completion + 1u), fresh);
    names_of_.intern(explain::site_of(history_.locations[r.completed_by], event), fresh);
    names_.push_back(explain::site_of(history_.locations[l], r));
  }

  void rewrite(std::size_t l, std::size_t i) {
    core::sync_record& r = record(l, i);
    const condition& c = conditions_[numbers_.find(r.bytes)];
    const std::uint64_t near = c.wait_ticks / c.waits / 20;
    if (!caused(r)) {
      core::location_history& here = history_.locations[l];
      std::uint32_t at = names_of_.find(core::combine(l + 1, i + 1));
      if (at == base::key_map::none) at = names_of_.find(explain::site_of(here, r));
      if (at != base::key_map::none) {
        for (r.site = 0; r.site != here.call_sites.size() && here.call_sites[r.site] != names_[at];) ++r.site;
        if (r.site == here.call_sites.size()) {  // the thread never waited there
          here.call_sites.push_back(names_[at]);
          if (!here.code_sites.empty()) here.code_sites.push_back(names_[at]);
        }
      }
    }
    r.call = core::mpi_call::pthread_barrier_wait;
    // Taking and giving up the lock is a part of the barrier: no code of the program begins or ends there.
    std::size_t first = i, last = i;
    while (first != 0 && is_part(l, first - 1) && record(l, first - 1).begin + record(l, first - 1).duration + near >= r.begin)
      --first;
    while (is_part(l, last + 1) && record(l, last + 1).begin <= r.begin + r.duration + near) ++last;
    for (; first != last + 1; ++first) {
      core::sync_record& x = record(l, first);
      x.site = r.site;
      if (first < i && x.duration != 0) x.duration = r.begin - x.begin;
      if (first > i) r.duration = std::max(r.duration, x.begin + x.duration - r.begin);
      if (first == i || (first < i && x.duration != 0)) continue;
      x.call = core::mpi_call::code;
      x.begin += x.duration;
      x.duration = x.flags = 0;
    }
  }
  bool is_part(std::size_t l, std::size_t i) noexcept {
    if (i >= book_.records_of(l).size()) return false;
    const core::mpi_call call = record(l, i).call;
    return call == core::mpi_call::code ||
           (core::is_of_threads(call) && core::action_of(call).object == core::thread_object::lock);
  }

  core::rank_history& history_;
  explain::thread_book& book_;
  const finalize::process_names& functions_;
  base::key_map numbers_;  ///< in conditions_, by object
  base::pod_vector<condition> conditions_;
  base::key_map pairs_;  ///< in same_: of a call site that waits and one that notifies
  base::pod_vector<std::uint32_t> same_;
  base::key_map names_of_;  ///< in names_, by notification and by its call site
  base::pod_vector<core::stable_key> names_;  ///< call sites of waits
};

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif
