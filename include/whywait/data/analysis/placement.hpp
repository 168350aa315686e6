#ifndef WHYWAIT_DATA_ANALYSIS_PLACEMENT_HPP
#define WHYWAIT_DATA_ANALYSIS_PLACEMENT_HPP

#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/access_pattern.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// Loops of up to this number of iterations are evaluated exactly; of longer ones a sample of this size, with an error
/// of at most about 1 %.
constexpr std::uint64_t placement_samples = std::uint64_t{1} << 14;

/// How many accesses a loop makes to an array, and how many of them to elements that the rank of the iteration does not
/// have.
struct access_count {
  double all = 0;
  double remote = 0;
  double share() const noexcept { return all != 0 ? remote / all : 0; }
};

/// rho(distribution, schedule) of definitions 2.3: the share of accesses (i, f(i)) with owner(f(i)) != schedule(i). An
/// element or iteration that no rank or every rank owns counts as local.
inline access_count count_remote(const distribution& data, const distribution& schedule, const access_pattern& f,
                                 const index_space& loop, const index_space& array) {
  access_count out;
  for_each_access(f, loop, array, placement_samples, [&](std::uint64_t i, std::uint64_t e) {
    const std::int32_t runs = schedule.owner(i), has = data.owner(e);
    ++out.all;
    out.remote += runs != distribution::nobody && has != distribution::nobody && runs != has ? 1 : 0;
  });
  return out;
}

/// What to try instead: in every dimension that has enough indices block, cyclic, and block-cyclic with the given block
/// sizes; blocks in the two slowest dimensions at once, if the ranks make a grid.
inline base::vector<distribution> candidate_distributions(const index_space& space, const base::vector<std::int32_t>& ranks,
                                                          const base::vector<std::uint64_t>& blocks) {
  base::vector<distribution> out;
  const auto parts = static_cast<std::uint64_t>(ranks.size());
  const auto undivided = [&space] {
    base::vector<dimension_map> maps;
    for (const std::uint64_t n : space.extent) maps.push_back({n, 1, n, {}});
    return maps;
  };
  for (std::size_t d = 0; d != space.extent.size(); ++d) {
    const std::uint64_t n = space.extent[d];
    if (n < parts) continue;
    base::vector<dimension_map> maps = {block_map(n, parts), cyclic_map(n, parts)};
    for (const std::uint64_t b : blocks) {
      if (b > 1 && b * parts < n) maps.push_back(cyclic_map(n, parts, b));
    }
    for (const dimension_map& m : maps) {
      base::vector<dimension_map> all = undivided();
      all[d] = m;
      out.emplace_back(std::move(all), ranks);
    }
  }
  for (std::uint64_t rows = 2; space.extent.size() >= 2 && rows * rows <= parts; ++rows) {
    if (parts % rows != 0) continue;
    for (const auto& grid : {std::make_pair(rows, parts / rows), std::make_pair(parts / rows, rows)}) {
      base::vector<dimension_map> all = undivided();
      all[0] = block_map(space.extent[0], grid.first);
      all[1] = block_map(space.extent[1], grid.second);
      out.emplace_back(std::move(all), ranks);
    }
  }
  return out;
}

/// An array with its distribution, and a loop with its schedule.
struct placed_array {
  core::stable_key array = 0;
  index_space space;
  std::uint32_t element_bytes = 1;
  distribution placed;
  double agreement = 0;  ///< 1 if declared
};
struct placed_loop {
  core::stable_key block = 0;
  index_space space;
  distribution schedule;
  double agreement = 0;
};

/// A loop that touches an array; indices into the lists of arrays and loops.
struct array_use {
  std::size_t loop = 0, array = 0;
  access_pattern access;
  double measured_remote = 0;  ///< share of the distinct elements that ranks touched and do not have
  access_count remote;  ///< by the access function; zero if there is none
};

enum class placement_change : std::uint8_t { none, schedule, data, both };

/// The best alternative to a use that is remote by more than a tenth too often.
struct better_placement {
  std::size_t use = 0;
  placement_change change = placement_change::none;
  distribution schedule, placed;  ///< after the change
  double remote = 0;  ///< share of accesses that are then remote
  std::uint64_t moved_bytes = 0;  ///< by the redistribution, once; 0 for a new schedule alone
};

namespace detail {

struct placement_problem {
  const base::vector<placed_array>* arrays;
  const base::vector<placed_loop>* loops;
  const base::vector<array_use>* uses;

