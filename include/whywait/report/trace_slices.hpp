#ifndef WHYWAIT_REPORT_TRACE_SLICES_HPP
#define WHYWAIT_REPORT_TRACE_SLICES_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace whywait {
inline namespace v0 {
namespace reports {

enum class slice_kind : std::uint8_t { region, call, wait, step };

/// One interval of a timeline, in the time that all ranks share; a step has no duration. Plain values, sent as they are.
struct trace_slice {
  std::int64_t begin_ns = 0, end_ns = 0;
  std::uint32_t name = 0;  ///< number of a key of its rank; of a wait the number of the wait
  std::uint16_t location = 0;
  slice_kind kind = slice_kind::region;
  std::uint8_t unused = 0;
};

/// One wait of a timeline, with the largest terms of its explanation.
struct trace_wait {
  static constexpr std::size_t most_terms = 3;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t term_ns[most_terms] = {0, 0, 0};
  std::uint32_t term[most_terms] = {0, 0, 0};  ///< numbers of keys of blocks
  std::uint32_t operation = 0, cause = 0;      ///< numbers of keys of call sites
  std::int32_t causer_rank = 0;
  std::uint16_t location = 0, causer_location = 0;
  std::uint8_t why = 0;    ///< explain::pattern
  std::uint8_t trust = 0;  ///< explain::quality
  std::uint8_t terms = 0;
  std::uint8_t explained = 0;
  std::uint32_t unused = 0;
};
static_assert(std::is_trivially_copyable<trace_slice>::value && std::is_trivially_copyable<trace_wait>::value, "sent as bytes");

/// Sorts the slices of all locations of a rank, enclosing ones first, and cuts what reaches beyond the slice around it, so that
/// they nest: polls that follow one another are one slice, and a region may begin between two of them. O(n log n).
inline void nest(base::pod_vector<trace_slice>& all) {
  base::small_stable_sort(all, [](const trace_slice& a, const trace_slice& b) {
    if (a.location != b.location) return a.location < b.location;
    if (a.begin_ns != b.begin_ns) return a.begin_ns < b.begin_ns;
    if (a.end_ns != b.end_ns) return a.end_ns > b.end_ns;
    return a.kind < b.kind;
  });
  base::pod_vector<std::int64_t> open;
  std::uint16_t location = 0;
  for (trace_slice& s : all) {
    if (s.location != location) open.clear();
    location = s.location;
    while (!open.empty() && open.back() <= s.begin_ns && s.end_ns > open.back()) open.pop_back();
    if (!open.empty() && s.end_ns > open.back()) s.end_ns = open.back();
    if (s.kind != slice_kind::step) open.push_back(s.end_ns);
  }
}

/// Lines of a trace by the logarithm of their durations, four steps an octave, to find the duration below which lines have to be
/// left out. Added up over the ranks.
struct duration_histogram {
  static constexpr int steps = 64 * 4;
  std::int64_t lines[steps] = {};

  static int step_of(std::int64_t ns) noexcept {
    if (ns < 4) return ns < 0 ? 0 : static_cast<int>(ns);
    const int octave = 63 - __builtin_clzll(static_cast<unsigned long long>(ns));
    return octave * 4 + static_cast<int>(ns >> (octave - 2) & 3);
  }
  /// The shortest duration of a step.
  static std::int64_t least_of(int step) noexcept {
    if (step < 8) return std::min(step, 4);
    return (std::int64_t{4} + (step & 3)) << (step / 4 - 2);
  }
  void add(const trace_slice& s) noexcept { lines[step_of(s.end_ns - s.begin_ns)] += s.kind == slice_kind::wait ? 3 : 1; }

  /// The least duration with which at most `most` lines remain; 0: nothing has to be left out.
  std::int64_t least_duration(std::int64_t most) const noexcept {
    std::int64_t sum = 0;
    for (int step = steps - 1; step >= 0; --step) {
      sum += lines[step];
      if (sum > most) return step + 1 < steps ? least_of(step + 1) : INT64_MAX;
    }
    return 0;
  }
};

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
