#ifndef WHYWAIT_MODELS_BARD_SCHWEITZER_HPP
#define WHYWAIT_MODELS_BARD_SCHWEITZER_HPP

#include <whywait/models/network.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// X_c(n) by the fixed point of Bard (1979) and Schweitzer (1979), for populations beyond the lattice. Stations with m
/// servers become a server m times as fast and a delay (Seidmann et al. 1987); rate lists use their last rate. Time is
/// chains times stations per iteration, with some tens of iterations.
inline std::vector<double> bard_schweitzer(const network& net, const std::uint32_t* n) {
  const std::size_t chains = net.chains(), stations = net.stations.size();
  std::vector<double> x(chains, 0.0), at(stations * chains, 0.0), residence(stations * chains, 0.0);
  for (std::size_t s = 0; s != stations; ++s)
    for (std::size_t c = 0; c != chains; ++c)
      if (net.demand[s][c] > 0.0) at[s * chains + c] = static_cast<double>(n[c]) / static_cast<double>(stations);
  for (int round = 0; round != 10000; ++round) {
    double change = 0.0;
    for (std::size_t c = 0; c != chains; ++c) {
      if (n[c] == 0) continue;
      double whole = 0.0;
      for (std::size_t s = 0; s != stations; ++s) {
        const station& here = net.stations[s];
        const double d = net.demand[s][c];
        double others = 0.0;
        for (std::size_t k = 0; k != chains; ++k) others += at[s * chains + k];
        others -= at[s * chains + c] / static_cast<double>(n[c]);
        double r = d;
        if (here.what != station::kind::delay) {
          const double m = here.what == station::kind::multi   ? static_cast<double>(here.servers)
                           : here.what == station::kind::rates ? here.rate.back()
                                                               : 1.0;
          const double alone = here.what == station::kind::rates ? std::max(0.0, d / here.rate.front() - d / m) : d - d / m;
          r = d / m * (1.0 + others) + alone;
        }
        residence[s * chains + c] = r;
        whole += r;
      }
      const double fresh = static_cast<double>(n[c]) / whole;
      change = std::max(change, std::fabs(fresh - x[c]) / fresh);
      x[c] = fresh;
      for (std::size_t s = 0; s != stations; ++s) at[s * chains + c] = fresh * residence[s * chains + c];
    }
    if (change < 1e-12) break;
  }
  return x;
}

/// Estimates the error of bard_schweitzer as the worst relative difference from the exact solution at the largest
/// affordable population (all chains reduced alike, at most 20,000 points). The estimate is low if the actual
/// population is much larger.
inline double bard_schweitzer_error(const network& net, const std::vector<std::uint32_t>& largest) {
  std::vector<std::uint32_t> reduced(largest.size(), 0);
  // adds a customer to each chain in turn while the lattice stays small
  for (bool grew = true; grew;) {
    grew = false;
    for (std::size_t c = 0; c != reduced.size(); ++c) {
      if (reduced[c] >= largest[c]) continue;
      ++reduced[c];
      if (lattice::points(reduced) > 20000) --reduced[c];
      else grew = true;
    }
  }
  const lattice exact(net, reduced);
  const std::vector<double> x = bard_schweitzer(net, reduced.data());
  double worst = 0.0;
  for (std::size_t c = 0; c != reduced.size(); ++c) {
    if (reduced[c] == 0) continue;
    const double truth = exact.throughput(reduced.data(), c);
    worst = std::max(worst, std::fabs(x[c] / truth - 1.0));
  }
  return worst;
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