  // Remote accesses of all uses that a change concerns.
  double total(std::size_t loop, const distribution* schedule, std::size_t array, const distribution* data) const {
    double remote = 0;
    for (const array_use& u : *uses) {
      const bool other_schedule = schedule != nullptr && u.loop == loop, other_data = data != nullptr && u.array == array;
      if (!u.access.has_function() || (!other_schedule && !other_data && u.loop != loop && u.array != array)) continue;
      remote +=
          count_remote(other_data ? *data : (*arrays)[u.array].placed, other_schedule ? *schedule : (*loops)[u.loop].schedule,
                       u.access, (*loops)[u.loop].space, (*arrays)[u.array].space)
              .remote;
    }
    return remote;
  }
};

inline std::uint64_t moved_bytes(const placed_array& a, const distribution& to) {
  const std::uint64_t n = a.space.size(), most = std::min(n, placement_samples);
  const std::uint64_t step = n <= most ? 1 : static_cast<std::uint64_t>(static_cast<double>(n) * 0.6180339887498949) | 1;
  std::uint64_t moved = 0, e = 0;
  for (std::uint64_t k = 0; k != most; ++k, e = (e + step) % n) moved += a.placed.owner(e) != to.owner(e) ? 1 : 0;
  return static_cast<std::uint64_t>(static_cast<double>(moved) / static_cast<double>(most) * static_cast<double>(n) *
                                    a.element_bytes);
}

}  // namespace detail

/// The best alternative for each use whose remote share is over 0.1 above the best (definitions 2.3). Of alternatives
/// within 0.01 of the best the cheapest is taken: a new schedule costs nothing, new placement moves data, both do both.
/// A schedule is judged by all arrays that its loop touches, a placement by all loops that touch the array: a change
/// that makes those worse is none.
inline base::vector<better_placement> improve_placement(const base::vector<placed_array>& arrays,
                                                        const base::vector<placed_loop>& loops,
                                                        const base::vector<array_use>& uses,
                                                        const base::vector<std::int32_t>& ranks) {
  base::vector<better_placement> out;
  const detail::placement_problem problem{&arrays, &loops, &uses};
  const auto blocks_of = [](const distribution& d) {
    base::vector<std::uint64_t> blocks;
    for (const dimension_map& m : d.dimensions()) blocks.push_back(m.block);
    return blocks;
  };
  for (std::size_t n = 0; n != uses.size(); ++n) {
    const array_use& u = uses[n];
    const placed_array& a = arrays[u.array];
    const placed_loop& l = loops[u.loop];
    if (!u.access.has_function() || !a.placed.known() || !l.schedule.known() || u.remote.share() <= 0.1) continue;
    const double now = problem.total(u.loop, nullptr, u.array, nullptr);
    base::vector<better_placement> found;
    const auto consider = [&](placement_change change, const distribution& schedule, const distribution& data) {
      better_placement b;
      b.use = n;
      b.change = change;
      b.schedule = schedule;
      b.placed = data;
      b.remote = count_remote(data, schedule, u.access, l.space, a.space).share();
      if (u.remote.share() - b.remote <= 0.1) return;
      if (problem.total(u.loop, change != placement_change::data ? &schedule : nullptr, u.array,
                        change != placement_change::schedule ? &data : nullptr) >= now) {
        return;
      }
      found.push_back(std::move(b));
    };
    const auto schedules = candidate_distributions(l.space, ranks, blocks_of(a.placed));
    const auto placements = candidate_distributions(a.space, ranks, blocks_of(l.schedule));
    for (const distribution& s : schedules) consider(placement_change::schedule, s, a.placed);
    for (const distribution& p : placements) consider(placement_change::data, l.schedule, p);
    for (const distribution& s : schedules) {
      for (const distribution& p : placements) consider(placement_change::both, s, p);
    }
    if (found.empty()) continue;
    double best = 1;
    for (const better_placement& b : found) best = std::min(best, b.remote);
    found.erase(
        std::remove_if(found.begin(), found.end(), [best](const better_placement& b) { return b.remote > best + 0.01; }),
        found.end());
    base::small_stable_sort(found, [](const better_placement& x, const better_placement& y) {
      return x.change != y.change ? x.change < y.change : x.remote < y.remote;
    });
    if (found[0].change != placement_change::schedule) found[0].moved_bytes = detail::moved_bytes(a, found[0].placed);
    out.push_back(std::move(found[0]));
  }
  return out;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
