#ifndef WHYWAIT_CLOCKS_USUAL_TAILS_HPP
#define WHYWAIT_CLOCKS_USUAL_TAILS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/explain/clocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// How long calls take after all that they need has arrived, by call site: the median of calls that did not wait, without such
/// calls the lower quartile of the others. A call that waited and takes longer noticed late that it could go on, for example
/// because another rank had the processor. In a run in which it waits less it is late less (docs/method.md 4.12).
class usual_tails {
 public:
  /// `notes`: the waits of the location by record.
  void read(const explain::rank_history& rank, const explain::location_history& here,
            const base::pod_vector<explain::wait_note>& notes) {
    base::pod_vector<std::uint32_t> counts((here.call_sites.size() + 1) * 2 * buckets, 0);
    explain::location_walk walk(rank);
    std::size_t n = 0;
    for (std::size_t i = 0; i != here.records.size(); ++i) {
      const core::sync_record& r = here.records[i];
      walk.step(r);
      std::int64_t waited_ns = 0;
      for (; n != notes.size() && notes[n].record <= i; ++n) waited_ns += notes[n].record == i ? notes[n].wait_ns : 0;
      if (r.duration == 0) continue;
      const std::int64_t tail_ns = std::max<std::int64_t>(0, walk.leave_ns() - walk.begin_ns() - waited_ns);
      ++counts[(2 * place(here, r) + (waited_ns > 0 ? 1 : 0)) * buckets + bucket_of(tail_ns)];
    }
    usual_.clear();
    for (std::size_t site = 0; site <= here.call_sites.size(); ++site) {
      const std::uint32_t* const alone = counts.data() + 2 * site * buckets;
      std::int64_t ns = quantile(alone, 2, enough);
      if (ns < 0) ns = quantile(alone + buckets, 4, 1);
      usual_.push_back(std::max<std::int64_t>(ns, 0));
    }
  }
  /// What a record that took `tail_ns` after its wait was late; 0 up to `least_ns`.
  std::int64_t late_ns(const explain::location_history& here, const core::sync_record& r, std::int64_t tail_ns) const noexcept {
    const std::int64_t late = tail_ns - usual_[place(here, r)];
    return late > least_ns ? late : 0;
  }

 private:
  static constexpr std::size_t buckets = 40;
  static constexpr std::uint64_t enough = 3;  ///< calls that did not wait
  static constexpr std::int64_t least_ns = 20'000;

  static std::size_t place(const explain::location_history& here, const core::sync_record& r) noexcept {
    return std::min<std::size_t>(r.site, here.call_sites.size());
  }
  // Bucket b holds times up to 2^b ns.
  static std::size_t bucket_of(std::int64_t ns) noexcept {
    const auto up = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 1)) - 1;
    return up == 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(64 - __builtin_clzll(up)), buckets - 1);
  }
  // The upper end of the bucket below which one part of `parts` lies; -1 if there are fewer than `least` calls.
  static std::int64_t quantile(const std::uint32_t* counts, std::uint64_t parts, std::uint64_t least) noexcept {
    std::uint64_t all = 0, up_to = 0;
    for (std::size_t b = 0; b != buckets; ++b) all += counts[b];
    if (all < least) return -1;
    for (std::size_t b = 0; b != buckets; ++b) {
      up_to += counts[b];
      if (parts * up_to >= all) return std::int64_t{1} << b;
    }
    return -1;
  }

  base::pod_vector<std::int64_t> usual_;  ///< by call site; the last: without one
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
