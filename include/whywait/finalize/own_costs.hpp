#ifndef WHYWAIT_FINALIZE_OWN_COSTS_HPP
#define WHYWAIT_FINALIZE_OWN_COSTS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/core/mpi_calls.hpp>
#include <whywait/core/overhead.hpp>
#include <whywait/mpi/self_timing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace finalize {

// Recording costs, computed from the timings that the wrappers recorded.

namespace detail {

// A clock reading takes time before and after the instant that it returns; half of it is attributed to each side. An
// interval between two readings includes the inner halves, except for a reading that exists only because the call times
// itself.
inline core::call_overhead cost_of(double before, double inside, double after, double reading, double error,
                                   double ns_per_tick) {
  const auto ns = [&](double ticks) { return std::max(ticks, 0.0) * ns_per_tick; };
  return {ns(before - reading / 2), ns(inside - reading / 2), ns(reading / 2), ns(after - reading / 2), ns(error)};
}

// The call, among those that calibrate() measures, whose path through the wrappers is most similar.
inline core::mpi_call like(core::mpi_call call) noexcept {
  if (core::plain_form(call) == core::mpi_call::Bsend) return core::mpi_call::Send;  // posts, as one call
  switch (core::role_of(call)) {
    case core::call_role::send: return core::mpi_call::Send;
    case core::call_role::receive:
    case core::call_role::probe:
    case core::call_role::test_probe: return core::mpi_call::Recv;
    case core::call_role::exchange: return core::mpi_call::Sendrecv;
    case core::call_role::post_send:
    case core::call_role::start: return core::mpi_call::Isend;
    case core::call_role::post_receive: return core::mpi_call::Irecv;
    case core::call_role::complete_any:
    case core::call_role::test: return core::mpi_call::Waitall;
    case core::call_role::complete_all: return core::mpi_call::Wait;
    default: return core::mpi_call::Barrier;
  }
}

// The value that `part` of the values do not exceed, found by bisection of the value range.
inline std::uint32_t quantile_of(const base::pod_vector<std::uint32_t>& values, double part) noexcept {
  std::uint32_t least = 0, most = ~std::uint32_t(0);
  while (least < most) {
    const std::uint32_t tried = least + (most - least) / 2;
    std::size_t up_to = 0;
    for (const std::uint32_t v : values) up_to += v <= tried ? 1 : 0;
    if (static_cast<double>(up_to) > part * static_cast<double>(values.size())) most = tried;
    else least = tried + 1;
  }
  return least;
}

}  // namespace detail

/// Minimum number of timings from which a thread's own measurements are preferred to the calibration.
constexpr std::uint32_t enough_timings = 4;

/// The current cost of calls of one kind. It is the mean of the timings without those that took over three times the
/// median, because the thread was interrupted there. The error is half of the interquartile range, and what those add that
/// were left out, each as three times the median.
inline core::call_overhead usual_cost(const mpi::self_timing::kind& timed, double ns_per_tick) {
  mpi::own_ticks sorted[mpi::self_timing::kept];
  const std::uint32_t count = timed.size();
  if (count == 0) return {};
  std::copy(timed.last, timed.last + count, sorted);
  for (std::uint32_t i = 1; i < count; ++i) {
    const mpi::own_ticks moved = sorted[i];
    std::uint32_t place = i;
    for (; place > 0 && moved.sum() < sorted[place - 1].sum(); --place) sorted[place] = sorted[place - 1];
    sorted[place] = moved;
  }
  const std::uint64_t most = 3 * sorted[count / 2].sum();
  double before = 0, inside = 0, after = 0, reading = 0, used = 0;
  for (std::uint32_t i = 0; i < count && sorted[i].sum() <= most; ++i) {
    before += sorted[i].before;
    inside += sorted[i].inside;
    after += sorted[i].after;
    reading += sorted[i].reading;
    ++used;
  }
  const auto spread = static_cast<double>(sorted[count * 3 / 4].sum() - sorted[count / 4].sum());
  const double left_out = (static_cast<double>(most) - (before + inside + after) / used) * (count - used) / count;
  return detail::cost_of(before / used, inside / used, after / used, reading / used, spread / 2 + left_out, ns_per_tick);
}

/// How clock readings differ from those of the calibration.
struct reading_change {
  double slower = 0;  ///< ticks to add; negative if readings became cheaper
  double error = 0;   ///< ticks by which that may be wrong
};

