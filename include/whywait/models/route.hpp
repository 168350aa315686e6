#ifndef WHYWAIT_MODELS_ROUTE_HPP
#define WHYWAIT_MODELS_ROUTE_HPP

#include <whywait/models/error.hpp>
#include <whywait/models/network.hpp>
#include <whywait/models/random.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// The distribution of a service time.
struct service_time {
  enum class law {
    exponential,
    constant,
    erlang,  ///< `shape` phases
    hyper,   ///< two exponential phases with balanced means, squared coefficient of variation `shape` > 1
    uniform  ///< mean * (1 - shape) to mean * (1 + shape)
  };
  double mean = 1.0;
  law how = law::exponential;
  double shape = 1.0;

  double draw(random_source& r) const noexcept {
    switch (how) {
      case law::exponential: return mean * r.exponential();
      case law::constant: return mean;
      case law::erlang: {
        double sum = 0.0;
        for (int k = 0; k < static_cast<int>(shape); ++k) sum += r.exponential();
        return mean / std::floor(shape) * sum;
      }
      case law::hyper: {
        const double p = 0.5 * (1.0 + std::sqrt((shape - 1.0) / (shape + 1.0)));
        return r.uniform() < p ? mean / (2.0 * p) * r.exponential() : mean / (2.0 * (1.0 - p)) * r.exponential();
      }
      case law::uniform: return mean * (1.0 + shape * (2.0 * r.uniform() - 1.0));
    }
    return mean;
  }
};

/// A station that a visit may select.
struct visit_choice {
  std::size_t station = 0;
  service_time service;
  double probability = 1.0;
  bool sticky = false;  ///< reuses the alternative of the first sticky visit
};

/// One step of a route, which selects exactly one of the alternatives.
using visit = std::vector<visit_choice>;

/// The path of a customer through the stations, from being enabled to completion.
using route = std::vector<visit>;

/// A station of the detailed model.
struct server_group {
  enum class discipline { first_come, sharing, delay };
  discipline how = discipline::first_come;
  unsigned servers = 1;
  std::string name;
};

/// The physical domain in detail, for simulation.
struct detailed_machine {
  std::vector<server_group> stations;
  std::vector<route> tasks;    ///< one route per class
  std::vector<route> packets;  ///< one route per module; only with distributed synchronisation

  /// Throws P021 for a visit without alternatives, to an unknown station or with probabilities that do not sum to 1.
  void check() const {
    for (const auto* routes : {&tasks, &packets})
      for (const route& r : *routes) {
        if (r.empty()) throw prediction_error(fault::route, "a route without a visit");
        for (const visit& v : r) {
          double sum = 0.0;
          for (const visit_choice& c : v) {
            if (c.station >= stations.size()) throw prediction_error(fault::route, "a visit to a station that does not exist");
            if (!(c.service.mean >= 0.0) || !std::isfinite(c.service.mean))
              throw prediction_error(fault::route, "a service time must be a finite number of at least 0");
            if ((c.service.how == service_time::law::erlang && !(c.service.shape >= 1.0)) ||
                (c.service.how == service_time::law::hyper && !(c.service.shape >= 1.0)) ||
                (c.service.how == service_time::law::uniform && !(c.service.shape >= 0.0 && c.service.shape <= 1.0)))
              throw prediction_error(fault::route, "the shape does not fit the law of a service time");
            sum += c.probability;
          }
          if (!(std::fabs(sum - 1.0) < 1e-9))
            throw prediction_error(fault::route, "the alternatives of a visit do not sum to 1");
        }
      }
    for (const server_group& s : stations)
      if (s.servers == 0) throw prediction_error(fault::route, "a station without servers");
  }
};

/// The product-form network of some routes of a detailed machine, with demand = sum of probability times mean. Exact
/// (BCMP) for sharing and delay stations with any service time, and for first-come stations with exponential services
/// of one mean.
inline network product_form(const detailed_machine& m, const std::vector<route>& routes) {
  network net;
  for (std::size_t s = 0; s != m.stations.size(); ++s) {
    std::vector<double> demands(routes.size(), 0.0);
    double all = 0.0;
    for (std::size_t c = 0; c != routes.size(); ++c)
      for (const visit& v : routes[c])
        for (const visit_choice& x : v)
          if (x.station == s) demands[c] += x.probability * x.service.mean;
    for (const double d : demands) all += d;
    if (!(all > 0.0)) continue;
    station here;
    here.name = m.stations[s].name;
    here.servers = m.stations[s].servers;
    here.what = m.stations[s].how == server_group::discipline::delay ? station::kind::delay
                : here.servers > 1                                   ? station::kind::multi
                                                                     : station::kind::queue;
    net.add(here, demands);
  }
  return net;
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
