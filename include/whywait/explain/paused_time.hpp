#ifndef WHYWAIT_EXPLAIN_PAUSED_TIME_HPP
#define WHYWAIT_EXPLAIN_PAUSED_TIME_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/sorting.hpp>
#include <whywait/core/sync_record.hpp>

#include <algorithm>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// When the explanation of one process is paused: from MPI_Pcontrol(0), of any of its threads, to MPI_Pcontrol(1). Waits that
/// begin there are matched and passed on like all others, because later waits of this and other ranks may depend on them, but
/// they are not counted. All times are shared ones.
class paused_time {
 public:
  /// A record of MPI_Pcontrol that ended at `at_ns`; in any order. Other levels than 0 and 1 mean nothing here.
  void add(const core::sync_record& r, std::int64_t at_ns) {
    if (r.tag == 0 || r.tag == 1) changes_.push_back({at_ns, r.tag == 0});
  }
  /// After the last record. `paused`: whether it was paused before the first. Returns whether it is after the last.
  bool close(bool paused) {
    small_stable_sort(changes_, [](const change& a, const change& b) { return a.at_ns < b.at_ns; });
    std::int64_t since_ns = INT64_MIN;
    for (const change& c : changes_) {
      if (c.pause == paused) continue;
      if (paused) spans_.push_back({since_ns, c.at_ns});
      paused = c.pause;
      since_ns = c.at_ns;
    }
    if (paused) spans_.push_back({since_ns, INT64_MAX});
    return paused;
  }

  bool contains(std::int64_t ns) const noexcept {
    if (spans_.empty()) return false;
    const span* const after = std::upper_bound(spans_.begin(), spans_.end(), ns,
                                               [](std::int64_t at_ns, const span& s) { return at_ns < s.begin_ns; });
    return after != spans_.begin() && ns < after[-1].end_ns;
  }
  /// The part of an interval that is paused.
  std::int64_t within(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
    std::int64_t sum = 0;
    for (const span& s : spans_) sum += std::max<std::int64_t>(0, std::min(s.end_ns, end_ns) - std::max(s.begin_ns, begin_ns));
    return sum;
  }

 private:
  struct change {
    std::int64_t at_ns;
    bool pause;
  };
  struct span {
    std::int64_t begin_ns, end_ns;
  };
  base::pod_vector<change> changes_;
  base::pod_vector<span> spans_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
