#ifndef WHYWAIT_REPORT_FREQUENT_LOCKS_HPP
#define WHYWAIT_REPORT_FREQUENT_LOCKS_HPP

#include <whywait/report/model.hpp>
#include <whywait/report/words.hpp>

#include <cstdint>
#include <string>

namespace whywait {
inline namespace v0 {
namespace reports {

/// Many short waits for locks: then handing a lock over from one processor to another costs more than they do.
struct frequent_locks {
  double count = 0, seconds = 0;
  const base::place* site = nullptr;  ///< where the longest of them are; null: unknown

  explicit frequent_locks(const result& r)
      : count(static_cast<double>(r.run.short_waits)), seconds(r.run.short_wait_seconds), run_(r.run.seconds) {
    double most = 0;
    for (const wait_entry& w : r.waits) {
      if (w.pattern != "mutex_contention") continue;
      count += static_cast<double>(w.count);
      seconds += w.seconds;
      if (w.seconds > most) most = w.seconds, site = &w.operation;
    }
  }
  /// Whether a problem is one of waits for locks.
  static bool concern(const std::string& problem) noexcept {
    return problem == "mutex_contention" || problem == "work_under_lock";
  }
  bool matter() const noexcept {
    constexpr double least_per_second = 50000, most_mean = 5e-6;
    return count >= least_per_second * run_ && run_ > 0 && seconds <= most_mean * count;
  }
  std::string words() const {
    if (!matter()) return {};
    const std::string how_often =
        base::joined({site != nullptr ? "threads waited for locks " : "threads waited briefly for each other ",
                      base::count(static_cast<std::int64_t>(count / run_)), " times a second, ",
                      base::duration(seconds / count), " on average"});
    if (site == nullptr)
      return how_often + ": the calls cost more than that, so that it is not known what larger pieces of work save";
    return base::joined(
        {how_often, ", most in ", brief_call_text(*site),
         ": handing a lock over costs more than that, so that it is not known what taking it less often saves"});
  }

 private:
  double run_;
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
