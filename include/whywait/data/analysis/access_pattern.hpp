#ifndef WHYWAIT_DATA_ANALYSIS_ACCESS_PATTERN_HPP
#define WHYWAIT_DATA_ANALYSIS_ACCESS_PATTERN_HPP

#include <whywait/base/pod_vector.hpp>
#include <whywait/base/vector.hpp>
#include <whywait/data/analysis/distribution.hpp>
#include <whywait/data/analysis/infer_distribution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace data {

/// How a loop walks an array (definitions 2.2).
enum class access_kind : std::uint8_t {
  offsets,         ///< iteration i touches i + o for each offset o: contiguous (0 alone) or a stencil
  slices,          ///< a loop over one dimension: iteration i touches all of index i + o in that dimension
  strided,         ///< i touches scale * i + shift
  transposed,      ///< (i, j) touches (j, i)
  broadcast_read,  ///< all ranks read the same
  reduction,       ///< all ranks combine into the same cells
  indirect         ///< none of these, or only bounds are known
};

/// The access function of a loop to an array, as far as it follows from the iterations that each rank ran and the elements that it
/// touched. One contiguous row of iterations of one rank does not distinguish {-1, 1} from {-1, 0, 1}: then it is the latter.
struct access_pattern {
  access_kind kind = access_kind::indirect;
  base::vector<base::vector<std::int64_t>> offsets;  ///< one vector by dimension for each (offsets); one number (slices)
  std::size_t dimension = 0;  ///< slices
  std::int64_t scale = 1, shift = 0;  ///< strided

  bool has_function() const noexcept { return kind <= access_kind::transposed; }

  /// "contiguous", "stencil with offsets -1, 0, 1", "strided(4)", "transposed", ...
  std::string text() const {
    switch (kind) {
      case access_kind::offsets: return only_zero() ? "contiguous" : "stencil with offsets " + offsets_text();
      case access_kind::slices:
        return (only_zero() ? "slices of dimension " : "stencil over dimension ") + std::to_string(dimension) +
               (only_zero() ? "" : " with offsets " + offsets_text());
      case access_kind::strided: return "strided(" + std::to_string(scale) + ")";
      case access_kind::transposed: return "transposed";
      case access_kind::broadcast_read: return "broadcast read";
      case access_kind::reduction: return "reduction";
      case access_kind::indirect: break;
    }
    return "indirect";
  }

 private:
  bool only_zero() const {
    return offsets.size() == 1 && std::all_of(offsets[0].begin(), offsets[0].end(), [](std::int64_t o) { return o == 0; });
  }
  std::string offsets_text() const {
    base::vector<base::vector<std::int64_t>> sorted = offsets;
    base::small_stable_sort(sorted);
    std::string out;
    for (const auto& o : sorted) {
      out += out.empty() ? "" : ", ";
      if (o.size() > 1) out += "(";
      for (std::size_t d = 0; d != o.size(); ++d) out += (d != 0 ? ", " : "") + std::to_string(o[d]);
      if (o.size() > 1) out += ")";
    }
    return out;
  }
};

/// What one rank ran of a loop and touched of an array in it.
struct rank_access {
  std::int32_t rank = 0;
  const index_set* iterations = nullptr;
  const index_set* elements = nullptr;
};

/// Element at a distance by dimension; false if that is outside.
inline bool shifted(const index_space& space, std::uint64_t e, const base::vector<std::int64_t>& by,
                    std::uint64_t& out) noexcept {
  out = 0;
  std::uint64_t factor = 1;
  for (std::size_t d = space.extent.size(); d-- != 0;) {
    const std::int64_t at = static_cast<std::int64_t>(e % space.extent[d]) + by[d];
    if (at < 0 || at >= static_cast<std::int64_t>(space.extent[d])) return false;
    out += static_cast<std::uint64_t>(at) * factor;
    e /= space.extent[d];
    factor *= space.extent[d];
  }
  return true;
}

