#ifndef WHYWAIT_MODELS_ERROR_HPP
#define WHYWAIT_MODELS_ERROR_HPP

#include <cstddef>
#include <stdexcept>
#include <string>

namespace whywait {
inline namespace v0 {
namespace models {

/// Errors of models. The numbers are stable; docs/reference/errors.md describes each.
enum class fault : int {
  syntax = 1,             ///< an expression does not parse
  weight = 2,             ///< a weight is not a number from 0 to 1
  weights_sum = 3,        ///< the weights of an exclusive-or do not sum to 1
  unknown_node = 4,       ///< an expression names a node that does not exist
  duplicate_node = 5,     ///< two nodes have the same name
  arc_mismatch = 6,       ///< E and D disagree about an arc
  unreachable = 7,        ///< no token can ever reach a node
  immediate_cycle = 8,    ///< immediate nodes enable each other in a cycle, so that time would not advance
  no_start = 9,           ///< nothing starts the program
  immediate_module = 10,  ///< immediate nodes need centralised synchronisation
  unbounded = 11,         ///< a node or counter holds more than 65,535 customers
  too_many_states = 12,   ///< the state limit was reached
  network = 13,           ///< a station or demand is invalid
  population = 14,        ///< a population exceeds the one that the machine was prepared for
  classes = 15,           ///< program and machine disagree about classes or modules
  never_ends = 16,        ///< some state cannot reach the end
  many_classes = 17,      ///< the rule requires a single class
  segment = 18,           ///< a segment descriptor is invalid
  too_many_subsets = 19,  ///< an E expression has too many feasible subsets
  cyclic = 20,            ///< the layered solver does not support loops
  route = 21,             ///< a route of the simulation is invalid
  log = 22,               ///< a log of tasks and messages is inconsistent
  question = 23,          ///< a what-if question does not parse
  arithmetic = 24         ///< a number left the range of floating point
};

/// The exception of models and what-if questions, with messages such as "whywait-P003: ...". `column()` is the byte
/// offset of the error in the expression, npos if there is none.
class prediction_error : public std::runtime_error {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  [[gnu::noinline]] prediction_error(fault f, const std::string& message)
      : std::runtime_error(number(f) + ": " + message), fault_(f) {}

  /// Appends the line of text and a caret under byte `column`.
  [[gnu::noinline]] prediction_error(fault f, const std::string& message, const std::string& text, std::size_t column)
      : std::runtime_error(number(f) + ": " + message + "\n  " + text + "\n  " + std::string(column, ' ') + '^'),
        fault_(f),
        column_(column) {}

  fault code() const noexcept { return fault_; }
  std::size_t column() const noexcept { return column_; }

  /// such as "whywait-P003"
  [[gnu::noinline]] static std::string number(fault f) {
    const int n = static_cast<int>(f);
    return std::string("whywait-P0") + (n < 10 ? "0" : "") + std::to_string(n);
  }

 private:
  fault fault_;
  std::size_t column_ = npos;
};

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
