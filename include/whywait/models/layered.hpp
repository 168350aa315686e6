#ifndef WHYWAIT_MODELS_LAYERED_HPP
#define WHYWAIT_MODELS_LAYERED_HPP

#include <whywait/models/detail/state_table.hpp>
#include <whywait/models/machine.hpp>
#include <whywait/models/solution.hpp>
#include <whywait/models/token_game.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// Options of the layered solver.
struct layered_options {
  std::size_t most_states = 200000000;  ///< limit over all layers; P012 beyond
  bool variance = false;                ///< stores three numbers per state instead of one
};

namespace detail {

/// The states after k completions with their probabilities and optionally the moments of the time until then.
class layer {
 public:
  layer(std::size_t words, std::size_t moments) : words_(words), moments_(moments) { resize(64); }

  std::size_t size() const noexcept { return size_; }
  std::size_t slots() const noexcept { return used_.size() * 64; }
  bool taken(std::size_t i) const noexcept { return (used_[i / 64] >> (i % 64) & 1) != 0; }
  const std::uint64_t* key(std::size_t i) const noexcept { return keys_.data() + i * words_; }
  const double* value(std::size_t i) const noexcept { return values_.data() + i * moments_; }

  void add(const std::uint64_t* key, const double* value, double share) {
    std::size_t at = find(key);
    if (!taken(at)) {
      if ((size_ + 1) * 4 > slots() * 3) {
        grow();
        at = find(key);
      }
      std::memcpy(keys_.data() + at * words_, key, words_ * sizeof(std::uint64_t));
      used_[at / 64] |= std::uint64_t(1) << (at % 64);
      ++size_;
    }
    for (std::size_t m = 0; m != moments_; ++m) values_[at * moments_ + m] += value[m] * share;
  }

  void clear() {
    std::fill(used_.begin(), used_.end(), std::uint64_t(0));
    std::fill(values_.begin(), values_.end(), 0.0);
    size_ = 0;
  }

 private:
  std::size_t find(const std::uint64_t* key) const noexcept {
    const std::size_t mask = slots() - 1;
    std::size_t at = hash_units(key, words_) & mask;
    while (taken(at) && std::memcmp(keys_.data() + at * words_, key, words_ * sizeof(std::uint64_t)) != 0) at = (at + 1) & mask;
    return at;
  }
  void resize(std::size_t slots) {
    used_.assign(slots / 64, 0);
    keys_.resize(slots * words_);
    values_.assign(slots * moments_, 0.0);
  }
  void grow() {
    layer wider(words_, moments_);
    wider.resize(slots() * 2);
    for (std::size_t i = 0; i != slots(); ++i)
      if (taken(i)) wider.add(key(i), value(i), 1.0);
    *this = std::move(wider);
  }

  std::size_t words_, moments_, size_ = 0;
  std::vector<std::uint64_t> used_, keys_;
  std::vector<double> values_;
};

class layered_solver {
 public:
  layered_solver(const program& p, const environment& where, const layered_options& options,
                 const std::vector<std::uint8_t>& bits)
      : p_(p), where_(where), options_(options), game_(p, bits) {}

