#ifndef WHYWAIT_EXPLAIN_SLOWER_PARTS_HPP
#define WHYWAIT_EXPLAIN_SLOWER_PARTS_HPP

#include <whywait/core/code_count.hpp>
#include <whywait/core/nearest.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// What two sides ran of one block was counted, in the same intervals as its time.
struct both_counts {
  core::code_counts waiter{}, causer{};

  void add(const both_counts& o) noexcept {
    waiter.add(o.waiter);
    causer.add(o.causer);
  }
  bool nothing() const noexcept { return waiter.nothing() && causer.nothing(); }
};

/// Linux samples the time in the kernel with its timer (4 ms at 250 Hz): less than this is no evidence.
constexpr std::int64_t least_kernel_ns = 40'000'000;

/// One side of a comparison.
struct counted_side {
  std::int64_t ns = 0, times = 0;  ///< visits, or units of work
  core::code_counts counts{};
};

/// Why each visit takes longer on one side: adds up to residual_sums::speed_ns exactly (docs/method.md 1.11).
struct slower_parts {
  std::int64_t preempted_ns = 0;     ///< ready to run without a processor
  std::int64_t blocked_ns = 0;       ///< asleep, or waiting for something that is not observed
  std::int64_t kernel_ns = 0;        ///< page faults and system calls
  std::int64_t instructions_ns = 0;  ///< more instructions
  std::int64_t cycles_ns = 0;        ///< more cycles for each instruction
  std::int64_t frequency_ns = 0;     ///< fewer cycles in each second
  std::int64_t not_counted_ns = 0;   ///< the rest
  std::int64_t memory_ns = 0;        ///< of cycles_ns: more of them were stalled on memory
  std::int64_t more_faults = 0;      ///< page faults, for as many visits as speed_ns is about
  std::int64_t more_moves = 0;       ///< to another processor, likewise
  bool counted = false;              ///< instructions and cycles were

  void add(const slower_parts& o) noexcept {
    preempted_ns += o.preempted_ns;
    blocked_ns += o.blocked_ns;
    kernel_ns += o.kernel_ns;
    instructions_ns += o.instructions_ns;
    cycles_ns += o.cycles_ns;
    frequency_ns += o.frequency_ns;
    not_counted_ns += o.not_counted_ns;
    memory_ns += o.memory_ns;
    more_faults += o.more_faults;
    more_moves += o.more_moves;
    counted = counted || o.counted;
  }
  std::int64_t known_ns() const noexcept {
    return preempted_ns + blocked_ns + kernel_ns + instructions_ns + cycles_ns + frequency_ns;
  }
};

namespace detail {

// The logarithmic mean, which makes the difference of two products a sum over their factors: b - a = L(a, b) ln(b / a).
inline double logarithmic_mean(double a, double b) noexcept {
  const double ratio = b / a;
  return std::fabs(ratio - 1) < 1e-9 ? (a + b) / 2 : (b - a) / std::log(ratio);
}

// What was read of one side, as of one visit. What was not read is like the rest if that is at least half of the time.
struct divided_side {
  double delay = 0, blocked = 0, kernel = 0, user = 0;  // ns
  double faults = 0, moves = 0, instructions = 0;
  double cycles = 0, stalled = 0, ns_per_cycle = 0;  // of one instruction; of one cycle
  bool read = false, counted = false;

  divided_side(const counted_side& s, std::int64_t fault_ns) noexcept {
    const auto all = static_cast<double>(s.ns), times = static_cast<double>(s.times);
    const auto of = [&s](core::code_count what) { return static_cast<double>(std::max<std::int64_t>(0, s.counts[what])); };
    const double read_ns = std::min(of(core::code_count::read_ns), all);
    if (s.times <= 0 || all <= 0 || 2 * read_ns < all) return;
    read = true;
    const double up = all / read_ns, ran_ns = of(core::code_count::ran_ns);
    const double ran = std::min(ran_ns * up, all);
    delay = std::min(of(core::code_count::delay_ns) * up, all - ran);
    blocked = std::min(of(core::code_count::blocked_ns) * up, all - ran - delay);
    // The kernel's clock may take a part of page faults for the program's own time.
    const double faults_ns = of(core::code_count::faults) * static_cast<double>(fault_ns);
    kernel = std::min(std::max(of(core::code_count::system_ns), faults_ns) * up, ran);
    user = ran - kernel;
    faults = of(core::code_count::faults) * up / times;
    moves = of(core::code_count::moves) * up / times;
    const double n = of(core::code_count::instructions), c = of(core::code_count::cycles),
                 counted_ns = of(core::code_count::counted_ns);
    if (n > 0 && c > 0 && 2 * counted_ns >= ran_ns && user > 0) {
      const double counted_up = up * (ran_ns / counted_ns) / times;
      counted = true;
      instructions = n * counted_up;
      cycles = c / n;
      stalled = of(core::code_count::stalled) / n;
      ns_per_cycle = user / times / (c * counted_up);
    }
    delay /= times;
    blocked /= times;
    kernel /= times;
    user /= times;
  }
};

}  // namespace detail

/// Divides the speed term of one block, S = (mu_B - mu_A)(n_A + n_B)/2, by what was counted on both sides. Antisymmetric but for
/// rounding: exchanging the sides negates all parts. `fault_ns`: what a page fault takes at least; 0: not known.
inline slower_parts divide_speed(const counted_side& waiter, const counted_side& causer, std::int64_t speed_ns,
                                 std::int64_t fault_ns = 0) noexcept {
  slower_parts out;
  out.not_counted_ns = speed_ns;
  const detail::divided_side a(waiter, fault_ns), b(causer, fault_ns);
  if (!a.read || !b.read) return out;
  const double times = (static_cast<double>(waiter.times) + static_cast<double>(causer.times)) / 2;
  out.preempted_ns = core::nearest(times * (b.delay - a.delay));
  out.blocked_ns = core::nearest(times * (b.blocked - a.blocked));
  out.kernel_ns = core::nearest(times * (b.kernel - a.kernel));
  out.more_faults = core::nearest(times * (b.faults - a.faults));
  out.more_moves = core::nearest(times * (b.moves - a.moves));
  if (a.counted && b.counted) {
    out.counted = true;
    const double mean = times * detail::logarithmic_mean(a.user, b.user);
    out.instructions_ns = core::nearest(mean * std::log(b.instructions / a.instructions));
    out.cycles_ns = core::nearest(mean * std::log(b.cycles / a.cycles));
    out.frequency_ns = core::nearest(mean * std::log(b.ns_per_cycle / a.ns_per_cycle));
    const double more = b.cycles - a.cycles;
    if (more != 0)
      out.memory_ns = core::nearest(static_cast<double>(out.cycles_ns) * std::clamp((b.stalled - a.stalled) / more, 0.0, 1.0));
  }
  out.not_counted_ns = speed_ns - out.known_ns();
  return out;
}

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