/// By how much a clock reading is now slower than during calibration. Nothing is added unless it takes at least twice or at
/// most half as long, because an isolated reading is always slightly slower than one in a calibration loop; then the
/// difference is the error. Otherwise the error is half of the interquartile range.
inline reading_change change_of_readings(const mpi::self_timing& timed, const mpi::calibration& quiet) {
  base::pod_vector<std::uint32_t> lately;
  std::uint32_t then = ~std::uint32_t(0);
  for (std::size_t c = 1; c < core::modelled_calls; ++c) {
    const mpi::self_timing::kind& k = timed.kinds[c];
    for (std::uint32_t i = 0; i != k.size(); ++i) lately.push_back(k.last[i].reading);
    if (quiet.calls[c].sum() != 0) then = std::min(then, quiet.calls[c].reading);
  }
  if (lately.empty() || then == ~std::uint32_t(0)) return {};
  const double now = detail::quantile_of(lately, 0.5), before = then;
  if (!(now >= 2 * before || 2 * now <= before)) return {0, std::max(now - before, before - now)};
  return {now - before, 0.5 * (static_cast<double>(detail::quantile_of(lately, 0.75)) - detail::quantile_of(lately, 0.25))};
}

namespace detail {

// Ticks of a call in wrappers without clock readings: one at each end belongs to each of the three parts.
inline double beside_readings(double sum, double reading) noexcept { return std::max(sum - 3 * reading, 0.0); }

// How much longer the code of the wrappers takes in the program than in the calibration loop, as a part: of the medians of the
// kinds that were timed often enough, each as often as it was timed, so that a few slow calls do not stand for the many
// others. In a loop everything is in the caches. A program that shows no timings may take twice as long.
inline double colder_than(const mpi::calibration& quiet, const mpi::self_timing& timed) {
  double sum = 0, of = 0;
  for (std::size_t c = 1; c < core::modelled_calls; ++c) {
    const mpi::self_timing::kind& k = timed.kinds[c];
    const mpi::own_ticks& q = quiet.calls[static_cast<std::size_t>(like(static_cast<core::mpi_call>(c)))];
    if (k.count < enough_timings || q.sum() == 0) continue;
    base::pod_vector<std::uint32_t> beside;
    for (std::uint32_t i = 0; i != k.size(); ++i)
      beside.push_back(static_cast<std::uint32_t>(beside_readings(static_cast<double>(k.last[i].sum()), k.last[i].reading)));
    const double then = beside_readings(static_cast<double>(q.sum()), q.reading);
    const auto often = static_cast<double>(k.count);
    sum += often * std::max(0.0, quantile_of(beside, 0.5) - then);
    of += often * then;
  }
  return of > 0 ? sum / of : 1;
}

}  // namespace detail

/// The cost of one thread's calls, by core::mpi_call. Uses the thread's own timings where there are enough, otherwise
/// the calibration, corrected for the current cost of a clock reading. The error contains what the same code takes longer
/// in the program than in the calibration loop, because it has to fetch what is not in the caches: of own timings, because
/// it displaces as much, which the program has to fetch again, and a clock reading, as what is timed begins and ends in one;
/// of others, because they were not timed there.
inline std::vector<core::call_overhead> call_costs(const mpi::self_timing& timed, const mpi::calibration& quiet,
                                                   double ns_per_tick) {
  std::vector<core::call_overhead> costs(static_cast<std::size_t>(core::mpi_call::count_));
  const reading_change changed = change_of_readings(timed, quiet);
  const double slower = changed.slower, colder = detail::colder_than(quiet, timed);
  for (std::size_t c = 1; c < costs.size(); ++c) {
    const auto call = static_cast<core::mpi_call>(c);
    const auto tried = static_cast<std::size_t>(detail::like(call));
    const mpi::own_ticks& t = quiet.calls[tried];
    const double fetched = t.sum() == 0 ? 0 : colder * detail::beside_readings(static_cast<double>(t.sum()), t.reading);
    if (c < core::modelled_calls && timed.of(call).count >= enough_timings) {
      costs[c] = usual_cost(timed.of(call), ns_per_tick);
      costs[c].error_ns += (fetched + t.reading + slower) * ns_per_tick;
      continue;
    }
    if (t.sum() == 0) continue;
    costs[c] = detail::cost_of(t.before + slower, t.inside + slower, t.after + slower, t.reading + slower,
                               quiet.spread[tried] + fetched + 2 * changed.error, ns_per_tick);
  }
  return costs;
}

/// The cost of one thread's marks, from the calibration, corrected for the current cost of clock readings (two per
/// region).
inline core::mark_overhead mark_costs(const mpi::self_timing& timed, const mpi::calibration& quiet, double ns_per_tick) {
  const reading_change changed = change_of_readings(timed, quiet);
  const auto ns = [&](double ticks) { return std::max(ticks, 0.0) * ns_per_tick; };
  const double region = quiet.region_ticks + 2 * changed.slower;
  const double fetched = detail::colder_than(quiet, timed) * std::max(quiet.region_ticks - 2 * quiet.reading_ticks, 0.0);
  const double error = region > 0 ? quiet.mark_spread + (fetched + 2 * changed.error) / region : 0;
  return {ns(region), ns(quiet.step_ticks), error, ns(quiet.reading_ticks + changed.slower)};
}

}  // namespace finalize
}  // namespace v0
}  // namespace whywait

#endif
