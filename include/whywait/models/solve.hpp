#ifndef WHYWAIT_MODELS_SOLVE_HPP
#define WHYWAIT_MODELS_SOLVE_HPP

#include <whywait/base/sorting.hpp>
#include <whywait/models/chain.hpp>
#include <whywait/models/detail/censored.hpp>
#include <whywait/models/detail/components.hpp>
#include <whywait/models/machine.hpp>
#include <whywait/models/solution.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// Options of `solve`.
struct solve_options {
  bool populations = true;          ///< compute solution::populations
  bool backward = true;             ///< compute variance and gradient, which takes one adjoint solve
  bool row_gradient = false;        ///< compute solution::row_gradient
  std::size_t most_feedback = 500;  ///< a loop with more targets of back arcs is iterated (Gauss-Seidel)
};

/// The rates of every population of a chain on one machine. They are separate, so that machines can share the
/// structure.
struct chain_rates {
  std::vector<double> per_customer;  ///< rows times (classes + modules)
};

/// Throws P015 if classes or modules of the machine do not match, P014 if it is prepared for fewer customers.
inline chain_rates attach(const chain& c, const environment& where) {
  if (where.tasks.classes() != c.classes || (c.modules != 0 && where.packets.classes() != c.modules))
    throw prediction_error(fault::classes, "the program has " + std::to_string(c.classes) + " classes and " +
                                               std::to_string(c.modules) + " modules, the machine " +
                                               std::to_string(where.tasks.classes()) + " and " +
                                               std::to_string(where.packets.classes()));
  chain_rates r;
  r.per_customer.resize(c.populations.size());
  for (std::size_t i = 0; i != c.population_rows(); ++i) {
    const std::uint32_t* n = c.row(static_cast<std::uint32_t>(i));
    where.tasks.per_customer(n, r.per_customer.data() + i * c.width());
    if (c.modules != 0) where.packets.per_customer(n + c.classes, r.per_customer.data() + i * c.width() + c.classes);
  }
  return r;
}

namespace detail {

/// Solves x (-Q) = begin and (-Q) tau = 1 of the absorbing chain, component by component. A loop is cut at the targets
/// F of its back arcs; |F| + 1 passes give the censored chain of F, which GTH solves.
class chain_solver {
 public:
  chain_solver(const chain& c, const chain_rates& rates, const solve_options& options)
      : c_(c), rates_(rates), options_(options), parts_(find_components(c)), slot_(c.states(), 0), leave_(c.states(), 0.0) {
    for (std::uint32_t s = 0; s != c.states(); ++s) {
      for (std::uint64_t k = c.first_arc[s]; k != c.first_arc[s + 1]; ++k)
        if (c.arcs[k].target != s) leave_[s] += rate(s, k);
      if (!(leave_[s] > 0.0) || !std::isfinite(leave_[s]))
        throw prediction_error(fault::never_ends, "a state is never left: the program cannot end");
    }
  }

  /// Flow through every state, as expected visits without self-loops.
  std::vector<double> forward() {
    std::vector<double> y(c_.states(), 0.0);
    for (const auto& b : c_.begin) {
      if (b.first < chain::capped) y[b.first] += b.second;
      else exit(b.first, b.second);
    }
    factors_.resize(parts_.first.size() - 1);
    for (std::uint32_t k = 0; k + 1 != parts_.first.size(); ++k) {
      if (parts_.first[k + 1] - parts_.first[k] == 1) spread(parts_.order[parts_.first[k]], y);
      else forward_loop(k, y);
    }
    return y;
  }

  /// Expected remaining time from every state.
  std::vector<double> backward() {
    std::vector<double> t(c_.states(), 0.0);
    for (std::uint32_t k = static_cast<std::uint32_t>(parts_.first.size()) - 1; k-- > 0;) {
      if (parts_.first[k + 1] - parts_.first[k] == 1)
        t[parts_.order[parts_.first[k]]] = gather(parts_.order[parts_.first[k]], t, [](std::uint32_t) { return true; });
      else backward_loop(k, t);
    }
    return t;
  }

