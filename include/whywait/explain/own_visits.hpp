#ifndef WHYWAIT_EXPLAIN_OWN_VISITS_HPP
#define WHYWAIT_EXPLAIN_OWN_VISITS_HPP

#include <whywait/base/memory_pool.hpp>
#include <whywait/base/pod_vector.hpp>
#include <whywait/core/nearest.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The visits of one block by a location itself, whatever path it took over. A *stretch* is the code between two
/// operations of all ranks.
struct own_use {
  std::int64_t before = 0;  ///< in the stretches before the current one
  std::int64_t here = 0;    ///< in the current stretch so far
  std::int64_t total = 0;   ///< in the whole current stretch
  std::int64_t ns = 0;      ///< time in the current stretch so far

  std::int64_t sum() const noexcept { return before + here; }
};

/// The visits of a location to each of its blocks. They define what two locations that run a block at different rates
/// have both done: the same part of their visits in the stretch (docs/method.md 1.4, lead). Not thread safe.
class own_visits {
 public:
  /// The `stretch` of a location whose stretches are unknown: all of its records are one.
  static constexpr std::int32_t undivided = -1;

  explicit own_visits(base::memory_pool& memory) noexcept : uses_(memory) {}

  void reserve(std::size_t blocks) { uses_.reserve(blocks); }
  std::size_t size() const noexcept { return uses_.size(); }
  own_use operator[](std::size_t block) const noexcept { return block < uses_.size() ? uses_[block] : own_use{}; }

  std::int32_t stretch() const noexcept { return stretch_; }
  void set_stretch(std::int32_t stretch) noexcept { stretch_ = stretch; }

  /// Adds visits that the current stretch will have.
  void expect(std::uint32_t block, std::int64_t visits) { at(block).total += visits; }
  void add(std::uint32_t block, std::int64_t visits, std::int64_t ns) {
    own_use& u = at(block);
    u.here += visits;
    u.ns += ns;
  }
  /// Begins the next stretch.
  void next_stretch() noexcept {
    ++stretch_;
    for (own_use& u : uses_) u = {u.before + u.here, 0, 0, 0};
  }

  /// The own visits at the place at which another location has made `here` of the `total` visits of its stretch; that
  /// place may lie ahead. The own visits so far if the other location never runs the block there, so that nothing can be
  /// compared.
  double where(std::size_t block, std::int32_t stretch, std::int64_t here, std::int64_t total) const noexcept {
    const own_use u = (*this)[block];
    if (stretch == stretch_ && total > 0) return static_cast<double>(u.before) + share(u.total, here, total);
    if (stretch == stretch_ || stretch == undivided || stretch_ == undivided) return static_cast<double>(u.sum());
    return static_cast<double>(stretch < stretch_ ? u.before : u.before + u.total);
  }

  /// The part of `visits` that corresponds to `here` of `total`. A multiple of 1/1024, so that sums of such parts are exact
  /// and do not depend on what was before.
  static double share(std::int64_t visits, std::int64_t here, std::int64_t total) noexcept {
    if (visits == total) return static_cast<double>(here);  // nearly always, and without a division
    const double part = static_cast<double>(visits) * static_cast<double>(here) / static_cast<double>(total);
    return static_cast<double>(core::nearest(part * 1024)) / 1024;
  }

 private:
  own_use& at(std::uint32_t block) {
    if (block >= uses_.size()) uses_.resize(block + 1);
    return uses_[block];
  }

  base::pod_vector<own_use> uses_;
  std::int32_t stretch_ = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
