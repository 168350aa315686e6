#ifndef WHYWAIT_EXPLAIN_PATH_PROFILE_HPP
#define WHYWAIT_EXPLAIN_PATH_PROFILE_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/core/nearest.hpp>
#include <whywait/explain/explanation.hpp>
#include <whywait/explain/interval_diff.hpp>
#include <whywait/explain/own_visits.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// One entry of a causal path profile: what the path into this instant did in one block (docs/method.md 1.5). Profiles
/// are indexed by the numbers of the rank's block_table; missing entries are zero.
struct path_use {
  std::int64_t visits = 0, ns = 0, work = 0;  ///< as in block_use
  std::int64_t own_visits = 0, own_ns = 0;    ///< executed by the location itself since it last took over a path
  double extra = 0;  ///< visits of the path beyond those of the location itself, both up to the same place

  bool nothing() const noexcept { return (visits | ns | work) == 0; }
  bool same(const path_use& o) const noexcept { return ((visits ^ o.visits) | (ns ^ o.ns) | (work ^ o.work)) == 0; }
  block_use own() const noexcept { return {own_visits, own_ns, 0}; }
  block_use since(const block_use& o) const noexcept { return {visits - o.visits, ns - o.ns, work - o.work}; }
};
using path_profile = base::pod_vector<path_use>;

/// What the visits of the two sides of a wait are at the same place of the program.
struct same_place {
  double more = 0;  ///< visits that the causer's path has more than the waiter's path
  std::int64_t waiter_total = 0, causer_total = 0;  ///< visits of the two locations in their current stretches
  double waiter_mean = 0;  ///< time of a visit by the waiter itself; 0: unknown

  same_place() = default;
  /// `own`: of the waiter. `base`: both when they were last aligned. `total`: own_use::total of the causer. What the
  /// causer executed itself is compared by the visits of both locations. Along inherited paths other locations took
  /// part, and only `extra` compares their visits, with an error where paths cross while one side is ahead.
  same_place(const own_use& own, const path_use& waiter, const path_use& causer, const block_use& base,
             std::int64_t total) noexcept
      : more(causer.extra - waiter.extra), waiter_total(own.total), causer_total(total) {
    if (own.here > 0) waiter_mean = static_cast<double>(own.ns) / static_cast<double>(own.here);
    const block_use since = causer.since(base);
    const bool alone = since.ns > 0 && causer.own_ns >= since.ns && since.visits <= total && own.total > 0 && total > 0;
    if (alone) more = static_cast<double>(since.visits) - own_visits::share(own.total, since.visits, total);
  }
};

namespace detail {

// Moves the waiting side to the place of the late side, which it has left `lead` visits ago.
inline void take_back(block_use& waiter, const block_use& causer, std::int64_t lead, double waiter_mean) noexcept {
  const std::int64_t visits = waiter.visits - lead;
  const auto scaled = [](std::int64_t value, std::int64_t to, std::int64_t from) {
    return core::nearest(static_cast<double>(value) * static_cast<double>(to) / static_cast<double>(from));
  };
  if (waiter.visits > 0) {
    waiter.ns = scaled(waiter.ns, visits, waiter.visits);
    waiter.work = scaled(waiter.work, visits, waiter.visits);
  } else if (causer.visits > 0) {
    waiter.work = scaled(causer.work, visits, causer.visits);
    waiter.ns =
        waiter_mean > 0 ? core::nearest(waiter_mean * static_cast<double>(visits)) : scaled(causer.ns, visits, causer.visits);
  }
  waiter.visits = visits;
}

// The part of a lead's time that counts as visits. A lead moves time from one wait to another, which is no evidence for
// either visits or speed; it is divided like the difference at the same place. Equally many visits or units of work
// at that place, rounded to whole ones, are no reason for time.
inline double visits_share(const block_split& parts, const block_counts& counts, const same_place& at) noexcept {
  if (counts.causer == counts.waiter && counts.causer != 0) return 0;
  const double visits = std::fabs(static_cast<double>(parts.visits_ns)), speed = std::fabs(static_cast<double>(parts.speed_ns));
  if (visits + speed > 0) return visits / (visits + speed);
  const std::int64_t least = std::min(at.waiter_total, at.causer_total), most = std::max(at.waiter_total, at.causer_total);
  if (least <= 0) return most > 0 ? 1 : 0;
  return std::min(1.0, static_cast<double>(most - least) / static_cast<double>(least));
}

// By how much the causer's own visits are longer than those of the waiter. Visits that only the causer has count whole.
inline std::int64_t own_excess(const block_use& waiter, const block_use& causer, const block_use& own) noexcept {
  if (own.ns >= causer.ns || waiter.visits <= 0) return own.ns;
  const std::int64_t more = std::max<std::int64_t>(0, causer.visits - waiter.visits);
  const auto shared = static_cast<double>(std::max<std::int64_t>(0, own.visits - more));
  return own.ns - core::nearest(shared * static_cast<double>(waiter.ns) / static_cast<double>(waiter.visits));
}

}  // namespace detail

