#ifndef WHYWAIT_DATA_ANALYSIS_INFER_DISTRIBUTION_HPP
#define WHYWAIT_DATA_ANALYSIS_INFER_DISTRIBUTION_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/distribution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// What one rank wrote of an array, or ran of a loop.
struct rank_set {
  std::int32_t rank = 0;
  const index_set* set = nullptr;
};

/// A distribution and how well it fits.
struct inferred_distribution {
  distribution found;
  double agreement = 0;  ///< share of the observed elements that `found` places right; at least 0.99 unless irregular
};

namespace detail {

/// The indices along one dimension that a set touches.
inline index_set projection(const index_set& set, const index_space& space, std::size_t d) {
  std::uint64_t inner = 1;
  for (std::size_t k = d + 1; k < space.extent.size(); ++k) inner *= space.extent[k];
  const std::uint64_t n = space.extent[d];
  index_set out;
  set.for_each_piece([&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t first = begin / inner, last = (end - 1) / inner;
    if (last - first + 1 >= n) {
      out.add({0, n, 0, 1});
    } else if (first % n <= last % n) {
      out.add({first % n, last - first + 1, 0, 1});
    } else {
      out.add({first % n, n - first % n, 0, 1});
      out.add({0, last % n + 1, 0, 1});
    }
  });
  out.settle();
  return out;
}

constexpr std::uint64_t most_samples = 4096;

/// Share of the indices of all groups that the map gives to their group.
inline double agreement(const dimension_map& map, const base::vector<index_set>& groups) {
  double right = 0, all = 0;
  for (std::size_t g = 0; g != groups.size(); ++g) {
    double hits = 0, tries = 0;
    groups[g].sample(most_samples * 16, [&](std::uint64_t i) {
      hits += map.part_of(i) == g ? 1 : 0;
      ++tries;
    });
    right += hits / tries * static_cast<double>(groups[g].size());
    all += static_cast<double>(groups[g].size());
  }
  return right / all;
}

}  // namespace detail

