#ifndef WHYWAIT_EXPLAIN_PATH_PROFILE_HPP
#define WHYWAIT_EXPLAIN_PATH_PROFILE_HPP

#include <whywait/explain/interval_diff.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace explain {

/// A causal path profile: for each block what the path into this instant did in it (definitions 1.5). Blocks
/// are the dense numbers of the rank's block_table; a missing one is zero.
using path_profile = std::vector<block_use>;

inline const block_use& use_of(const path_profile& profile, std::size_t block) noexcept {
  static constexpr block_use nothing{};
  return block < profile.size() ? profile[block] : nothing;
}

/// Two sides relative to a common base: one that has since taken over a third path may lie before it, and only the
/// difference counts, so both are moved up until none is negative.
inline void shift(block_use& a, block_use& b) noexcept {
  const auto up = [](std::int64_t& x, std::int64_t& y) {
    const std::int64_t least = std::min<std::int64_t>(0, std::min(x, y));
    x -= least;
    y -= least;
  };
  up(a.visits, b.visits);
  up(a.ns, b.ns);
  up(a.work, b.work);
}

/// The profiles two locations had in common when they were last aligned; counts of an interval are relative
/// to them. Bounded: of pairwise and group alignments only the most recent 16 are kept, those older than the
/// last alignment of all ranks are dropped. Losing one only makes the counts reach further back: sums stay exact.
class alignments {
 public:
  struct entry {
    std::uint64_t who = 0;
    std::int64_t at_ns = INT64_MIN;  ///< INT64_MIN: never
    path_profile profile;
  };

  /// All ranks took over `profile`.
  void world(std::int64_t at_ns, const path_profile& profile) {
    used_ = 0;
    world_.at_ns = at_ns;
    world_.profile = profile;
  }

  /// `who`: key of a location or of a group.
  void remember(std::uint64_t who, std::int64_t at_ns, const path_profile& profile) {
    std::size_t at = 0;
    while (at != used_ && recent_[at].who != who) ++at;
    if (at == used_) {
      if (used_ < limit) {
        if (used_ == recent_.size()) recent_.emplace_back();
        ++used_;
      } else {
        at = 0;
        for (std::size_t i = 1; i != used_; ++i) {
          if (recent_[i].at_ns < recent_[at].at_ns) at = i;
        }
      }
    }
    recent_[at].who = who;
    recent_[at].at_ns = at_ns;
    recent_[at].profile.assign(profile.begin(), profile.end());
  }

  /// The most recent one among those that `applies(who)`, and that of all ranks.
  template <class Applies>
  const entry& latest(Applies&& applies) const {
    const entry* best = &world_;
    for (std::size_t i = 0; i != used_; ++i) {
      if (recent_[i].at_ns >= best->at_ns && applies(recent_[i].who)) best = &recent_[i];
    }
    return *best;
  }

 private:
  static constexpr std::size_t limit = 16;

  entry world_;
  std::vector<entry> recent_;
  std::size_t used_ = 0;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
