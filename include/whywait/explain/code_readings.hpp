#ifndef WHYWAIT_EXPLAIN_CODE_READINGS_HPP
#define WHYWAIT_EXPLAIN_CODE_READINGS_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/code_count.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/transport_calls.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Key of what was counted of a block. In a profile, `within` is the block, and the count is the work.
constexpr core::stable_key count_key(core::code_count what) noexcept {
  return 0x636f756e74730000u + static_cast<core::stable_key>(what);
}
/// Whether a key is one of these; then `what` is the count.
constexpr bool is_count_key(core::stable_key key, core::code_count& what) noexcept {
  if (key - count_key(core::code_count{}) >= core::code_counts_size) return false;
  what = static_cast<core::code_count>(key - count_key(core::code_count{}));
  return true;
}

/// Assigns what was counted between two readings to the blocks of one location that ran between them (docs/method.md 1.11).
/// Memory: one entry per block that ran since the last reading.
class code_readings {
 public:
  /// give(block, count, value)
  using give_call = borrowed<void(std::uint32_t, core::code_count, std::int64_t)>;

  /// Code of a block ran for some time.
  void ran(std::uint32_t block, std::int64_t ns) {
    if (ns <= 0) return;
    code_ns_ += ns;
    if (block >= places_.size()) places_.resize(block + 1, 0);
    const std::uint32_t known = places_[block];
    if (known < blocks_.size() && blocks_[known].block == block) {
      blocks_[known].ns += ns;
      return;
    }
    places_[block] = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({block, ns});
  }
  /// A call took some time. What was counted of a thread begins with it.
  void called(core::mpi_call call, std::int64_t ns) noexcept {
    if (call == core::mpi_call::thread_begin) return restart();
    calls_ns_ += ns > 0 ? ns : 0;
  }
  /// The thread was neither in a call nor in known code for some time.
  void left(std::int64_t ns) noexcept { calls_ns_ += ns; }

  /// Takes a step; false: it is not one of a reading.
  bool take(const core::path_step& step) {
    if (!core::counted_step::is(step)) return false;
    if (step.block == core::counted_step::restart) {
      restart();
    } else {
      core::counted_step::add(step, counted_);
      read_ = true;
    }
    return true;
  }

  /// The segment ends: calls `give` for what readings in it have counted. Nothing is assigned if calls took more than an eighth of the
  /// time, because what was counted in them is not known. Of the time blocked each block gets what cannot have been that of the others;
  /// returns the rest, in ns.
  std::int64_t end_segment(const give_call& give) { return read_ ? assign(give) : 0; }

 private:
  [[gnu::noinline]] std::int64_t assign(const give_call& give) {
    std::int64_t off_ns = 0;
    if (code_ns_ > 0 && 8 * calls_ns_ <= code_ns_ + calls_ns_) {
      counted_[core::code_count::read_ns] = code_ns_;
      // A thread that did not give its processor up lost it to the host of a virtual machine.
      if (counted_[core::code_count::sleeps] != 0)
        off_ns =
            std::max<std::int64_t>(0, code_ns_ - counted_[core::code_count::ran_ns] - counted_[core::code_count::delay_ns]);
      counted_[core::code_count::sleeps] = 0;
      std::int64_t blocked_ns = 0;
      for (const entry& e : blocks_) {
        const std::int64_t least_ns = off_ns - (code_ns_ - e.ns);
        if (least_ns <= 0) continue;
        give(e.block, core::code_count::blocked_ns, least_ns);
        blocked_ns += least_ns;
      }
      off_ns -= blocked_ns;
      for (std::size_t c = 0; c != core::code_counts_size; ++c) {
        if (counted_.values[c] == 0) continue;
        const double each = static_cast<double>(counted_.values[c]) / static_cast<double>(code_ns_);
        double up_to = 0;
        std::int64_t given = 0;
        for (const entry& e : blocks_) {  // rounded together, so that the sum is what was counted
          up_to += each * static_cast<double>(e.ns);
          const std::int64_t value = core::nearest(up_to) - given;
          given += value;
          if (value != 0) give(e.block, static_cast<core::code_count>(c), value);
        }
      }
    }
    restart();
    return off_ns;
  }

  struct entry {
    std::uint32_t block;
    std::int64_t ns;
  };

  void restart() noexcept {
    blocks_.clear();
    code_ns_ = calls_ns_ = 0;
    counted_ = {};
    read_ = false;
  }

  base::pod_vector<entry> blocks_;
  base::pod_vector<std::uint32_t> places_;  ///< by block: where its entry may be
  std::int64_t code_ns_ = 0, calls_ns_ = 0;
  core::code_counts counted_{};
  bool read_ = false;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
