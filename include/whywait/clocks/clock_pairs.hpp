#ifndef WHYWAIT_CLOCKS_CLOCK_PAIRS_HPP
#define WHYWAIT_CLOCKS_CLOCK_PAIRS_HPP

#include <whywait/clocks/delay_rule.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace whywait {
inline namespace v0 {
namespace clocks {

// The arithmetic of a record for all clocks, two at a time: a compiler turns loops over single clocks into such code only when it
// optimises loops, which it does not do in this room (cold_begin.hpp). All functions change the first `clocks` clocks, and one
// more if that is odd, whose value has no meaning.

namespace detail {
using clock_pair = std::int64_t __attribute__((vector_size(16)));

[[gnu::always_inline]] inline clock_pair load(const std::int64_t* from) noexcept {
  clock_pair p;
  std::memcpy(&p, from, sizeof p);
  return p;
}
[[gnu::always_inline]] inline void store(std::int64_t* to, clock_pair p) noexcept { std::memcpy(to, &p, sizeof p); }
/// Negative elements become 0.
[[gnu::always_inline]] inline clock_pair at_least_zero(clock_pair x) noexcept { return x & ~(x >> 63); }
}  // namespace detail

/// to += more.
template <std::size_t N>
[[gnu::always_inline]] inline void add(clock_bank<N>& to, const clock_bank<N>& more, std::size_t clocks) noexcept {
  static_assert(N % 2 == 0, "clocks come in pairs");
  std::int64_t *x = to.clock.data(), *const end = x + clocks;
  for (const std::int64_t* m = more.clock.data(); x < end; x += 2, m += 2) detail::store(x, detail::load(x) + detail::load(m));
}

/// at = without(time_ns, delay): the times of an event in the runs without its delays.
template <std::size_t N>
[[gnu::always_inline]] inline void set_without(clock_bank<N>& at, std::int64_t time_ns, const clock_bank<N>& delay,
                                               std::size_t clocks) noexcept {
  static_assert(N % 2 == 0, "clocks come in pairs");
  std::int64_t *x = at.clock.data(), *const end = x + clocks;
  for (const std::int64_t* d = delay.clock.data(); x < end; x += 2, d += 2) detail::store(x, time_ns - detail::load(d));
}

/// delay_rule with one input, for a call that was blocked for `wait_ns` until `go_ns`: its input is ready at `ready` in the other
/// runs. `delay` changes from that at the beginning of the call to that at its end; `waits` is how long the call is blocked there.
template <std::size_t N>
[[gnu::always_inline]] inline void take_input(clock_bank<N>& delay, std::int64_t wait_ns, std::int64_t go_ns,
                                              const clock_bank<N>& ready, clock_bank<N>& waits, std::size_t clocks) noexcept {
  static_assert(N % 2 == 0, "clocks come in pairs");
  std::int64_t *x = delay.clock.data(), *const end = x + clocks, *w = waits.clock.data();
  for (const std::int64_t* r = ready.clock.data(); x < end; x += 2, r += 2, w += 2) {
    const detail::clock_pair late = detail::load(x) + wait_ns;
    const detail::clock_pair wait = detail::at_least_zero(late - (go_ns - detail::load(r)));
    detail::store(w, wait);
    detail::store(x, late - wait);
  }
}

}  // namespace clocks
}  // namespace v0
}  // namespace whywait

#endif
