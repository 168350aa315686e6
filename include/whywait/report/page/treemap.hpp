#ifndef WHYWAIT_REPORT_PAGE_TREEMAP_HPP
#define WHYWAIT_REPORT_PAGE_TREEMAP_HPP

#include <whywait/base/pod_vector.hpp>

#include <algorithm>
#include <cstddef>

namespace whywait {
inline namespace v0 {
namespace reports {

struct map_tile {
  double x = 0, y = 0, width = 0, height = 0;
};

/// Divides a rectangle into tiles whose areas are in proportion to `sizes`, which descend, as square as possible: squarified
/// treemaps (Bruls, Huizing, van Wijk 2000). O(n).
inline base::pod_vector<map_tile> squarified(const base::pod_vector<double>& sizes, map_tile room) {
  base::pod_vector<map_tile> tiles(sizes.size());
  double left = 0;
  for (const double s : sizes) left += s;
  for (std::size_t first = 0; first < sizes.size();) {
    const double shorter = std::min(room.width, room.height);
    const double scale = left > 0 ? room.width * room.height / left : 0;
    // Adds tiles to the row along the shorter side as long as its worst aspect ratio improves.
    double sum = 0, worst = 0;
    std::size_t last = first;
    for (; last < sizes.size(); ++last) {
      const double area = (sum + sizes[last]) * scale, side = area * area;
      const double least = sizes[last] * scale, most = sizes[first] * scale, square = shorter * shorter;
      const double ratio = side > 0 && least > 0 ? std::max(square * most / side, side / (square * least)) : 0;
      if (last != first && ratio > worst) break;
      worst = ratio;
      sum += sizes[last];
    }
    const bool upright = room.width >= room.height;  // the row stands at the left
    const double thickness = shorter > 0 ? sum * scale / shorter : 0;
    double along = upright ? room.y : room.x;
    for (std::size_t i = first; i != last; ++i) {
      const double length = sum > 0 ? shorter * sizes[i] / sum : 0;
      tiles[i] = upright ? map_tile{room.x, along, thickness, length} : map_tile{along, room.y, length, thickness};
      along += length;
    }
    (upright ? room.x : room.y) += thickness;
    (upright ? room.width : room.height) = std::max(0.0, (upright ? room.width : room.height) - thickness);
    left -= sum;
    first = last;
  }
  return tiles;
}

}  // namespace reports
}  // namespace v0
}  // namespace whywait

#endif
