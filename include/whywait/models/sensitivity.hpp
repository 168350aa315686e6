#ifndef WHYWAIT_MODELS_SENSITIVITY_HPP
#define WHYWAIT_MODELS_SENSITIVITY_HPP

#include <whywait/models/network.hpp>
#include <whywait/models/solve.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// dT / d ln(demand[s][c]) for every station and class of the network on which the tasks run. This is the gain from a
/// station that is faster for one class, computed for all stations by one adjoint solve. Uses d ln X_k(n) / d ln D_sc =
/// Q_sc(n - e_k) - Q_sc(n), exact for product form. The sum over all stations and classes is the mean time minus the
/// share of operand packets. `packets` is needed for distributed synchronisation only. Throws P014 if the lattice is
/// too large, and what `solve` throws.
inline std::vector<std::vector<double>> demand_gradient(const chain& c, const network& tasks, const machine& packets = {}) {
  std::vector<std::uint32_t> largest = c.largest();
  largest.resize(c.classes);
  const lattice points(tasks, largest);
  environment where{machine::of(tasks, largest), packets};
  solve_options options;
  options.populations = false;
  options.row_gradient = true;
  const solution s = solve(c, where, options);
  std::vector<std::vector<double>> gradient(tasks.stations.size(), std::vector<double>(c.classes, 0.0));
  std::vector<std::uint32_t> fewer(c.classes);
  for (std::size_t station_at = 0; station_at != gradient.size(); ++station_at)
    for (std::size_t k = 0; k != c.classes; ++k) {
      if (!(tasks.demand[station_at][k] > 0.0)) continue;
      const std::vector<double> customers = points.mean_customers(tasks, station_at, k);
      double sum = 0.0;
      for (std::uint32_t r = 0; r != c.population_rows(); ++r) {
        const std::uint32_t* n = c.row(r);
        for (std::size_t of = 0; of != c.classes; ++of) {
          if (n[of] == 0) continue;
          fewer.assign(n, n + c.classes);
          --fewer[of];
          sum += s.row_gradient[r * c.width() + of] * (customers[points.index(n)] - customers[points.index(fewer.data())]);
        }
      }
      gradient[station_at][k] = sum;
    }
  return gradient;
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
