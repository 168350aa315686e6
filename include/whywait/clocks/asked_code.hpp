#ifndef WHYWAIT_CLOCKS_ASKED_CODE_HPP
#define WHYWAIT_CLOCKS_ASKED_CODE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/clocks/clock_plan.hpp>
#include <whywait/clocks/joined_code.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// Walks the code of one location and finds what the questions of a plan are about. Borrows all arguments.
class asked_code {
 public:
  /// `asked`: clock_plan::number_of each block of the rank. `joined`: unmarked code of the rank.
  asked_code(const explain::rank_history& rank, const explain::location_history& here, const clock_plan& plan,
             const base::pod_vector<std::uint32_t>& asked, const joined_code& joined)
      : rank_(rank),
        here_(here),
        plan_(plan),
        asked_(asked),
        joined_(joined),
        unmarked_(plan.number_of(explain::unmarked_key())) {}

  /// The step after those before the next record.
  std::uint64_t step() const noexcept { return step_; }
  std::uint64_t steps_until(std::size_t record) const noexcept {
    return std::min<std::uint64_t>(record < here_.records.size() ? here_.records[record].steps : here_.steps.size(),
                                   here_.steps.size());
  }

  /// Calls used(number, place, visits, ns) for the code from `now_ns`, the end of the call before, to `begin_ns`, the beginning
  /// of `record`, or the end. `place`: the same for visits of a block between the same two calls. Records must come in order.
  template <class Used>
  void before(std::size_t record, std::int64_t now_ns, std::int64_t begin_ns, Used&& used) {
    // The rule of location_path: time that does not fit is cut. The last steps follow the last record.
    std::int64_t room_ns = begin_ns - now_ns;
    const std::uint32_t end = explain::code_end_site(here_, record, code_end_);
    const core::stable_key between =
        explain::between_key(last_site_, end < here_.call_sites.size() ? here_.call_sites[end] : 0);
    for (const std::uint64_t steps_end = steps_until(record); step_ < steps_end; ++step_) {
      const core::path_step& p = here_.steps[step_];
      if (p.block == 0 || p.block >= rank_.blocks.size()) continue;
      const auto ns = std::min(core::nearest(static_cast<double>(p.ticks) * rank_.clock.ns_per_tick), room_ns);
      room_ns -= ns;
      if (asked_[p.block] != clock_plan::none)
        used(asked_[p.block], core::combine(rank_.blocks[p.block], between), static_cast<std::int64_t>(p.visits), ns);
    }
    if (room_ns > 0) {
      const std::int64_t visits = visited_ ? 0 : 1;
      const auto use = [&](std::uint32_t number) {
        if (number != clock_plan::none) used(number, between, visits, room_ns);
      };
      use(plan_.number_of(between));
      const bool may_wait = room_ns == begin_ns - now_ns && explain::is_between_polls(here_, record);  // not to be balanced
      if (here_.thread == 0 && !may_wait) {
        use(unmarked_);
        const core::stable_key key = joined_.key_of(between);
        if (key != 0) use(plan_.number_of(key));
        if (last_site_ != 0) use(plan_.number_of(explain::after_key(last_site_)));
      }
      visited_ = true;
    }
    if (record >= here_.records.size()) return;
    const core::sync_record& r = here_.records[record];
    step_ = r.steps;
    if (core::polled_in_vain(r)) return;
    last_site_ = explain::site_of(here_, r);
    visited_ = false;
  }

 private:
  const explain::rank_history& rank_;
  const explain::location_history& here_;
  const clock_plan& plan_;
  const base::pod_vector<std::uint32_t>& asked_;
  const joined_code& joined_;
  std::uint32_t unmarked_;
  std::uint64_t step_ = 0, code_end_ = 0;
  core::stable_key last_site_ = 0;
  bool visited_ = false;
};

/// clock_plan::number_of each block of a rank.
inline void number_blocks(const explain::rank_history& rank, const clock_plan& plan, base::pod_vector<std::uint32_t>& numbers) {
  numbers.assign(rank.blocks.size(), clock_plan::none);
  if (!plan.asks()) return;
  for (std::size_t b = 1; b < numbers.size(); ++b) numbers[b] = plan.number_of(rank.blocks[b]);
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
