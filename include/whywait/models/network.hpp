#ifndef WHYWAIT_MODELS_NETWORK_HPP
#define WHYWAIT_MODELS_NETWORK_HPP

#include <whywait/models/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// A product-form station. The rate of j customers is beta(j) times that of one.
struct station {
  enum class kind { queue, delay, multi, rates };
  kind what = kind::queue;
  unsigned servers = 1;           ///< servers of `multi`
  std::vector<double> rate = {};  ///< beta(1), beta(2), ... of `rates`; the last repeats
  std::string name = {};

  double beta(std::size_t j) const noexcept {
    switch (what) {
      case kind::queue: return 1.0;
      case kind::delay: return static_cast<double>(j);
      case kind::multi: return static_cast<double>(std::min<std::size_t>(j, servers));
      case kind::rates: return rate[std::min(j, rate.size()) - 1];
    }
    return 1.0;
  }
};

/// A closed product-form network (BCMP). demand[s][c] is visits times mean service time of chain c at station s.
/// First-come first-served stations are exact only if all chains have the same mean there.
struct network {
  std::vector<station> stations;
  std::vector<std::vector<double>> demand;

  network& add(station s, std::vector<double> demands) {
    stations.push_back(std::move(s));
    demand.push_back(std::move(demands));
    return *this;
  }
  std::size_t chains() const noexcept { return demand.empty() ? 0 : demand.front().size(); }

  /// Throws P013 for negative or missing demands, stations without servers or with rates that are not positive, and
  /// chains without any demand.
  void check() const {
    if (stations.empty() || stations.size() != demand.size() || chains() == 0)
      throw prediction_error(fault::network, "a network needs stations and one demand per chain at each");
    std::vector<double> total(chains(), 0.0);
    for (std::size_t s = 0; s != stations.size(); ++s) {
      const std::string name = stations[s].name.empty() ? "station " + std::to_string(s) : stations[s].name;
      if (demand[s].size() != chains()) throw prediction_error(fault::network, name + ": one demand per chain is needed");
      for (std::size_t c = 0; c != chains(); ++c) {
        if (!(demand[s][c] >= 0.0) || !std::isfinite(demand[s][c]))
          throw prediction_error(fault::network, name + ": a demand must be a finite number of at least 0");
        total[c] += demand[s][c];
      }
      if (stations[s].what == station::kind::multi && stations[s].servers == 0)
        throw prediction_error(fault::network, name + ": no servers");
      if (stations[s].what == station::kind::rates && stations[s].rate.empty())
        throw prediction_error(fault::network, name + ": no rates");
      for (const double r : stations[s].rate)
        if (!(r > 0.0) || !std::isfinite(r))
          throw prediction_error(fault::network, name + ": a rate must be a positive number");
    }
    for (const double d : total)
      if (!(d > 0.0)) throw prediction_error(fault::network, "a chain has no demand anywhere: its throughput is infinite");
  }
};

/// X(1) ... X(largest) of a network with one chain, by scaled convolution (Buzen 1973), which only adds and multiplies
/// non-negative numbers. Time is stations times largest, times largest again for load-dependent stations.
inline std::vector<double> throughput(const network& net, std::size_t largest) {
  net.check();
  if (net.chains() != 1) throw prediction_error(fault::many_classes, "this throughput is for one chain");
  // Scale so that the bottleneck has throughput about 1, or at the largest population the delays.
  double scale = 0.0, delays = 0.0;
  for (std::size_t s = 0; s != net.stations.size(); ++s) {
    const station& x = net.stations[s];
    if (x.what == station::kind::delay) delays += net.demand[s][0];
    else scale = std::max(scale, net.demand[s][0] / x.beta(std::max<std::size_t>(largest, 1)));
  }
  scale = std::max(scale, delays / static_cast<double>(std::max<std::size_t>(largest, 1)));
  using real = long double;  // the exponent range of 4932 avoids overflow up to populations of about 10,000
  std::vector<real> g(largest + 1, 0.0L), f(largest + 1), h(largest + 1);
  g[0] = 1.0L;
  for (std::size_t s = 0; s != net.stations.size(); ++s) {
    const real d = real(net.demand[s][0]) / scale;
    if (!(d > 0.0L)) continue;
    if (net.stations[s].what == station::kind::queue) {
      for (std::size_t k = 1; k <= largest; ++k) g[k] += d * g[k - 1];
      continue;
    }
    f[0] = 1.0L;
    for (std::size_t k = 1; k <= largest; ++k) f[k] = f[k - 1] * d / net.stations[s].beta(k);
    for (std::size_t k = 0; k <= largest; ++k) {
      h[k] = 0.0L;
      for (std::size_t j = 0; j <= k; ++j) h[k] += f[j] * g[k - j];
    }
    g.swap(h);
  }
  std::vector<double> x(largest);
  for (std::size_t k = 1; k <= largest; ++k) {
    x[k - 1] = static_cast<double>(g[k - 1] / (g[k] * scale));
    if (!std::isfinite(x[k - 1]) || !(x[k - 1] > 0.0))
      throw prediction_error(fault::arithmetic, "throughput at population " + std::to_string(k) + " is out of range");
  }
  return x;
}

