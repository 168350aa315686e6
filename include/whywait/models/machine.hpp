#ifndef WHYWAIT_MODELS_MACHINE_HPP
#define WHYWAIT_MODELS_MACHINE_HPP

#include <whywait/models/bard_schweitzer.hpp>
#include <whywait/models/network.hpp>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// The departure rates of customers for each population, mu_c(n) (Kapelnikov et al. 1987, 4.1). Cheap to copy,
/// immutable.
class machine {
 public:
  /// One class, X(k) = mu[k-1], the last repeats. Throws P013.
  static machine table(std::vector<double> mu) {
    if (mu.empty()) throw prediction_error(fault::network, "an empty list of rates");
    for (const double x : mu)
      if (!(x > 0.0) || !std::isfinite(x)) throw prediction_error(fault::network, "a rate must be a positive number");
    machine m;
    m.what_ = kind::table;
    m.classes_ = 1;
    m.numbers_ = std::make_shared<const std::vector<double>>(std::move(mu));
    return m;
  }

  /// One server per customer, X_c(n) = n_c / mean[c] (seconds). Throws P013.
  static machine servers_for_all(const std::vector<double>& mean) {
    if (mean.empty()) throw prediction_error(fault::network, "an empty list of means");
    auto rate = std::make_shared<std::vector<double>>();
    for (const double t : mean) {
      if (!(t > 0.0) || !std::isfinite(t)) throw prediction_error(fault::network, "a mean must be a positive number");
      rate->push_back(1.0 / t);
    }
    machine m;
    m.what_ = kind::own;
    m.classes_ = mean.size();
    m.numbers_ = std::move(rate);
    return m;
  }

  /// A product-form network, prepared for populations up to `largest`. Chains that share no station are solved
  /// separately. A part whose lattice has more than 1,000,000 points is approximated, see `error()`. Throws P013, P015.
  static machine of(const network& net, const std::vector<std::uint32_t>& largest) {
    net.check();
    if (largest.size() != net.chains()) throw prediction_error(fault::classes, "one largest population per chain is needed");
    if (net.chains() == 1) {
      machine one = table(throughput(net, std::max<std::uint32_t>(largest[0], 1)));
      one.limit_ = std::max<std::uint32_t>(largest[0], 1);
      return one;
    }
    machine m;
    m.what_ = kind::parts;
    m.classes_ = net.chains();
    auto parts = std::make_shared<std::vector<part>>(independent(net, largest));
    for (const part& p : *parts) m.error_ = std::max(m.error_, p.error);
    m.parts_ = std::move(parts);
    return m;
  }

  std::size_t classes() const noexcept { return classes_; }

  /// Estimated worst relative error of the rates where the lattice was too large; 0 if exact for product form.
  double error() const noexcept { return error_; }

  /// Whether a customer's rate depends on its class only.
  bool uncontended() const noexcept { return what_ == kind::own; }

  /// rate[c] = X_c(n) / n_c, the rate of one customer of each class (Kapelnikov et al. 1987, 4.2); 0 for absent
  /// classes.
  void per_customer(const std::uint32_t* n, double* rate) const {
    switch (what_) {
      case kind::table:
        if (limit_ != 0 && n[0] > limit_)
          throw prediction_error(fault::population, "population " + std::to_string(n[0]) + " is beyond the " +
                                                        std::to_string(limit_) + " prepared for");
        rate[0] = n[0] == 0 ? 0.0 : (*numbers_)[std::min<std::size_t>(n[0], numbers_->size()) - 1] / static_cast<double>(n[0]);
        return;
      case kind::own:
        for (std::size_t c = 0; c != classes_; ++c) rate[c] = n[c] == 0 ? 0.0 : (*numbers_)[c];
        return;
      case kind::parts: break;
    }
    std::vector<std::uint32_t> own;
    for (const part& p : *parts_) {
      own.clear();
      for (const std::size_t c : p.chains) own.push_back(n[c]);
      std::vector<double> x;
      if (p.exact == nullptr) x = bard_schweitzer(p.net, own.data());
      for (std::size_t k = 0; k != own.size(); ++k) {
        const double all = p.exact != nullptr ? p.exact->throughput(own.data(), k) : x[k];
        rate[p.chains[k]] = own[k] == 0 ? 0.0 : all / static_cast<double>(own[k]);
      }
    }
  }

 private:
  enum class kind { table, own, parts };

  struct part {
    std::vector<std::size_t> chains;
    network net;
    std::shared_ptr<const lattice> exact;
    double error = 0.0;
  };

  static std::vector<part> independent(const network& net, const std::vector<std::uint32_t>& largest) {
    const std::size_t chains = net.chains();
    std::vector<std::size_t> root(chains);
    std::iota(root.begin(), root.end(), std::size_t(0));
    auto find = [&](std::size_t c) {
      while (root[c] != c) c = root[c] = root[root[c]];
      return c;
    };
    for (std::size_t s = 0; s != net.stations.size(); ++s) {
      if (net.stations[s].what == station::kind::delay) continue;  // no contention at delay stations
      std::size_t first = chains;
      for (std::size_t c = 0; c != chains; ++c) {
        if (!(net.demand[s][c] > 0.0)) continue;
        if (first == chains) first = c;
        else root[find(c)] = find(first);
      }
    }
    std::vector<part> parts;
    for (std::size_t r = 0; r != chains; ++r) {
      if (find(r) != r) continue;
      part p;
      std::vector<std::uint32_t> limit;
      for (std::size_t c = 0; c != chains; ++c) {
        if (find(c) != r) continue;
        p.chains.push_back(c);
        limit.push_back(largest[c]);
      }
      for (std::size_t s = 0; s != net.stations.size(); ++s) {
        std::vector<double> demands;
        double sum = 0.0;
        for (const std::size_t c : p.chains) {
          demands.push_back(net.demand[s][c]);
          sum += net.demand[s][c];
        }
        if (sum > 0.0) p.net.add(net.stations[s], std::move(demands));
      }
      if (lattice::points(limit) <= lattice::most_points) p.exact = std::make_shared<const lattice>(p.net, limit);
      else p.error = bard_schweitzer_error(p.net, limit);
      parts.push_back(std::move(p));
    }
    return parts;
  }

  kind what_ = kind::own;
  std::size_t classes_ = 0;
  double error_ = 0.0;
  std::uint32_t limit_ = 0;  ///< for a table made from a network; 0 if the last entry repeats
  std::shared_ptr<const std::vector<double>> numbers_;
  std::shared_ptr<const std::vector<part>> parts_;
};

/// The physical domain. It contains the machine that runs tasks and, with distributed synchronisation, the one that
/// matches operand packets.
struct environment {
  machine tasks;  ///< P/C subnetwork, one class per program class
  machine packets;  ///< M/U subnetwork, one class per module; unused with centralised synchronisation
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
