#ifndef WHYWAIT_MODELS_CHAIN_HPP
#define WHYWAIT_MODELS_CHAIN_HPP

#include <whywait/models/detail/state_table.hpp>
#include <whywait/models/token_game.hpp>

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// Limits of the generation.
struct chain_options {
  std::size_t most_states = 5000000;  ///< P012 beyond; about 100 to 200 bytes each
  std::uint32_t most_tasks = 0;       ///< limit of active tasks, 0 for none; arcs beyond it end in `capped`
};

/// Customer and weight of an arc. Its rate is weight * X_c(n) / n_c, where c is a class or classes + module (Kapelnikov
/// et al. 1987, 4.2, 4.3).
struct arc_label {
  std::uint32_t customer = 0;
  double weight = 1.0;
};

/// An arc out of a state.
struct chain_arc {
  std::uint32_t target = 0;
  std::uint32_t label = 0;
};

/// The structure of the Markov process of a program. It is independent of the machine, so that one structure serves
/// every machine (Kapelnikov et al. 1987, 4.2). States are 0 ... states()-1 in order of discovery.
struct chain {
  /// Targets that are not states. `done` is the end of the program, `leftover` an end with incomplete operand sets,
  /// `capped` the task limit.
  static constexpr std::uint32_t done = 0xffffffffu, leftover = 0xfffffffeu, capped = 0xfffffffdu;

  std::size_t classes = 1, modules = 0;
  std::vector<std::pair<std::uint32_t, double>> begin;  ///< target and probability
  std::vector<std::uint64_t> first_arc;  ///< index of the first arc of each state, and one more
  std::vector<chain_arc> arcs;
  std::vector<arc_label> labels;
  std::vector<std::uint32_t> population;  ///< row of `populations` of each state
  std::vector<std::uint32_t> populations;  ///< rows of classes + modules counts

  std::size_t states() const noexcept { return population.size(); }
  std::size_t width() const noexcept { return classes + modules; }
  std::size_t population_rows() const noexcept { return populations.size() / width(); }
  const std::uint32_t* row(std::uint32_t r) const noexcept { return populations.data() + r * width(); }

  /// The largest count of every class and module, for which a machine must be prepared.
  std::vector<std::uint32_t> largest() const {
    std::vector<std::uint32_t> most(width(), 0);
    for (std::size_t i = 0; i != populations.size(); ++i) most[i % width()] = std::max(most[i % width()], populations[i]);
    return most;
  }
};

namespace detail {

/// Numbers for (customer, weight) pairs.
class label_table {
 public:
  std::uint32_t number(std::uint32_t customer, double weight, std::vector<arc_label>& labels) {
    std::uint64_t bits;
    std::memcpy(&bits, &weight, sizeof bits);
    const auto found = known_.emplace(std::make_pair(bits, customer), static_cast<std::uint32_t>(labels.size()));
    if (found.second) labels.push_back({customer, weight});
    return found.first->second;
  }

 private:
  boost::unordered_flat_map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> known_;
};

class chain_builder {
 public:
  chain_builder(const program& p, const chain_options& options, const std::vector<std::uint8_t>& bits)
      : p_(p), options_(options), game_(p, bits), table_(game_.words()), rows_(p.classes.size() + p.modules.size()) {}

  chain build() {
    c_.classes = p_.classes.size();
    c_.modules = p_.modules.size();
    counts_.resize(c_.width());
    game_.begin([&](const std::uint64_t* s, double probability) {
      const std::uint32_t target = target_of(s);
      for (auto& b : c_.begin)
        if (b.first == target) {
          b.second += probability;
          return;
        }
      c_.begin.emplace_back(target, probability);
    });
    std::vector<std::uint64_t> here(game_.words());
    for (std::size_t i = 0; i != table_.size(); ++i) {
      c_.first_arc.push_back(c_.arcs.size());
      std::memcpy(here.data(), table_.key(i), here.size() * sizeof(std::uint64_t));
      game_.successors(here.data(), [&](std::uint32_t customer, double weight, const std::uint64_t* next) {
        const std::uint32_t target = target_of(next);
        const std::uint32_t label = labels_.number(customer, weight, c_.labels);
        c_.arcs.push_back({target, label});
      });
    }
    c_.first_arc.push_back(c_.arcs.size());
    return std::move(c_);
  }

 private:
  std::uint32_t target_of(const std::uint64_t* s) {
    if (game_.finished(s)) return game_.leftover(s) ? chain::leftover : chain::done;
    const std::size_t before = table_.size();
    if (options_.most_tasks != 0) {
      std::uint64_t active = 0;
      game_.each_active(s, [&](std::uint32_t f, std::uint32_t k) { active += f < p_.tasks.size() ? k : 0; });
      if (active > options_.most_tasks) return chain::capped;
    }
    const std::uint32_t number = table_.insert(s);
    if (table_.size() != before) {
      if (table_.size() > options_.most_states)
        throw prediction_error(fault::too_many_states, "more than " + std::to_string(options_.most_states) +
                                                           " states; an unbounded program needs a cap on its tasks");
      std::fill(counts_.begin(), counts_.end(), 0u);
      game_.each_active(s, [&](std::uint32_t f, std::uint32_t k) {
        if (f < p_.tasks.size()) counts_[p_.tasks[f].task_class] += k;
        else counts_[c_.classes + p_.packets[f - p_.tasks.size()].module] += k;
      });
      c_.population.push_back(rows_.insert(counts_.data(), c_.populations));
    }
    return number;
  }

  const program& p_;
  chain_options options_;
  token_game game_;
  state_table table_;
  label_table labels_;
  std::vector<std::uint32_t> counts_;
  chain c_;
  number_table<std::uint32_t> rows_;
};

}  // namespace detail

/// Generates the states and arcs of a program breadth first (Kapelnikov et al. 1987, 4.2.1). Throws P011, P012. About
/// 0.3 to 1 microsecond per arc.
inline chain generate(const program& p, const chain_options& options = {}) {
  return detail::with_wide_enough_fields(
      p, [&](const std::vector<std::uint8_t>& bits) { return detail::chain_builder(p, options, bits).build(); });
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