/// Norton's theorem (Chandy, Herzog, Woo 1975). Replaces the stations in `part` by one flow-equivalent station for up
/// to `largest` customers, with demand 1. Exact for product form.
inline station flow_equivalent(const network& net, const std::vector<std::size_t>& part, std::size_t largest) {
  network shorted;
  for (const std::size_t s : part) {
    if (s >= net.stations.size()) throw prediction_error(fault::network, "no such station in the part to be replaced");
    shorted.add(net.stations[s], net.demand[s]);
  }
  station result;
  result.what = station::kind::rates;
  result.rate = throughput(shorted, largest);
  return result;
}

/// Normalisation constants of several chains on the lattice 0..largest, by convolution.
class lattice {
 public:
  /// Maximum number of points, 16 bytes each; larger lattices are refused.
  static constexpr std::size_t most_points = 1000000;

  /// Number of points of the lattice 0..largest, saturating.
  static std::size_t points(const std::vector<std::uint32_t>& largest) noexcept {
    std::size_t n = 1;
    for (const std::uint32_t k : largest) {
      if (n > most_points) return n;
      n *= std::size_t(k) + 1;
    }
    return n;
  }

  lattice(const network& net, std::vector<std::uint32_t> largest) : largest_(std::move(largest)) {
    net.check();
    if (net.chains() != largest_.size()) throw prediction_error(fault::classes, "one largest population per chain is needed");
    const std::size_t n = points(largest_);
    if (n > most_points) throw prediction_error(fault::population, "a lattice of more than 1,000,000 populations");
    stride_.resize(largest_.size());
    std::size_t at = 1, all = 0;
    for (std::size_t c = 0; c != largest_.size(); ++c) {
      stride_[c] = at;
      at *= std::size_t(largest_[c]) + 1;
      all += largest_[c];
    }
    scale_.assign(largest_.size(), 0.0);
    for (std::size_t c = 0; c != scale_.size(); ++c) {
      double delays = 0.0;
      for (std::size_t s = 0; s != net.stations.size(); ++s) {
        if (net.stations[s].what == station::kind::delay) delays += net.demand[s][c];
        else scale_[c] = std::max(scale_[c], net.demand[s][c] / net.stations[s].beta(std::max<std::size_t>(all, 1)));
      }
      scale_[c] = std::max(scale_[c], delays / static_cast<double>(std::max<std::uint32_t>(largest_[c], 1)));
    }
    g_.assign(n, 0.0L);
    g_[0] = 1.0L;
    for (std::size_t s = 0; s != net.stations.size(); ++s) convolve(net, s, g_);
  }

  /// X_c(n) = G(n - e_c) / G(n); 0 without customers of chain c.
  double throughput(const std::uint32_t* n, std::size_t c) const {
    if (n[c] == 0) return 0.0;
    const std::size_t i = index(n);
    const double x = static_cast<double>(g_[i - stride_[c]] / (g_[i] * scale_[c]));
    if (!std::isfinite(x)) throw prediction_error(fault::arithmetic, "a throughput is out of range");
    return x;
  }

