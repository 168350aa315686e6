#ifndef WHYWAIT_THREAD_FINALIZE_PROCESSOR_BOUND_HPP
#define WHYWAIT_THREAD_FINALIZE_PROCESSOR_BOUND_HPP

#include <whywait/explain/explanation.hpp>

#include <sched.h>
#include <sys/resource.h>

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

/// More even work of the same amount cannot make a run shorter than its processor time on all processors. Bounds the answers about
/// balanced blocks where that is less than the clocks say, which know nothing of processors.
inline void bound_balances(explain::outcome& found, const processor_time& used) {
  if (used.processors <= 0) return;
  const std::int64_t most_ns = std::max<std::int64_t>(0, found.total_ns - used.ns / used.processors);
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
