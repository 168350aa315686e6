#ifndef WHYWAIT_REPORT_MERGE_LINES_HPP
#define WHYWAIT_REPORT_MERGE_LINES_HPP

#include <whywait/explain/sorting.hpp>
#include <whywait/report/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <tuple>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace report {

namespace detail {

inline std::int64_t more_visits(const residual_entry& r) noexcept {
  return r.causer_visits > r.waiter_visits ? r.causer_visits - r.waiter_visits : r.waiter_visits - r.causer_visits;
}

// Lines of code that the compiler counts, not a marked step.
inline bool is_lines(const residual_entry& r) noexcept {
  return r.kind == "step" && r.where.line > 0 && r.where.last_line >= r.where.line;
}

// A loop's test runs once more than its body, each time that the loop is entered.
inline bool nearly(std::int64_t a, std::int64_t b) noexcept {
  return std::max(a, b) - std::min(a, b) <= std::max(a, b) / 100;
}

}  // namespace detail

/// Lines that the compiler counted, brought to what a reader can follow: of several blocks on one line the one that
/// differs most, and lines of a function that both sides ran equally often become one range, if what lies between
/// them did not run differently. Marked steps stay as they are. Steps end up behind the timed blocks, those that
/// differ most first. `roughly`: counts that are equal but for 1 % may become one range, too, with the smaller counts.
/// O(n log n).
[[gnu::cold]] inline void merge_lines(std::vector<residual_entry>& residual, bool roughly) {
  std::vector<residual_entry> lines, others;
  for (residual_entry& r : residual) (detail::is_lines(r) ? lines : others).push_back(std::move(r));
  explain::sort_rarely(lines, [](const residual_entry& a, const residual_entry& b) {
    const auto place = [](const residual_entry& r) {
      return std::tie(r.within, r.where.module, r.where.file, r.where.function, r.where.line);
    };
    if (place(a) != place(b)) return place(a) < place(b);
    return detail::more_visits(a) > detail::more_visits(b);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    residual_entry& next = lines[i];
    if (kept != 0) {
      residual_entry& last = lines[kept - 1];
      const bool same_code = last.within == next.within && last.where.module == next.where.module &&
                             last.where.file == next.where.file && last.where.function == next.where.function;
      if (same_code && last.where.line == next.where.line) continue;
      if (same_code && ((last.causer_visits == next.causer_visits && last.waiter_visits == next.waiter_visits) ||
                        (roughly && detail::nearly(last.causer_visits, next.causer_visits) &&
                         detail::nearly(last.waiter_visits, next.waiter_visits)))) {
        last.where.last_line = std::max(last.where.last_line, next.where.last_line);
        last.causer_visits = std::min(last.causer_visits, next.causer_visits);
        last.waiter_visits = std::min(last.waiter_visits, next.waiter_visits);
        continue;
      }
    }
    if (kept != i) lines[kept] = std::move(next);
    ++kept;
  }
  lines.resize(kept);
  residual = std::move(others);
  for (residual_entry& r : lines) residual.push_back(std::move(r));
  const auto steps = std::stable_partition(residual.begin(), residual.end(),
                                           [](const residual_entry& r) { return r.kind != "step"; });
  std::vector<residual_entry> sorted(std::make_move_iterator(steps), std::make_move_iterator(residual.end()));
  residual.erase(steps, residual.end());
  explain::sort_rarely(sorted, [](const residual_entry& a, const residual_entry& b) {
    return detail::more_visits(a) > detail::more_visits(b);
  });
  for (residual_entry& r : sorted) residual.push_back(std::move(r));
}

}  // namespace report
}  // namespace v0
}  // namespace whywait

#endif
