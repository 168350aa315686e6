#ifndef WHYWAIT_MODELS_DETAIL_TOKEN_BOARD_HPP
#define WHYWAIT_MODELS_DETAIL_TOKEN_BOARD_HPP

#include <whywait/models/program.hpp>
#include <whywait/models/random.hpp>

#include <cstdint>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {
namespace detail {

/// The operand sets of one simulated run. It is independent of `token_game`, so that the two check each other.
class token_board {
 public:
  token_board(const program& p, random_source& random) : p_(p), random_(random), filled_(p.counters, 0) {}

  void reset() { filled_.assign(filled_.size(), 0); }

  /// Appends the tasks enabled at the start, in order; immediate nodes complete at once.
  void begin(std::vector<std::uint32_t>& enabled) {
    for (const std::uint32_t i : p_.start) enable(i, enabled);
  }

  /// Draws one of the outcomes of a task.
  const task_outcome& choose(std::uint32_t task) {
    const auto& outcomes = p_.tasks[task].outcomes;
    if (outcomes.size() == 1) return outcomes.front();
    double u = random_.uniform();
    for (const task_outcome& o : outcomes)
      if ((u -= o.probability) < 0.0) return o;
    return outcomes.back();
  }

  /// Delivers tokens to their destinations and appends the enabled tasks in the order of the E expression.
  void deliver(const std::vector<token_delivery>& tokens, std::vector<std::uint32_t>& enabled) {
    for (const token_delivery& d : tokens)
      for (std::uint32_t k = 0; k != d.entries; ++k)
        if (completes(p_.entries[d.first_entry + k])) enable(d.destination, enabled);
  }

 private:
  bool completes(token_entry at) {
    for (; at.group >= 0; at = p_.groups[static_cast<std::size_t>(at.group)].above) {
      ++filled_[at.counter];
      const operand_group& g = p_.groups[static_cast<std::size_t>(at.group)];
      for (const std::uint32_t c : g.counters)
        if (filled_[c] == 0) return false;
      for (const std::uint32_t c : g.counters) --filled_[c];
    }
    return true;
  }

  void enable(std::uint32_t task, std::vector<std::uint32_t>& enabled) {
    if (p_.tasks[task].immediate) deliver(choose(task).deliveries, enabled);
    else enabled.push_back(task);
  }

  const program& p_;
  random_source& random_;
  std::vector<std::uint32_t> filled_;
};

}  // namespace detail
}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
