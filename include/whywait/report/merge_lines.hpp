#ifndef WHYWAIT_REPORT_MERGE_LINES_HPP
#define WHYWAIT_REPORT_MERGE_LINES_HPP

#include <whywait/base/sorting.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/report/model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace reports {

namespace detail {

inline std::int64_t more_visits(const residual_entry& r) noexcept {
  return r.causer_visits > r.waiter_visits ? r.causer_visits - r.waiter_visits : r.waiter_visits - r.causer_visits;
}

// Whether an entry stands for lines that the compiler counts, not for a marked step.
inline bool is_lines(const residual_entry& r) noexcept {
  return r.kind == "step" && r.where.line > 0 && r.where.last_line >= r.where.line;
}

// The condition of a loop runs one time more than its body each time the loop is entered.
inline bool nearly(std::int64_t a, std::int64_t b) noexcept { return std::max(a, b) - std::min(a, b) <= std::max(a, b) / 100; }

}  // namespace detail

/// Merges lines that the compiler counted. Of several blocks on one line the one with the largest difference remains.
/// Lines of a function with equal counts on both sides become one range, unless a line between them has other counts.
/// `roughly` also merges counts that differ by at most 1 % and keeps the smaller ones. Marked steps are unchanged.
/// Steps come after the timed blocks, sorted by difference. O(n log n).
inline void merge_lines(base::vector<residual_entry>& residual, bool roughly) {
  base::vector<residual_entry> lines, others;
  for (residual_entry& r : residual) (detail::is_lines(r) ? lines : others).push_back(std::move(r));
  base::small_stable_sort(lines, [](const residual_entry& a, const residual_entry& b) {
    if (const int c = a.within.compare(b.within)) return c < 0;
    if (const int c = a.where.module.compare(b.where.module)) return c < 0;
    if (const int c = a.where.file.compare(b.where.file)) return c < 0;
    if (const int c = a.where.function.compare(b.where.function)) return c < 0;
    if (a.where.line != b.where.line) return a.where.line < b.where.line;
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
  for (std::size_t i = 0; i < kept; ++i) others.push_back(std::move(lines[i]));
  base::small_stable_sort(others, [](const residual_entry& a, const residual_entry& b) {
    if (a.kind != "step" || b.kind != "step") return a.kind != "step" && b.kind == "step";
    return detail::more_visits(a) > detail::more_visits(b);
  });
  residual = std::move(others);
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