  double rate(std::uint32_t s, std::uint64_t k) const noexcept {
    const arc_label& l = c_.labels[c_.arcs[k].label];
    return rates_.per_customer[c_.population[s] * c_.width() + l.customer] * l.weight;
  }
  double leaving(std::uint32_t s) const noexcept { return leave_[s]; }
  double leftover() const noexcept { return leftover_; }
  double capped() const noexcept { return capped_; }
  double error() const noexcept { return error_; }

 private:
  void exit(std::uint32_t target, double probability) noexcept {
    if (target == chain::leftover) leftover_ += probability;
    if (target == chain::capped) capped_ += probability;
  }

  void spread(std::uint32_t s, std::vector<double>& y) noexcept {
    const double flow = y[s] / leave_[s];
    for (std::uint64_t k = c_.first_arc[s]; k != c_.first_arc[s + 1]; ++k) {
      const std::uint32_t t = c_.arcs[k].target;
      if (t >= chain::capped) exit(t, flow * rate(s, k));
      else if (t != s) y[t] += flow * rate(s, k);
    }
  }

  template <class Use>
  double gather(std::uint32_t s, const std::vector<double>& t, Use&& use) const noexcept {
    double sum = 1.0;
    for (std::uint64_t k = c_.first_arc[s]; k != c_.first_arc[s + 1]; ++k) {
      const std::uint32_t to = c_.arcs[k].target;
      if (to < chain::capped && to != s && use(to)) sum += rate(s, k) * t[to];
    }
    return sum / leave_[s];
  }

  bool inside(std::uint32_t s, std::uint32_t part) const noexcept { return s < chain::capped && parts_.of[s] == part; }

  std::vector<std::uint32_t> feedback_of(std::uint32_t part) {
    std::vector<std::uint32_t> f;
    for (std::uint32_t i = parts_.first[part]; i != parts_.first[part + 1]; ++i) {
      const std::uint32_t s = parts_.order[i];
      if (parts_.feedback[s] == 0) continue;
      slot_[s] = static_cast<std::uint32_t>(f.size());
      f.push_back(s);
    }
    return f;
  }

  void forward_loop(std::uint32_t part, std::vector<double>& y) {
    const std::vector<std::uint32_t> f = feedback_of(part);
    if (f.size() > options_.most_feedback) {
      forward_sweeps(part, y);
      return;
    }
    const std::uint32_t first = parts_.first[part], last = parts_.first[part + 1];
    censored_chain small(f.size());
    std::vector<double> flow(c_.states() == 0 ? 0 : last - first, 0.0), arrivals(f.size(), 0.0);
    place_.resize(c_.states());
    for (std::uint32_t i = first; i != last; ++i) place_[parts_.order[i]] = i - first;
    // one pass, from `flow` to the cut states (into) and out of the component (out)
    auto pass = [&](double* into, double* out) {
      for (std::uint32_t i = first; i != last; ++i) {
        const std::uint32_t s = parts_.order[i];
        const double v = flow[i - first] / leave_[s];
        flow[i - first] = 0.0;
        if (!(v > 0.0)) continue;
        for (std::uint64_t k = c_.first_arc[s]; k != c_.first_arc[s + 1]; ++k) {
          const std::uint32_t t = c_.arcs[k].target;
          if (t == s) continue;
          const double part_of_flow = v * rate(s, k);
          if (!inside(t, part)) *out += part_of_flow;
          else if (parts_.feedback[t] != 0) into[slot_[t]] += part_of_flow;
          else flow[place_[t]] += part_of_flow;
        }
      }
    };
    double ignored = 0.0;
    for (std::uint32_t i = first; i != last; ++i) {
      const std::uint32_t s = parts_.order[i];
      if (parts_.feedback[s] != 0) arrivals[slot_[s]] += y[s];
      else flow[i - first] = y[s];
    }
    pass(arrivals.data(), &ignored);
    for (std::size_t j = 0; j != f.size(); ++j) {
      flow[place_[f[j]]] = 1.0;
      pass(&small.jump(j, 0), &small.leave(j));
    }
    if (!small.factor()) throw prediction_error(fault::never_ends, "a loop is never left: the program cannot end");
    small.visits(arrivals);
    for (std::size_t j = 0; j != f.size(); ++j) y[f[j]] = arrivals[j];
    for (std::uint32_t i = first; i != last; ++i) {
      const std::uint32_t s = parts_.order[i];
      const double v = y[s] / leave_[s];
      for (std::uint64_t k = c_.first_arc[s]; k != c_.first_arc[s + 1]; ++k) {
        const std::uint32_t t = c_.arcs[k].target;
        if (t >= chain::capped) exit(t, v * rate(s, k));
        else if (t != s && !(inside(t, part) && parts_.feedback[t] != 0)) y[t] += v * rate(s, k);
      }
    }
    factors_[part] = std::move(small);
  }