  /// Mean number of chain-`c` customers at station `s` for every population of the lattice. The elasticity of X_k(n) to
  /// the demand of c at s is its value at n - e_k minus its value at n.
  std::vector<double> mean_customers(const network& net, std::size_t s, std::size_t c) const {
    std::vector<long double> rest(g_.size(), 0.0L);
    rest[0] = 1.0L;
    for (std::size_t other = 0; other != net.stations.size(); ++other)
      if (other != s) convolve(net, other, rest);
    std::vector<double> q(g_.size(), 0.0);
    std::vector<std::uint32_t> n(largest_.size(), 0), j(largest_.size(), 0);
    for (std::size_t i = 0; i != g_.size(); ++i, advance(n, largest_)) {
      long double sum = 0.0L;
      std::fill(j.begin(), j.end(), 0u);
      for (bool more = true; more; more = advance(j, n)) {
        if (j[c] == 0) continue;
        sum += real_of(j[c]) * factor(net, s, j.data()) * rest[i - index(j.data())];
      }
      q[i] = static_cast<double>(sum / g_[i]);
    }
    return q;
  }

  std::size_t index(const std::uint32_t* n) const {
    std::size_t i = 0;
    for (std::size_t c = 0; c != largest_.size(); ++c) {
      if (n[c] > largest_[c])
        throw prediction_error(fault::population, "population " + std::to_string(n[c]) + " of chain " + std::to_string(c) +
                                                      " is beyond the " + std::to_string(largest_[c]) + " prepared for");
      i += n[c] * stride_[c];
    }
    return i;
  }

 private:
  static long double real_of(std::uint32_t n) noexcept { return static_cast<long double>(n); }

  /// Advances to the next vector of 0..limit in the order of index(). Returns false after the last.
  static bool advance(std::vector<std::uint32_t>& n, const std::vector<std::uint32_t>& limit) noexcept {
    for (std::size_t c = 0; c != n.size(); ++c) {
      if (n[c] < limit[c]) {
        ++n[c];
        return true;
      }
      n[c] = 0;
    }
    return false;
  }

  //n|! / prod n_c! * prod d_c^n_c / prod_{k <= |n|} beta(k)
  long double factor(const network& net, std::size_t s, const std::uint32_t* n) const {
    long double f = 1.0L;
    std::size_t k = 0;
    for (std::size_t c = 0; c != largest_.size(); ++c) {
      const long double d = static_cast<long double>(net.demand[s][c]) / scale_[c];
      for (std::uint32_t j = 1; j <= n[c]; ++j) {
        ++k;
        f *= d * static_cast<long double>(k) / (real_of(j) * net.stations[s].beta(k));
      }
    }
    return f;
  }

  void convolve(const network& net, std::size_t s, std::vector<long double>& g) const {
    std::vector<std::uint32_t> n(largest_.size(), 0), j(largest_.size(), 0);
    if (net.stations[s].what == station::kind::queue) {
      for (std::size_t i = 0; i != g.size(); ++i, advance(n, largest_))
        for (std::size_t c = 0; c != n.size(); ++c)
          if (n[c] != 0) g[i] += static_cast<long double>(net.demand[s][c]) / scale_[c] * g[i - stride_[c]];
      return;
    }
    // only chains that use the station contribute
    std::vector<std::uint32_t> limit(largest_);
    for (std::size_t c = 0; c != limit.size(); ++c)
      if (!(net.demand[s][c] > 0.0)) limit[c] = 0;
    std::vector<long double> f(g.size(), 0.0L);
    for (bool more = true; more; more = advance(j, limit)) f[index(j.data())] = factor(net, s, j.data());
    std::vector<long double> h(g.size(), 0.0L);
    std::vector<std::uint32_t> top(limit);
    for (std::size_t i = 0; i != g.size(); ++i, advance(n, largest_)) {
      for (std::size_t c = 0; c != top.size(); ++c) top[c] = std::min(limit[c], n[c]);
      std::fill(j.begin(), j.end(), 0u);
      for (bool more = true; more; more = advance(j, top)) {
        const std::size_t at = index(j.data());
        h[i] += f[at] * g[i - at];
      }
    }
    g.swap(h);
  }

  std::vector<std::uint32_t> largest_;
  std::vector<std::size_t> stride_;
  std::vector<double> scale_;
  std::vector<long double> g_;
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