/// The distribution that follows from which rank wrote (ran) what (definitions 2.2): replicated, then by dimension block, cyclic, block-cyclic(b) with b
/// the length of the first run, blocks of several sizes; the first with 99 % of the cells. A dimension that all ranks touch alike
/// is not distributed. Else irregular: as seen, an element of several ranks belongs to the lowest. The sets must be settled; up to
/// 4096 elements of each rank are compared, all if there are no more. Empty sets are ignored.
inline inferred_distribution infer_distribution(const index_space& space, base::pod_vector<rank_set> sets) {
  constexpr double enough = 0.99;
  inferred_distribution out;
  sets.erase(std::remove_if(sets.begin(), sets.end(), [](const rank_set& s) { return s.set->empty(); }), sets.end());
  if (sets.empty() || space.size() == 0) return out;
  base::small_stable_sort(sets, [](const rank_set& a, const rank_set& b) { return a.rank < b.rank; });
  const auto same = [&sets](const rank_set& s) { return *s.set == *sets[0].set; };
  if (sets.size() > 1 && std::all_of(sets.begin(), sets.end(), same)) {
    out.found = distribution::replicated();
    out.agreement = 1;
    return out;
  }

  base::vector<dimension_map> maps;
  base::pod_vector<std::uint64_t> cell(sets.size());  // of every rank, in row-major order
  for (std::size_t d = 0; d != space.extent.size(); ++d) {
    const std::uint64_t n = space.extent[d];
    base::vector<index_set> groups;
    for (const rank_set& s : sets) {
      index_set p = detail::projection(*s.set, space, d);
      if (std::find(groups.begin(), groups.end(), p) == groups.end()) groups.push_back(std::move(p));
    }
    base::small_stable_sort(groups, [](const index_set& a, const index_set& b) { return a.first() < b.first(); });
    for (std::size_t s = 0; s != sets.size(); ++s) {
      const auto at = std::find(groups.begin(), groups.end(), detail::projection(*sets[s].set, space, d));
      cell[s] = cell[s] * groups.size() + static_cast<std::uint64_t>(at - groups.begin());
    }
    const auto parts = static_cast<std::uint64_t>(groups.size());
    dimension_map chosen{n, 1, n, {}};
    if (parts > 1) {
      base::vector<dimension_map> candidates = {block_map(n, parts), cyclic_map(n, parts),
                                                cyclic_map(n, parts, groups[0].runs()[0].length)};
      dimension_map uneven{n, parts, 1, {}};
      for (const index_set& g : groups) uneven.starts.push_back(g.first());
      candidates.push_back(uneven);
      const auto fits = [&groups](const dimension_map& m) { return detail::agreement(m, groups) >= enough; };
      const auto best = std::find_if(candidates.begin(), candidates.end(), fits);
      if (best == candidates.end()) {
        maps.clear();
        break;
      }
      chosen = *best;
    }
    maps.push_back(std::move(chosen));
  }

  if (!maps.empty()) {
    std::uint64_t cells = 1;
    for (const dimension_map& m : maps) cells *= m.parts;
    base::vector<std::int32_t> ranks(cells <= sets.size() ? static_cast<std::size_t>(cells) : 0, distribution::nobody);
    for (std::size_t s = 0; s != sets.size() && !ranks.empty(); ++s) {
      std::int32_t& rank = ranks[static_cast<std::size_t>(cell[s])];
      if (rank == distribution::nobody) rank = sets[s].rank;
    }
    if (!ranks.empty()) {
      distribution regular(std::move(maps), std::move(ranks));
      double right = 0, all = 0;
      for (const rank_set& s : sets) {
        double hits = 0, tries = 0;
        s.set->sample(detail::most_samples, [&](std::uint64_t e) {
          hits += regular.owner(e) == s.rank ? 1 : 0;
          ++tries;
        });
        right += hits / tries * static_cast<double>(s.set->size());
        all += static_cast<double>(s.set->size());
      }
      out.agreement = right / all;
      if (out.agreement >= enough) {
        out.found = std::move(regular);
        return out;
      }
    }
  }

  base::pod_vector<distribution::piece> pieces;
  for (const rank_set& s : sets) {
    s.set->for_each_piece([&](std::uint64_t begin, std::uint64_t end) { pieces.push_back({begin, end, s.rank}); });
  }
  base::small_stable_sort(pieces);
  // What several ranks touched goes to the lowest: pieces must not overlap. One sweep; `open` are those that reach here.
  base::pod_vector<std::uint64_t> borders;
  for (const auto& p : pieces) {
    borders.push_back(p.begin);
    borders.push_back(p.end);
  }
  base::sort_and_unique(borders);
  base::pod_vector<distribution::piece> apart, open;
  std::size_t next = 0;
  for (std::size_t b = 0; b + 1 < borders.size(); ++b) {
    for (; next != pieces.size() && pieces[next].begin <= borders[b]; ++next) open.push_back(pieces[next]);
    open.erase(std::remove_if(open.begin(), open.end(), [&](const distribution::piece& p) { return p.end <= borders[b]; }),
               open.end());
    std::int32_t lowest = distribution::nobody;
    for (const auto& p : open) {
      if (lowest == distribution::nobody || p.rank < lowest) lowest = p.rank;
    }
    if (lowest == distribution::nobody) continue;
    if (!apart.empty() && apart.back().rank == lowest && apart.back().end == borders[b]) apart.back().end = borders[b + 1];
    else apart.push_back({borders[b], borders[b + 1], lowest});
  }
  out.found = distribution::seen(std::move(apart));
  double right = 0, all = 0;
  for (const rank_set& s : sets) {
    s.set->sample(detail::most_samples, [&](std::uint64_t e) {
      right += out.found.owner(e) == s.rank ? 1 : 0;
      ++all;
    });
  }
  out.agreement = right / all;
  return out;
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