  solution run() {
    const std::size_t classes = p_.classes.size(), width = classes + p_.modules.size();
    const std::size_t moments = options_.variance ? 3 : 1;
    r_.tasks.assign(classes, 0.0);
    layer now(game_.words(), moments), next(game_.words(), moments);
    const double start[3] = {1.0, 0.0, 0.0};
    game_.begin([&](const std::uint64_t* s, double probability) {
      if (game_.finished(s)) end(s, probability);
      else now.add(s, start, probability);
    });
    counts_.assign(width, 0);
    rate_.assign(width, 0.0);
    if (where_.tasks.uncontended()) {
      // the rate of a customer is constant
      std::fill(counts_.begin(), counts_.end(), 1u);
      where_.tasks.per_customer(counts_.data(), rate_.data());
    }
    double held[3];
    while (now.size() != 0) {
      r_.states += now.size();
      if (r_.states > options_.most_states)
        throw prediction_error(fault::too_many_states, "more than " + std::to_string(options_.most_states) + " states");
      for (std::size_t i = 0; i != now.slots(); ++i) {
        if (!now.taken(i)) continue;
        const std::uint64_t* s = now.key(i);
        const double leave = attach(s);
        if (!(leave > 0.0)) throw prediction_error(fault::never_ends, "a state is never left: the program cannot end");
        const double* v = now.value(i);
        const double x = v[0] / leave;
        account(x);
        // moments of the departure time with exponential holding, E[(t+h)] and E[(t+h)^2]
        held[0] = v[0] / leave;
        if (moments == 3) {
          held[1] = (v[1] + x) / leave;
          held[2] = (v[2] + 2.0 * v[1] / leave + 2.0 * x / leave) / leave;
        }
        game_.successors(s, [&](std::uint32_t customer, double weight, const std::uint64_t* to) {
          const double rate = rate_[customer] * weight;
          ++r_.arcs;
          if (game_.finished(to)) {
            end(to, held[0] * rate);
            if (moments == 3) second_ += held[2] * rate;
          } else {
            next.add(to, held, rate);
          }
        });
      }
      now.clear();
      std::swap(now, next);
    }
    if (moments == 3) r_.variance = second_ - r_.mean * r_.mean;
    if (!std::isfinite(r_.mean)) throw prediction_error(fault::arithmetic, "the mean time is not finite");
    for (double& share : r_.parallelism) share /= r_.mean;
    return std::move(r_);
  }

 private:
  // Sets counts_ and rate_ for a state and returns its total departure rate.
  double attach(const std::uint64_t* s) {
    const std::size_t tasks = p_.tasks.size(), classes = p_.classes.size();
    active_ = 0;
    if (where_.tasks.uncontended() && p_.packets.empty()) {
      double leave = 0.0;
      who_.clear();
      game_.each_active(s, [&](std::uint32_t f, std::uint32_t k) {
        who_.emplace_back(p_.tasks[f].task_class, k);
        leave += rate_[p_.tasks[f].task_class] * k;
        active_ += k;
      });
      return leave;
    }
    std::fill(counts_.begin(), counts_.end(), 0u);
    game_.each_active(s, [&](std::uint32_t f, std::uint32_t k) {
      if (f < tasks) {
        counts_[p_.tasks[f].task_class] += k;
        active_ += k;
      } else {
        counts_[classes + p_.packets[f - tasks].module] += k;
      }
    });
    where_.tasks.per_customer(counts_.data(), rate_.data());
    if (!p_.packets.empty()) where_.packets.per_customer(counts_.data() + classes, rate_.data() + classes);
    double leave = 0.0;
    who_.clear();
    for (std::size_t c = 0; c != counts_.size(); ++c) {
      leave += rate_[c] * counts_[c];
      if (c < classes && counts_[c] != 0) who_.emplace_back(static_cast<std::uint32_t>(c), counts_[c]);
    }
    return leave;
  }

  void account(double x) {
    r_.mean += x;
    if (r_.parallelism.size() <= active_) r_.parallelism.resize(active_ + 1, 0.0);
    r_.parallelism[active_] += x;
    for (const auto& w : who_) r_.tasks[w.first] += x * rate_[w.first] * w.second;
  }

  void end(const std::uint64_t* s, double probability) {
    if (game_.leftover(s)) r_.leftover += probability;
  }

  const program& p_;
  const environment& where_;
  layered_options options_;
  token_game game_;
  solution r_;
  std::vector<std::uint32_t> counts_;
  std::vector<double> rate_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> who_;
  std::size_t active_ = 0;
  double second_ = 0.0;
};

}  // namespace detail

/// Generates and solves a program without loops in one pass, the states after k completions from those after k-1. No
/// matrix is stored (compare Thomasian and Bay 1986). About 1 to 3 million states per second; memory for the two widest
/// layers. Computes no gradient and no population vectors. `states` counts a state once per number of completions that
/// can lead to it. Throws P012, P014 to P016, and P020 for a program with a loop.
inline solution solve_layered(const program& p, const environment& where, const layered_options& options = {}) {
  if (!p.acyclic) throw prediction_error(fault::cyclic, "a program with a loop has no layers");
  if (where.tasks.classes() != p.classes.size() || (p.distributed() && where.packets.classes() != p.modules.size()))
    throw prediction_error(fault::classes, "program and machine differ in classes or modules");
  return detail::with_wide_enough_fields(
      p, [&](const std::vector<std::uint8_t>& bits) { return detail::layered_solver(p, where, options, bits).run(); });
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
