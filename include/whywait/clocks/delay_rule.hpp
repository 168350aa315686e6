#ifndef WHYWAIT_CLOCKS_DELAY_RULE_HPP
#define WHYWAIT_CLOCKS_DELAY_RULE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace clocks {

/// A delay that is known as an interval. The rule is monotone, so it maps intervals to sound intervals (docs/method.md
/// 4.2).
struct delay_range {
  std::int64_t lo = 0, hi = 0;
  delay_range() = default;
  delay_range(std::int64_t low, std::int64_t high) : lo(low), hi(high) {}
};

/// Several hypotheses at once: clock h is the delay of the real run against a run in which hypothesis h holds. They
/// share the measured waits and slacks and differ in what they remove from a path.
template <std::size_t N>
struct clock_bank {
  std::array<std::int64_t, N> clock{};
  std::int64_t& operator[](std::size_t h) noexcept { return clock[h]; }
  const std::int64_t& operator[](std::size_t h) const noexcept { return clock[h]; }
};

// The interface of a kind of delay: addition, `+ ns`, and the five functions below.

constexpr std::int64_t never_ns = INT64_MAX / 4;  ///< the slack of an input that cannot matter

inline std::int64_t least(std::int64_t a, std::int64_t b) noexcept { return std::min(a, b); }
inline std::int64_t most(std::int64_t a, std::int64_t b) noexcept { return std::max(a, b); }
/// The amount by which `late` exceeds `there`, at least 0.
inline std::int64_t excess(std::int64_t late, std::int64_t there) noexcept { return late > there ? late - there : 0; }
/// An input of unknown slack. As a number it changes nothing (docs/method.md 4.4; slack 0 would invent waits).
inline std::int64_t after_unknown(std::int64_t) noexcept { return never_ns; }
/// The time of an event in the run without its delay.
inline std::int64_t without(std::int64_t time_ns, std::int64_t delay) noexcept { return time_ns - delay; }

inline delay_range operator+(delay_range a, delay_range b) noexcept { return {a.lo + b.lo, a.hi + b.hi}; }
inline delay_range operator+(delay_range a, std::int64_t ns) noexcept { return {a.lo + ns, a.hi + ns}; }
inline delay_range least(delay_range a, delay_range b) noexcept { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
inline delay_range most(delay_range a, delay_range b) noexcept { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }
inline delay_range excess(delay_range late, delay_range there) noexcept {
  return {excess(late.lo, there.hi), excess(late.hi, there.lo)};
}
/// As an interval: anything from "arrived at that moment" to "always there".
inline delay_range after_unknown(delay_range x) noexcept { return {x.lo, never_ns}; }
inline delay_range without(std::int64_t time_ns, delay_range x) noexcept { return {time_ns - x.hi, time_ns - x.lo}; }

namespace detail {
template <std::size_t N, class F>
clock_bank<N> each_clock(const clock_bank<N>& a, const clock_bank<N>& b, F f) noexcept {
  clock_bank<N> r;
  for (std::size_t h = 0; h != N; ++h) r[h] = f(a[h], b[h]);
  return r;
}
template <std::size_t N>
clock_bank<N> all_clocks(std::int64_t ns) noexcept {
  clock_bank<N> r;
  r.clock.fill(ns);
  return r;
}
}  // namespace detail

template <std::size_t N>
clock_bank<N> operator+(const clock_bank<N>& a, const clock_bank<N>& b) noexcept {
  return detail::each_clock(a, b, [](std::int64_t x, std::int64_t y) { return x + y; });
}
template <std::size_t N>
clock_bank<N> operator+(const clock_bank<N>& a, std::int64_t ns) noexcept {
  return a + detail::all_clocks<N>(ns);
}
template <std::size_t N>
clock_bank<N> least(const clock_bank<N>& a, const clock_bank<N>& b) noexcept {
  return detail::each_clock(a, b, [](std::int64_t x, std::int64_t y) { return std::min(x, y); });
}
template <std::size_t N>
clock_bank<N> most(const clock_bank<N>& a, const clock_bank<N>& b) noexcept {
  return detail::each_clock(a, b, [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
}
template <std::size_t N>
clock_bank<N> excess(const clock_bank<N>& late, const clock_bank<N>& there) noexcept {
  return detail::each_clock(late, there, [](std::int64_t x, std::int64_t y) { return excess(x, y); });
}
template <std::size_t N>
clock_bank<N> after_unknown(const clock_bank<N>&) noexcept {
  return detail::all_clocks<N>(never_ns);
}
template <std::size_t N>
clock_bank<N> without(std::int64_t time_ns, const clock_bank<N>& x) noexcept {
  return detail::each_clock(detail::all_clocks<N>(time_ns), x, [](std::int64_t t, std::int64_t y) { return t - y; });
}

/// The one rule of all delays (docs/method.md 4.1). An event that needed its own path, ready w before it, and
/// other inputs k, each ready `slack` before it, is delayed by
///
///      x_out = min( x_in + w, min over inputs k of x_k + d_k + slack_k )       w' = w + x_in - x_out
///
/// where x is the delay (time in the measured run minus time in the other run) and d what exists on that edge in the
/// measured run only. Exact for any graph of such events, as long as both runs decide alike (max-plus).
/// Usable alone and on line: only `(x, t)` of a release, a notify or a send has to be sent. `Delay` is std::int64_t
/// (ns), delay_range or clock_bank. O(1) per input, no allocation, noexcept.
template <class Delay = std::int64_t>
class delay_rule {
 public:
  /// `own`: delay where the call began; `wait_ns`: how long it was blocked there.
  delay_rule(const Delay& own, std::int64_t wait_ns) noexcept : late_(own + wait_ns), out_(late_) {}

  /// `delay`: that of the input's event. `slack_ns`: how long it had been ready; negative slacks of clocks that
  /// disagree are clamped at 0. `cost`: overhead of the tool on the way.
  void input(const Delay& delay, std::int64_t slack_ns, const Delay& cost = Delay{}) noexcept {
    take(delay + cost + std::max<std::int64_t>(slack_ns, 0));
  }
  /// The same without a usable clock.
  void input_unknown(const Delay& delay) noexcept { take(after_unknown(delay)); }

  /// The delay after the event.
  const Delay& delay() const noexcept { return out_; }
  /// How long the call would have been blocked without the delays.
  const Delay& wait() const noexcept { return waited_; }

 private:
  void take(const Delay& there) noexcept {
    out_ = least(out_, there);
    waited_ = most(waited_, excess(late_, there));
  }

  Delay late_, out_, waited_{};
};

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