  void backward_loop(std::uint32_t part, std::vector<double>& t) {
    const std::vector<std::uint32_t> f = feedback_of(part);
    if (f.size() > options_.most_feedback) {
      backward_sweeps(part, t);
      return;
    }
    const std::uint32_t first = parts_.first[part], last = parts_.first[part + 1];
    std::vector<double> cut(f.size(), 0.0);
    for (std::uint32_t i = last; i-- > first;) {
      const std::uint32_t s = parts_.order[i];
      t[s] = gather(s, t, [&](std::uint32_t to) { return !(inside(to, part) && parts_.feedback[to] != 0); });
      if (parts_.feedback[s] != 0) cut[slot_[s]] = t[s];
    }
    factors_[part].gathered(cut);
    for (std::size_t j = 0; j != f.size(); ++j) t[f[j]] = cut[j];
    for (std::uint32_t i = last; i-- > first;) {
      const std::uint32_t s = parts_.order[i];
      if (parts_.feedback[s] == 0) t[s] = gather(s, t, [](std::uint32_t) { return true; });
    }
  }

  // Sweeps in topological order, starting from below, until the geometric remainder of the changes is negligible.
  template <class Sweep>
  void iterate(Sweep&& sweep) {
    double before = 0.0;
    for (int round = 0; round != 100000; ++round) {
      const double change = sweep();
      const double contraction = before > 0.0 ? std::min(change / before, 0.9999999) : 0.5;
      const double rest = change * contraction / (1.0 - contraction);
      before = change;
      if (round > 2 && rest < 1e-13) {
        error_ = std::max(error_, std::max(rest, 1e-15 * round));
        return;
      }
    }
    throw prediction_error(fault::arithmetic, "a loop with very many entries did not converge");
  }

  void forward_sweeps(std::uint32_t part, std::vector<double>& y) {
    const std::uint32_t first = parts_.first[part], last = parts_.first[part + 1];
    const std::vector<double> arrivals = y;
    std::vector<double> now(c_.states(), 0.0), next(c_.states(), 0.0);
    iterate([&] {
      for (std::uint32_t i = first; i != last; ++i) next[parts_.order[i]] = arrivals[parts_.order[i]];
      // flow over back arcs is from the last sweep, over other arcs from this one
      double change = 0.0, all = 0.0;
      for (std::uint32_t i = first; i != last; ++i) {
        const std::uint32_t s = parts_.order[i];
        for (std::uint64_t k = c_.first_arc[s]; k != c_.first_arc[s + 1]; ++k) {
          const std::uint32_t t = c_.arcs[k].target;
          if (t != s && inside(t, part) && parts_.feedback[t] != 0) next[t] += now[s] / leave_[s] * rate(s, k);
        }
      }
      for (std::uint32_t i = first; i != last; ++i) {
        const std::uint32_t s = parts_.order[i];
        change += std::fabs(next[s] - now[s]);
        all += next[s];
        now[s] = next[s];
        for (std::uint64_t k = c_.first_arc[s]; k != c_.first_arc[s + 1]; ++k) {
          const std::uint32_t t = c_.arcs[k].target;
          if (t != s && inside(t, part) && parts_.feedback[t] == 0) next[t] += now[s] / leave_[s] * rate(s, k);
        }
      }
      return change / all;
    });
    for (std::uint32_t i = first; i != last; ++i) y[parts_.order[i]] = now[parts_.order[i]];
    for (std::uint32_t i = first; i != last; ++i) {
      const std::uint32_t s = parts_.order[i];
      for (std::uint64_t k = c_.first_arc[s]; k != c_.first_arc[s + 1]; ++k) {
        const std::uint32_t t = c_.arcs[k].target;
        if (t >= chain::capped) exit(t, y[s] / leave_[s] * rate(s, k));
        else if (!inside(t, part)) y[t] += y[s] / leave_[s] * rate(s, k);
      }
    }
  }