/// One residual line: what two locations did in one block since they were last aligned. `own`: the part of the causer's
/// path that it executed itself. Of its visits, those that the waiter's path has as well differ by their speed alone; the
/// part of the difference that is not in its own visits is inherited. A side that has taken over a third path since then may lie
/// before the common base; both sides are therefore moved up until none is negative, because only their difference counts.
inline residual_sums difference(block_use waiter, block_use causer, const block_use& own, const same_place& at) noexcept {
  const auto lift = [](std::int64_t& x, std::int64_t& y) {
    const std::int64_t below = std::min<std::int64_t>(0, std::min(x, y));
    x -= below;
    y -= below;
  };
  lift(waiter.visits, causer.visits);
  lift(waiter.ns, causer.ns);
  lift(waiter.work, causer.work);
  residual_sums sums;
  sums.total_ns = causer.ns - waiter.ns;
  sums.lead_visits = std::min(waiter.visits, waiter.visits - causer.visits + core::nearest(at.more));
  if (sums.lead_visits != 0) detail::take_back(waiter, causer, sums.lead_visits, at.waiter_mean);
  const block_split parts = split(waiter, causer);
  sums.visits_ns = parts.visits_ns;
  if (sums.lead_visits != 0) {
    const auto lead_ns = static_cast<double>(sums.total_ns - parts.total_ns);
    sums.visits_ns += core::nearest(lead_ns * detail::visits_share(parts, {waiter, causer}, at));
  }
  sums.speed_ns = sums.total_ns - sums.visits_ns;
  sums.inherited_ns =
      std::max<std::int64_t>(0, std::min(sums.total_ns, sums.total_ns - detail::own_excess(waiter, causer, own)));
  sums.causer_visits = causer.visits;
  sums.waiter_visits = waiter.visits;
  sums.causer_work = causer.work;
  sums.waiter_work = waiter.work;
  sums.causer_ns = causer.ns;
  sums.waiter_ns = waiter.ns;
  return sums;
}

/// The lines of a part of a wait that is explained by what its causer ran from `begin` to `end` of its path: calls
/// use(block, sums) for each block of it. If that took longer than the part, the lines are shortened to add up to it.
template <class Use>
void list_part(const path_profile& end, const path_profile& begin, std::int64_t wait_ns, Use&& use) {
  const auto at = [](const path_profile& p, std::size_t b) { return b < p.size() ? p[b] : path_use{}; };
  const std::size_t size = std::max(end.size(), begin.size());
  std::int64_t all_ns = 0, before_ns = 0, written_ns = 0;
  for (std::size_t b = 0; b != size; ++b) all_ns += at(end, b).ns - at(begin, b).ns;
  const double scale = all_ns > wait_ns ? static_cast<double>(wait_ns) / static_cast<double>(all_ns) : 1;
  for (std::uint32_t b = 0; b != size; ++b) {
    const path_use last = at(end, b), first = at(begin, b);
    if (last.same(first)) continue;
    before_ns += last.ns - first.ns;
    const std::int64_t up_to_ns = core::nearest(scale * static_cast<double>(before_ns)), ns = up_to_ns - written_ns;
    written_ns = up_to_ns;
    const std::int64_t own_ns = last.own_ns >= first.own_ns ? last.own_ns - first.own_ns : last.own_ns;
    residual_sums sums;
    sums.total_ns = sums.visits_ns = ns;
    sums.inherited_ns = ns <= 0 ? 0 : std::clamp<std::int64_t>(ns - core::nearest(scale * static_cast<double>(own_ns)), 0, ns);
    (ns < 0 ? sums.waiter_ns : sums.causer_ns) = ns < 0 ? -ns : ns;
    const std::int64_t visits = last.visits - first.visits, work = last.work - first.work;
    (visits < 0 ? sums.waiter_visits : sums.causer_visits) = visits < 0 ? -visits : visits;
    (work < 0 ? sums.waiter_work : sums.causer_work) = work < 0 ? -work : work;
    use(b, sums);
  }
}