namespace detail {

constexpr std::uint64_t pattern_samples = 512;

// All vectors with |o_d| at most `reach`, the shortest first.
inline base::vector<base::vector<std::int64_t>> all_offsets(std::size_t dimensions) {
  static const std::int64_t reaches[] = {64, 4, 2, 1};
  const std::int64_t reach = reaches[std::min<std::size_t>(dimensions, 4) - 1];
  base::vector<base::vector<std::int64_t>> out = {{}};
  for (std::size_t d = 0; d != dimensions; ++d) {
    base::vector<base::vector<std::int64_t>> longer;
    for (const auto& o : out) {
      for (std::int64_t k = -reach; k <= reach; ++k) {
        longer.push_back(o);
        longer.back().push_back(k);
      }
    }
    out.swap(longer);
  }
  const auto length = [](const base::vector<std::int64_t>& o) {
    std::int64_t n = 0;
    for (const std::int64_t k : o) n += std::abs(k);
    return n;
  };
  base::small_stable_sort(out,
                          [&](const auto& a, const auto& b) { return length(a) != length(b) ? length(a) < length(b) : a < b; });
  return out;
}

// The shortest offsets that explain what was touched: each leads from every iteration to something touched (or outside),
// together they reach all of it.
inline base::vector<base::vector<std::int64_t>> find_offsets(const index_space& space,
                                                             const base::pod_vector<rank_access>& ranks) {
  struct seen {
    const rank_access* of;
    std::uint64_t element;
  };
  base::pod_vector<seen> open, iterations;
  for (const rank_access& r : ranks) {
    r.elements->sample(pattern_samples, [&](std::uint64_t e) { open.push_back({&r, e}); });
    r.iterations->sample(pattern_samples, [&](std::uint64_t i) { iterations.push_back({&r, i}); });
  }
  base::vector<base::vector<std::int64_t>> out;
  for (const auto& o : all_offsets(space.extent.size())) {
    if (open.empty()) return out;
    base::vector<std::int64_t> back = o;
    for (std::int64_t& k : back) k = -k;
    std::uint64_t at = 0;
    base::pod_vector<seen> left;
    for (const seen& s : open) {
      if (!shifted(space, s.element, back, at) || !s.of->iterations->holds(at)) left.push_back(s);
    }
    if (left.size() == open.size()) continue;
    const bool always = std::all_of(iterations.begin(), iterations.end(), [&](const seen& s) {
      return !shifted(space, s.element, o, at) || s.of->elements->holds(at);
    });
    if (!always) continue;
    out.push_back(o);
    open.swap(left);
  }
  if (!open.empty()) out.clear();
  return out;
}

inline bool find_stride(const base::pod_vector<rank_access>& ranks, std::int64_t& scale, std::int64_t& shift) {
  bool known = false;
  for (const rank_access& r : ranks) {
    const std::uint64_t n = r.iterations->size();
    if (n != r.elements->size()) return false;
    if (known || n < 2) continue;
    const auto width = static_cast<std::int64_t>(r.iterations->at(n - 1) - r.iterations->at(0));
    const auto reach = static_cast<std::int64_t>(r.elements->at(n - 1) - r.elements->at(0));
    if (width == 0 || reach % width != 0) return false;
    scale = reach / width;
    shift = static_cast<std::int64_t>(r.elements->at(0)) - scale * static_cast<std::int64_t>(r.iterations->at(0));
    known = true;
  }
  if (!known || scale == 0) return false;
  bool fits = true;
  for (const rank_access& r : ranks) {
    std::uint64_t k = 0;
    const std::uint64_t n = r.iterations->size(), step = n <= pattern_samples ? 1 : n / pattern_samples;
    for (; fits && k < n; k += step) {
      fits = static_cast<std::int64_t>(r.elements->at(k)) == scale * static_cast<std::int64_t>(r.iterations->at(k)) + shift;
    }
  }
  return fits;
}

}  // namespace detail