  void backward_sweeps(std::uint32_t part, std::vector<double>& t) {
    const std::uint32_t first = parts_.first[part], last = parts_.first[part + 1];
    iterate([&] {
      double change = 0.0, all = 0.0;
      for (std::uint32_t i = last; i-- > first;) {
        const std::uint32_t s = parts_.order[i];
        const double next = gather(s, t, [](std::uint32_t) { return true; });
        change += std::fabs(next - t[s]);
        all += next;
        t[s] = next;
      }
      return change / all;
    });
  }

  const chain& c_;
  const chain_rates& rates_;
  solve_options options_;
  components parts_;
  std::vector<std::uint32_t> slot_, place_;
  std::vector<double> leave_;
  std::vector<censored_chain> factors_;
  double leftover_ = 0.0, capped_ = 0.0, error_ = 0.0;
};

}  // namespace detail

/// Mean, variance, tasks, parallelism and all derivatives of a chain on a machine (docs/method.md 5.5), by one forward
/// and one backward solve of the absorbing chain. Throws P014 to P016. Without loops, time is linear in the arcs (about
/// 10 ns per arc); with loops, multiplied by the number of states to which the loop leads back.
inline solution solve(const chain& c, const chain_rates& rates, const solve_options& options = {}) {
  detail::chain_solver solver(c, rates, options);
  const std::vector<double> y = solver.forward();
  solution r;
  r.states = c.states();
  r.arcs = c.arcs.size();
  r.leftover = solver.leftover();
  r.capped = solver.capped();
  r.tasks.assign(c.classes, 0.0);
  std::vector<double> row_time(c.population_rows(), 0.0);
  for (std::uint32_t s = 0; s != c.states(); ++s) {
    const double x = y[s] / solver.leaving(s);
    r.mean += x;
    row_time[c.population[s]] += x;
  }
  if (!std::isfinite(r.mean)) throw prediction_error(fault::arithmetic, "the mean time is not finite");
  if (options.backward) {
    const std::vector<double> tau = solver.backward();
    r.gradient.assign(c.width(), 0.0);
    if (options.row_gradient) r.row_gradient.assign(c.populations.size(), 0.0);
    double second = 0.0;
    for (std::uint32_t s = 0; s != c.states(); ++s) {
      const double x = y[s] / solver.leaving(s);
      second += x * tau[s];
      for (std::uint64_t k = c.first_arc[s]; k != c.first_arc[s + 1]; ++k) {
        const std::uint32_t t = c.arcs[k].target;
        const std::uint32_t customer = c.labels[c.arcs[k].label].customer;
        const double slower = x * solver.rate(s, k) * (tau[s] - (t < chain::capped ? tau[t] : 0.0));
        r.gradient[customer] += slower;
        if (options.row_gradient) r.row_gradient[c.population[s] * c.width() + customer] += slower;
      }
    }
    r.variance = 2.0 * second - r.mean * r.mean;
  }
  r.error = solver.error();
  for (std::size_t i = 0; i != row_time.size(); ++i) {
    const std::uint32_t* n = c.row(static_cast<std::uint32_t>(i));
    std::size_t all = 0;
    for (std::size_t k = 0; k != c.classes; ++k) {
      r.tasks[k] += row_time[i] * rates.per_customer[i * c.width() + k] * static_cast<double>(n[k]);
      all += n[k];
    }
    if (r.parallelism.size() <= all) r.parallelism.resize(all + 1, 0.0);
    if (r.mean > 0.0) r.parallelism[all] += row_time[i] / r.mean;
    if (!options.populations || !(r.mean > 0.0)) continue;
    std::vector<std::uint32_t> population(n, n + c.classes);
    r.populations.emplace_back(std::move(population), row_time[i] / r.mean);
  }
  if (c.modules != 0 && options.populations) {
    // rows that differ only in operand packets have the same population of tasks
    std::sort(r.populations.begin(), r.populations.end());
    base::join_neighbours(
        r.populations, [](const auto& a, const auto& b) { return a.first == b.first; },
        [](auto& to, const auto& p) { to.second += p.second; });
  }
  return r;
}

/// Attaches the rates of one machine and solves the chain.
inline solution solve(const chain& c, const environment& where, const solve_options& options = {}) {
  return solve(c, attach(c, where), options);
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
