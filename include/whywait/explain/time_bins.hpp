#ifndef WHYWAIT_EXPLAIN_TIME_BINS_HPP
#define WHYWAIT_EXPLAIN_TIME_BINS_HPP

#include <whywait/base/packet.hpp>
#include <whywait/base/pod_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// Time spent, by when it was spent: at most 128 bins of equal width, which doubles when a run outgrows them. The width
/// depends only on the end of the run, so that bins of different ranks and epochs can be added. Memory: 8 bytes per bin
/// in use. Not thread safe; throws std::bad_alloc.
class time_bins {
 public:
  static constexpr std::size_t most = 128;
  static constexpr std::int64_t least_width_ns = 1000;

  /// The width with which a run of this length fills between 65 and 128 bins, unless it is shorter than 65 us.
  static std::int64_t width_for(std::int64_t length_ns) noexcept {
    std::int64_t width_ns = least_width_ns;
    while (width_ns <= INT64_MAX / 512 && width_ns * static_cast<std::int64_t>(most) < length_ns) width_ns *= 2;
    return width_ns;
  }

  std::int64_t width_ns() const noexcept { return width_ns_; }
  std::size_t size() const noexcept { return ns_.size(); }
  std::int64_t operator[](std::size_t bin) const noexcept { return bin < ns_.size() ? ns_[bin] : 0; }

  /// Adds an interval; times before 0 count in the first bin. O(1) per bin that it touches.
  void add(std::int64_t from_ns, std::int64_t until_ns) {
    if (until_ns <= from_ns) return;
    if (until_ns > width_ns_ * static_cast<std::int64_t>(most)) widen(width_for(until_ns));
    const auto place = [this](std::int64_t at_ns) {
      return static_cast<std::size_t>(std::max<std::int64_t>(at_ns, 0) / width_ns_);
    };
    std::size_t bin = place(from_ns);
    const std::size_t last = place(until_ns - 1);
    if (last >= ns_.size()) ns_.resize(last + 1, 0);
    for (; bin < last; ++bin) {
      const std::int64_t end_ns = static_cast<std::int64_t>(bin + 1) * width_ns_;
      ns_[bin] += end_ns - from_ns;
      from_ns = end_ns;
    }
    ns_[last] += until_ns - from_ns;
  }
  /// Adds other bins, or subtracts them; both then have the larger width.
  void add(const time_bins& other, std::int64_t sign = 1) {
    widen(other.width_ns_);
    const auto together = static_cast<std::size_t>(width_ns_ / other.width_ns_);
    if (other.size() != 0) ns_.resize(std::max(ns_.size(), (other.size() - 1) / together + 1), 0);
    for (std::size_t i = 0; i != other.size(); ++i) ns_[i / together] += sign * other.ns_[i];
  }

  /// Joins neighbours until the width is at least `width_ns`.
  void widen(std::int64_t width_ns) {
    while (width_ns_ < width_ns) {
      const std::size_t half = (ns_.size() + 1) / 2;
      for (std::size_t i = 0; i != half; ++i) ns_[i] = ns_[2 * i] + (2 * i + 1 < ns_.size() ? ns_[2 * i + 1] : 0);
      ns_.resize(half);
      width_ns_ *= 2;
    }
  }

  void write(base::packet& out) const {
    put(out, width_ns_);
    put_all(out, ns_);
  }
  void read(base::packet_reader& in) {
    width_ns_ = in.get<std::int64_t>();
    get_all(in, ns_);
  }

 private:
  std::int64_t width_ns_ = least_width_ns;
  base::pod_vector<std::int64_t> ns_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
