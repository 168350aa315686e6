#ifndef WHYWAIT_CLOCKS_CLOCK_LEGS_HPP
#define WHYWAIT_CLOCKS_CLOCK_LEGS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/clocks/asked_code.hpp>
#include <whywait/clocks/balanced_time.hpp>
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

/// One record for the clocks of one pass: the interval before its beginning, and the call.
struct clock_leg {
  std::int64_t begin_ns, leave_ns;
  std::uint32_t spends;  ///< number of clock_legs::spends before the beginning, and the flags of clock_legs
  std::uint32_t call;    ///< clock_plan::number_of the call; with `leaves_bit` the call leaves its node
};

/// The records of one location, prepared for the clocks of one pass in one walk, because a location may be stuck and
/// resumed many times. Memory: 24 bytes per record, 16 per change of a clock between records, 48 per record if its
/// overhead is known. Not thread safe.
class clock_legs {
 public:
  /// `memory`: the pool of the run; borrowed.
  explicit clock_legs(base::memory_pool& memory) : legs_(memory), spends_(memory), overheads_(memory) {}

  /// A clock gains `ns` before the beginning of a record; with clock_plan::moves_bit its sends move before that time.
  struct spend {
    std::int64_t ns;
    std::uint32_t clock;
  };
  /// The overhead of one record: before its beginning, from there to MPI's start, and after MPI's end. `uncertain`: the
  /// possible relative error of the last two; `error_ns`: the possible error of the first. `ahead_ns`: wrapper time of
  /// a call with three records, whose postings have no time of their own.
  struct overhead {
    std::int64_t before_ns = 0, inside_ns = 0, back_ns = 0, ahead_ns = 0;
    double uncertain = 0, error_ns = 0;
  };

  /// `asked`: clock_plan::number_of each block of the rank. `balanced`: of the rank, at the beginning of the location; used if the
  /// plan balances. `leaving`: node_map::leaving of each record, or null if the plan does not distinguish nodes. `of_files`:
  /// explain::calls_on_files of each record, or null if there are none. `joined`: of the rank. `spends`: buffer. All are used
  /// during this call only.
  void read(const explain::rank_history& rank, const explain::location_history& here, const clock_plan& plan,
            const base::pod_vector<std::uint32_t>& asked, balanced_time& balanced, const base::vector<bool>* leaving,
            const base::vector<bool>* of_files, const joined_code& joined, base::pod_vector<spend>& spends) {
    const std::size_t records = here.records.size();
    legs_.reserve(records + 1);
    spends.clear();
    explain::location_walk walk(rank);
    std::int64_t now_ns = rank.begin_ns;
    asked_code code(rank, here, plan, asked, joined);
    std::uint64_t step = 0;
    double after_ns = 0, after_uncertain = 0;
    for (std::size_t i = 0; i <= records; ++i) {
      // The rule of location_path: time that does not fit is cut. The last steps follow the last record.
      const core::sync_record* const r = i == records ? nullptr : &here.records[i];
      if (r != nullptr) walk.step(*r);
      const std::int64_t begin_ns = r != nullptr ? walk.begin_ns() : std::max(rank.end_ns, now_ns);
      const std::int64_t leave_ns = r != nullptr ? walk.leave_ns() : begin_ns;
      const std::uint64_t steps_end = code.steps_until(i);
      const core::call_overhead cost = r != nullptr ? overhead_of(here, r->call) : core::call_overhead{};
      const double sum_ns = cost.before_ns + cost.inside_ns + cost.back_ns + cost.after_ns;
      overhead o;
      o.uncertain = sum_ns > 0 ? cost.error_ns / sum_ns : 0;
      double beside_ns = 0;
      if (plan.compensates()) {
        std::int64_t room_ns = begin_ns - now_ns;
        const auto put = [&](double ns, double uncertain) {
          const std::int64_t spent_ns = cut(ns, room_ns);
          room_ns -= spent_ns;
          o.before_ns += spent_ns;
          o.error_ns += static_cast<double>(spent_ns) * uncertain;
        };
        put(after_ns, after_uncertain);
        put(cost.before_ns, o.uncertain);
        if (here.mark_overheads.step_ns != 0 || here.mark_overheads.region_ns != 0) {
          put(marks_ns(rank, here, step, steps_end), here.mark_overheads.error);
        }
        if (r != nullptr) {  // timed, not estimated
          const double own_ns = static_cast<double>(r->overhead) * rank.clock.ns_per_tick;
          const std::int64_t usual_ns = o.before_ns;
          put(own_ns, 0);
          if (i >= here.carried) beside_ns = own_ns - static_cast<double>(o.before_ns - usual_ns);
        }
      }
      // Of the four readings of a call that timed itself one is inside it and two follow it.
      o.inside_ns = cut(cost.inside_ns + beside_ns / 3, leave_ns - begin_ns);
      o.back_ns = std::max<std::int64_t>(0, core::nearest(cost.back_ns));
      if (r != nullptr && r->posting != 0 && r->duration == 0) o.ahead_ns = core::nearest(cost.inside_ns);
      if (o.before_ns != 0 || o.inside_ns != 0 || o.back_ns != 0 || o.ahead_ns != 0) {
        if (overheads_.empty()) {
          overheads_.reserve(records + 1);
          overheads_.resize(records + 1);
        }
        overheads_[i] = o;
      }
      after_ns = cost.after_ns + beside_ns * 2 / 3;
      after_uncertain = o.uncertain;
      std::uint32_t call = clock_plan::none;
      if (plan.asks()) {
        const auto put = [&spends](std::uint32_t clock, std::int64_t ns) {
          if (ns != 0) spends.push_back({ns, clock});
        };
        code.before(i, now_ns, begin_ns,
                    [&](std::uint32_t number, core::stable_key place, std::int64_t visits, std::int64_t ns) {
                      plan.spend(number, ns, put, [&](std::size_t q) { return balanced.saved_ns(q, place, visits, ns); });
                    });
        if (r != nullptr) call = plan.number_of(explain::call_key(explain::site_of(here, *r)));
      }
      const bool leaves = leaving == nullptr || (r != nullptr && (*leaving)[i]);
      const bool file = of_files != nullptr && r != nullptr && (*of_files)[i];
      const std::uint32_t flags = (leaves ? leaves_bit : 0) | (file ? files_bit : 0) |
                                  (r != nullptr && explain::may_bring_data(*r) ? brings_bit : 0) |
                                  (r != nullptr && r->has(core::sync_flag::posts_send) ? sends_bit : 0);
      legs_.push_back({begin_ns, leave_ns, static_cast<std::uint32_t>(spends.size()) | flags, call});
      // A further thread counts from its first to its last call.
      if (here.whole || (r != nullptr && i > here.carried)) useful_ns_ += begin_ns - now_ns;
      now_ns = leave_ns;
      step = r != nullptr ? r->steps : step;
    }
    spends_.assign(spends.begin(), spends.end());
  }

