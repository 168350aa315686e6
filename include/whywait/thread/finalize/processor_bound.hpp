#ifndef WHYWAIT_THREAD_FINALIZE_PROCESSOR_BOUND_HPP
#define WHYWAIT_THREAD_FINALIZE_PROCESSOR_BOUND_HPP

#include <whywait/core/registry.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/finalize/collect_location.hpp>
#include <whywait/record/location.hpp>
#include <whywait/report/model.hpp>

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace threads {

/// What the threads of this process used of processors so far, and how many they may use.
struct processor_time {
  std::int64_t ns = 0;
  std::int64_t processors = 0;  ///< 0: not known

  static processor_time of_process() noexcept {
    processor_time out;
    const auto ns_of = [](const timeval& t) { return std::int64_t(t.tv_sec) * 1000000000 + std::int64_t(t.tv_usec) * 1000; };
    rusage used;
    cpu_set_t allowed;
    if (getrusage(RUSAGE_SELF, &used) != 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return out;
    out.ns = ns_of(used.ru_utime) + ns_of(used.ru_stime);
    out.processors = CPU_COUNT(&allowed);
    return out;
  }
};

namespace detail {

inline std::int64_t time_of(clockid_t clock) noexcept {
  timespec t;
  return clock_gettime(clock, &t) == 0 ? std::int64_t(t.tv_sec) * 1000000000 + t.tv_nsec : -1;
}
/// The processor time of one thread of this process, by its number in the kernel.
inline clockid_t clock_of(std::uint32_t tid) noexcept {
  return static_cast<clockid_t>((~tid << 3) | 6u);  // as the C library makes it of a pthread_t
}

}  // namespace detail

/// What threads that were not recorded used of the processor time of this process so far.
inline reports::unrecorded_threads unrecorded_threads_of(core::registry& registry) {
  reports::unrecorded_threads out;
  const finalize::locked guard(registry.mutex);  // threads that end or begin exchange their locations
  const std::int64_t whole = detail::time_of(CLOCK_PROCESS_CPUTIME_ID);
  std::int64_t recorded = 0;
  for (const core::location_base* base = registry.locations; base != nullptr; base = base->next) {
    const bool ended = __atomic_load_n(&base->finished, __ATOMIC_ACQUIRE) != 0;
    const std::int64_t now = ended ? 0 : detail::time_of(detail::clock_of(static_cast<const record::location*>(base)->tid));
    recorded += static_cast<std::int64_t>(base->processor_ns) + std::max<std::int64_t>(0, now);
  }
  out.large_teams = __atomic_load_n(&registry.interposed.large_teams, __ATOMIC_RELAXED) != 0;
  if (whole <= recorded) return out;
  out.seconds = static_cast<double>(whole - recorded) * 1e-9;
  out.share = static_cast<double>(whole - recorded) / static_cast<double>(whole);
  return out;
}

/// What another division of the same work saves at most: no run is shorter than its processor time on all processors.
inline std::int64_t most_divided_ns(const explain::outcome& found, const processor_time& used) noexcept {
  return used.processors > 0 ? std::max<std::int64_t>(0, found.total_ns - used.ns / used.processors) : INT64_MAX;
}

/// Bounds the answers about balanced blocks where that is less than the clocks result in, which do not take account of processors.
inline void bound_balances(explain::outcome& found, const processor_time& used) {
  const std::int64_t most_ns = most_divided_ns(found, used);
  for (explain::balance_answer& b : found.balances) {
    if (b.saving_ns <= most_ns) continue;
    b.saving_ns = most_ns;
    b.bounded = true;
    b.moves = false;
  }
}

}  // namespace threads
}  // namespace v0
}  // namespace whywait

#endif
