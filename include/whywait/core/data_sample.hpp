#ifndef WHYWAIT_CORE_DATA_SAMPLE_HPP
#define WHYWAIT_CORE_DATA_SAMPLE_HPP

#include <whywait/core/stable_key.hpp>

#include <stddef.h>
#include <stdint.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Which granules of a large array are watched: one of each `every` in a row, chosen by hash, so that no pattern of the
/// program falls in with it; all if there are at most `most`. Recorder and analysis agree by using the same rule.
/// The standard error of the share of granules with some property is at most 0.5 sqrt((1 - f) / rows), with f the share
/// that is watched (simple random sampling without replacement).
class data_sample {
 public:
  explicit data_sample(uint64_t bytes, uint32_t granule_bytes = 64, uint64_t most = 4096) noexcept
      : count_((bytes + granule_bytes - 1) / granule_bytes), every_((count_ + most - 1) / most) {}

  uint64_t count() const noexcept { return count_; }
  uint64_t every() const noexcept { return every_; }  ///< 0: there are none
  uint64_t rows() const noexcept { return every_ == 0 ? 0 : (count_ + every_ - 1) / every_; }
  /// The granule of a row that is watched.
  uint64_t chosen(uint64_t object, uint64_t row) const noexcept {
    const uint64_t left = count_ - row * every_;
    return row * every_ + (every_ == 1 ? 0 : combine(row, object) % (left < every_ ? left : every_));
  }
  /// One bit for each granule, in whole words.
  size_t map_bytes() const noexcept { return static_cast<size_t>((count_ + 63) / 64 * 8); }

 private:
  uint64_t count_;
  uint64_t every_;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