/// Finds the access function from the sets of all ranks (settled); those with no iterations or elements are ignored. Order of trial:
/// broadcast read, offsets (up to 64 in one dimension, 4 in two, 2 in three, 1 in four), transposed, slices, strided, indirect.
/// Up to 512 iterations and elements of each rank are looked at: all, if there are no more. Throws std::bad_alloc.
inline access_pattern infer_access(const index_space& loop, const index_space& array, base::pod_vector<rank_access> ranks) {
  access_pattern out;
  ranks.erase(std::remove_if(ranks.begin(), ranks.end(),
                             [](const rank_access& r) { return r.iterations->empty() || r.elements->empty(); }),
              ranks.end());
  if (ranks.empty()) return out;
  const auto all = [&ranks](auto&& holds) { return std::all_of(ranks.begin(), ranks.end(), holds); };
  if (ranks.size() > 1 && all([&](const rank_access& r) { return *r.elements == *ranks[0].elements; }) &&
      !all([&](const rank_access& r) { return *r.iterations == *ranks[0].iterations; })) {
    out.kind = access_kind::broadcast_read;
    return out;
  }
  if (loop == array) {
    out.offsets = detail::find_offsets(array, ranks);
    if (!out.offsets.empty()) {
      out.kind = access_kind::offsets;
      return out;
    }
  }
  if (loop.extent.size() == 2 && array.extent.size() == 2 && loop.extent[0] == array.extent[1] &&
      loop.extent[1] == array.extent[0]) {
    const bool turned = all([&](const rank_access& r) {
      bool fits = r.iterations->size() == r.elements->size();
      r.iterations->sample(detail::pattern_samples, [&](std::uint64_t i) {
        fits = fits && r.elements->holds(i % loop.extent[1] * array.extent[1] + i / loop.extent[1]);
      });
      return fits;
    });
    if (turned) {
      out.kind = access_kind::transposed;
      return out;
    }
  }
  for (std::size_t d = 0; loop.extent.size() == 1 && array.extent.size() > 1 && d != array.extent.size(); ++d) {
    if (array.extent[d] < loop.extent[0]) continue;
    base::vector<index_set> along(ranks.size());
    base::pod_vector<rank_access> flat = ranks;
    bool product = true;
    for (std::size_t r = 0; r != ranks.size() && product; ++r) {
      along[r] = detail::projection(*ranks[r].elements, array, d);
      flat[r].elements = &along[r];
      product = along[r].size() * (array.size() / array.extent[d]) == ranks[r].elements->size();
    }
    if (!product) continue;
    out.offsets = detail::find_offsets({{array.extent[d]}}, flat);
    if (out.offsets.empty()) continue;
    out.kind = access_kind::slices;
    out.dimension = d;
    return out;
  }
  if (detail::find_stride(ranks, out.scale, out.shift)) out.kind = access_kind::strided;
  return out;
}

/// Calls `each(iteration, element)` for the accesses of a loop; all, or of `most` evenly spread iterations (elements, for slices).
template <class Each>
void for_each_access(const access_pattern& f, const index_space& loop, const index_space& array, std::uint64_t most,
                     Each&& each) {
  const std::uint64_t n = f.kind == access_kind::slices ? array.size() : loop.size();
  // An odd step near the golden ratio falls in with no regular distribution.
  const std::uint64_t step = n <= most ? 1 : static_cast<std::uint64_t>(static_cast<double>(n) * 0.6180339887498949) | 1;
  std::uint64_t i = 0;
  for (std::uint64_t k = 0; k != std::min(n, most); ++k, i = (i + step) % n) {
    switch (f.kind) {
      case access_kind::offsets:
        for (const auto& o : f.offsets) {
          std::uint64_t e = 0;
          if (shifted(array, i, o, e)) each(i, e);
        }
        break;
      case access_kind::slices:
        for (const auto& o : f.offsets) {
          const std::int64_t from = static_cast<std::int64_t>(array.along(i, f.dimension)) - o[0];
          if (from >= 0 && from < static_cast<std::int64_t>(loop.extent[0])) each(static_cast<std::uint64_t>(from), i);
        }
        break;
      case access_kind::strided: {
        const std::int64_t e = f.scale * static_cast<std::int64_t>(i) + f.shift;
        if (e >= 0 && e < static_cast<std::int64_t>(array.size())) each(i, static_cast<std::uint64_t>(e));
        break;
      }
      case access_kind::transposed: each(i, i % loop.extent[1] * array.extent[1] + i / loop.extent[1]); break;
      default: return;
    }
  }
}

}  // namespace data
}  // namespace v0
}  // namespace whywait

#endif