/// The profiles that two locations had in common when they were last aligned; the counts of an interval are relative to
/// them. Bounded: the 16 most recent pairwise and group alignments are kept, and those before the last alignment of all
/// ranks are dropped. After a dropped alignment the counts only reach further back; sums stay exact.
class alignments {
 public:
  /// A read-only view of one alignment; valid until the next change.
  struct view {
    std::int64_t at_ns;  ///< INT64_MIN: never aligned
    const block_use* uses;
    std::size_t size;

    const block_use& operator[](std::size_t block) const noexcept {
      static constexpr block_use nothing{};
      return block < size ? uses[block] : nothing;
    }
  };

  alignments() noexcept = default;
  explicit alignments(base::memory_pool& pool) noexcept : recent_(pool), uses_(pool) {}

  /// Reserves memory for a number of alignments of a number of blocks each.
  void reserve(std::size_t profiles, std::size_t blocks) {
    profiles = std::min(profiles, limit + 1);
    recent_.reserve(profiles);
    stride_ = std::max(stride_, rounded(blocks));
    if (rows_ == 0) uses_.reserve(profiles * stride_);
  }

  /// Records that all ranks took over `profile`.
  void world(std::int64_t at_ns, const path_profile& profile) {
    used_ = 0;
    world_ns_ = at_ns;
    if (world_ == nowhere) world_ = rows_;
    write(world_, profile);
  }

  /// Records an alignment with a location or a group by its key.
  void remember(std::uint64_t key, std::int64_t at_ns, const path_profile& profile) {
    std::size_t at = 0;
    while (at != used_ && recent_[at].key != key) ++at;
    if (at == used_) {
      if (used_ < limit) {
        if (used_ == recent_.size()) recent_.push_back({key, at_ns, rows_});
        ++used_;
      } else {
        at = 0;
        for (std::size_t i = 1; i != used_; ++i) {
          if (recent_[i].at_ns < recent_[at].at_ns) at = i;
        }
      }
    }
    recent_[at].key = key;
    recent_[at].at_ns = at_ns;
    write(recent_[at].row, profile);
  }

  /// The most recent alignment among those for which `applies(key)` is true and the last one of all ranks.
  template <class Applies>
  view latest(Applies&& applies) const {
    std::int64_t best_ns = world_ns_;
    std::size_t row = world_;
    for (std::size_t i = 0; i != used_; ++i) {
      if (recent_[i].at_ns < best_ns || !applies(recent_[i].key)) continue;
      best_ns = recent_[i].at_ns;
      row = recent_[i].row;
    }
    return row != nowhere ? view{best_ns, uses_.data() + row * stride_, stride_} : view{best_ns, nullptr, 0};
  }

 private:
  static constexpr std::size_t limit = 16;
  static constexpr std::uint32_t nowhere = 0xffffffffu;
  struct entry {
    std::uint64_t key;
    std::int64_t at_ns;
    std::uint32_t row;  ///< row in uses_
  };

  static std::size_t rounded(std::size_t blocks) noexcept { return (blocks + 3) & ~std::size_t{3}; }

  void write(std::uint32_t row, const path_profile& profile) {
    if (row >= rows_ || profile.size() > stride_) grow(row, profile.size());
    block_use* to = uses_.data() + row * stride_;
    for (const path_use& u : profile) *to++ = {u.visits, u.ns, u.work};
    for (block_use* const end = uses_.data() + (row + 1) * stride_; to != end; ++to) *to = {};
  }
  // Grows the table of rows to one more row, or to longer rows.
  void grow(std::uint32_t row, std::size_t blocks) {
    const std::uint32_t rows = std::max(row + 1, rows_);
    const std::size_t stride = std::max(rounded(blocks), stride_);
    if (stride == stride_) {
      uses_.resize(rows * stride);
    } else {
      base::pod_vector<block_use> wider = uses_.sibling();
      wider.reserve(std::max(rows * stride, uses_.capacity()));
      wider.resize(rows * stride);
      for (std::size_t r = 0; r != rows_; ++r) {
        std::copy(uses_.data() + r * stride_, uses_.data() + (r + 1) * stride_, wider.data() + r * stride);
      }
      uses_.swap(wider);
    }
    rows_ = rows;
    stride_ = stride;
  }

  std::int64_t world_ns_ = INT64_MIN;
  base::pod_vector<entry> recent_;
  std::size_t used_ = 0;  ///< used elements of recent_
  base::pod_vector<block_use> uses_;  ///< rows of the length stride_
  std::size_t stride_ = 0;
  std::uint32_t rows_ = 0, world_ = nowhere;  ///< world_: the row of the last alignment of all ranks
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif
