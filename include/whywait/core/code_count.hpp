#ifndef WHYWAIT_CORE_CODE_COUNT_HPP
#define WHYWAIT_CORE_CODE_COUNT_HPP

#include <whywait/core/sync_record.hpp>

#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// What is counted of code besides its time. The first six come from the kernel, the next four from the processor. The last two
/// are not read: the explanation computes them.
enum class code_count : uint32_t {
  delay_ns,  ///< ready to run without a processor
  sleeps,  ///< how often it gave its processor up, to wait for something
  ran_ns,  ///< on a processor
  system_ns,  ///< in the kernel; Linux samples it with its timer, so that only sums are right
  faults,  ///< page faults
  moves,  ///< how often it was on another processor than at the last reading
  counted_ns,  ///< of ran_ns, the time in which the following were counted
  instructions,  ///< in user space, as the next two
  cycles,
  stalled,  ///< of the cycles, those that waited for memory
  read_ns,  ///< time of the code between the readings
  blocked_ns,  ///< of that, neither on a processor nor ready to run
  count_
};
constexpr size_t code_counts_size = static_cast<size_t>(code_count::count_);

/// The counts of some code.
struct code_counts {
  int64_t values[code_counts_size];

  int64_t operator[](code_count what) const noexcept { return values[static_cast<size_t>(what)]; }
  int64_t& operator[](code_count what) noexcept { return values[static_cast<size_t>(what)]; }
  bool nothing() const noexcept {
    int64_t all = 0;
    for (const int64_t v : values) all |= v;
    return all == 0;
  }
  void add(const code_counts& o) noexcept {
    for (size_t i = 0; i != code_counts_size; ++i) values[i] += o.values[i];
  }
};

/// A reading of the counts is some steps at the end of the segment after which it was made: what was counted since the last
/// one, two counts a step, as visits and work. Their numbers are beyond those of all places.
namespace counted_step {
constexpr uint32_t first = 0xffffff00u;
constexpr uint32_t restart = first + 0x80;  ///< from here on: what was counted before belongs to no code

inline bool is(const path_step& s) noexcept { return s.block >= first; }
constexpr uint32_t steps = code_counts_size / 2;
static_assert(code_counts_size % 2 == 0, "each step holds two");

/// Adds what a step holds.
inline void add(const path_step& s, code_counts& to) noexcept {
  if (s.block < first || s.block - first >= steps) return;
  const size_t at = size_t(2) * (s.block - first);
  to.values[at] += static_cast<int64_t>(s.visits);
  to.values[at + 1] += static_cast<int64_t>(s.work);
}
/// Calls keep(step) for the steps of a reading.
template <class Keep>
void write(const code_counts& from, Keep&& keep) noexcept {
  for (uint32_t i = 0; i != steps; ++i) {
    const auto a = static_cast<uint64_t>(from.values[2 * i]), b = static_cast<uint64_t>(from.values[2 * i + 1]);
    if ((a | b) != 0) keep(path_step{first + i, 0, a, 0, b});
  }
}
}  // namespace counted_step

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
