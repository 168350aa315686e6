#ifndef WHYWAIT_THREAD_FINALIZE_THREAD_TIME_HPP
#define WHYWAIT_THREAD_FINALIZE_THREAD_TIME_HPP

#include <whywait/base/places.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/rank_history.hpp>
#include <whywait/core/sync_record.hpp>
#include <whywait/core/thread_record.hpp>
#include <whywait/finalize/process_records.hpp>
#include <whywait/finalize/site_times.hpp>
#include <whywait/rules/own_code.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#ifndef WHYWAIT_DISABLE

namespace whywait {
inline namespace v0 {
namespace threads {

/// Time of the threads of a process in calls of one kind, by thread and call site.
class thread_time {
 public:
  void add(std::size_t thread, core::stable_key site, std::int64_t ns, std::int64_t calls) {
    if (ns <= 0) return;
    if (by_thread_.size() <= thread) by_thread_.resize(thread + 1, 0);
    by_thread_[thread] += ns;
    sites_.add(site, ns, calls);
  }
  /// Orders the call sites by their time; to be called once, when all is added.
  void close() {
    sites_.fold();
    sites_.keep_most();
  }
  std::int64_t of(std::int32_t thread) const noexcept {
    const auto t = static_cast<std::size_t>(thread);
    return thread >= 0 && t < by_thread_.size() ? by_thread_[t] : 0;
  }
  std::int64_t of_all() const noexcept {
    std::int64_t sum = 0;
    for (const std::int64_t ns : by_thread_) sum += ns;
    return sum;
  }
  void add_keys(base::vector<core::stable_key>& to) const {
    for (const finalize::site_times::entry& e : sites_.entries()) to.push_back(e.key);
  }
  /// `to`: reports::mpi_time or reports::not_understood, where threads are ranks.
  template <class Time>
  void tell(Time& to, const base::names& names) const {
    for (std::size_t t = 0; t != by_thread_.size(); ++t) {
      const double seconds = static_cast<double>(by_thread_[t]) * 1e-9;
      to.ranks.push_back({static_cast<std::int32_t>(t), 0, seconds});
      to.seconds += seconds;
    }
    sites_.name(to.calls, names);
  }

 private:
  base::pod_vector<std::int64_t> by_thread_;
  finalize::site_times sites_;
};

/// Takes time in calls that only sleep or yield the processor out of what code spent in the kernel: no program is slow because of it.
inline void leave_out_sleep(rules::code_use& whole, const thread_time& asleep) noexcept {
  const auto less = [](std::int64_t& from, std::int64_t ns) { from = std::max<std::int64_t>(0, from - ns); };
  less(whole.counts[core::code_count::system_ns], asleep.of_all());
  less(whole.most_counts[core::code_count::system_ns], asleep.of(whole.most_rank));
}

/// Time in calls that only sleep or yield the processor (interposed_outside.hpp).
inline thread_time time_asleep(const finalize::process_records& all) {
  thread_time asleep;
  for (std::size_t t = 0; t != all.threads.size(); ++t) {
    const record::call_site_table* const sites = all.threads[t].sites;
    const auto& keys = all.history.locations[t].call_sites;
    for (std::uint32_t i = 1; sites != nullptr && i < sites->size() && i < keys.size(); ++i) {
      const record::call_site& site = (*sites)[i];
      if (site.call != core::mpi_call::nanosleep && site.call != core::mpi_call::clock_nanosleep &&
          site.call != core::mpi_call::usleep && site.call != core::mpi_call::sleep &&
          site.call != core::mpi_call::sched_yield) {
        continue;
      }
      asleep.add(t, keys[i], static_cast<std::int64_t>(static_cast<double>(site.ticks) * all.history.clock.ns_per_tick),
                 static_cast<std::int64_t>(site.count));
    }
  }
  asleep.close();
  return asleep;
}

/// Time in waits that no other thread is known to have ended.
struct time_without_cause {
  thread_time
      outside;  ///< in calls that wait for something outside of the threads, and in waits that ended at their time limit
  thread_time unknown;  ///< in other waits that ended before the run did
};

/// `all`: rewritten by a thread_book.
inline time_without_cause time_without_cause_of(const core::rank_history& all, std::uint64_t end_ticks) {
  time_without_cause out;
  for (std::size_t t = 0; t != all.locations.size(); ++t) {
    const core::location_history& here = all.locations[t];
    for (std::uint64_t i = here.carried; i != here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      if (core::role_of(r.call) != core::call_role::thread_wait || r.has(core::thread_flag::caused)) continue;
      const core::thread_action& action = core::action_of(r.call);
      const bool outside = action.object == core::thread_object::outside;
      if (action.op == core::thread_op::begin || r.call == core::mpi_call::omp_idle) continue;
      if (!outside && r.begin + r.duration >= end_ticks) continue;  // no thread can end it any more
      thread_time& sum = outside || r.has(core::thread_flag::timed_out) ? out.outside : out.unknown;
      const core::stable_key site = r.site < here.call_sites.size() ? here.call_sites[r.site] : 0;
      sum.add(t, site, static_cast<std::int64_t>(static_cast<double>(r.duration) * all.clock.ns_per_tick), 1);
    }
  }
  out.outside.close();
  out.unknown.close();
  return out;
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif  // WHYWAIT_DISABLE

#endif
