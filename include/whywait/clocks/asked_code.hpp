#ifndef WHYWAIT_CLOCKS_ASKED_CODE_HPP
#define WHYWAIT_CLOCKS_ASKED_CODE_HPP

#include <whywait/base/pair_cache.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/clocks/clock_plan.hpp>
#include <whywait/clocks/joined_code.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/history.hpp>
#include <whywait/explain/walk.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// Code of one block between two calls.
struct piece_of_code {
  /// The same for visits of a block between the same two calls, of joined code between calls in the same two lines.
  core::stable_key place;
  std::int64_t visits;  ///< that begin here
  std::int64_t parts;  ///< visits of marked code of which a part lies here; of unmarked code `visits`
  std::int64_t ns;
};

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
        unmarked_(here.thread == 0 ? plan.number_of(explain::unmarked_key()) : clock_plan::none),
        works_(explain::works_unmarked(here)) {}

  /// The step after those before the next record.
  std::uint64_t step() const noexcept { return step_; }
  std::uint64_t steps_until(std::size_t record) const noexcept {
    return std::min<std::uint64_t>(record < here_.records.size() ? here_.records[record].steps : here_.steps.size(),
                                   here_.steps.size());
  }

  /// Calls used(number, piece_of_code) for the code from `now_ns`, the end of the call before, to `begin_ns`, the beginning of
  /// `record`, or the end. Records must come in order.
  template <class Used>
  void before(std::size_t record, std::int64_t now_ns, std::int64_t begin_ns, Used&& used) {
    // The rule of location_path: time that does not fit is cut. The last steps follow the last record.
    std::int64_t room_ns = begin_ns - now_ns;
    const numbers code = numbers_between(last_site_, explain::code_end_site(here_, record, code_end_));
    for (const std::uint64_t steps_end = steps_until(record); step_ < steps_end; ++step_) {
      const core::path_step& p = here_.steps[step_];
      if (p.block == 0 || p.block >= rank_.blocks.size()) continue;
      const auto ns = std::min(core::nearest(static_cast<double>(p.ticks) * rank_.clock.ns_per_tick), room_ns);
      room_ns -= ns;
      if (asked_[p.block] == clock_plan::none) continue;
      const auto visits = static_cast<std::int64_t>(p.visits);
      const core::stable_key place = core::combine(rank_.blocks[p.block], code.between);
      used(asked_[p.block], piece_of_code{place, visits, std::max<std::int64_t>(1, visits), ns});
    }
    if (room_ns > 0 && !ended_) {
      const std::int64_t visits = visited_ ? 0 : 1;
      const bool may_wait = room_ns == begin_ns - now_ns && explain::is_between_polls(here_, record);  // not to be balanced
      const std::uint32_t asked[] = {code.own, unmarked_, code.joined, code.after, code.before};
      for (std::size_t i = 0; i != (may_wait ? 1 : std::size(asked)); ++i)
        if (asked[i] != clock_plan::none) used(asked[i], piece_of_code{code.lines, visits, visits, room_ns});
      visited_ = true;
    }
    if (record >= here_.records.size()) return;
    const core::sync_record& r = here_.records[record];
    step_ = r.steps;
    ended_ = r.call == core::mpi_call::thread_end;
    if (core::divides_no_code(r)) return;
    last_site_ = r.site;
    visited_ = false;
  }

 private:
  static constexpr std::uint32_t no_site = 0xffffffffu;

  // Unmarked code between two calls: its key, and the numbers of that piece, of the code that it is joined with, and of all code
  // after the first and before the second call.
  struct numbers {
    core::stable_key between, lines;
    std::uint32_t own, joined, after, before;
  };
  numbers numbers_between(std::uint32_t from, std::uint32_t to) {
    return recent_(from, to, [this](std::uint32_t before, std::uint32_t after) {
      const core::stable_key first = code_after(here_, before), second = key_of(after);
      const core::stable_key between = explain::between_key(first, second), joined = joined_.key_of(between);
      const core::stable_key from_first = explain::joined_key(first, explain::joined_by::after),
                             to_second = explain::joined_key(second, explain::joined_by::before);
      return numbers{between,
                     joined_.lines_of(between),
                     plan_.number_of(between),
                     joined != 0 && works_ ? plan_.number_of(joined) : clock_plan::none,
                     first != 0 && here_.thread == 0 ? plan_.number_of(from_first) : clock_plan::none,
                     second != 0 && here_.thread == 0 ? plan_.number_of(to_second) : clock_plan::none};
    });
  }
  core::stable_key key_of(std::uint32_t site) const noexcept {
    return site < here_.call_sites.size() ? here_.call_sites[site] : 0;
  }

  const explain::rank_history& rank_;
  const explain::location_history& here_;
  const clock_plan& plan_;
  const base::pod_vector<std::uint32_t>& asked_;
  const joined_code& joined_;
  std::uint32_t unmarked_;
  bool works_;
  std::uint64_t step_ = 0, code_end_ = 0;
  std::uint32_t last_site_ = no_site;  ///< of the last call that ended a piece of unmarked code
  bool visited_ = false;
  bool ended_ = false;  ///< the thread ended with the last record
  base::pair_cache<numbers, 3> recent_;  ///< most records are of few call sites in turn
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