  /// Frees the memory.
  void release() noexcept {
    legs_.release();
    spends_.release();
    overheads_.release();
  }

  std::size_t records() const noexcept { return legs_.size() - 1; }
  /// The leg of a record; after the last record, of the end of recording.
  const clock_leg& operator[](std::size_t i) const noexcept { return legs_[i]; }
  static std::uint32_t spends_before(const clock_leg& leg) noexcept {
    return leg.spends & ~(leaves_bit | brings_bit | sends_bit | files_bit);
  }
  static bool leaves(const clock_leg& leg) noexcept { return (leg.spends & leaves_bit) != 0; }
  /// Whether the time of the call beyond its waits is input and output.
  static bool of_files(const clock_leg& leg) noexcept { return (leg.spends & files_bit) != 0; }
  /// Whether what follows the call may depend on data that it brought.
  static bool brings_data(const clock_leg& leg) noexcept { return (leg.spends & brings_bit) != 0; }
  static bool sends(const clock_leg& leg) noexcept { return (leg.spends & sends_bit) != 0; }
  const spend& spent(std::size_t i) const noexcept { return spends_[i]; }
  /// The end of the last call; the end of recording without one.
  std::int64_t last_leave_ns() const noexcept { return legs_[legs_.size() > 1 ? legs_.size() - 2 : 0].leave_ns; }
  /// Null if none is known.
  const overhead* overhead_at(std::size_t i) const noexcept { return overheads_.empty() ? nullptr : &overheads_[i]; }
  /// Time outside MPI calls.
  std::int64_t useful_ns() const noexcept { return useful_ns_; }

  /// Overhead within a time of `room_ns`; what does not fit is cut.
  static std::int64_t cut(double ns, std::int64_t room_ns) noexcept {
    return std::max<std::int64_t>(0, std::min(core::nearest(ns), room_ns));
  }

 private:
  static constexpr std::uint32_t leaves_bit = 0x80000000u, brings_bit = 0x40000000u, sends_bit = 0x20000000u,
                                 files_bit = 0x10000000u;

  // The overhead of the marks of some steps. Repeated visits of one place (whywait::next) are counted without reading
  // the clock, so the number of timed visits is limited by the time that the readings take.
  static double marks_ns(const explain::rank_history& rank, const explain::location_history& here, std::uint64_t first,
                         std::uint64_t end) noexcept {
    const core::mark_overhead& each = here.mark_overheads;
    double sum_ns = 0;
    for (std::uint64_t s = first; s < end; ++s) {
      const core::path_step& step = here.steps[s];
      if (step.block == 0 || step.block >= rank.blocks.size()) continue;
      const auto visits = static_cast<double>(step.visits);
      if (step.ticks == 0) {
        sum_ns += visits * each.step_ns;
        continue;
      }
      const double readings =
          each.reading_ns > 0 ? static_cast<double>(step.ticks) * rank.clock.ns_per_tick / each.reading_ns : visits;
      sum_ns += std::min(visits, std::max(readings, 1.0)) * each.region_ns;
    }
    return sum_ns;
  }

  base::pod_vector<clock_leg> legs_;
  base::pod_vector<spend> spends_;
  base::pod_vector<overhead> overheads_;  ///< by record; empty: none is known
  std::int64_t useful_ns_ = 0;
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
